/*
 * Drivers that are PoCL with other ways: all of PoCL's objects begin with a pointer to one table of functions, which is
 * changed in the process that loads the driver. pocl.c loads it and is what a loader asks for; the rest is the
 * driver's.
 */
#ifndef VOCL_TESTS_DRIVERS_POCL_H
#define VOCL_TESTS_DRIVERS_POCL_H

#include <string.h>

#include <CL/cl_icd.h>

/* The functions as PoCL has them. */
extern struct _cl_icd_dispatch pocl;

/* The driver's: puts its own into the table. False, and it has said why: there is no such driver. */
int driver_change(struct _cl_icd_dispatch *table);

/* What a query returns of a value. */
static inline cl_int driver_return(const void *value, size_t size, size_t capacity, void *to, size_t *size_ret)
{
    if (to && capacity < size)
        return CL_INVALID_VALUE;
    if (to)
        memcpy(to, value, size);
    if (size_ret)
        *size_ret = size;
    return CL_SUCCESS;
}

#endif
