/* A program that is started from a checkpoint of an earlier one (VOCL_RESTORE) gets the contents of its memory
 * objects back. */
#ifndef VOCL_LIBVOCL_RESTORE_H
#define VOCL_LIBVOCL_RESTORE_H

#include "libvocl/objects.h"

enum restore {
    RESTORE_UNKNOWN,
    RESTORE_OPEN,    /* until the first kernel */
    RESTORE_OVER,    /* also if there is nothing to restore */
    RESTORE_REFUSED, /* the checkpoint is damaged, or of another program */
};
extern atomic_int restore_now __attribute__((visibility("hidden"))); /* enum restore */

/* Counts a memory object that is no part of another, and restores the contents of the checkpoint's object with the
 * same number. Returns CL_INVALID_OPERATION if the two do not match, or the checkpoint is refused. (CheCL, section
 * III.) */
cl_int restore_made(cl_mem memory);

/* The first kernel is about to run: nothing more is restored. */
void restore_end(void);
static inline void restore_before_kernel(void)
{
    if (__builtin_expect(atomic_load_explicit(&restore_now, memory_order_relaxed) != RESTORE_OVER, 0))
        restore_end();
}

/* In the child of a fork nothing is restored: the objects that it creates are others. */
void restore_after_fork(void);

#endif
