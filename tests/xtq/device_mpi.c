/*
 * MPI on device memory (xtqmpi.h) gives the same as on host memory: every operation runs with each kind of memory at
 * each end, and is compared. Operations that do not support device memory return an error.
 */
#include <string.h>

#include "device_mpi.h"

/* Memory that is mapped for the host can be used like any memory. */
static void mapped(void)
{
    enum { BYTES = 10000 };
    unsigned char *svm = clSVMAlloc(context, CL_MEM_READ_WRITE, BYTES, 0);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, NULL);
    unsigned char *there;

    clEnqueueSVMMap(commands, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, svm, BYTES, 0, NULL, NULL);
    there = clEnqueueMapBuffer(commands, buffer, CL_TRUE, CL_MAP_WRITE, 0, BYTES, 0, NULL, NULL, NULL);
    pattern(svm, BYTES, rank, 8);
    MUST(MPI_Sendrecv(svm, BYTES, MPI_BYTE, after(), 1, there, BYTES, MPI_BYTE, before(), 1, comm, MPI_STATUS_IGNORE));
    pattern(scratch, BYTES, before(), 8);
    expect("mapped", memcmp(there, scratch, BYTES), 0);
    clEnqueueSVMUnmap(commands, svm, 0, NULL, NULL);
    clEnqueueUnmapMemObject(commands, buffer, there, 0, NULL, NULL);
    clFinish(commands);
    clReleaseMemObject(buffer);
    clSVMFree(context, svm);
}

int main(int count, char **words)
{
    begin(&count, &words);
    mapped();
    for (int from = 0; from < KINDS; from++) {
        for (int to = 0; to < KINDS; to++) {
            const size_t lengths[] = {0, 1, 1000, 100003};

            for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++)
                messages(comm, (enum kind)from, (enum kind)to, lengths[i], 6);
            if (from == PART || to == PART) /* the other tests treat it like a buffer */
                continue;
            for (int which = 0; which < TYPES; which++)
                typed((enum kind)from, (enum kind)to, which, 1 + which * 3, which % 2);
            persistent((enum kind)from, (enum kind)to);
            window_active((enum kind)to, (enum kind)from, 300);
            window_active((enum kind)to, (enum kind)from, 70000);
            window_passive((enum kind)to, (enum kind)from);
        }
        replaced((enum kind)from);
        absolute((enum kind)from);
        reduction(from, 100);
        reduction(from, 40000);
        broadcast(from, 5000, false);
        broadcast(from, 500000, true);
        if (from != HOST)
            errors((enum kind)from);
    }
    messages(comm, BUFFER, BUFFER, LONGEST, 6);
    for (int way = 0; way < 8; way++)
        many(way);
    in_pieces();
    return end();
}
