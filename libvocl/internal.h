/*
 * Declarations that the entry points share. Each file has the entry points of one kind of object, or a family of
 * commands, and is built on client/, whose errors become OpenCL's here (cl_error()).
 */
#ifndef VOCL_LIBVOCL_INTERNAL_H
#define VOCL_LIBVOCL_INTERNAL_H

#include <sys/types.h>

#include "client/trace/timeline.h"
#include "libvocl/commands.h"
#include "libvocl/memory.h"
#include "libvocl/objects.h"
#include "libvocl/platform.h"
#include "libvocl/program.h"
#include "libvocl/svm.h"

extern const struct _cl_icd_dispatch vocl_dispatch;
/* Functions that are only available by name, under names of the library's own. */
#define BY_NAME(name, offered, own) __typeof__(name) own;
#include "base/opencl.def"

/* The operations of each kind of object. */
extern const struct kind device_kind, context_kind, queue_kind, memory_kind, sampler_kind, program_kind, kernel_kind,
    command_buffer_kind;

/* ---- info.c ---- */
/* Converts the error of a function of client/ to OpenCL's. */
cl_int cl_failure(int error);
static inline cl_int cl_error(int error)
{
    return error ? cl_failure(error) : CL_SUCCESS;
}

cl_int info_return(const void *value, size_t size, size_t capacity, void *to, size_t *size_ret);
cl_int info_string(const char *string, size_t capacity, void *to, size_t *size_ret);
/* Whether a query is from a newer OpenCL than the device's platform, which therefore does not know it. */
bool info_is_newer(cl_device_id device, cl_uint param);
/* Copies a zero-terminated list of property names and values. */
cl_int properties_copy(const void *list, size_t item_size, void **out, size_t *size_out);

static inline cl_int fail_ret(cl_int *ret, cl_int error)
{
    if (ret)
        *ret = error;
    return error;
}

#endif
