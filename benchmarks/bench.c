#include "bench.h"

#include <sys/mman.h>
#include <time.h>

void bench_check(cl_int status, const char *call, const char *file, int line)
{
    if (status == CL_SUCCESS)
        return;
    fprintf(stderr, "%s:%d: error %d from %s\n", file, line, status, call);
    exit(1);
}

void bench_expect(bool holds, const char *condition, const char *file, int line)
{
    if (holds)
        return;
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
    exit(1);
}

static void show_device(const struct bench *b)
{
    char platform[256], device[256];
    CHECK(clGetPlatformInfo(b->platform, CL_PLATFORM_NAME, sizeof(platform), platform, NULL));
    CHECK(clGetDeviceInfo(b->device, CL_DEVICE_NAME, sizeof(device), device, NULL));
    printf("# platform: %s\n# device: %s\n", platform, device);
}

void bench_open(struct bench *b, int count, char **words)
{
    cl_int status;

    b->quick = count == 2 && !strcmp(words[1], "--quick");
    if (count > 1 && !b->quick) {
        fprintf(stderr, "usage: %s [--quick]\n", words[0]);
        exit(2);
    }
    CHECK(clGetPlatformIDs(1, &b->platform, NULL));
    CHECK(clGetDeviceIDs(b->platform, CL_DEVICE_TYPE_ALL, 1, &b->device, NULL));
    show_device(b);
    b->context = clCreateContext(NULL, 1, &b->device, NULL, NULL, &status);
    CHECK(status);
    b->queue = clCreateCommandQueueWithProperties(b->context, b->device, NULL, &status);
    CHECK(status);
}

void bench_close(struct bench *b)
{
    CHECK(clReleaseCommandQueue(b->queue));
    CHECK(clReleaseContext(b->context));
}

int bench_rounds(const struct bench *b, int full, int quick)
{
    return b->quick ? quick : full;
}

int bench_size(const struct bench *b, int once, int quick, int full)
{
    return rounds_once() ? once : b->quick ? quick : full;
}

cl_program bench_program(const struct bench *b, const char *source, const char *options)
{
    static char log[16 << 10];
    cl_int status;
    cl_program program = clCreateProgramWithSource(b->context, 1, &source, NULL, &status);
    CHECK(status);
    status = clBuildProgram(program, 1, &b->device, options, NULL, NULL);
    if (status == CL_BUILD_PROGRAM_FAILURE &&
        !clGetProgramBuildInfo(program, b->device, CL_PROGRAM_BUILD_LOG, sizeof(log), log, NULL))
        fputs(log, stderr);
    bench_check(status, "clBuildProgram", __FILE__, __LINE__);
    return program;
}

cl_kernel bench_kernel(cl_program program, const char *name)
{
    cl_int status;
    cl_kernel kernel = clCreateKernel(program, name, &status);
    CHECK(status);
    return kernel;
}

cl_mem bench_buffer(const struct bench *b, cl_mem_flags flags, size_t size)
{
    cl_int status;
    cl_mem buffer = clCreateBuffer(b->context, flags, size, NULL, &status);
    CHECK(status);
    return buffer;
}

void *bench_memory(size_t size)
{
    void *memory = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
    EXPECT(memory);
    memset(memory, 1, size);
    return memory;
}

void bench_touch(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    EXPECT(memory != MAP_FAILED);
    madvise(memory, size, MADV_HUGEPAGE); /* so that huge pages are there as well */
    memset(memory, 1, size);
    munmap(memory, size);
}

uint32_t bench_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

void bench_fill(real *numbers, size_t count, uint32_t seed)
{
    for (size_t i = 0; i < count; i++)
        numbers[i] = (real)bench_random(&seed) / (1 << 24);
}

const char *bench_name(const char *name, int size, const char *what)
{
    static char text[64];
    snprintf(text, sizeof(text), "%s_%d_%s", name, size, what);
    return text;
}

double bench_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}
