/* Sub-devices: the parts of a device, which are made together. */
#include <errno.h>

#include "libvocl/internal.h"

/* What a device was divided into at once. */
struct partition {
    cl_uint count, left;   /* left: members that there are */
    cl_device_id *members; /* in the order of their places, NULL: gone; under the session's lock */
    size_t length;
    cl_device_partition_property properties[];
};

/* How many there are, with what ends them; SIZE_MAX: too many. */
static size_t properties_length(const cl_device_partition_property *properties)
{
    size_t length = 0;

    while (properties[length])
        length++;
    if (properties[0] == CL_DEVICE_PARTITION_BY_COUNTS) /* a list that ends with a 0 of its own */
        length++;
    return length * sizeof(*properties) > 8192 ? SIZE_MAX : length;
}

static struct partition *partition_new(const cl_device_partition_property *properties, size_t length, cl_uint count,
                                       const cl_device_id *members)
{
    struct partition *partition = malloc(sizeof(*partition) + length * sizeof(*properties));
    cl_device_id *copies = calloc(count, sizeof(*copies));

    if (!partition || !copies) {
        free(partition);
        free(copies);
        return NULL;
    }
    *partition = (struct partition){.count = count, .left = count, .members = copies, .length = length};
    memcpy(partition->properties, properties, length * sizeof(*properties));
    memcpy(copies, members, count * sizeof(*members));
    return partition;
}

static void partition_leave(cl_device_id device)
{
    struct partition *partition = device->partition;
    struct session *session = device->node->session;
    bool last;

    session_lock(session);
    for (cl_uint i = 0; i < partition->count; i++) {
        if (partition->members[i] == device)
            partition->members[i] = NULL;
    }
    last = !--partition->left;
    session_unlock(session);
    if (!last)
        return;
    free(partition->members);
    free(partition);
}

static cl_int sub_devices_send(struct node *node, cl_device_id device, const cl_device_partition_property *properties,
                               size_t length, cl_uint count, const uint32_t *ids, cl_uint *found)
{
    struct wire_create_sub_devices m = {.device = device->object.id,
                                        .properties = properties,
                                        .properties_length = (uint32_t)(length * sizeof(*properties)),
                                        .sub_devices = ids,
                                        .sub_devices_count = count};
    struct wire_create_sub_devices_reply reply;
    struct call call;
    cl_int error = cl_error(call_create_sub_devices(node, &m, &reply, &call));

    if (error)
        return error;
    error = reply.error;
    if (!error)
        *found = reply.count;
    call_free(&call);
    return error;
}

/* At the target of a move, under their numbers; NULL: one that is gone. */
static int make_members(const struct partition *partition, struct node *node, struct object *const *members,
                        uint32_t *ids, cl_uint *made)
{
    cl_device_id parent = NULL, absent[WIRE_MAX_DEVICES];
    cl_uint absent_count = 0;
    int error = 0;

    for (cl_uint i = 0; i < partition->count && !error; i++) {
        cl_device_id device = (cl_device_id)members[i];

        if (device)
            parent = device->parent;
        else if ((device = handle_new(WIRE_DEVICE)) != NULL)
            absent[absent_count++] = device;
        else
            error = -ENOMEM;
        if (device)
            ids[i] = device->object.id;
    }
    if (!error)
        error = call_verdict(
            sub_devices_send(node, parent, partition->properties, partition->length, partition->count, ids, made));
    while (absent_count) {
        cl_device_id device = absent[--absent_count];
        const struct wire_release m = {.kind = WIRE_DEVICE, .object = device->object.id};

        if (!error && *made == partition->count) {
            wire_put_release(stream_begin(node), &m);
            stream_end(node, STREAM_LATER);
        }
        handle_free(&device->object);
    }
    return error;
}

/* Root devices stay. */
static struct node *sub_device_node(const struct object *object)
{
    return ((const struct _cl_device_id *)object)->parent ? ((const struct _cl_device_id *)object)->node : NULL;
}

static void device_destroy(struct object *object)
{
    cl_device_id device = (cl_device_id)object;
    cl_device_id parent = device->parent;

    if (device->partition)
        partition_leave(device);
    free(device->infos.bytes);
    handle_free(&device->object);
    handle_drop(parent);
}

