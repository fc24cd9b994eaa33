/*
 * For the executor in the application's process: calls OpenCL functions of the drivers through the table that every
 * object begins with (cl_khr_icd). In that process the functions' names belong to libvocl, and the loader may be the
 * one that is just asking libvocl for its platforms. Included before everything else where the executor is compiled for
 * that (Makefile.inc).
 */
#ifndef VOCL_EXECUTOR_DIRECT_H
#define VOCL_EXECUTOR_DIRECT_H

#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_icd.h>

/* vendors.c: the platforms of the drivers that the ICD loader would find, without VOCL's own. */
cl_int vendors_platforms(cl_uint count, cl_platform_id *platforms, cl_uint *count_ret);

#define DRIVER(object) (*(struct _cl_icd_dispatch *const *)(object))
#define DIRECT(name, type, object, ...)                                                                                \
    ({                                                                                                                 \
        type object_ = (object);                                                                                       \
        DRIVER(object_)->name(object_ __VA_OPT__(, ) __VA_ARGS__);                                                     \
    })

/* Generated from base/opencl.def: every function that can be called so. The others have no object, or have it in a
 * list. */
#include "executor/direct_calls.h"

#define clGetPlatformIDs vendors_platforms
#define clCreateContext(properties, count, devices, ...)                                                               \
    DRIVER(*(devices))->clCreateContext(properties, count, devices, __VA_ARGS__)
#define clWaitForEvents(count, events) DRIVER(*(events))->clWaitForEvents(count, events)

#endif
