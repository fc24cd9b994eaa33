/* A program that is started from a checkpoint of an earlier one (VOCL_RESTORE) has the contents of its memory objects.
 */
#ifndef VOCL_LIBVOCL_RESTORE_H
#define VOCL_LIBVOCL_RESTORE_H

#include "libvocl/objects.h"

enum restore {
    RESTORE_UNKNOWN,
    RESTORE_OPEN,    /* until the first kernel */
    RESTORE_OVER,    /* or there is nothing to give back */
    RESTORE_REFUSED, /* the checkpoint is torn, or of another program */
};
extern atomic_int restore_now __attribute__((visibility("hidden"))); /* enum restore */

/* A memory object that is no part of another has been made: it is counted, and has the contents back that the one with
 * its number had. CL_INVALID_OPERATION: it is not like that one, or the checkpoint is refused. (CheCL, section III.) */
cl_int restore_made(cl_mem memory);

/* A kernel comes: nothing is given back any more. */
void restore_end(void);
static inline void restore_before_kernel(void)
{
    if (__builtin_expect(atomic_load_explicit(&restore_now, memory_order_relaxed) != RESTORE_OVER, 0))
        restore_end();
}

/* The objects that a child of a fork makes are others: it is given nothing back. */
void restore_after_fork(void);

#endif
