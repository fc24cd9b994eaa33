/* The native platforms and devices of the node, described once, so that the application's side can answer queries. */
#include <stdio.h>

#include "base/hash.h"
#include "base/log.h"
#include "executor/internal.h"
#include "topology/native.h"

_Static_assert(NATIVE_MOST_DEVICES == WIRE_MAX_DEVICES, "a platform's devices fit into a reply");

static void tell_left_out(cl_platform_id platform)
{
    char name[128] = "", version[128] = "";

    clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(name), name, NULL);
    clGetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof(version), version, NULL);
    vocl_log(LOG_WARN, "platform %s is ignored: it has \"%s\", but OpenCL 1.1 is required", name, version);
}

static void find_platforms(struct executor *x)
{
    cl_platform_id found[NATIVE_MOST_PLATFORMS];
    const unsigned count = x->platform_count ? 0 : native_platforms(found);

    for (unsigned i = 0; i < count; i++) {
        if (driver_add(found[i]))
            x->platforms[x->platform_count++] = found[i];
        else
            tell_left_out(found[i]);
    }
}

int exec_list_platforms(struct executor *x, const struct exec_list_platforms *m)
{
    struct wire_list_platforms_reply reply = {.call = m->call};

    find_platforms(x);
    reply.count = x->platform_count;
    reply_list_platforms(x, &reply);
    return 0;
}

static const cl_platform_info platform_infos[] = {CL_PLATFORM_PROFILE,
                                                  CL_PLATFORM_VERSION,
                                                  CL_PLATFORM_NAME,
                                                  CL_PLATFORM_VENDOR,
                                                  CL_PLATFORM_EXTENSIONS,
                                                  CL_PLATFORM_ICD_SUFFIX_KHR,
                                                  CL_PLATFORM_HOST_TIMER_RESOLUTION,
                                                  CL_PLATFORM_NUMERIC_VERSION,
                                                  CL_PLATFORM_EXTENSIONS_WITH_VERSION};

static bool is_given(const struct executor *x, unsigned number)
{
    return !x->host.devices || (number < 64 && x->host.devices >> number & 1);
}

/* Returns the object of a device, which may exist already: devices are the first to be numbered. Returns NULL if
 * there is no room. */
static struct device *device_object(struct executor *x, cl_device_id native)
{
    const struct table *table = &x->tables[WIRE_DEVICE];
    struct device *device;
    uint32_t at = 1;

    for (; at < table->count && table->slots[at]; at++) {
        device = (struct device *)table->slots[at];
        if (device->native == native)
            return device;
    }
    device = object_new(x, WIRE_DEVICE, at);
    if (!device)
        return NULL;
    device->native = native;
    device->error = CL_SUCCESS;
    device->ordinal = device->id - 1 < SLICES ? device->id - 1 : SLICES - 1;
    return device;
}

static uint32_t add_devices(struct executor *x, cl_platform_id platform, uint32_t ids[NATIVE_MOST_DEVICES])
{
    struct native_device found[NATIVE_MOST_DEVICES];
    const unsigned count = native_devices(found);
    uint32_t added = 0;

    for (unsigned i = 0; i < count; i++) {
        struct device *device;

        if (found[i].platform != platform || !is_given(x, i))
            continue;
        device = device_object(x, found[i].device);
        if (!device)
            break;
        if (x->host.device)
            x->host.device(x->host.owner, device->ordinal, i, device->native);
        ids[added++] = device->id;
    }
    x->moves = x->host.devices_known && x->host.devices_known(x->host.owner);
    return added;
}

static void put_platform(cl_platform_id platform, struct wire_buffer *infos)
{
    _Alignas(cl_name_version) char value[8192];
    cl_uint none;
    size_t size;

    for (size_t i = 0; i < sizeof(platform_infos) / sizeof(*platform_infos); i++) {
        if (clGetPlatformInfo(platform, platform_infos[i], sizeof(value), value, &size))
            continue;
        version_lower(platform_infos[i], value, &size);
        wire_put_info(infos, platform_infos[i], value, size);
    }
    if (clGetDeviceIDs(platform, 0, 0, NULL, &none) == CL_DEVICE_NOT_FOUND)
        wire_put_info(infos, WIRE_INFO_NO_SUCH_TYPE, NULL, 0);
}

