/* Datatypes of all sorts in device memory. */
#include <stdio.h>
#include <string.h>

#include "device_mpi.h"

enum { TYPED = 40000 };

static MPI_Datatype type_make(int which)
{
    const int lengths[] = {3, 1, 5}, places[] = {40, 2, 10}, sizes[] = {6, 7, 8}, parts[] = {3, 2, 5},
              starts[] = {1, 4, 2}, whole[] = {10, 12}, grid[] = {2, 3}, by[] = {3, MPI_DISTRIBUTE_DFLT_DARG};
    const MPI_Aint bytes[] = {0, 100, 64};
    const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};
    MPI_Datatype type, inner;

    switch (which) {
    case 0:
        MPI_Type_contiguous(17, MPI_INT, &type);
        break;
    case 1:
        MPI_Type_vector(10, 3, 7, MPI_INT, &type);
        break;
    case 2:
        MPI_Type_create_hvector(5, 2, 31, MPI_CHAR, &type);
        break;
    case 3:
        MPI_Type_indexed(3, lengths, places, MPI_SHORT, &type);
        break;
    case 4:
        MPI_Type_create_indexed_block(3, 4, places, MPI_INT, &type);
        break;
    case 5:
        MPI_Type_create_struct(3, lengths, bytes, types, &type);
        break;
    case 6:
        MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &type);
        break;
    case 7:
        MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_SHORT, &type);
        break;
    case 8:
        MPI_Type_create_darray(6, 4, 2, whole, (int[]){MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_BLOCK},
                               (int[]){MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG}, grid, MPI_ORDER_C, MPI_INT,
                               &type);
        break;
    case 9:
        MPI_Type_create_darray(6, 3, 2, whole, (int[]){MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC}, by, grid,
                               MPI_ORDER_FORTRAN, MPI_SHORT, &type);
        break;
    case 10:
#if MPI_VERSION >= 4
        MPI_Type_create_hvector_c(5, 2, 31, MPI_CHAR, &type);
        break;
#endif
    default:
        MPI_Type_vector(3, 2, 4, MPI_INT, &inner);
        MPI_Type_create_resized(inner, 0, 60, &type);
        MPI_Type_free(&inner);
        MPI_Type_vector(2, 2, 3, type, &inner);
        MPI_Type_free(&type);
        type = inner;
    }
    MPI_Type_commit(&type);
    return type;
}

/* Receives the same data into host memory as well, and compares. */
void typed(enum kind from, enum kind to, int which, int count, int short_by)
{
    struct memory out = memory_make(from, TYPED), in = memory_make(to, TYPED), plain = memory_make(HOST, TYPED);
    MPI_Datatype type = type_make(which);
    MPI_Request request;
    MPI_Status status;
    int got = -1;

    fill(&out, rank, which);
    fill(&in, rank, 9);
    fill(&plain, rank, 9);
    for (int i = 0; i < 2; i++) {
        MUST(MPI_Irecv(i ? in.address : plain.address, count, type, before(), i, comm, &request));
        MUST(MPI_Send(out.address, count - short_by, type, after(), i, comm));
        MUST(MPI_Wait(&request, &status));
        MPI_Get_count(&status, type, &got);
        expect("datatypes received", got, count - short_by);
    }
    get(&in, scratch, TYPED);
    if (memcmp(scratch, plain.address, TYPED) && wrong++ < 20)
        fprintf(stderr, "rank %d: datatype %d to %s is different\n", rank, which, names[to]);
    MPI_Type_free(&type);
    memory_free(&out);
    memory_free(&in);
    memory_free(&plain);
}

/* The datatype contains the address. */
void absolute(enum kind kind)
{
    struct memory out = memory_make(kind, 1000), in = memory_make(kind, 1000);
    MPI_Datatype types[2];
    MPI_Aint place;
    const int length = 1000;

    for (int i = 0; i < 2; i++) {
        MPI_Get_address(i ? in.address : out.address, &place);
        MPI_Type_create_hindexed(1, &length, &place, MPI_BYTE, &types[i]);
        MPI_Type_commit(&types[i]);
    }
    fill(&out, rank, 1);
    fill(&in, rank, 2);
    MUST(MPI_Sendrecv(MPI_BOTTOM, 1, types[0], after(), 1, MPI_BOTTOM, 1, types[1], before(), 1, comm,
                      MPI_STATUS_IGNORE));
    check("absolute", &in, 1000, before(), 1, 2);
    MPI_Type_free(&types[0]);
    MPI_Type_free(&types[1]);
    memory_free(&out);
    memory_free(&in);
}
