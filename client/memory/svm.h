/* Shared virtual memory at the client: memory that a node knows by address. */
#ifndef VOCL_CLIENT_MEMORY_SVM_H
#define VOCL_CLIENT_MEMORY_SVM_H

#include "client/core/objects.h"

/* ---- svm_placed.c: in the memory that program and workers share (arena.c), for kernels ---- */
/* It counts at all the context's nodes. */
int svm_placed_alloc(cl_context context, size_t size, cl_uint alignment, void **out);
/* False if it is no such memory. */
bool svm_placed_free(void *memory);
/* What counts at the node counts at another one, too, while the program allocates and frees nothing: 0, an errno value
 * or what native OpenCL said. */
int svm_placed_count(const struct node *node, struct node *other);

/* ---- svm_remote.c: with a worker that shares no memory with the program ---- */
/* What the node allocated there, whoever asked for it. */
void address_free(struct node *node, uint64_t address);
void *svm_remote_alloc(cl_context context, cl_svm_mem_flags flags, size_t size, cl_uint alignment);
/* Memory of a node whose devices take any address, and pages of the program's at the same one: where the program has
 * room for it, and then the node, too. 0: nowhere. */
uint64_t svm_remote_choose(cl_context context, struct node *node, cl_svm_mem_flags flags, size_t size, size_t whole);
/* False if it is no such memory. */
bool svm_remote_free(void *memory);
bool svm_remote_has(const void *pointer);
bool svm_remote_has_all(const void *pointer, size_t size);
/* Of the one that begins there; 0: none does. */
size_t svm_remote_size(const void *memory);
/* The program has mapped so much of it: 0, -EINVAL: it is no such memory, or -ENOMEM; and unmaps what begins there: its
 * size, if it was mapped to be written. */
int svm_remote_add_map(void *memory, size_t size, cl_map_flags flags);
size_t svm_remote_take_map(void *memory);
/* Whether there is such memory on the node. */
bool svm_remote_any(const struct node *node);
/* Of that the one of this number, from 0 on; false: there are fewer. */
struct svm_place {
    uint64_t number;
    uint32_t context;
    bool chosen; /* where it is, by the program's side, and not by native OpenCL */
    uint8_t *memory;
    size_t size;
    struct svm_remote *held; /* or NULL */
};
bool svm_remote_at(const struct node *node, unsigned at, struct svm_place *out);
/* A command may write it, so many bytes or all of what it is part of, or any of what has ever been noted so. A kernel
 * counts as writing all that it is given, as soon as it is. */
#define SVM_WHOLE SIZE_MAX
void svm_remote_written(const void *pointer, size_t size);
void svm_remote_written_all(void);
/* Whether it was written since who has this mark (WRITTEN_*) asked last; and it is to be asked again. */
bool svm_remote_take_mark(const struct svm_place *place, unsigned char mark);
void svm_remote_mark(const struct svm_place *place, unsigned char mark);
/* All such memory of the node, held or not; NULL: there is no memory. Who has it frees it. */
struct svm_place *svm_remote_list(const struct node *node, bool hold, unsigned *count);
/* It stays on the node even if the program frees it: false: that has happened. Between the two the parts of it that
 * have ever been written, as ever_next(). */
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
    cl_device_id device; /* that it is associated with, or NULL */
    struct node *node;   /* that has allocated it */
    bool placed;         /* in the arena: every node that it is for has it */
    bool chosen;         /* here, not by native OpenCL, which does not know it */
    bool reserved;       /* the program has nothing there, so that no other memory takes the address */
};

struct usm_wish {
    struct usm usm; /* context, device, type, flags and size */
    const cl_mem_properties_intel *properties;
    uint32_t properties_length; /* bytes */
    cl_uint alignment;
};
/* Sets the rest of usm. */
int usm_allocate(struct usm_wish *wish);
/* False: nothing of the context's begins there. */
bool usm_release(cl_context context, void *memory);
/* The allocation that the pointer points into. */
bool usm_find(const void *pointer, struct usm *out);
/* Whether the node has any of it. */
bool usm_any(const struct node *node);

#endif
