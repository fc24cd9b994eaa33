/* Unified shared memory: what usm.c and usm_commands.c share. */
#ifndef VOCL_LIBVOCL_USM_H
#define VOCL_LIBVOCL_USM_H

#include "libvocl/internal.h"

struct usm {
    uint8_t *base;
    size_t size;
    cl_unified_shared_memory_type_intel type;
    cl_mem_alloc_flags_intel flags;
    cl_context context;
    cl_device_id device; /* that it is associated with, or NULL */
    struct node *node;   /* that has allocated it, or only counts it */
    bool placed;         /* in the arena: every node that it is for has it */
    bool chosen;         /* here, not by native OpenCL, which does not know it */
    bool reserved;       /* the program has nothing there, so that no other memory takes the address */
};

/* The allocation that the pointer points into. */
/* Whether the node has any of it. */
bool usm_any(const struct node *node);
bool usm_find(const void *pointer, struct usm *out);

#endif