int exec_describe_platform(struct executor *x, const struct exec_describe_platform *m)
{
    struct wire_describe_platform_reply reply = {.call = m->call, .error = CL_INVALID_PLATFORM};
    struct wire_buffer infos = {0};
    uint32_t ids[NATIVE_MOST_DEVICES];

    if (m->platform < x->platform_count) {
        reply.error = CL_SUCCESS;
        put_platform(x->platforms[m->platform], &infos);
        reply.devices = ids;
        reply.devices_count = add_devices(x, x->platforms[m->platform], ids);
    }
    reply.infos = infos.bytes;
    reply.infos_length = (uint32_t)infos.length;
    reply_describe_platform(x, &reply);
    wire_buffer_free(&infos);
    return 0;
}

/* Clears what a driver leaves behind the ends of names: that is memory of this process, and differs between workers, so
 * that their devices would not match. */
static void clear_behind_names(cl_device_info param, void *value, size_t size)
{
    cl_name_version *list = value;

    switch (param) {
    case CL_DEVICE_EXTENSIONS_WITH_VERSION:
    case CL_DEVICE_ILS_WITH_VERSION:
    case CL_DEVICE_BUILT_IN_KERNELS_WITH_VERSION:
    case CL_DEVICE_OPENCL_C_ALL_VERSIONS:
    case CL_DEVICE_OPENCL_C_FEATURES:
        for (size_t i = 0; i < size / sizeof(*list); i++) {
            const size_t length = strnlen(list[i].name, sizeof(list[i].name));

            memset(list[i].name + length, 0, sizeof(list[i].name) - length);
        }
    }
}

static bool has_uuid(cl_device_id device, cl_uchar uuid[CL_UUID_SIZE_KHR])
{
    return !clGetDeviceInfo(device, CL_DEVICE_UUID_KHR, CL_UUID_SIZE_KHR, uuid, NULL);
}

/* Counts the earlier devices of the platform that have the device's UUID. A session that has only some of the devices
 * counts all. */
static cl_uint twins_before(cl_device_id device)
{
    cl_uchar uuid[CL_UUID_SIZE_KHR], other[CL_UUID_SIZE_KHR];
    struct native_device found[NATIVE_MOST_DEVICES];
    const unsigned count = has_uuid(device, uuid) ? native_devices(found) : 0;
    cl_platform_id platform = NULL;
    cl_uint twins = 0;

    clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(cl_platform_id), &platform, NULL);
    for (unsigned i = 0; i < count; i++) {
        if (found[i].device == device)
            return twins;
        twins +=
            found[i].platform == platform && has_uuid(found[i].device, other) && !memcmp(uuid, other, sizeof(uuid));
    }
    return 0; /* a sub-device */
}

/* The PCI address, in the words of Khronos, AMD and NVIDIA, and what tells twins apart. */
static void put_identity(cl_device_id device, struct wire_buffer *infos)
{
    static const cl_device_info params[] = {CL_DEVICE_PCI_BUS_INFO_KHR, CL_DEVICE_TOPOLOGY_AMD, CL_DEVICE_PCI_BUS_ID_NV,
                                            CL_DEVICE_PCI_SLOT_ID_NV, CL_DEVICE_PCI_DOMAIN_ID_NV};
    const cl_uint twins = twins_before(device);
    cl_uint value[16];
    size_t size;

    for (size_t i = 0; i < sizeof(params) / sizeof(*params); i++) {
        if (!clGetDeviceInfo(device, params[i], sizeof(value), value, &size))
            wire_put_info(infos, params[i], value, size);
    }
    if (twins)
        wire_put_info(infos, WIRE_INFO_TWIN, &twins, sizeof(twins));
}

static void put_device(struct executor *x, cl_device_id device, struct wire_buffer *infos)
{
    static _Alignas(cl_name_version) char value[65536];
    size_t size;

    for (cl_device_info param = CL_DEVICE_TYPE; param <= CL_DEVICE_TYPE + 0x7f; param++) {
        if (!query_is_plain(param) || clGetDeviceInfo(device, param, sizeof(value), value, &size))
            continue;
        quota_info(x, param, value, size);
        version_lower(param, value, &size);
        clear_behind_names(param, value, size);
        wire_put_info(infos, param, value, size);
    }
    put_identity(device, infos);
    if (x->host.memory)
        wire_put_info(infos, WIRE_INFO_LIMITED, &x->host.memory, sizeof(x->host.memory));
}

