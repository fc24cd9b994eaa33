/* The table of functions that the ICD loader calls for objects that begin with it. */
#include "libvocl/internal.h"

const struct _cl_icd_dispatch vocl_dispatch = {
#define EXPORTED(name, first, since) .name = name,
#include "base/opencl.def"
};
