/* Shared by programs that do MPI on device memory: memory of each kind, and what is in it. */
#ifndef XTQ_TEST_DEVICE_MEMORY_H
#define XTQ_TEST_DEVICE_MEMORY_H

#include <CL/cl.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xtqmpi.h"

enum kind { HOST, BUFFER, PART, SVM, KINDS };
static const char *const names[] = {"host", "buffer", "sub-buffer", "SVM"};
enum { LONGEST = 1 << 20 };

static int rank, size, wrong;
static cl_context context;
static cl_command_queue commands;
static cl_device_id device;
static MPI_Comm comm;
static MPI_Status *volatile nowhere = MPI_STATUSES_IGNORE; /* gcc takes MPICH's for an array without room */

static inline void expect(const char *what, long is, long should)
{
    if (is != should && wrong++ < 20)
        fprintf(stderr, "rank %d: %s: %ld instead of %ld\n", rank, what, is, should);
}

#define MUST(call) expect(#call, (call), 0)

/* ---- memory of each kind ---- */

struct memory {
    enum kind kind;
    size_t bytes;
    cl_mem buffer, whole;
    unsigned char *svm;
    void *address; /* for MPI */
};

static inline struct memory memory_make(enum kind kind, size_t bytes)
{
    struct memory m = {.kind = kind, .bytes = bytes};
    cl_buffer_region region = {4096, bytes};

    switch (kind) {
    case HOST:
        m.address = malloc(bytes);
        break;
    case BUFFER:
        m.buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, NULL);
        MUST(xtqmpi_device_address(commands, m.buffer, &m.address));
        break;
    case PART:
        m.whole = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes + 8192, NULL, NULL);
        m.buffer = clCreateSubBuffer(m.whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, NULL);
        MUST(xtqmpi_device_address(commands, m.buffer, &m.address));
        break;
    default:
        m.address = m.svm = clSVMAlloc(context, CL_MEM_READ_WRITE, bytes, 0);
        MUST(xtqmpi_device_svm(commands, m.svm, bytes));
    }
    return m;
}

static inline void memory_free(struct memory *m)
{
    if (m->kind != HOST)
        MUST(xtqmpi_device_release(m->address));
    if (m->kind == HOST)
        free(m->address);
    if (m->buffer)
        clReleaseMemObject(m->buffer);
    if (m->whole)
        clReleaseMemObject(m->whole);
    if (m->svm)
        clSVMFree(context, m->svm);
}

static inline void put(struct memory *m, const void *data, size_t bytes)
{
    if (m->kind == HOST)
        memcpy(m->address, data, bytes);
    else if (m->svm)
        clEnqueueSVMMemcpy(commands, CL_TRUE, m->svm, data, bytes, 0, NULL, NULL);
    else
        clEnqueueWriteBuffer(commands, m->buffer, CL_TRUE, 0, bytes, data, 0, NULL, NULL);
}

static inline void get(const struct memory *m, void *data, size_t bytes)
{
    if (m->kind == HOST)
        memcpy(data, m->address, bytes);
    else if (m->svm)
        clEnqueueSVMMemcpy(commands, CL_TRUE, data, m->svm, bytes, 0, NULL, NULL);
    else
        clEnqueueReadBuffer(commands, m->buffer, CL_TRUE, 0, bytes, data, 0, NULL, NULL);
}

static unsigned char scratch[2 * LONGEST], other[2 * LONGEST];

/* Bytes that tell who has filled them, and when. */
static inline void pattern(unsigned char *data, size_t bytes, int who, int seed)
{
    for (size_t i = 0; i < bytes; i++)
        data[i] = (unsigned char)(i * 7 + i / 251 + (size_t)who * 31 + (size_t)seed * 3);
}

static inline void fill(struct memory *m, int who, int seed)
{
    pattern(scratch, m->bytes, who, seed);
    put(m, scratch, m->bytes);
}

/* Up to bytes it is the sender's; from there on what was there. */
static inline void check(const char *what, const struct memory *m, size_t bytes, int who, int seed, int old)
{
    get(m, other, m->bytes);
    pattern(scratch, m->bytes, rank, old);
    pattern(scratch, bytes, who, seed);
    if (memcmp(other, scratch, m->bytes)) {
        size_t at = 0;

        while (other[at] == scratch[at])
            at++;
        if (wrong++ < 20)
            fprintf(stderr, "rank %d: %s, %s, %zu bytes: different from byte %zu on\n", rank, what, names[m->kind],
                    bytes, at);
    }
}

/* ---- the program ---- */

static inline void begin(int *count, char ***words)
{
    cl_platform_id platform;

    MPI_Init(count, words);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        MPI_Abort(MPI_COMM_WORLD, 77);
    context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    commands = clCreateCommandQueueWithProperties(context, device, NULL, NULL);
}

static inline int end(void)
{
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    clReleaseCommandQueue(commands);
    clReleaseContext(context);
    if (rank == 0 && !wrong)
        printf("same on all memory\n");
    return wrong != 0;
}

#endif