int exec_describe_device(struct executor *x, const struct exec_describe_device *m)
{
    struct wire_describe_device_reply reply = {.call = m->call};
    struct wire_buffer infos = {0};

    put_device(x, m->device->native, &infos);
    reply.infos = infos.bytes;
    reply.infos_length = (uint32_t)infos.length;
    reply_describe_device(x, &reply);
    wire_buffer_free(&infos);
    return 0;
}

static void describe_one(struct executor *x, cl_platform_id platform, struct wire_buffer *out)
{
    struct wire_buffer infos = {0};
    uint32_t ids[NATIVE_MOST_DEVICES];
    const uint32_t count = add_devices(x, platform, ids);

    put_platform(platform, &infos);
    wire_put_blob(out, infos.bytes, infos.length);
    wire_put_u32(out, count);
    for (uint32_t i = 0; i < count; i++) {
        const struct device *device = object_get(x, WIRE_DEVICE, ids[i]);

        infos.length = 0;
        put_device(x, device->native, &infos);
        wire_put_u32(out, ids[i]);
        wire_put_blob(out, infos.bytes, infos.length);
    }
    out->failed |= infos.failed;
    wire_buffer_free(&infos);
}

int exec_describe_node(struct executor *x, const struct exec_describe_node *m)
{
    struct wire_describe_node_reply reply = {.call = m->call};
    struct wire_buffer description = {0};

    find_platforms(x);
    for (unsigned i = 0; i < x->platform_count; i++)
        describe_one(x, x->platforms[i], &description);
    if (description.failed || description.length > WIRE_MAX_BLOB)
        description.length = 0; /* no platforms, as far as can be told */
    reply.digest = hash_bytes(description.bytes, description.length) | 1;
    if (reply.digest != m->known) {
        reply.description = description.bytes;
        reply.description_length = (uint32_t)description.length;
    }
    reply_describe_node(x, &reply);
    wire_buffer_free(&description);
    return 0;
}

/* Counts the sub-devices, and creates them if they are as many as have numbers. */
static cl_int make_sub_devices(const struct exec_create_sub_devices *m, cl_device_id *made, cl_uint *count)
{
    cl_device_partition_property *properties = calloc(1, m->properties_length + sizeof(*properties));
    cl_int error;

    if (!properties)
        return CL_OUT_OF_HOST_MEMORY;
    if (m->properties_length)
        memcpy(properties, m->properties, m->properties_length);
    error = clCreateSubDevices(m->device->native, properties, 0, NULL, count);
    if (!error && *count == m->sub_devices_count)
        error = clCreateSubDevices(m->device->native, properties, *count, made, NULL);
    free(properties);
    return error;
}

int exec_create_sub_devices(struct executor *x, const struct exec_create_sub_devices *m)
{
    struct wire_create_sub_devices_reply reply = {.call = m->call};
    struct wire_buffer infos = {0}, all = {0};
    cl_device_id made[WIRE_MAX_DEVICES];
    int error = 0;

    if (m->properties_length % sizeof(cl_device_partition_property))
        return -EBADMSG;
    reply.error = make_sub_devices(m, made, &reply.count);
    for (uint32_t i = 0; !reply.error && !error && reply.count == m->sub_devices_count && i < reply.count; i++) {
        struct device *part = object_new(x, WIRE_DEVICE, m->sub_devices[i]);

        error = part ? 0 : -EBADMSG;
        if (error)
            break;
        part->native = made[i];
        part->error = CL_SUCCESS;
        part->ordinal = m->device->ordinal;
        part->part = true;
        infos.length = 0;
        put_device(x, part->native, &infos);
        wire_put_blob(&all, infos.bytes, infos.length);
    }
    all.failed |= infos.failed;
    reply.infos = all.bytes;
    reply.infos_length = all.failed || all.length > WIRE_MAX_BLOB ? 0 : (uint32_t)all.length;
    if (!error)
        reply_create_sub_devices(x, &reply);
    wire_buffer_free(&infos);
    wire_buffer_free(&all);
    return error;
}

void devices_native(struct device *const *devices, uint32_t count, cl_device_id *native)
{
    for (uint32_t i = 0; i < count; i++)
        native[i] = devices[i]->native;
}

bool device_is_unified(cl_device_id device)
{
    cl_bool unified = CL_FALSE;

    clGetDeviceInfo(device, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof(unified), &unified, NULL);
    return unified;
}
