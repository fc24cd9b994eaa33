/*
 * Builds programs that no run has built before, for all devices at once: each builds, and runs on every device. Also
 * links the same two programs again and again, which a driver does anew each time though it has the result in its
 * cache.
 *
 *     builds ROUNDS
 */
#include "tests/session/moved.h"

enum { MOST = 64 };

static cl_uint count;
static cl_device_id devices[MOST];
static cl_command_queue queues[MOST];
static cl_context context;

static void say_log(cl_program program)
{
    char log[4096];

    for (cl_uint i = 0; i < count; i++) {
        if (!clGetProgramBuildInfo(program, devices[i], CL_PROGRAM_BUILD_LOG, sizeof(log), log, NULL))
            printf("device %u: %s\n", i, log);
    }
}

static cl_program build(long which)
{
    char text[512];
    const char *source = text;
    cl_int status;
    cl_program program;

    snprintf(text, sizeof(text), "kernel void store(global long *at) { at[get_global_id(0)] = %ldL; }\n", which);
    program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    NEED(status);
    status = clBuildProgram(program, 0, NULL, "", NULL, NULL);
    if (status)
        say_log(program);
    NEED(status);
    return program;
}

static void run(cl_program program, cl_mem buffer, long which)
{
    cl_int status;
    cl_kernel kernel = clCreateKernel(program, "store", &status);

    NEED(status);
    NEED(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer));
    for (cl_uint i = 0; i < count; i++) {
        const size_t one = 1;
        long got = 0;

        NEED(clEnqueueNDRangeKernel(queues[i], kernel, 1, NULL, &one, NULL, 0, NULL, NULL));
        NEED(clEnqueueReadBuffer(queues[i], buffer, CL_TRUE, 0, sizeof(got), &got, 0, NULL, NULL));
        if (got != which) {
            printf("device %u: %ld, not %ld\n", i, got, which);
            exit(1);
        }
    }
    clReleaseKernel(kernel);
}

static cl_program compile(const char *text)
{
    cl_int status;
    cl_program part = clCreateProgramWithSource(context, 1, &text, NULL, &status);

    NEED(status);
    NEED(clCompileProgram(part, 0, NULL, "", 0, NULL, NULL, NULL, NULL));
    return part;
}

static void link_again(void)
{
    const cl_program parts[] = {compile("long number(void) { return 7; }\n"),
                                compile("long number(void);\n"
                                        "kernel void store(global long *at) { at[get_global_id(0)] = number(); }\n")};
    cl_int status;
    cl_program linked = clLinkProgram(context, 0, NULL, "", 2, parts, NULL, NULL, &status);

    if (status && linked)
        say_log(linked);
    NEED(status);
    clReleaseProgram(linked);
    clReleaseProgram(parts[0]);
    clReleaseProgram(parts[1]);
}

int main(int argc, char **words)
{
    const long rounds = argc > 1 ? atol(words[1]) : 10;
    struct timespec now;
    cl_platform_id platform;
    cl_mem buffer;
    cl_int status;

    clock_gettime(CLOCK_REALTIME, &now);
    NEED(clGetPlatformIDs(1, &platform, NULL));
    NEED(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MOST, devices, &count));
    context = clCreateContext(NULL, count, devices, NULL, NULL, &status);
    NEED(status);
    for (cl_uint i = 0; i < count; i++) {
        queues[i] = clCreateCommandQueueWithProperties(context, devices[i], NULL, &status);
        NEED(status);
    }
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(long), NULL, &status);
    NEED(status);
    for (long i = 0; i < rounds; i++) {
        const long which = now.tv_sec * 1000000000 + now.tv_nsec + i;
        cl_program program = build(which);

        if (i % 16 == 0)
            run(program, buffer, which);
        clReleaseProgram(program);
        link_again();
    }
    printf("%u devices: right\n", count);
    return 0;
}
