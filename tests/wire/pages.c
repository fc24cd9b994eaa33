/*
 * The executor's helper thread populates the pages of memory into which data are about to arrive, before anything else
 * touches them. Meanwhile it retains the object to which they belong, and data written there stay.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include "executor/executor.h"
#include "executor/pages.h"

#define EXPECT(condition)                                                                                              \
    if (!(condition))                                                                                                  \
    fail(#condition, __LINE__)

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum { SIZE = 9 << 20, OFF = 4096 + 64, PATIENCE = 30000 };

static void fail(const char *what, int line)
{
    printf("pages.c:%d: not %s\n", line, what);
    fflush(stdout);
    _exit(1);
}

static void nothing(void *owner)
{
    (void)owner;
}

static size_t pages_there(const uint8_t *from, size_t size)
{
    static unsigned char there[SIZE / 4096 + 2];
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (size + page - 1) / page;
    size_t count = 0;

    EXPECT(pages <= sizeof(there) && !mincore((void *)(uintptr_t)from, size, there));
    for (size_t i = 0; i < pages; i++)
        count += there[i] & 1;
    return count;
}

static cl_uint references(cl_mem memory)
{
    cl_uint count = 0;

    EXPECT(!clGetMemObjectInfo(memory, CL_MEM_REFERENCE_COUNT, sizeof(count), &count, NULL));
    return count;
}

static cl_mem new_memory(void)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_mem memory;
    cl_int error;

    EXPECT(!clGetPlatformIDs(1, &platform, NULL));
    EXPECT(!clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    EXPECT(!error);
    memory = clCreateBuffer(context, CL_MEM_READ_WRITE, 64, NULL, &error);
    EXPECT(!error);
    return memory;
}

static void wait_for_helper(struct executor *x)
{
    int done = 0;

    for (int i = 0; i < PATIENCE && !done; i++) {
        done = executor_poll(x);
        usleep(1000);
    }
    EXPECT(done == 1);
}

int main(void)
{
    const struct executor_host host = {.collect = nothing, .wake = nothing, .members = 2, .own = 1};
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), touched = (SIZE - OFF + page - 1) / page;
    uint8_t *bytes = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct executor *x = NULL;
    cl_mem memory;

    setenv("VOCL_WORKER", "1", 1);
    EXPECT(bytes != MAP_FAILED && !executor_open(&host, &x));
    memory = new_memory();

    pages_touch(x, memory, bytes, 1 << 20); /* too small to be worth it */
    usleep(10000);
    EXPECT(!executor_poll(x) && !pages_there(bytes, SIZE));

    bytes[SIZE - 1] = 7;
    pages_touch(x, memory, bytes + OFF, SIZE - OFF);
    EXPECT(references(memory) == 2);
    wait_for_helper(x);
    EXPECT(references(memory) == 1);
    if (madvise(bytes, page, MADV_POPULATE_WRITE)) {
        puts("this kernel makes no pages be there");
        return 77;
    }
    EXPECT(pages_there(bytes + page, SIZE - page) >= touched && bytes[SIZE - 1] == 7);

    pages_touch(x, memory, bytes + OFF, SIZE - OFF); /* they exist already */
    EXPECT(references(memory) == 1);
    printf("%zu pages\n", pages_there(bytes, SIZE));
    fflush(stdout);
    _exit(0); /* without the native OpenCL's teardown */
}
