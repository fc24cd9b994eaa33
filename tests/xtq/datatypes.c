/*
 * datatypes ROUNDS: for random datatypes of up to three levels, the pieces that pieces.c finds are those that MPI packs
 * and unpacks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/pieces.h"

static int wrong;

/* Stand-ins for functions of libxtqmpi and libxtq. */
bool intercept_type(MPI_Datatype datatype, enum xtq_type *type)
{
    *type = datatype == MPI_INT ? XTQ_INT32 : XTQ_INT16;
    return datatype == MPI_INT || datatype == MPI_SHORT;
}

size_t xtq_type_bytes(enum xtq_type type)
{
    return type == XTQ_INT32 ? 4 : 2;
}

static int below(int limit)
{
    return rand() % limit;
}

enum { PARTS = 3 };

/* Blocks with gaps, and an array of which this is one of several ranks. */
struct shape {
    int count, lengths[PARTS], places[PARTS];
    MPI_Aint bytes[PARTS];
    int whole[PARTS], part[PARTS], start[PARTS], kinds[PARTS], arguments[PARTS], grid[PARTS], ranks, order;
};

static struct shape shape_make(MPI_Aint extent)
{
    static const int kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE};
    struct shape s = {.count = 1 + below(PARTS), .ranks = 1, .order = below(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN};

    for (int i = 0, at = 0; i < PARTS; i++) {
        s.lengths[i] = below(3);
        at += below(3);
        s.places[i] = at;
        s.bytes[i] = at * extent + below(2) * 2;
        at += s.lengths[i] + 1;
        s.whole[i] = 1 + below(5);
        s.part[i] = 1 + below(s.whole[i]);
        s.start[i] = below(s.whole[i] - s.part[i] + 1);
        s.kinds[i] = kinds[below(3)];
        s.grid[i] = s.kinds[i] == MPI_DISTRIBUTE_NONE ? 1 : 1 + below(3);
        s.arguments[i] = s.kinds[i] == MPI_DISTRIBUTE_CYCLIC && below(2) ? 1 + below(3) : MPI_DISTRIBUTE_DFLT_DARG;
        s.ranks *= s.grid[i];
    }
    return s;
}

static void wide(const int *from, MPI_Count *to)
{
    for (int i = 0; i < PARTS; i++)
        to[i] = from[i];
}

/* Makes the datatype with MPI_Count arguments, where MPI has these; returns whether it did. */
static bool make_large(const struct shape *s, MPI_Aint extent, MPI_Datatype inner, MPI_Datatype *out)
{
#if MPI_VERSION >= 4
    MPI_Count lengths[PARTS], places[PARTS], bytes[PARTS], whole[PARTS], part[PARTS], start[PARTS];

    wide(s->lengths, lengths);
    wide(s->places, places);
    wide(s->whole, whole);
    wide(s->part, part);
    wide(s->start, start);
    for (int i = 0; i < PARTS; i++)
        bytes[i] = s->bytes[i];
    switch (below(7)) {
    case 0:
        return !MPI_Type_create_hvector_c(below(4), 1, extent * 2 + 2, inner, out);
    case 1:
        return !MPI_Type_indexed_c(s->count, lengths, places, inner, out);
    case 2:
        return !MPI_Type_create_hindexed_c(s->count, lengths, bytes, inner, out);
    case 3:
        return !MPI_Type_create_hindexed_block_c(s->count, 1, bytes, inner, out);
    case 4:
        return !MPI_Type_create_struct_c(s->count, lengths, bytes, (MPI_Datatype[]){inner, inner, inner}, out);
    case 5:
        return !MPI_Type_create_subarray_c(PARTS, whole, part, start, s->order, inner, out);
    default:
        return !MPI_Type_create_darray_c(s->ranks, below(s->ranks), PARTS, whole, s->kinds, s->arguments, s->grid,
                                         s->order, inner, out);
    }
#else
    (void)s, (void)extent, (void)inner, (void)out, (void)wide;
    return false;
#endif
}

