/* The arena: memory that the program and workers of its host both see. */
#ifndef VOCL_CLIENT_MEMORY_ARENA_H
#define VOCL_CLIENT_MEMORY_ARENA_H

#include "base/file_mark.h"
#include "client/core/objects.h"

/* ---- arena.c ---- */
#define POPULATE_WRITE 23 /* MADV_POPULATE_WRITE, newer than the headers may be */
/* Whether the node sees the arena's memory. Asks the node the first time. */
bool arena_shared_with(struct node *node);
/* The same, and the program may write to memory there without a command. False where such writes could not be repeated
 * for a worker that replaces a lost one (epoch.c). */
bool arena_given_to(struct node *node);
/* Whether a new node can map it: not if the program has closed descriptors that are not its own. */
bool arena_can_be_shared(void);
/* Returns NULL when there is no room. alignment: a power of two, or 0 for that of the largest type. */
void *arena_alloc(size_t size, size_t alignment);
/* Ignores memory that is not from arena_alloc(). */
void arena_free(void *memory);
/* Returns the size of the allocation that begins there, or 0. */
size_t arena_size(const void *memory);
/* Gives memory all its pages at once, if the system can: faster than one by one. */
void arena_populate(void *memory, size_t size);
/* Gives its pages back to the system, except those shared with other allocations. Returns false if that fails. */
bool arena_forget(void *memory, size_t size);
bool arena_has(const void *pointer);
bool arena_has_all(const void *pointer, size_t size);
void arena_after_fork(void);
/* The file behind the arena, as /proc/self/maps identifies it; and the offset of memory in that file. */
bool arena_identify(struct file_mark *file);
size_t arena_offset(const void *memory);
/* Maps whole pages of the arena at another address, instead of what is there, atomically for other threads. Not shared:
 * copy-on-write. */
bool arena_show(void *at, const void *memory, size_t size, int protection, bool shared);
/* Finds the next part of the memory, from *start on, that has pages. */
bool arena_next_data(const void *memory, size_t size, size_t *start, size_t *end);

/* ---- exchange.c: pages of the program's own that are the arena's, too ---- */
struct region;
/* Places a buffer of size bytes at a host pointer into the arena, for a context's nodes; *bytes_in_arena is its first
 * byte there. Whole pages of the program become the same memory: *inside to *inside_end in the buffer. The rest, or
 * all, is to be copied. *constant: the program cannot write it. */
struct region *exchange_begin(cl_context context, void *pointer, size_t size, uint8_t **bytes_in_arena, size_t *inside,
                              size_t *inside_end, bool *constant);
/* Makes the program's pages its own again, with their present contents. Nothing that uses the buffer is under way. */
void exchange_end(struct region *region);
/* Notes that a node no longer uses the region. After the last one it may be freed. */
void exchange_gone(struct region *region);
void exchange_before_fork(void);
void exchange_after_fork(bool child);

/* ---- block.c: memory of buffers ---- */
/* Returns memory for a buffer of the context that its node has, too, with these contents, or any if NULL. Returns NULL
 * if the node cannot have it. */
void *block_alloc(cl_context context, size_t size, const void *contents);
/* Returns such memory for nodes that are known to share the arena. fresh: it has no pages yet. */
void *block_take(struct session *session, size_t size, bool *fresh);
/* Frees memory that neither side uses any more. */
void block_free(void *memory, size_t size);
/* The same, as soon as the node reports that the object is gone. */
void block_leave(struct node *node, uint32_t id, void *memory, size_t size);
void block_leave_region(struct node *node, uint32_t id, struct region *region);
/* Whether a node has yet to report the end of such an object. */
bool block_any_leaving(void);
bool block_note(struct node *node, uint32_t id);
void block_lose(struct node *node);
/* Memory that is freed on a node whose worker is replaced if it is lost may be used again only after the next epoch
 * begins (epoch.c): block_end_limbo(). block_in_limbo(): how many bytes wait for that. */
void block_end_limbo(const struct node *node);
size_t block_in_limbo(void);
void block_after_fork(void);

#endif
