/* Devices: what the node told of them when the session started. */
#include "libvocl/internal.h"

static void number(cl_device_id device, cl_device_info param, void *to, size_t size)
{
    uint32_t length;
    const void *bytes = info_find(&device->infos, param, &length);

    if (bytes && length == size)
        memcpy(to, bytes, size);
}

/* The answers that other calls need in order to check their arguments. */
void device_describe(cl_device_id device)
{
    cl_bool unified = CL_FALSE;
    cl_uint bits = 1024;

    number(device, CL_DEVICE_HOST_UNIFIED_MEMORY, &unified, sizeof(unified));
    device->unified = unified;
    number(device, CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS, &device->dimensions, sizeof(device->dimensions));
    number(device, CL_DEVICE_MAX_WORK_ITEM_SIZES, device->item_sizes, sizeof(device->item_sizes));
    number(device, CL_DEVICE_MAX_WORK_GROUP_SIZE, &device->group_size, sizeof(device->group_size));
    number(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, &device->alloc_size, sizeof(device->alloc_size));
    number(device, CL_DEVICE_LOCAL_MEM_SIZE, &device->local_size, sizeof(device->local_size));
    number(device, CL_DEVICE_IMAGE_SUPPORT, &device->images, sizeof(device->images));
    number(device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, &bits, sizeof(bits));
    device->mem_base_align = bits / 8;
    device->available = CL_TRUE;
}

/* Extensions whose entry points VOCL does not carry. */
static const char *const withheld[] = {"cl_khr_command_buffer",
                                       "cl_khr_gl_sharing",
                                       "cl_khr_egl_image",
                                       "cl_khr_egl_event",
                                       "cl_khr_il_program",
                                       "cl_intel_unified_shared_memory",
                                       "cl_khr_device_enqueue_local_arg_types"};

static bool is_withheld(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof(withheld) / sizeof(*withheld); i++) {
        if (strlen(withheld[i]) == length && !memcmp(withheld[i], name, length))
            return true;
    }
    return false;
}

static cl_int extensions(const char *native, uint32_t length, size_t size, void *value, size_t *size_ret)
{
    char *text = calloc(1, length + 1);
    char *to = text;
    cl_int error;

    if (!text)
        return CL_OUT_OF_HOST_MEMORY;
    for (const char *at = native; *at;) {
        size_t word = strcspn(at, " "), space = strspn(at + word, " ");

        if (!is_withheld(at, word)) {
            memcpy(to, at, word + space);
            to += word + space;
        }
        at += word + space;
    }
    error = info_string(text, size, value, size_ret);
    free(text);
    return error;
}

static cl_int extensions_with_version(const cl_name_version *native, uint32_t length, size_t size, void *value,
                                      size_t *size_ret)
{
    cl_name_version *list = malloc(length + 1);
    size_t count = 0;
    cl_int error;

    if (!list)
        return CL_OUT_OF_HOST_MEMORY;
    for (size_t i = 0; i < length / sizeof(*native); i++) {
        memcpy(&list[count], &native[i], sizeof(*list));
        count += !is_withheld(list[count].name, strnlen(list[count].name, sizeof(list[count].name)));
    }
    error = info_return(list, count * sizeof(*list), size, value, size_ret);
    free(list);
    return error;
}

