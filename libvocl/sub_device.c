/* Sub-devices: the parts of a device, which are created together. */
#include <errno.h>

#include "libvocl/internal.h"
#include "wire/tables.h"

/* The sub-devices that one call created. */
struct partition {
    cl_uint count, left;   /* left: members that still exist */
    cl_device_id *members; /* in order; NULL: released. Under the session's lock */
    size_t length;
    cl_device_partition_property properties[];
};

/* Returns the length of the list, with its terminator. */
static size_t properties_length(const cl_device_partition_property *properties)
{
    size_t length = 0;

    while (properties[length])
        length++;
    if (properties[0] == CL_DEVICE_PARTITION_BY_COUNTS) /* its inner list has a terminating 0 of its own */
        length++;
    return length;
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

/* The reply counts the sub-devices; they are created if they are as many as ids. After success the caller calls
 * call_free(). */
static cl_int sub_devices_send(struct node *node, cl_device_id device, const cl_device_partition_property *properties,
                               size_t length, cl_uint count, const uint32_t *ids,
                               struct wire_create_sub_devices_reply *reply, struct call *call)
{
    struct wire_create_sub_devices m = {.device = device->object.id,
                                        .properties = properties,
                                        .properties_length = (uint32_t)(length * sizeof(*properties)),
                                        .sub_devices = ids,
                                        .sub_devices_count = count};
    cl_int error = cl_error(call_create_sub_devices(node, &m, reply, call));

    if (error)
        return error;
    error = reply->error;
    if (error)
        call_free(call);
    return error;
}

/* Creates the members at the target of a move, under their numbers; NULL stands for one that has been released. */
static int make_members(const struct partition *partition, struct node *node, struct object *const *members,
                        uint32_t *ids, cl_uint *made)
{
    cl_device_id parent = NULL, absent[WIRE_MAX_DEVICES];
    struct wire_create_sub_devices_reply reply;
    struct call call;
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
        error = call_verdict(sub_devices_send(node, parent, partition->properties, partition->length, partition->count,
                                              ids, &reply, &call));
    if (!error) {
        *made = reply.count;
        call_free(&call);
    }
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

/* Returns NULL for root devices, which are not recreated. */
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
    device_texts_free(device);
    handle_free(&device->object);
    handle_drop(parent);
}

/* The first member creates them all. A member that has been released is created as well, and released at once. */
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

/* Returns how many parts a node will create, as far as can be told here; 0: the node has to be asked. */
static cl_uint parts_expected(cl_device_id device, const cl_device_partition_property *properties)
{
    cl_device_partition_property sum = 0;
    cl_uint units = 0, count = 0;

    device_number(device, CL_DEVICE_MAX_COMPUTE_UNITS, &units, sizeof(units));
    switch (properties[0]) {
    case CL_DEVICE_PARTITION_EQUALLY:
        return properties[1] > 0 && properties[1] <= units ? units / (cl_uint)properties[1] : 0;
    case CL_DEVICE_PARTITION_BY_COUNTS:
        for (; properties[1 + count] > 0 && properties[1 + count] <= units; count++)
            sum += properties[1 + count];
        return !properties[1 + count] && sum <= units ? count : 0;
    }
    return 0;
}

/* Makes the devices parts of their parent. From now on they have to be destroyed as such. */
static void devices_are_parts(cl_device_id parent, struct partition *partition, cl_device_id *devices)
{
    for (cl_uint i = 0; i < partition->count; i++) {
        devices[i]->node = parent->node;
        devices[i]->platform = parent->platform;
        devices[i]->version = parent->version;
        devices[i]->parent = parent;
        devices[i]->partition = partition;
        handle_use(parent);
    }
}

/* Takes the node's answers about the devices, or releases them all. */
static cl_int devices_take(cl_device_id *devices, cl_uint count, const struct wire_create_sub_devices_reply *reply)
{
    struct wire_cursor in = wire_cursor(reply->infos, reply->infos_length);
    cl_int error = CL_SUCCESS;

    for (cl_uint i = 0; i < count && !error; i++) {
        uint32_t length;
        const void *infos = wire_get_blob(&in, &length);

        error = infos ? device_tell(devices[i], infos, length) : CL_OUT_OF_RESOURCES;
    }
    for (cl_uint i = 0; i < count && error; i++)
        handle_release(devices[i], WIRE_DEVICE, CL_INVALID_DEVICE);
    return error;
}

static bool devices_new(cl_device_id *devices, cl_uint count, uint32_t *ids)
{
    for (cl_uint i = 0; i < count; i++) {
        devices[i] = handle_new(WIRE_DEVICE);
        if (!devices[i]) {
            while (i--)
                handle_free(&devices[i]->object);
            return false;
        }
        ids[i] = devices[i]->object.id;
    }
    return true;
}

/* Creates the sub-devices if they are as many as count. Their objects come first, as the node knows them by the
 * objects' numbers. */
static cl_int sub_devices_make(cl_device_id device, const cl_device_partition_property *properties, size_t length,
                               cl_uint count, cl_device_id *devices, cl_uint *found)
{
    struct wire_create_sub_devices_reply reply;
    struct partition *partition;
    uint32_t ids[WIRE_MAX_DEVICES] = {0};
    struct call call;
    cl_int error;

    HALT_GUARD;
    if (!devices_new(devices, count, ids))
        return CL_OUT_OF_HOST_MEMORY;
    partition = partition_new(properties, length, count, devices);
    error = partition ? sub_devices_send(device->node, device, properties, length, count, ids, &reply, &call)
                      : CL_OUT_OF_HOST_MEMORY;
    if (!error) {
        *found = reply.count;
        if (reply.count == count) {
            devices_are_parts(device, partition, devices);
            error = devices_take(devices, count, &reply);
            call_free(&call);
            return error;
        }
        call_free(&call);
    }
    if (partition)
        free(partition->members);
    free(partition);
    for (cl_uint i = 0; i < count; i++)
        handle_free(&devices[i]->object);
    return error;
}

static cl_int sub_devices_count(cl_device_id device, const cl_device_partition_property *properties, size_t length,
                                cl_uint *found)
{
    struct wire_create_sub_devices_reply reply;
    struct call call;
    cl_int error = sub_devices_send(device->node, device, properties, length, 0, NULL, &reply, &call);

    if (error)
        return error;
    *found = reply.count;
    call_free(&call);
    return CL_SUCCESS;
}

cl_int clCreateSubDevices(cl_device_id device, const cl_device_partition_property *properties, cl_uint count,
                          cl_device_id *devices, cl_uint *count_ret)
{
    TIMELINE(clCreateSubDevices);

    const cl_uint most = count < WIRE_MAX_DEVICES ? count : WIRE_MAX_DEVICES;
    cl_uint wanted = 0, found = 0;
    size_t length = 0;
    cl_int error;

    if (!handle_check(device, WIRE_DEVICE))
        return CL_INVALID_DEVICE;
    if (!properties)
        return CL_INVALID_VALUE;
    length = properties_length(properties);
    if (devices)
        wanted = parts_expected(device, properties);
    if (wanted > most)
        wanted = 0;
    if (!wanted)
        error = sub_devices_count(device, properties, length, &found);
    else
        error = sub_devices_make(device, properties, length, wanted, devices, &found);
    if (!error && devices && found && found != wanted) {
        wanted = found;
        error =
            wanted > most ? CL_INVALID_VALUE : sub_devices_make(device, properties, length, wanted, devices, &found);
        if (!error && found != wanted)
            error = CL_OUT_OF_RESOURCES;
    }
    if (!error && count_ret)
        *count_ret = found;
    return error;
}
