/* Where the bytes of MPI's datatypes lie: pieces, in the order of MPI's packing. */
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
/* So many of a datatype, from its address. -EOPNOTSUPP: MPI does not say where its bytes are; -ENOMEM. */
int pieces_make(MPI_Datatype datatype, MPI_Count count, struct pieces *out);
/* So many of one datatype, and so many extents from the address; or of one of its own each, and so many bytes from it.
 */
struct block {
    MPI_Count count;
    int64_t place;
};
int pieces_make_blocks(const MPI_Datatype *datatypes, bool each, const struct block *blocks, int count,
                       struct pieces *out);
void pieces_free(struct pieces *pieces);
/* Whether MPI has the datatype by itself; false, too, if it is none. */
bool type_is_own(MPI_Datatype datatype);

/* The one type of all elements; false if there are several, or one that XTQ has not. */
bool pieces_type(const struct pieces *pieces, enum xtq_type *type);
size_t pieces_bytes(const struct pieces *pieces);
/* From where to where; bytes. */
void pieces_extent(const struct pieces *pieces, int64_t *first, int64_t *end);
/* Each piece, or as much of it as is among the first so many bytes. What is done returns 0, or the walk ends with that.
 */
typedef int pieces_do(void *argument, const struct piece *piece);
int pieces_walk(const struct pieces *pieces, size_t most, pieces_do *what, void *argument);
/* Between their places, from an address that may itself be anywhere, and packed memory; at most so many bytes. */
void pieces_pack(const struct pieces *pieces, const void *address, uint8_t *packed, size_t most);
void pieces_unpack(const struct pieces *pieces, void *address, const uint8_t *packed, size_t most);

/* A place in memory, from an address that may itself be anywhere. */
static inline uint8_t *place_at(const void *address, int64_t offset)
{
    return (uint8_t *)((uintptr_t)address + (uintptr_t)offset);
}

#endif
