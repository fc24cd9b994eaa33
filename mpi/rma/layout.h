/*
 * The layout of the elements of an MPI datatype, if all are of one type that XTQ computes with. It is made once for
 * each datatype, and kept as an attribute of the datatype, and as long as an operation needs it.
 */
#ifndef XTQMPI_RMA_LAYOUT_H
#define XTQMPI_RMA_LAYOUT_H

#include "mpi/pieces.h"

struct layout {
    unsigned users;
    enum xtq_type type;
    size_t element, count; /* bytes of an element; number of elements */
    MPI_Aint extent;       /* the datatype's extent */
    struct pieces pieces;
    struct piece one; /* the piece of a basic type */
};

/* Returns the layout of a datatype, for layout_release(). NULL: it has elements of other or several types, or its
 * layout cannot be obtained from MPI. */
struct layout *layout_of(MPI_Datatype datatype);
struct layout *layout_keep(struct layout *layout);
void layout_release(struct layout *layout);

/* Whether count of the datatype are contiguous elements. They begin at offset *first, in bytes. */
bool layout_is_dense(const struct layout *layout, size_t count, int64_t *first);
/* Copy between memory of the datatype and contiguous elements. */
void layout_gather(const struct layout *layout, size_t count, const void *from, void *elements);
void layout_scatter(const struct layout *layout, size_t count, const void *elements, void *into);

#endif