/* The first of them makes them all. In the place of one that is gone comes one that goes at once. */
static int sub_device_create_on(struct object *object, struct node *node)
{
    const struct partition *partition = ((cl_device_id)object)->partition;
    struct session *session = node->session;
    struct object *members[WIRE_MAX_DEVICES] = {0};
    uint32_t ids[WIRE_MAX_DEVICES];
    cl_uint first = partition->count, count = partition->count, made = 0;
    int error = 0;

    session_lock(session);
    for (cl_uint i = 0; i < count; i++) {
        members[i] = partition->members[i] ? &partition->members[i]->object : NULL;
        if (members[i] && !handle_hold(members[i]))
            members[i] = NULL;
        if (members[i] && first == count)
            first = i;
    }
    session_unlock(session);
    if (first < count && members[first] == object)
        error = make_members(partition, node, members, ids, &made);
    for (cl_uint i = 0; i < count; i++) {
        if (members[i])
            handle_unhold(session, members[i]);
    }
    return !error && made != (members[first] == object ? count : 0) ? -EXDEV : error;
}

static int sub_device_settle_on(struct object *object, struct node *node, struct object *const *all, const bool *done)
{
    char reason[256];

    (void)all;
    (void)done;
    return device_ask_fits((cl_device_id)object, node, reason, sizeof(reason));
}

const struct kind device_kind = {
    .size = sizeof(struct _cl_device_id),
    .node = sub_device_node,
    .create_on = sub_device_create_on,
    .settle_on = sub_device_settle_on,
    .destroy = device_destroy,
};

/* The node knows the sub-devices by the numbers of their objects, so these come first. */
static cl_int sub_devices_make(cl_device_id device, const cl_device_partition_property *properties, size_t length,
                               cl_uint count, cl_device_id *devices)
{
    struct partition *partition;
    uint32_t ids[WIRE_MAX_DEVICES] = {0};
    cl_uint made = 0;
    cl_int error;

    HALT_GUARD;
    for (cl_uint i = 0; i < count; i++) {
        devices[i] = handle_new(WIRE_DEVICE);
        if (!devices[i]) {
            while (i--)
                handle_free(&devices[i]->object);
            return CL_OUT_OF_HOST_MEMORY;
        }
        ids[i] = devices[i]->object.id;
    }
    partition = partition_new(properties, length, count, devices);
    error = partition ? sub_devices_send(device->node, device, properties, length, count, ids, &made)
                      : CL_OUT_OF_HOST_MEMORY;
    if (!error && made != count)
        error = CL_OUT_OF_RESOURCES;
    if (error && partition)
        free(partition->members);
    if (error)
        free(partition);
    for (cl_uint i = 0; i < count; i++) {
        if (error) {
            handle_free(&devices[i]->object);
            continue;
        }
        devices[i]->node = device->node;
        devices[i]->platform = device->platform;
        devices[i]->version = device->version;
        devices[i]->parent = device;
        devices[i]->partition = partition;
        handle_use(device);
    }
    for (cl_uint i = 0; !error && i < count; i++)
        error = device_ask(devices[i]);
    return error;
}

cl_int clCreateSubDevices(cl_device_id device, const cl_device_partition_property *properties, cl_uint count,
                          cl_device_id *devices, cl_uint *count_ret)
{
    TIMELINE(clCreateSubDevices);

    size_t length = 0;
    cl_uint found = 0;
    cl_int error;

    if (!handle_check(device, WIRE_DEVICE))
        return CL_INVALID_DEVICE;
    if (!properties)
        return CL_INVALID_VALUE;
    length = properties_length(properties);
    if (length == SIZE_MAX)
        return CL_INVALID_VALUE;
    error = sub_devices_send(device->node, device, properties, length, 0, NULL, &found);
    if (!error && devices)
        error = count < found || found > WIRE_MAX_DEVICES
                    ? CL_INVALID_VALUE
                    : sub_devices_make(device, properties, length, found, devices);
    if (!error && count_ret)
        *count_ret = found;
    return error;
}
