/*
 * Drivers that are PoCL with other behaviour: all of PoCL's objects begin with a pointer to one dispatch table, which
 * is changed in the process that loads the driver. pocl.c loads PoCL and has the functions that an ICD loader asks for;
 * the other functions are the driver's.
 */
#ifndef VOCL_TESTS_DRIVERS_POCL_H
#define VOCL_TESTS_DRIVERS_POCL_H

#include <string.h>

#include <CL/cl_icd.h>

/* PoCL's original functions. */
extern struct _cl_icd_dispatch pocl;

/* Puts the driver's own functions into the table. Returns false, after a message, if there is no such driver. */
int driver_change(struct _cl_icd_dispatch *table);

/* Returns a value as a query does. */
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
