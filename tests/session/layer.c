/* A layer of the ICD loader (OPENCL_LAYERS) that prints how often the platforms were queried. */
#include <CL/cl_layer.h>
#include <stdio.h>
#include <string.h>

static const struct _cl_icd_dispatch *below;
static struct _cl_icd_dispatch own;
static int asked;

static cl_int CL_API_CALL platform_ids(cl_uint count, cl_platform_id *platforms, cl_uint *count_ret)
{
    asked++;
    return below->clGetPlatformIDs(count, platforms, count_ret);
}

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info param, size_t size, void *value, size_t *size_ret)
{
    static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;

    if (param != CL_LAYER_API_VERSION)
        return CL_INVALID_VALUE;
    if (value && size < sizeof(version))
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, &version, sizeof(version));
    if (size_ret)
        *size_ret = sizeof(version);
    return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint count, const struct _cl_icd_dispatch *target, cl_uint *count_ret,
                                            const struct _cl_icd_dispatch **layer)
{
    (void)count;
    below = target;
    own = *target;
    own.clGetPlatformIDs = platform_ids;
    *count_ret = sizeof(own) / sizeof(own.clGetPlatformIDs);
    *layer = &own;
    return CL_SUCCESS;
}

__attribute__((destructor)) static void tell(void)
{
    printf("layer: %d\n", asked);
}