static MPI_Datatype type_make(int levels, MPI_Datatype basic)
{
    MPI_Datatype inner, out = MPI_DATATYPE_NULL;
    MPI_Aint lower, extent;
    struct shape s;

    if (!levels)
        return basic;
    inner = type_make(levels - 1, basic);
    MPI_Type_get_extent(inner, &lower, &extent);
    s = shape_make(extent);
    if (below(2) && make_large(&s, extent, inner, &out))
        goto free_inner;
    switch (below(9)) {
    case 0:
        MPI_Type_contiguous(below(4), inner, &out);
        break;
    case 1:
        MPI_Type_vector(below(4), below(3), 3, inner, &out);
        break;
    case 2:
        MPI_Type_indexed(s.count, s.lengths, s.places, inner, &out);
        break;
    case 3:
        MPI_Type_create_hindexed(s.count, s.lengths, s.bytes, inner, &out);
        break;
    case 4:
        MPI_Type_create_indexed_block(s.count, 1, s.places, inner, &out);
        break;
    case 5:
        MPI_Type_create_struct(s.count, s.lengths, s.bytes, (MPI_Datatype[]){inner, inner, inner}, &out);
        break;
    case 6:
        MPI_Type_create_subarray(PARTS, s.whole, s.part, s.start, s.order, inner, &out);
        break;
    case 7: /* Open MPI 4.1.4 refuses the datatype of a rank that has no part of the array */
        if (!MPI_Type_create_darray(s.ranks, below(s.ranks), PARTS, s.whole, s.kinds, s.arguments, s.grid, s.order,
                                    inner, &out))
            break;
        /* fall through */
    default:
        MPI_Type_create_resized(inner, 0, extent + 4, &out);
    }
free_inner:
    if (inner != basic)
        MPI_Type_free(&inner);
    return out;
}

/* Compares packing and unpacking; the memory begins at the datatype's first byte. */
static void compare(MPI_Datatype type, int count, MPI_Aint first, size_t room, int bytes)
{
    uint8_t *memory = malloc(room), *packed = calloc(1, (size_t)bytes + 1), *ours = calloc(1, (size_t)bytes + 1),
            *back = calloc(1, room), *our_back = calloc(1, room);
    const size_t some = bytes ? (size_t)below(bytes) : 0;
    struct pieces pieces;
    int end = 0;

    for (size_t i = 0; i < room; i++)
        memory[i] = (uint8_t)below(256);
    MPI_Pack(place_at(memory, -first), count, type, packed, bytes, &end, MPI_COMM_SELF);
    end = 0;
    MPI_Unpack(packed, bytes, &end, place_at(back, -first), count, type, MPI_COMM_SELF);
    if (pieces_make(type, count, &pieces) || pieces_bytes(&pieces) != (size_t)bytes) {
        wrong++;
    } else {
        pieces_pack(&pieces, place_at(memory, -first), ours, some);
        wrong += memcmp(packed, ours, some) != 0;
        pieces_pack(&pieces, place_at(memory, -first), ours, SIZE_MAX);
        pieces_unpack(&pieces, place_at(our_back, -first), packed, SIZE_MAX);
        wrong += memcmp(packed, ours, (size_t)bytes) || memcmp(back, our_back, room);
        pieces_free(&pieces);
    }
    free(memory);
    free(packed);
    free(ours);
    free(back);
    free(our_back);
}

int main(int count, char **words)
{
    MPI_Init(&count, &words);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int round = 0; round < atoi(words[1]) && wrong < 10; round++) {
        MPI_Aint first, span, lower, extent;
        MPI_Datatype type;
        int bytes, before = wrong;

        srand((unsigned)round);
        type = type_make(1 + below(3), below(2) ? MPI_INT : MPI_SHORT);
        MPI_Type_commit(&type);
        MPI_Type_get_true_extent(type, &first, &span);
        MPI_Type_get_extent(type, &lower, &extent);
        MPI_Type_size(type, &bytes);
        if (span >= 0 && span < 1 << 20)
            compare(type, 2, first, (size_t)span + (size_t)labs(extent) + 1, 2 * bytes);
        if (wrong != before)
            fprintf(stderr, "round %d: not as MPI packs it\n", round);
        MPI_Type_free(&type);
    }
    MPI_Finalize();
    return wrong != 0;
}
