/* Long messages between device memories, in pieces (xtqmpi_comm_pipeline). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "device_mpi.h"
#include "xtqmpi.h"

/* ---- xtqmpi_comm_pipeline: what fails on one rank fails on all ranks, and leaves no communicator behind ---- */

/* Replaces a function for the library, too. */
#define IN_PLACE __attribute__((visibility("default")))

static _Thread_local bool no_memory, no_attribute;
static int communicators;

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern void *__libc_malloc(size_t bytes);

IN_PLACE void *malloc(size_t bytes)
{
    if (!no_memory)
        return __libc_malloc(bytes);
    no_memory = false;
    errno = ENOMEM;
    return NULL;
}
#define MALLOC_FAILS true
#else
#define MALLOC_FAILS false
#endif

IN_PLACE int PMPI_Comm_set_attr(MPI_Comm of, int key, void *value)
{
    int (*original)(MPI_Comm, int, void *);

    *(void **)&original = dlsym(RTLD_NEXT, "PMPI_Comm_set_attr");
    return no_attribute ? MPI_ERR_NO_MEM : original(of, key, value);
}

IN_PLACE int PMPI_Comm_dup(MPI_Comm from, MPI_Comm *to)
{
    int (*original)(MPI_Comm, MPI_Comm *);

    *(void **)&original = dlsym(RTLD_NEXT, "PMPI_Comm_dup");
    communicators++;
    return original(from, to);
}

IN_PLACE int PMPI_Comm_free(MPI_Comm *which)
{
    int (*original)(MPI_Comm *);

    *(void **)&original = dlsym(RTLD_NEXT, "PMPI_Comm_free");
    communicators--;
    return original(which);
}

static void fails_together(void)
{
    MPI_Comm pipe;

    MPI_Comm_dup(comm, &pipe);
    communicators = 0;
    no_memory = MALLOC_FAILS && rank == size - 1;
    expect("one rank has no memory", MALLOC_FAILS ? xtqmpi_comm_pipeline(pipe, 0) : -ENOMEM, -ENOMEM);
    no_attribute = rank == size - 1;
    expect("one rank cannot set the attribute", xtqmpi_comm_pipeline(pipe, 65536), -EIO);
    no_attribute = false;
    expect("communicators kept", communicators, 0);
    MUST(xtqmpi_comm_pipeline(pipe, 65536));
    expect("a second time", xtqmpi_comm_pipeline(pipe, 65536), -EINVAL);
    messages(pipe, BUFFER, BUFFER, 700001, 1);
    MPI_Comm_free(&pipe);
    expect("communicators kept at the end", communicators, 0);
}

/* ---- messages ---- */

void in_pieces(void)
{
    MPI_Comm pipe;
    MPI_Status status;
    MPI_Request request;
    struct memory out, in;

    fails_together();
    MPI_Comm_dup(comm, &pipe);
    expect("pieces too small", xtqmpi_comm_pipeline(pipe, 100) < 0, 1);
    MUST(xtqmpi_comm_pipeline(pipe, 65536));
    for (int from = BUFFER; from < KINDS; from++) {
        messages(pipe, (enum kind)from, SVM, 900, 3);
        messages(pipe, (enum kind)from, BUFFER, 65536, 3);
        messages(pipe, (enum kind)from, PART, 700001, 3);
    }
    messages(pipe, HOST, HOST, 700001, 3);
    /* a different shape at either end */
    for (int which = 0; which < 2; which++) {
        MPI_Datatype vector;

        MPI_Type_vector(1000, 100, 200, MPI_INT, &vector);
        MPI_Type_commit(&vector);
        out = memory_make(BUFFER, 800000);
        in = memory_make(BUFFER, 800000);
        fill(&out, rank, 1);
        fill(&in, rank, 2);
        MUST(MPI_Irecv(in.address, which ? 100000 : 1, which ? MPI_INT : vector, before(), 1, pipe, &request));
        MUST(MPI_Send(out.address, which ? 1 : 100000, which ? vector : MPI_INT, after(), 1, pipe));
        MUST(MPI_Wait(&request, &status));
        status_is(&status, before(), 1, 400000);
        get(&in, other, 800000);
        pattern(scratch, 800000, before(), 1);
        for (size_t i = 0; i < 1000; i++)
            expect("row", memcmp(other + i * (which ? 400 : 800), scratch + i * (which ? 800 : 400), 400), 0);
        MPI_Type_free(&vector);
        memory_free(&out);
        memory_free(&in);
    }
    out = memory_make(BUFFER, 300000);
    in = memory_make(BUFFER, 300000);
    MPI_Comm_set_errhandler(pipe, MPI_ERRORS_RETURN);
    MUST(MPI_Isend(out.address, 300000, MPI_BYTE, after(), 1, pipe, &request));
    ERROR(MPI_ERR_TRUNCATE, MPI_Recv(in.address, 200000, MPI_BYTE, before(), 1, pipe, &status));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    memory_free(&out);
    memory_free(&in);
    MPI_Comm_free(&pipe);
}
