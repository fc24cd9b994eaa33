/*
 * Where the elements of an MPI datatype lie, if they are all of one type that XTQ computes with. Small ones by far, and
 * made once for each datatype: kept as an attribute of it, and for as long as an operation needs it.
 */
#ifndef XTQMPI_RMA_LAYOUT_H
#define XTQMPI_RMA_LAYOUT_H

#include "mpi/pieces.h"

struct layout {
    unsigned users;
    enum xtq_type type;
    size_t element, count; /* bytes of an element; how many elements */
    MPI_Aint extent;       /* from one of the datatype to the next */
    struct pieces pieces;
    struct piece one; /* the list of a basic type */
};

/* NULL: of other types, of several, or one that MPI does not explain. To be given to layout_release(). */
struct layout *layout_of(MPI_Datatype datatype);
struct layout *layout_keep(struct layout *layout);
void layout_release(struct layout *layout);

/* Whether so many of the datatype are elements beside each other, from *first (bytes). */
bool layout_is_dense(const struct layout *layout, size_t count, int64_t *first);
/* Between memory of the datatype and elements beside each other. */
void layout_gather(const struct layout *layout, size_t count, const void *from, void *elements);
void layout_scatter(const struct layout *layout, size_t count, const void *elements, void *into);

#endif
