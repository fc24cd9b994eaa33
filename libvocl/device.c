/* Devices: answers from the description that the node sent when the session started. */
#include "libvocl/internal.h"

#include "base/cl_ext.h"

void device_number(cl_device_id device, cl_device_info param, void *to, size_t size)
{
    uint32_t length;
    const void *bytes = info_find(&device->infos, param, &length);

    if (bytes && length == size)
        memcpy(to, bytes, size);
}

#define MOST_BYTES (UINT64_C(1) << 48) /* of a device's memory, so that sums of sizes do not overflow */

/* Stores the answers that other calls need to check their arguments. */
static void describe(cl_device_id device)
{
    cl_device_exec_capabilities can = 0;
    cl_device_type type = 0;
    cl_bool unified = CL_FALSE;
    cl_uint bits = 1024;

    device_number(device, CL_DEVICE_HOST_UNIFIED_MEMORY, &unified, sizeof(unified));
    device->unified = unified;
    device_number(device, CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS, &device->dimensions, sizeof(device->dimensions));
    device_number(device, CL_DEVICE_MAX_WORK_ITEM_SIZES, device->item_sizes, sizeof(device->item_sizes));
    device_number(device, CL_DEVICE_MAX_WORK_GROUP_SIZE, &device->group_size, sizeof(device->group_size));
    device_number(device, WIRE_INFO_LIMITED, &device->limited, sizeof(device->limited));
    device_number(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, &device->alloc_size, sizeof(device->alloc_size));
    device_number(device, CL_DEVICE_LOCAL_MEM_SIZE, &device->local_size, sizeof(device->local_size));
    device_number(device, CL_DEVICE_IMAGE_SUPPORT, &device->images, sizeof(device->images));
    device_number(device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, &bits, sizeof(bits));
    device->mem_base_align = bits < 8 ? 1 : bits / 8;
    if (device->alloc_size > MOST_BYTES)
        device->alloc_size = MOST_BYTES;
    device_number(device, CL_DEVICE_EXECUTION_CAPABILITIES, &can, sizeof(can));
    device->native_kernels = can & CL_EXEC_NATIVE_KERNEL;
    device->has_usm = extension_lists(&device->infos, CL_DEVICE_EXTENSIONS, "cl_intel_unified_shared_memory");
    device->has_addresses = extension_has_device_addresses(&device->infos);
    device_number(device, CL_DEVICE_TYPE, &type, sizeof(type));
    device_number(device, CL_DEVICE_SVM_CAPABILITIES, &device->svm, sizeof(device->svm));
    device->any_pointer = type & CL_DEVICE_TYPE_CPU || device->svm & CL_DEVICE_SVM_FINE_GRAIN_SYSTEM;
}

cl_int device_tell(cl_device_id device, const void *infos, uint32_t length)
{
    if (!info_table_take(&device->infos, infos, length))
        return CL_OUT_OF_RESOURCES;
    identity_set(device);
    describe(device);
    return CL_SUCCESS;
}

cl_int device_new(struct node *node, uint32_t platform, uint32_t id, cl_device_id *out)
{
    cl_device_id device = handle_new(WIRE_DEVICE);

    if (!device)
        return CL_OUT_OF_HOST_MEMORY;
    device->slot = device->object.id;
    device->object.id = id;
    device->node = node;
    device->platform = platform;
    *out = device;
    return CL_SUCCESS;
}

void device_give_up(cl_device_id device)
{
    device->object.id = device->slot;
    handle_free(&device->object);
}

