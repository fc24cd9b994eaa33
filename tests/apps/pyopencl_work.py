"""Does what pyopencl programs do, and prints only what is equal in every run."""
import threading

import numpy as np
import pyopencl as cl
import pyopencl.array
import pyopencl.clrandom
from pyopencl.elementwise import ElementwiseKernel
from pyopencl.reduction import ReductionKernel
from pyopencl.scan import GenericScanKernel

context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
queue = cl.CommandQueue(context, properties=cl.command_queue_properties.PROFILING_ENABLE)
rng = np.random.default_rng(1)


def arrays():
    a = rng.standard_normal(10000).astype(np.float32)
    b = rng.standard_normal(10000).astype(np.float32)
    x, y = cl.array.to_device(queue, a), cl.array.to_device(queue, b)
    print("arrays", np.allclose((2 * x + y * y).get(), 2 * a + b * b, rtol=1e-5))
    print("slice", np.array_equal(x[100:200].get(), a[100:200]))
    print("sum", np.allclose(cl.array.sum(x).get(), a.sum(), atol=1e-1))
    print("max", cl.array.max(x).get() == a.max(), "dot", np.allclose(cl.array.dot(x, y).get(), a @ b, rtol=1e-2))
    print("reshape", (x.reshape(100, 100).get() == a.reshape(100, 100)).all(), cl.array.arange(queue, 10, dtype=np.int32).get())


def kernels():
    a = rng.standard_normal(5000).astype(np.float32)
    x = cl.array.to_device(queue, a)
    out = cl.array.empty_like(x)
    ElementwiseKernel(context, "float k, float *x, float *z", "z[i] = k * x[i] + i", "affine")(np.float32(3), x, out)
    print("elementwise", np.allclose(out.get(), 3 * a + np.arange(5000), rtol=1e-5))
    total = ReductionKernel(context, np.float32, neutral="0", reduce_expr="a+b", map_expr="x[i]*x[i]",
                            arguments="__global float *x")
    print("reduction", np.allclose(total(x).get(), (a * a).sum(), rtol=1e-3))
    numbers = cl.array.to_device(queue, np.arange(3000, dtype=np.int32))
    scan = GenericScanKernel(context, np.int32, arguments="__global int *a", input_expr="a[i]", scan_expr="a+b",
                             neutral="0", output_statement="a[i] = item;")
    scan(numbers)
    print("scan", np.array_equal(numbers.get(), np.arange(3000).cumsum()))


def programs():
    source = """
    #ifndef K
    #define K 1
    #endif
    kernel void scale(global int *data, local int *part, int what) {
        int l = get_local_id(0), i = get_global_id(0);
        part[l] = data[i];
        barrier(CLK_LOCAL_MEM_FENCE);
        data[i] = part[get_local_size(0) - 1 - l] * what * K;
    }"""
    program = cl.Program(context, source).build(options=["-DK=7"])
    data = np.arange(256, dtype=np.int32)
    mf = cl.mem_flags
    buffer = cl.Buffer(context, mf.READ_WRITE | mf.COPY_HOST_PTR, hostbuf=data)
    event = program.scale(queue, (256,), (16,), buffer, cl.LocalMemory(64), np.int32(2))
    event.wait()
    result = np.empty_like(data)
    cl.enqueue_copy(queue, result, buffer)
    print("program", np.array_equal(result, data.reshape(16, 16)[:, ::-1].reshape(-1) * 14))
    print("profile", event.profile.end >= event.profile.start >= event.profile.submit >= event.profile.queued)
    print("kernels", [k.function_name for k in program.all_kernels()], program.scale.num_args)
    again = cl.Program(context, [context.devices[0]], program.get_info(cl.program_info.BINARIES)).build()
    again.scale(queue, (256,), (16,), buffer, cl.LocalMemory(64), np.int32(1)).wait()
    cl.enqueue_copy(queue, result, buffer)
    print("binary", int(result.sum()))


def memory():
    data = np.arange(1024, dtype=np.int32)
    mf = cl.mem_flags
    buffer = cl.Buffer(context, mf.READ_WRITE, data.nbytes)
    cl.enqueue_copy(queue, buffer, data)
    mapped, event = cl.enqueue_map_buffer(queue, buffer, cl.map_flags.READ | cl.map_flags.WRITE, 0, data.shape,
                                          data.dtype)
    mapped[:] *= 2
    mapped.base.release(queue)
    cl.enqueue_fill_buffer(queue, buffer, np.int32(5), 0, 64)
    sub = buffer[1024:2048]
    out = np.empty(256, np.int32)
    cl.enqueue_copy(queue, out, sub)
    whole = np.empty_like(data)
    cl.enqueue_copy(queue, whole, buffer)
    print("map", whole[:4], whole[16:20], int(whole.sum()), "sub", int(out.sum()))
    used = np.zeros(256, np.float32)
    host = cl.Buffer(context, mf.READ_WRITE | mf.USE_HOST_PTR, hostbuf=used)
    cl.enqueue_copy(queue, host, np.full(256, 2.5, np.float32))
    cl.enqueue_map_buffer(queue, host, cl.map_flags.READ, 0, used.shape, used.dtype)[0].base.release(queue)
    queue.finish()
    print("host pointer", used.sum())
    form = cl.ImageFormat(cl.channel_order.RGBA, cl.channel_type.UNSIGNED_INT8)
    pixels = rng.integers(0, 255, (20, 30, 4), dtype=np.uint8)
    image = cl.Image(context, mf.READ_ONLY | mf.COPY_HOST_PTR, form, shape=(30, 20), hostbuf=pixels)
    back = np.empty_like(pixels)
    cl.enqueue_copy(queue, back, image, origin=(0, 0), region=(30, 20))
    print("image", np.array_equal(back, pixels), image.width, image.height)


def events():
    gate = cl.UserEvent(context)
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 1024)
    event = cl.enqueue_copy(queue, buffer, np.arange(256, dtype=np.int32), is_blocking=False, wait_for=[gate])
    marker = cl.enqueue_marker(queue, wait_for=[event])
    called = threading.Event()
    marker.set_callback(cl.command_execution_status.COMPLETE, lambda status: called.set())
    print("before", called.is_set())
    gate.set_status(cl.command_execution_status.COMPLETE)
    print("called", called.wait(30), event.command_type == cl.command_type.WRITE_BUFFER)
    cl.enqueue_barrier(queue).wait()


def errors():
    for name, call in (
            ("syntax", lambda: cl.Program(context, "kernel void f( {").build()),
            ("kernel", lambda: cl.Program(context, "kernel void f() {}").build().g),
            ("group", lambda: cl.Program(context, "kernel void f() {}").build().f(queue, (10,), (3,))),
            ("size", lambda: cl.Buffer(context, cl.mem_flags.READ_WRITE, 0)),
            ("range", lambda: cl.enqueue_copy(queue, np.empty(8, np.int32),
                                              cl.Buffer(context, cl.mem_flags.READ_WRITE, 16)))):
        try:
            call()
            print(name, "nothing")
        except (cl.Error, AttributeError) as error:
            print(name, type(error).__name__, getattr(error, "code", ""), getattr(error, "routine", ""))


for part in (arrays, kernels, programs, memory, events, errors):
    part()
queue.finish()
