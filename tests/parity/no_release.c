/* A program that ends without releasing anything: objects of every kind, commands under way and behind a user event. */
#include "parity.h"

enum { COUNT = 1 << 18 };

static const char *source = "kernel void next(global int *data, int times)\n"
                            "{\n"
                            "    int i = get_global_id(0);\n"
                            "    for (int k = 0; k < times; k++)\n"
                            "        data[i] = data[i] * 3 + k;\n"
                            "}\n";

static void images_leave(const struct parity *p)
{
    static const cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
    cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 16, .image_height = 16};
    cl_int status;
    clCreateImage(p->context, CL_MEM_READ_WRITE, &format, &desc, NULL, &status);
    CHECK(status);
    clCreateSampler(p->context, CL_TRUE, CL_ADDRESS_REPEAT, CL_FILTER_NEAREST, &status);
    CHECK(status);
}

static void commands_leave(const struct parity *p, cl_kernel kernel, cl_mem buffer)
{
    static cl_int result[COUNT];
    const cl_int once = 1, often = 500;
    cl_int status;
    cl_event gate = clCreateUserEvent(p->context, &status), event;
    cl_command_queue other = parity_queue(p, CL_QUEUE_PROFILING_ENABLE);
    CHECK(status);
    CHECK(clEnqueueReadBuffer(other, buffer, CL_FALSE, 0, sizeof(result), result, 1, &gate, &event));
    parity_args(kernel, 2, sizeof(buffer), &buffer, sizeof(once), &once);
    /* PoCL 3.1 aborts when the program ends while a kernel is being compiled. */
    parity_launch(p->queue, kernel, 1, (size_t[]){COUNT}, (size_t[]){64});
    CHECK(clSetKernelArg(kernel, 1, sizeof(often), &often));
    for (int i = 0; i < 3; i++)
        CHECK(clEnqueueNDRangeKernel(p->queue, kernel, 1, NULL, (size_t[]){COUNT}, (size_t[]){64}, 0, NULL, NULL));
    CHECK(clEnqueueReadBuffer(p->queue, buffer, CL_FALSE, 0, sizeof(result), result, 0, NULL, NULL));
    CHECK(clFlush(p->queue));
    CHECK(clFlush(other));
}

int main(void)
{
    struct parity p;
    parity_open(&p, 0);
    cl_program program = parity_program(&p, source, NULL);
    cl_kernel kernel = parity_kernel(program, "next");
    cl_int status, first = 5;
    cl_mem buffer = parity_buffer(&p, CL_MEM_READ_WRITE, COUNT * sizeof(cl_int), NULL);
    parity_write(p.queue, buffer, 0, sizeof(first), &first);
    parity_read(p.queue, buffer, 0, sizeof(first), &first);
    clEnqueueMapBuffer(p.queue, buffer, CL_TRUE, CL_MAP_READ, 0, 4096, 0, NULL, NULL, &status);
    CHECK(status);
    images_leave(&p);
    commands_leave(&p, kernel, buffer);
    parity_rich();
    printf("leaving everything as it is: %d\n", first);
    return 0;
}