cl_int clGetDeviceInfo(cl_device_id device, cl_device_info param, size_t size, void *value, size_t *size_ret)
{
    TIMELINE(clGetDeviceInfo);

    static const cl_ulong none;
    const void *native;
    cl_platform_id platform;
    cl_uint references;
    cl_device_svm_capabilities can;
    uint32_t length;

    if (!handle_check(device, WIRE_DEVICE))
        return CL_INVALID_DEVICE;
    if (info_is_newer(device, param))
        return CL_INVALID_VALUE;
    cover_note(device, param);
    switch (param) {
    case CL_DEVICE_PLATFORM:
        platform = session_platform(device->node->session);
        return info_return(&platform, sizeof(platform), size, value, size_ret);
    case CL_DEVICE_PARENT_DEVICE:
        return info_return(&device->parent, sizeof(cl_device_id), size, value, size_ret);
    case CL_DEVICE_REFERENCE_COUNT:
        references = device->parent ? (cl_uint)atomic_load(&device->object.references) : 1;
        return info_return(&references, sizeof(references), size, value, size_ret);
    case CL_DEVICE_AVAILABLE:
        if (!node_is_there(device->node))
            return info_return(&none, sizeof(cl_bool), size, value, size_ret);
        break;
    case CL_DEVICE_HOST_UNIFIED_MEMORY:
        if (device->unified && !arena_shared_with(device->node))
            return info_return(&none, sizeof(cl_bool), size, value, size_ret);
        break;
    case CL_DEVICE_SVM_CAPABILITIES:
        if (!info_find(&device->infos, param, &length))
            return CL_INVALID_VALUE;
        can = svm_capabilities(device);
        return info_return(&can, sizeof(can), size, value, size_ret);
    case CL_DEVICE_HOST_MEM_CAPABILITIES_INTEL:
    case CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL:
    case CL_DEVICE_SINGLE_DEVICE_SHARED_MEM_CAPABILITIES_INTEL:
    case CL_DEVICE_CROSS_DEVICE_SHARED_MEM_CAPABILITIES_INTEL:
    case CL_DEVICE_SHARED_SYSTEM_MEM_CAPABILITIES_INTEL:
        return usm_capabilities(device, param, size, value, size_ret);
    case CL_DEVICE_SPIRV_EXTENDED_INSTRUCTION_SETS_KHR:
    case CL_DEVICE_SPIRV_EXTENSIONS_KHR:
        return device_texts(device, param, size, value, size_ret);
    }
    native = info_find(&device->infos, param, &length);
    if (!native && identity_has(param)) /* the node, after a move another one, would answer for itself */
        return CL_INVALID_VALUE;
    if (!native)
        return cl_error(
            info_ask_once(device->node, WIRE_INFO_DEVICE, &device->object, 0, param, NULL, 0, size, value, size_ret));
    if (param == CL_DEVICE_EXTENSIONS && length)
        return extension_return(&device->infos, native, length, size, value, size_ret);
    if (param == CL_DEVICE_EXTENSIONS_WITH_VERSION)
        return extension_return_versions(native, length, size, value, size_ret);
    return info_return(native, length, size, value, size_ret);
}

/* Root devices have no reference count. */
cl_int clRetainDevice(cl_device_id device)
{
    TIMELINE(clRetainDevice);

    if (!handle_check(device, WIRE_DEVICE))
        return CL_INVALID_DEVICE;
    return device->parent ? handle_retain(device, WIRE_DEVICE, CL_INVALID_DEVICE) : CL_SUCCESS;
}

cl_int clReleaseDevice(cl_device_id device)
{
    TIMELINE(clReleaseDevice);

    HALT_GUARD_QUIET;
    if (!handle_check(device, WIRE_DEVICE))
        return CL_INVALID_DEVICE;
    return device->parent ? handle_release(device, WIRE_DEVICE, CL_INVALID_DEVICE) : CL_SUCCESS;
}

static cl_int timers(cl_device_id device, cl_ulong times[2])
{
    size_t size = 0;
    cl_int error;

    if (!handle_check(device, WIRE_DEVICE))
        return CL_INVALID_DEVICE;
    error = cl_error(
        info_ask(device->node, WIRE_INFO_TIMERS, device->object.id, 0, 0, NULL, 0, 2 * sizeof(*times), times, &size));
    return error || size == 2 * sizeof(*times) ? error : CL_OUT_OF_RESOURCES;
}

cl_int clGetDeviceAndHostTimer(cl_device_id device, cl_ulong *device_time, cl_ulong *host_time)
{
    TIMELINE(clGetDeviceAndHostTimer);

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
    TIMELINE(clGetHostTimer);

    cl_ulong device_time;

    return clGetDeviceAndHostTimer(device, &device_time, host_time);
}

cl_int voclGetDeviceHost(cl_device_id device, size_t size, char *value, size_t *size_ret)
{
    TIMELINE(voclGetDeviceHost);

    if (!handle_check(device, WIRE_DEVICE))
        return CL_INVALID_DEVICE;
    return info_string(transport_peer_host(session_transport(device->node->session), device->node->peer), size, value,
                       size_ret);
}
