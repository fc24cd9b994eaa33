/* Memory that the program and workers of its host both see. */
#ifndef VOCL_CLIENT_MEMORY_ARENA_H
#define VOCL_CLIENT_MEMORY_ARENA_H

#include "client/core/objects.h"

/* ---- arena.c ---- */
#define POPULATE_WRITE 23 /* MADV_POPULATE_WRITE, newer than the headers may be */
/* Whether the node sees the arena's memory; asks it the first time. */
bool arena_shared_with(struct node *node);
/* The same, and the program may be given memory of it to write there without a word: not where that could not be
 * written there again for a worker that is replaced (window.c). */
bool arena_given_to(struct node *node);
/* Whether a node that comes can see it: not where the program has closed descriptors that are not its own. */
bool arena_can_be_shared(void);
/* NULL when there is no room. alignment: a power of two, or 0 for that of the largest type. */
void *arena_alloc(size_t size, size_t alignment);
/* Nothing for memory that is not arena_alloc's. */
void arena_free(void *memory);
/* Of what begins there; 0: nothing does. */
size_t arena_size(const void *memory);
/* It gets its pages at once, which is faster than one after the other, if the system can. */
void arena_populate(void *memory, size_t size);
/* Its contents are not needed any more, but for those of pages that it shares with others. */
bool arena_forget(void *memory, size_t size);
bool arena_has(const void *pointer);
bool arena_has_all(const void *pointer, size_t size);
void arena_after_fork(void);
/* The file behind it, as mappings are told apart, and where in that memory of it is. */
struct arena_file {
    dev_t device;
    ino_t inode;
};
bool arena_identify(struct arena_file *file);
size_t arena_offset(const void *memory);
/* Whole pages of it at another address, instead of what is there: atomically for other threads. Not shared: as they are
 * now, and what is written there is written there only. */
bool arena_show(void *at, const void *memory, size_t size, int protection, bool shared);
/* The next part of it, from *start on, that has pages. */
bool arena_next_data(const void *memory, size_t size, size_t *start, size_t *end);

/* ---- exchange.c: pages of the program's own that are the arena's, too ---- */
struct region;
/* A buffer of so many bytes at a host pointer, in the arena, for a context's nodes: *bytes_in_arena is its first byte
 * there. What lies in whole pages of the program is the same memory, *inside to *inside_end in the buffer; the rest, or
 * all, is to be copied. *constant: the program cannot write it. */
struct region *exchange_begin(cl_context context, void *pointer, size_t size, uint8_t **bytes_in_arena, size_t *inside,
                              size_t *inside_end, bool *constant);
/* The program's pages are its own again, as they are now. Nothing that uses the buffer is under way. */
void exchange_end(struct region *region);
/* A node that used it does no more; after the last one it may be freed. */
void exchange_gone(struct region *region);
void exchange_before_fork(void);
void exchange_after_fork(bool child);

/* ---- block.c: memory of buffers ---- */
/* Memory for a buffer of the context that its node has, too, with these contents, or any; NULL if it cannot have that.
 */
void *block_alloc(cl_context context, size_t size, const void *contents);
/* Such memory for nodes that are known to share it; fresh: it has no pages yet. */
void *block_take(struct session *session, size_t size, bool *fresh);
/* Nobody uses it, on neither side. */
void block_free(void *memory, size_t size);
/* The same when the node says that the object is gone. */
void block_leave(struct node *node, uint32_t id, void *memory, size_t size);
void block_leave_region(struct node *node, uint32_t id, struct region *region);
/* Whether a node has yet to tell of the end of one. */
bool block_any_leaving(void);
bool block_note(struct node *node, uint32_t id);
void block_lose(struct node *node);
/* What nodes of which a lost worker would be replaced have done with may be used again only with the next window
 * (window.c). */
void block_end_limbo(const struct node *node);
size_t block_in_limbo(void);
void block_after_fork(void);

#endif
