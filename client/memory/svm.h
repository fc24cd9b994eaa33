/* Shared virtual memory at the client: memory that a node knows by its address. */
#ifndef VOCL_CLIENT_MEMORY_SVM_H
#define VOCL_CLIENT_MEMORY_SVM_H

#include "client/core/objects.h"

/* ---- svm_placed.c: in the memory that program and workers share (arena.c), for kernels ---- */
/* Allocates memory, and has it counted at all the context's nodes. */
int svm_placed_alloc(cl_context context, size_t size, cl_uint alignment, void **out);
/* Returns false if it is no such memory. */
bool svm_placed_free(void *memory);
/* Has all memory that is counted at the node counted at another one, too. The program must not allocate or free
 * meanwhile. Returns 0, an errno value, or native OpenCL's error. */
int svm_placed_count(const struct node *node, struct node *other);

/* ---- svm_remote.c: with a worker that shares no memory with the program ---- */
/* Frees memory that the node allocated at that address, for whatever purpose. */
void address_free(struct node *node, uint64_t address);
void *svm_remote_alloc(cl_context context, cl_svm_mem_flags flags, size_t size, cl_uint alignment);
/* Allocates memory of a node whose devices take any address, and maps memory of the program at the same address: where
 * both the program and the node have room. Returns 0 if there is no such place. */
uint64_t svm_remote_choose(cl_context context, struct node *node, cl_svm_mem_flags flags, size_t size, size_t whole);
/* Returns false if it is no such memory. */
bool svm_remote_free(void *memory);
bool svm_remote_has(const void *pointer);
bool svm_remote_has_all(const void *pointer, size_t size);
/* Returns the size of the allocation that begins there, or 0. */
size_t svm_remote_size(const void *memory);
/* svm_remote_add_map() notes a map of so many bytes: 0, -EINVAL: it is no such memory, or -ENOMEM.
 * svm_remote_take_map() removes the map that begins there, and returns its size if it was for writing. */
int svm_remote_add_map(void *memory, size_t size, cl_map_flags flags);
size_t svm_remote_take_map(void *memory);
/* Whether the node has such memory. */
bool svm_remote_any(const struct node *node);
/* Finds one of the node's allocations by its place in the list, from 0 on. Returns false if there are fewer. */
struct svm_place {
    uint64_t number;
    uint32_t context;
    bool chosen; /* the address was chosen by the client, not by native OpenCL */
    uint8_t *memory;
    size_t size;
    struct svm_remote *held; /* the allocation that is held, or NULL */
};
bool svm_remote_at(const struct node *node, unsigned at, struct svm_place *out);
/* Notes that a command may write so many bytes, all of the allocation (SVM_WHOLE), or any memory that was ever noted
 * so. A kernel counts as writing all memory that it is given, from then on. */
#define SVM_WHOLE SIZE_MAX
void svm_remote_written(const void *pointer, size_t size);
void svm_remote_written_all(void);
/* Whether the memory was written since the consumer of this mark (WRITTEN_*) asked last; clears the mark.
 * svm_remote_mark() sets the mark again. */
bool svm_remote_take_mark(const struct svm_place *place, unsigned char mark);
void svm_remote_mark(const struct svm_place *place, unsigned char mark);
/* Returns all such memory of the node, held if hold is set; NULL: out of memory. The caller frees the list. */
struct svm_place *svm_remote_list(const struct node *node, bool hold, unsigned *count);
/* svm_remote_hold() keeps the memory on the node, even if the program frees it. Returns false if that has happened
 * already. Until svm_remote_unhold(), svm_remote_next() finds the ranges ever written, as ever_next(). */
bool svm_remote_hold(struct svm_place *place);
bool svm_remote_next(const struct svm_place *place, unsigned *at, size_t *from, size_t *to);
size_t svm_remote_bytes(const struct svm_place *place);
void svm_remote_unhold(struct svm_place *place);

/* ---- usm.c: unified shared memory ---- */
struct usm {
    uint8_t *base;
    size_t size;
    cl_unified_shared_memory_type_intel type;
    cl_mem_alloc_flags_intel flags;
    cl_context context;
    cl_device_id device; /* the device that it is associated with, or NULL */
    struct node *node;   /* the node that allocated it */
    bool placed;         /* in the arena: every node of its context has it */
    bool chosen;         /* the client chose the address; native OpenCL does not know the allocation */
    bool reserved;       /* the address range is reserved in the program, so that nothing else takes it */
};

struct usm_wish {
    struct usm usm; /* set by the caller: context, device, type, flags and size */
    const cl_mem_properties_intel *properties;
    uint32_t properties_length; /* bytes */
    cl_uint alignment;
};
/* Allocates, and sets the rest of wish->usm. */
int usm_allocate(struct usm_wish *wish);
/* Returns false if no allocation of the context begins there. */
bool usm_release(cl_context context, void *memory);
/* Finds the allocation that the pointer points into. */
bool usm_find(const void *pointer, struct usm *out);
/* Whether the node has any such allocation. */
bool usm_any(const struct node *node);

#endif