cl_int clGetDeviceInfo(cl_device_id device, cl_device_info param, size_t size, void *value, size_t *size_ret)
{
    static const cl_ulong none;
    const void *native;
    cl_platform_id platform;
    cl_uint one = 1;
    cl_device_exec_capabilities kernels = CL_EXEC_KERNEL;
    uint32_t length;

    if (!handle_check(device, WIRE_DEVICE))
        return CL_INVALID_DEVICE;
    switch (param) {
    case CL_DEVICE_PLATFORM:
        platform = session_platform(device->node->session);
        return info_return(&platform, sizeof(platform), size, value, size_ret);
    case CL_DEVICE_PARENT_DEVICE:
        return info_return(&none, sizeof(cl_device_id), size, value, size_ret);
    case CL_DEVICE_REFERENCE_COUNT:
        return info_return(&one, sizeof(one), size, value, size_ret);
    case CL_DEVICE_AVAILABLE:
        if (!device->available)
            return info_return(&none, sizeof(cl_bool), size, value, size_ret);
        break;
    /* What VOCL does not carry, it does not promise: doc/opencl-support.md. */
    case CL_DEVICE_SVM_CAPABILITIES:
        return info_return(&none, sizeof(cl_device_svm_capabilities), size, value, size_ret);
    case CL_DEVICE_PIPE_SUPPORT:
        return info_return(&none, sizeof(cl_bool), size, value, size_ret);
    case CL_DEVICE_EXECUTION_CAPABILITIES:
        return info_return(&kernels, sizeof(kernels), size, value, size_ret);
    case CL_DEVICE_PARTITION_MAX_SUB_DEVICES:
        return info_return(&none, sizeof(cl_uint), size, value, size_ret);
    case CL_DEVICE_PARTITION_PROPERTIES:
        return info_return(&none, sizeof(cl_device_partition_property), size, value, size_ret);
    }
    native = info_find(&device->infos, param, &length);
    if (!native)
        return info_ask(device->node, WIRE_INFO_DEVICE, device->object.id, 0, param, NULL, 0, size, value, size_ret);
    if (param == CL_DEVICE_EXTENSIONS && length)
        return extensions(native, length, size, value, size_ret);
    if (param == CL_DEVICE_EXTENSIONS_WITH_VERSION)
        return extensions_with_version(native, length, size, value, size_ret);
    return info_return(native, length, size, value, size_ret);
}

/* Root devices are not counted. */
cl_int clRetainDevice(cl_device_id device)
{
    return handle_check(device, WIRE_DEVICE) ? CL_SUCCESS : CL_INVALID_DEVICE;
}

cl_int clReleaseDevice(cl_device_id device)
{
    return handle_check(device, WIRE_DEVICE) ? CL_SUCCESS : CL_INVALID_DEVICE;
}

cl_int clCreateSubDevices(cl_device_id device, const cl_device_partition_property *properties, cl_uint count,
                          cl_device_id *devices, cl_uint *count_ret)
{
    (void)count;
    (void)devices;
    (void)count_ret;
    if (!handle_check(device, WIRE_DEVICE))
        return CL_INVALID_DEVICE;
    /* no device of VOCL offers a partition */
    return properties ? CL_DEVICE_PARTITION_FAILED : CL_INVALID_VALUE;
}

static cl_int timers(cl_device_id device, cl_ulong times[2])
{
    if (!handle_check(device, WIRE_DEVICE))
        return CL_INVALID_DEVICE;
    return info_ask(device->node, WIRE_INFO_TIMERS, device->object.id, 0, 0, NULL, 0, 2 * sizeof(*times), times, NULL);
}

cl_int clGetDeviceAndHostTimer(cl_device_id device, cl_ulong *device_time, cl_ulong *host_time)
{
    cl_ulong times[2];
    cl_int error;

    error = timers(device, times);
    if (!error && (!device_time || !host_time))
        error = CL_INVALID_VALUE;
    if (!error) {
        *device_time = times[0];
        *host_time = times[1];
    }
    return error;
}

cl_int clGetHostTimer(cl_device_id device, cl_ulong *host_time)
{
    cl_ulong device_time;

    return clGetDeviceAndHostTimer(device, &device_time, host_time);
}

cl_int voclGetDeviceHost(cl_device_id device, size_t size, char *value, size_t *size_ret)
{
    if (!handle_check(device, WIRE_DEVICE))
        return CL_INVALID_DEVICE;
    return info_string(transport_peer_host(session_transport(device->node->session), device->node->peer), size, value,
                       size_ret);
}
