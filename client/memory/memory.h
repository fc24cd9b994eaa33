/* Memory objects: their extents, their shared memory, and which of their contents were written. */
#ifndef VOCL_CLIENT_MEMORY_MEMORY_H
#define VOCL_CLIENT_MEMORY_MEMORY_H

#include "client/core/objects.h"

/* ---- memory.c ---- */
/* Returns the root of a memory object: the buffer that a sub-buffer or an image of a buffer is part of, or the object
 * itself. */
cl_mem memory_root(cl_mem memory);
/* Sets extent to the width, height or array size, and depth or array size, as regions of reads and writes count
 * them. */
void image_extent(const cl_image_desc *desc, size_t extent[3]);
/* Frees memory that program and nodes share as soon as all of them no longer use it. Returns false if the object has
 * none. */
bool memory_release_shared(cl_mem memory);
/* Copies memory that the program may be writing. What it writes meanwhile is found later, by a mark or by comparing,
 * and copied again. */
void memory_copy_open(void *to, const void *from, size_t size);

/* ---- written.c: which parts of an object were written ---- */
/* Notes that a command may write a range of a root; of an image, 0 to 1. by_unmap: what it writes is in the root's
 * shadow. */
void written_note(cl_mem root, size_t offset, size_t size, bool by_unmap);
static inline bool written_all(cl_mem memory)
{
    return atomic_load_explicit(&memory->ever.all, memory_order_relaxed);
}
/* Whether the buffer's shadow contains what the buffer does: only unmaps have ever written it. */
bool written_by_unmaps(cl_mem buffer);
/* The same for memory of `all` bytes. ever_next() finds the next range ever written, false: there is none; *at is 0 at
 * first. */
void ever_note(struct ever_written *ever, size_t all, size_t offset, size_t size);
bool ever_next(const struct ever_written *ever, size_t all, unsigned *at, size_t *from, size_t *to);
/* Visits all ranges that may have been written, as coherence_each(); written_bytes() returns their total size. */
int written_each(cl_mem root, int (*visit)(void *, cl_mem, size_t, size_t), void *argument);
size_t written_bytes(cl_mem root);
/* Whether a pipe of the node may contain packets. Under the lock. */
bool written_any_pipe(const struct node *node);

#endif
