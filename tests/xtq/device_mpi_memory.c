/* Memory of each kind for the tests of MPI on device memory, and its contents. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device_mpi.h"
#include "xtqmpi.h"

const char *const names[] = {"host", "buffer", "sub-buffer", "SVM"};
int rank, size, wrong;
cl_context context;
cl_command_queue commands;
MPI_Comm comm;
unsigned char scratch[2 * LONGEST], other[2 * LONGEST];

void expect(const char *what, long is, long should)
{
    if (is != should && wrong++ < 20)
        fprintf(stderr, "rank %d: %s: %ld instead of %ld\n", rank, what, is, should);
}

int error_class(int code)
{
    int class_ = -1;

    MPI_Error_class(code, &class_);
    return class_;
}

struct memory memory_make(enum kind kind, size_t bytes)
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

void memory_free(struct memory *m)
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

void put(struct memory *m, const void *data, size_t bytes)
{
    if (m->kind == HOST)
        memcpy(m->address, data, bytes);
    else if (m->svm)
        clEnqueueSVMMemcpy(commands, CL_TRUE, m->svm, data, bytes, 0, NULL, NULL);
    else
        clEnqueueWriteBuffer(commands, m->buffer, CL_TRUE, 0, bytes, data, 0, NULL, NULL);
}

void get(const struct memory *m, void *data, size_t bytes)
{
    if (m->kind == HOST)
        memcpy(data, m->address, bytes);
    else if (m->svm)
        clEnqueueSVMMemcpy(commands, CL_TRUE, data, m->svm, bytes, 0, NULL, NULL);
    else
        clEnqueueReadBuffer(commands, m->buffer, CL_TRUE, 0, bytes, data, 0, NULL, NULL);
}

void pattern(unsigned char *data, size_t bytes, int who, int seed)
{
    for (size_t i = 0; i < bytes; i++)
        data[i] = (unsigned char)(i * 7 + i / 251 + (size_t)who * 31 + (size_t)seed * 3);
}

void fill(struct memory *m, int who, int seed)
{
    pattern(scratch, m->bytes, who, seed);
    put(m, scratch, m->bytes);
}

void check(const char *what, const struct memory *m, size_t bytes, int who, int seed, int old)
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

int after(void)
{
    return (rank + 1) % size;
}

int before(void)
{
    return (rank + size - 1) % size;
}

void begin(int *count, char ***words)
{
    cl_platform_id platform;
    cl_device_id device = NULL;

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

int end(void)
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
