"""A SYCL program: unified shared memory of each kind that the device has, used by the program and by kernels. Prints
what it finds, so that the output over VOCL can be compared with the native one. With an argument it uses only that kind."""

import ctypes
import sys
import zlib

import dpctl
import dpctl.memory
import dpctl.program
import numpy

COUNT = 1 << 16
SOURCE = """
kernel void number(global uint *to, uint first) { to[get_global_id(0)] = first + get_global_id(0); }
kernel void blend(global uint *to, global const uint *from) {
    const size_t i = get_global_id(0);
    to[i] = to[i] * 1664525u + from[(i * 17) % get_global_size(0)];
}
kernel void sums(global uint *to, global const uint *from, local uint *part) {
    const size_t i = get_local_id(0);
    part[i] = from[get_global_id(0)];
    for (size_t step = get_local_size(0) / 2; step; step /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (i < step)
            part[i] += part[i + step];
    }
    if (!i)
        to[get_group_id(0)] = part[0];
}
"""


def digest(array):
    return f"{zlib.crc32(numpy.ascontiguousarray(array).tobytes()):08x}"


def contents(memory):
    array = numpy.empty(memory.nbytes // 4, dtype="u4")
    memory.copy_to_host(array.view("u1"))
    return array


def kinds_of(device):
    kinds = {"device": (dpctl.memory.MemoryUSMDevice, device.has_aspect_usm_device_allocations),
             "host": (dpctl.memory.MemoryUSMHost, device.has_aspect_usm_host_allocations),
             "shared": (dpctl.memory.MemoryUSMShared, device.has_aspect_usm_shared_allocations)}
    return {name: kind for name, (kind, has) in kinds.items() if has and name in (sys.argv[1:] or kinds)}


class Program:
    def __init__(self, queue):
        built = dpctl.program.create_program_from_source(queue, SOURCE)
        self.queue = queue
        self.kernels = {name: built.get_sycl_kernel(name) for name in ("number", "blend", "sums")}

    def start(self, name, arguments, after=(), group=None):
        return self.queue.submit_async(self.kernels[name], arguments, [COUNT], group, list(after))


def by_kernels(program, name, memory, other):
    """Launches that wait for each other in an out-of-order queue, on memory of two kinds."""
    u4 = numpy.uint32
    events = [program.start("number", [memory, ctypes.c_uint(3)]), program.start("number", [other, ctypes.c_uint(5)])]
    for _ in range(50):
        events = [program.start("blend", [memory, other], events)]
        events = [program.start("blend", [other, memory], events)]
    dpctl.SyclEvent.wait_for(events)
    first, second = contents(memory), contents(other)
    a, b, places = numpy.arange(COUNT, dtype=u4) + u4(3), numpy.arange(COUNT, dtype=u4) + u4(5), numpy.arange(COUNT) * 17 % COUNT
    for _ in range(50):
        a = a * u4(1664525) + b[places]
        b = b * u4(1664525) + a[places]
    print(f"{name}: launches", digest(first), digest(second), bool((first == a).all() and (second == b).all()))


def by_copies(program, name, memory, other):
    queue, array = program.queue, numpy.arange(COUNT, dtype="u4") * numpy.uint32(2654435761)
    memory.copy_from_host(array.view("u1"))
    queue.memcpy(other, memory, memory.nbytes)
    back = numpy.zeros_like(array)
    event = queue.memcpy_async(back, other, other.nbytes)
    event.wait()
    memory.memset(7)
    queue.prefetch(other, other.nbytes)
    queue.wait()
    print(f"{name}: copies", digest(back), bool((back == array).all()), digest(contents(memory)), digest(contents(other)))


def by_program(program, name, memory):
    """Memory that the program itself reads and writes."""
    array = numpy.frombuffer(memory, dtype="u4")
    array[:] = numpy.arange(COUNT, dtype="u4")[::-1]
    program.start("blend", [memory, memory_of(program.queue, 11)]).wait()
    seen = digest(array)
    array[::2] = 1
    print(f"{name}: the program's", seen, digest(contents(memory)), dpctl.memory.as_usm_memory(memory).get_usm_type())


def memory_of(queue, first):
    memory = dpctl.memory.MemoryUSMDevice(4 * COUNT, queue=queue)
    memory.copy_from_host((numpy.arange(COUNT, dtype="u4") + numpy.uint32(first)).view("u1"))
    return memory


def by_groups(program, name, kind):
    group = 64
    source = memory_of(program.queue, 1)
    to = kind(4 * COUNT // group, queue=program.queue)
    event = program.start("sums", [to, source, dpctl.WorkGroupMemory(4 * group)], group=[group])
    event.wait()
    expected = contents(source).reshape(-1, group).sum(axis=1, dtype="u4")
    ordered = event.profiling_info_submit <= event.profiling_info_start <= event.profiling_info_end
    print(f"{name}: groups", digest(contents(to)), bool((contents(to) == expected).all()), "times", ordered)


def main():
    device = dpctl.SyclDevice()
    queue = dpctl.SyclQueue(device, property="enable_profiling")
    program = Program(queue)
    kinds = kinds_of(device)
    for name, kind in kinds.items():
        memory, other = kind(4 * COUNT, queue=queue), dpctl.memory.MemoryUSMDevice(4 * COUNT, queue=queue)
        by_kernels(program, name, memory, other)
        by_copies(program, name, memory, other)
        by_groups(program, name, kind)
        if name != "device":
            by_program(program, name, memory)


main()
