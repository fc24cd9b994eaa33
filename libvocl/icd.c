/* The ICD loader's table: what it calls for objects that begin with it. */
#include "libvocl/internal.h"

const struct _cl_icd_dispatch vocl_dispatch = {
#define EXPORTED(name, first, since) .name = name,
#include "base/opencl.def"
};
