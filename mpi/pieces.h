/* The layout of MPI's datatypes in memory, as a list of pieces in the order of MPI's packing. */
#ifndef XTQMPI_PIECES_H
#define XTQMPI_PIECES_H

#include "ground/rows.h"
#include "mpi/intercept.h"

struct piece {
    int64_t offset;
    struct rows rows;
};
struct pieces {
    struct piece *list;
    size_t count, room;
    int element; /* see pieces_type() */
};
/* Returns the pieces of count elements of a datatype, relative to their address. Returns 0; -EOPNOTSUPP: the layout
 * cannot be obtained from MPI; -ENOMEM. */
int pieces_make(MPI_Datatype datatype, MPI_Count count, struct pieces *out);
/* Likewise for several blocks: count elements each, at a place relative to the address. All blocks have the datatype
 * *datatypes, and place is in its extents; or, if each is set, every block has a datatype of its own, and place is in
 * bytes. */
struct block {
    MPI_Count count;
    int64_t place;
};
int pieces_make_blocks(const MPI_Datatype *datatypes, bool each, const struct block *blocks, int count,
                       struct pieces *out);
void pieces_free(struct pieces *pieces);
/* Whether a datatype is predefined by MPI, or MPI_DATATYPE_NULL. */
bool type_is_own(MPI_Datatype datatype);

/* Returns the type of all elements. False if there are several, or XTQ lacks the type. */
bool pieces_type(const struct pieces *pieces, enum xtq_type *type);
size_t pieces_bytes(const struct pieces *pieces);
/* Returns the offsets of the first byte, and of the byte after the last, of all pieces. */
void pieces_extent(const struct pieces *pieces, int64_t *first, int64_t *end);
/* Calls what() for the pieces of the first most bytes. If it returns an error, the walk ends and returns that. */
typedef int pieces_do(void *argument, const struct piece *piece);
int pieces_walk(const struct pieces *pieces, size_t most, pieces_do *what, void *argument);
/* Copy at most most bytes between the pieces, relative to an address, which may be anywhere, and packed memory. */
void pieces_pack(const struct pieces *pieces, const void *address, uint8_t *packed, size_t most);
void pieces_unpack(const struct pieces *pieces, void *address, const uint8_t *packed, size_t most);

/* Returns a place in memory, relative to an address, which itself may be anywhere. */
static inline uint8_t *place_at(const void *address, int64_t offset)
{
    return (uint8_t *)((uintptr_t)address + (uintptr_t)offset);
}

#endif
