/* Memory objects, as far as their contents are concerned. */
#ifndef VOCL_CLIENT_MEMORY_MEMORY_H
#define VOCL_CLIENT_MEMORY_MEMORY_H

#include "client/core/objects.h"

/* ---- memory.c ---- */
/* What a sub-buffer or an image of a buffer is part of, or the object itself. */
cl_mem memory_root(cl_mem memory);
/* Width, height or array size, depth or array size, as read and write regions count them. */
void image_extent(const cl_image_desc *desc, size_t extent[3]);
/* What program and nodes share is given back when they have all done with it; false: there is no such. */
bool memory_release_shared(cl_mem memory);
/* Of memory to which the program may write meanwhile without a word: what it has written is found, by a mark or by
 * comparing, and copied once more. */
void memory_copy_open(void *to, const void *from, size_t size);

/* ---- written.c: what of an object has been written ---- */
/* A command may write that of a whole, of an image 0 and 1. */
void written_note(cl_mem root, size_t offset, size_t size);
static inline bool written_all(cl_mem memory)
{
    return atomic_load_explicit(&memory->ever.all, memory_order_relaxed);
}
/* The same of memory of so many bytes; and the next part of it, *at being 0 at first: false: there is no more. */
void ever_note(struct ever_written *ever, size_t all, size_t offset, size_t size);
bool ever_next(const struct ever_written *ever, size_t all, unsigned *at, size_t *from, size_t *to);
/* All that may have been written, as coherence_each(); and how many bytes that are. */
int written_each(cl_mem root, int (*visit)(void *, cl_mem, size_t, size_t), void *argument);
size_t written_bytes(cl_mem root);
/* Whether there may be something in a pipe of the node. Under the lock. */
bool written_any_pipe(const struct node *node);

#endif
