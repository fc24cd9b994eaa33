/*
 * uploads KIND MIB TIMES [pieces]: writes a buffer TIMES times with the same bytes, filling it with zeros in between,
 * and reads it back each time. KIND: random, zero, or the path of a file whose bytes are repeated. With a fourth
 * argument also makes small writes at odd offsets, which must not be mixed up. Prints how long the writes, each
 * followed by a read of four bytes, took, in seconds.
 */
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static cl_command_queue queue;
static cl_mem buffer;

static void need(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    printf("%s: %d\n", what, status);
    exit(1);
}

static void fill(unsigned char *bytes, size_t size, const char *kind)
{
    unsigned long long seed = 88172645463325252ull;
    FILE *file;
    size_t got;

    if (!strcmp(kind, "zero")) {
        memset(bytes, 0, size);
    } else if (!strcmp(kind, "random")) {
        for (size_t i = 0; i < size; i++) {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            bytes[i] = (unsigned char)(seed >> 32);
        }
    } else {
        file = fopen(kind, "rb");
        got = file ? fread(bytes, 1, size, file) : 0;
        need(got ? 0 : 1, kind);
        fclose(file);
        for (size_t i = got; i < size; i++)
            bytes[i] = bytes[i - got];
    }
}

static void compare(const unsigned char *bytes, unsigned char *back, size_t size, const char *what)
{
    memset(back, 0xa5, size);
    need(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, size, back, 0, NULL, NULL), "read");
    need(memcmp(bytes, back, size) ? -1 : 0, what);
}

/* Writes pieces of many sizes, without waiting in between. */
static void write_little(unsigned char *bytes, size_t size)
{
    for (size_t at = 0, length = 1; at < size; at += length, length = length * 3 + 7) {
        length = length > 300000 ? 20011 : length;
        length = length < size - at ? length : size - at;
        bytes[at] ^= 0x5a;
        need(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, at, length, bytes + at, 0, NULL, NULL), "small write");
    }
    need(clFinish(queue), "clFinish");
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Returns the seconds until the bytes are on the device. */
static double upload(const unsigned char *bytes, size_t size)
{
    const unsigned char zero = 0;
    unsigned char few[4];
    double began;

    need(clEnqueueFillBuffer(queue, buffer, &zero, 1, 0, size, 0, NULL, NULL), "fill");
    need(clFinish(queue), "clFinish");
    began = now();
    need(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, size, bytes, 0, NULL, NULL), "write");
    need(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(few), few, 0, NULL, NULL), "read of a few");
    return now() - began;
}

int main(int count, char **words)
{
    const size_t size = (size_t)(count > 2 ? atoi(words[2]) : 1) << 20;
    const int times = count > 3 ? atoi(words[3]) : 1;
    double took = 0;
    unsigned char *bytes = malloc(size), *back = malloc(size);
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_int status;

    fill(bytes, size, count > 1 ? words[1] : "zero");
    need(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    need(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    need(status, "clCreateContext");
    queue = clCreateCommandQueueWithProperties(context, device, NULL, &status);
    need(status, "queue");
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &status);
    need(status, "buffer");
    for (int i = 0; i < times; i++) {
        took += upload(bytes, size);
        compare(bytes, back, size, "what was written");
    }
    if (count > 4) {
        write_little(bytes, size);
        compare(bytes, back, size, "what was written in pieces");
    }
    printf("uploads %g s\n", took);
    need(clReleaseMemObject(buffer), "release");
    need(clReleaseCommandQueue(queue), "release");
    need(clReleaseContext(context), "release");
    free(bytes);
    free(back);
    return 0;
}
