/*
 * A build with a callback: calls right after it, before anything has waited for it, answer as they do after a build
 * without one.
 */
#include <pthread.h>
#include <sched.h>

#include "parity.h"

static const char *good = "kernel void first(global int *out, int number) { out[get_global_id(0)] = number; }\n"
                          "kernel void second(global float *out) { out[get_global_id(0)] = sin(out[0]); }\n";
static const char *bad = "kernel void first(global int *out) { this is no OpenCL C; }\n";
static const char *called = "int twice(int a) { return 2 * a; }\n";
static const char *caller = "int twice(int a);\nkernel void use(global int *out) { *out = twice(21); }\n";

static struct parity p;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t over = PTHREAD_COND_INITIALIZER;
static int calls;
static cl_int kernel_status;
static cl_program called_for[4]; /* by call */

/* A callback may use the program. */
static void CL_CALLBACK built(cl_program program, void *data)
{
    cl_int status;
    cl_kernel kernel = data ? clCreateKernel(program, data, &status) : NULL;
    pthread_mutex_lock(&lock);
    if (data)
        kernel_status = status;
    called_for[calls++] = program;
    pthread_cond_signal(&over);
    pthread_mutex_unlock(&lock);
    if (kernel)
        clReleaseKernel(kernel);
}

static void calls_await(int count)
{
    pthread_mutex_lock(&lock);
    while (calls < count)
        pthread_cond_wait(&over, &lock);
    calls = 0;
    pthread_mutex_unlock(&lock);
}

/* Counts the calls for the program among the last three. */
static int calls_for(cl_program program)
{
    int count = 0;
    for (int i = 0; i < 3; i++)
        count += called_for[i] == program;
    return count;
}

static cl_program program_new(const char *source)
{
    cl_int status;
    cl_program program = clCreateProgramWithSource(p.context, 1, &source, NULL, &status);
    CHECK(status);
    return program;
}

static void program_show(const char *name, cl_program program)
{
    size_t count = 99, size = 99, sizes[8] = {0};
    char text[256] = "", line[160];
    cl_program_binary_type type = 99;
    cl_int status = clGetProgramInfo(program, CL_PROGRAM_NUM_KERNELS, sizeof(count), &count, NULL);
    printf("%s: kernels %s, %zu\n", name, parity_error_name(status), count);
    status = clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, sizeof(text), text, &size);
    printf("%s: names %s, %s, %zu\n", name, parity_error_name(status), text, size);
    status = clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(sizes), sizes, &size);
    printf("%s: binary %s, %s, %zu\n", name, parity_error_name(status), sizes[0] ? "some" : "none", size);
    for (int i = 0; i < 2; i++) { /* the second answer may come from a cache */
        strcpy(text, "");
        status = clGetProgramBuildInfo(program, p.device, CL_PROGRAM_BUILD_OPTIONS, sizeof(text), text, &size);
        printf("%s: options %s, '%s', %zu\n", name, parity_error_name(status), text, size);
        status = clGetProgramBuildInfo(program, p.device, CL_PROGRAM_BINARY_TYPE, sizeof(type), &type, &size);
        printf("%s: type %s, %u\n", name, parity_error_name(status), (unsigned)type);
        snprintf(line, sizeof(line), "%s: log, too small", name);
        SHOW(line, clGetProgramBuildInfo(program, p.device, CL_PROGRAM_BUILD_LOG, 0, text, NULL));
    }
}

static void kernels_show(const char *name, cl_program program, const char *word)
{
    cl_kernel kernels[4] = {NULL};
    cl_uint count = 99;
    cl_int status;
    cl_kernel kernel = clCreateKernel(program, word, &status);
    printf("%s: clCreateKernel = %s\n", name, parity_error_name(status));
    if (kernel)
        CHECK(clReleaseKernel(kernel));
    status = clCreateKernelsInProgram(program, 4, kernels, &count);
    printf("%s: clCreateKernelsInProgram = %s, %u\n", name, parity_error_name(status), count);
    for (cl_uint i = 0; i < 4; i++) {
        if (kernels[i])
            CHECK(clReleaseKernel(kernels[i]));
    }
}

static cl_build_status status_await(cl_program program)
{
    cl_build_status status = CL_BUILD_IN_PROGRESS;
    while (status == CL_BUILD_IN_PROGRESS) {
        CHECK(clGetProgramBuildInfo(program, p.device, CL_PROGRAM_BUILD_STATUS, sizeof(status), &status, NULL));
        sched_yield();
    }
    return status;
}

/* Each query follows a build directly, so that it does not profit from an earlier query's wait. */
static void good_ask(void)
{
    cl_program program = program_new(good);
    program_show("never built", program);
    clBuildProgram(program, 1, &p.device, "-DONE", built, NULL);
    kernels_show("at once", program, "first");
    calls_await(1);
    clBuildProgram(program, 1, &p.device, "-DTWO=2", built, (void *)"second");
    parity_rich();
    program_show("at once", program);
    calls_await(1);
    printf("in the callback: %s\n", parity_error_name(kernel_status));
    clBuildProgram(program, 1, &p.device, NULL, built, NULL);
    printf("status polled: %d\n", status_await(program));
    kernels_show("polled", program, "second");
    calls_await(1);
    clBuildProgram(program, 0, NULL, "-DTHREE", built, NULL);
    SHOW("a second build behind it", clBuildProgram(program, 1, &p.device, "-DFOUR", NULL, NULL));
    program_show("built twice", program);
    calls_await(1);
    CHECK(clReleaseProgram(program));
}

static void bad_ask(void)
{
    cl_program program = program_new(bad);
    clBuildProgram(program, 1, &p.device, NULL, built, NULL);
    kernels_show("failed", program, "first");
    printf("failed: status %d\n", status_await(program));
    calls_await(1);
    CHECK(clReleaseProgram(program));
}

static void parts_ask(void)
{
    cl_program parts[2] = {program_new(called), program_new(caller)}, whole;
    cl_int status;
    for (int i = 0; i < 2; i++)
        SHOW("clCompileProgram", clCompileProgram(parts[i], 0, NULL, NULL, 0, NULL, NULL, built, NULL));
    whole = clLinkProgram(p.context, 0, NULL, NULL, 2, parts, built, NULL, &status);
    printf("clLinkProgram = %s\n", parity_error_name(status));
    kernels_show("linked", whole, "use");
    calls_await(3);
    printf("calls for the parts: %d, %d, for the whole: %d\n", calls_for(parts[0]), calls_for(parts[1]),
           calls_for(whole));
    for (int i = 0; i < 2; i++)
        CHECK(clReleaseProgram(parts[i]));
    CHECK(clReleaseProgram(whole));
}

/* The program is released while it is built; the callback is still called. */
static void release_ask(void)
{
    cl_program program = program_new(good);
    clBuildProgram(program, 1, &p.device, "-DFIVE", built, NULL);
    CHECK(clReleaseProgram(program));
    calls_await(1);
    puts("released");
}

int main(void)
{
    parity_open(&p, 0);
    good_ask();
    bad_ask();
    parts_ask();
    release_ask();
    parity_close(&p);
    return 0;
}
