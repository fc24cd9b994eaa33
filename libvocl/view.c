/* The program's view of a session: the devices of its nodes, chosen and ordered, and their one platform. */
#include <errno.h>
#include <stdio.h>
#include <strings.h>

#include "base/hash.h"
#include "base/log.h"
#include "client/core/cache.h"
#include "libvocl/internal.h"
#include "libvocl/restore.h"
#include "wire/tables.h"

#define MOST_PLATFORMS 32 /* of one node */

/* A native platform, as a worker describes it. */
struct described {
    const struct node *node;
    uint32_t number;
    struct info_table infos;
};

struct view {
    unsigned device_count, described_count;
    cl_device_id *devices;
    cl_platform_id platform;
    struct described *described;
};

static cl_int keep_platform(struct view *view, const struct node *node, uint32_t number, const void *infos,
                            uint32_t length, unsigned *version)
{
    struct described *more = realloc(view->described, (view->described_count + 1) * sizeof(*more));

    if (!more)
        return CL_OUT_OF_HOST_MEMORY;
    view->described = more;
    more[view->described_count] = (struct described){.node = node, .number = number};
    if (!info_table_take(&more[view->described_count].infos, infos, length))
        return CL_OUT_OF_RESOURCES;
    *version = platform_version(&more[view->described_count++].infos);
    return CL_SUCCESS;
}

/* Chooses the program's platform: the one with the newest version, so that all its calls can be made, or that of the
 * first device, if its name is to be seen. */
static void choose_platform(struct view *view)
{
    const bool native = platform_is_native();
    unsigned newest = 0;

    view->platform->native = native;
    for (unsigned i = 0; i < view->described_count && view->device_count; i++) {
        const struct described *described = &view->described[i];
        const bool first = described->node == view->devices[0]->node && described->number == view->devices[0]->platform;

        if (native ? first : platform_version(&described->infos) > newest) {
            view->platform->infos = described->infos;
            newest = platform_version(&described->infos);
        }
    }
}

/* Adds a device, but not one whose description is invalid. */
static cl_int keep_device(struct view *view, struct node *node, uint32_t platform, unsigned version,
                          struct wire_cursor *in)
{
    cl_device_id *devices = realloc(view->devices, (view->device_count + 1) * sizeof(*devices));
    uint32_t id = wire_get_u32(in), length;
    const void *infos = wire_get_blob(in, &length);
    cl_device_id device;
    cl_int error;

    if (!devices)
        return CL_OUT_OF_HOST_MEMORY;
    view->devices = devices;
    if (in->failed || !id)
        return CL_OUT_OF_RESOURCES;
    error = device_new(node, platform, id, &device);
    if (error)
        return error;
    device->version = version;
    if (!device_tell(device, infos, length)) {
        devices[view->device_count++] = device;
        return CL_SUCCESS;
    }
    vocl_log(LOG_ERROR, "worker %u sent an invalid description of a device", node->peer);
    device_give_up(device);
    return CL_SUCCESS;
}

/* Adds all platforms and devices of a node, from its description. */
static cl_int keep_node(struct view *view, struct node *node, const void *description, size_t length)
{
    struct wire_cursor in = wire_cursor(description, length);

    for (uint32_t number = 0; in.left; number++) {
        uint32_t infos_length, count;
        const void *infos = wire_get_blob(&in, &infos_length);
        unsigned version;
        cl_int error;

        count = wire_get_u32(&in);
        if (in.failed || count > WIRE_MAX_DEVICES || number >= MOST_PLATFORMS)
            return CL_OUT_OF_RESOURCES;
        error = keep_platform(view, node, number, infos, infos_length, &version);
        for (uint32_t i = 0; !error && i < count; i++)
            error = keep_device(view, node, number, version, &in);
        if (error)
            return error;
    }
    return CL_SUCCESS;
}

/* A request that every node gets before the first answer is waited for, with the cached description from an earlier
 * session, which the answer confirms or replaces. */
struct question {
    struct call call;
    struct cached cached;
    uint64_t known;
};

static void cache_name(const struct node *node, char *name, size_t size)
{
    snprintf(name, size, "%s %u", transport_peer_host(session_transport(node->session), node->peer), node->peer);
}

static void ask_node(struct node *node, struct question *question)
{
    struct wire_describe_node m = {0};
    char name[128];

    cache_name(node, name, sizeof(name));
    if (cache_find(CACHE_NODE, name, strlen(name), &question->cached))
        m.known = question->known = hash_bytes(question->cached.bytes, question->cached.length) | 1;
    call_send_describe_node(node, &m, &question->call);
}

static cl_int hear_devices(struct view *view, struct node *node, struct question *question)
{
    struct wire_describe_node_reply reply;
    cl_int error = cl_error(call_wait_describe_node(&question->call, &reply));
    char name[128];

    if (error)
        return error;
    node->digest = reply.digest;
    if (!reply.description_length && reply.digest == question->known) {
        error = keep_node(view, node, question->cached.bytes, question->cached.length);
    } else {
        error = keep_node(view, node, reply.description, reply.description_length);
        cache_name(node, name, sizeof(name));
        if (!error && reply.description_length)
            cache_keep(CACHE_NODE, name, strlen(name), reply.description, reply.description_length);
    }
    call_free(&question->call);
    return error;
}

static void hear_node(struct view *view, struct node *node, struct question *question)
{
    const unsigned before = view->device_count;

    if (hear_devices(view, node, question))
        vocl_log(LOG_ERROR, "worker %u did not describe its devices", node->peer);
    else if (view->device_count == before)
        vocl_log(LOG_ERROR,
                 "%s has no OpenCL device: no driver in /etc/OpenCL/vendors (or OCL_ICD_VENDORS) offers one; "
                 "run `vocl doctor` with the same options to find the reason",
                 transport_peer_host(session_transport(node->session), node->peer));
    cache_free(&question->cached);
}

/* Returns false if memory is exhausted. */
static bool describe_nodes(struct view *view, struct session *session)
{
    const unsigned count = session_node_count(session), last = count - 1;
    struct question *questions = calloc(count + 1, sizeof(*questions));

    if (!questions)
        return false;
    for (unsigned i = 0; i < count; i++)
        ask_node(session_node(session, i), &questions[i]);
    for (unsigned i = 0; i < count; i++) {
        /* the last member's devices come first if it is in this process */
        const unsigned node = session_node(session, last)->in_process ? (i + last) % count : i;

        hear_node(view, session_node(session, node), &questions[node]);
    }
    free(questions);
    return true;
}

static void *open_view(struct session *session)
{
    struct view *view = calloc(1, sizeof(*view));

    if (!view || !(view->platform = handle_new(KIND_PLATFORM)) || !describe_nodes(view, session)) {
        free(view);
        return NULL;
    }
    view->device_count = choose_devices(view->devices, view->device_count);
    choose_platform(view);
    return view;
}

/* ---- another node for the same devices ---- */

/* Whether the query identifies one device among its like, and promises nothing. Some drivers number their devices by
 * CL_DEVICE_VENDOR_ID; devices of different vendors differ in CL_DEVICE_VENDOR, too. The program sees the first
 * answer. */
static bool is_its_own(cl_uint param)
{
    return param == CL_DEVICE_VENDOR_ID || identity_has(param);
}

/* Whether the query is a size that depends on the host's memory, of which a virtual machine has more or less over
 * time. Between workers of one host such sizes do not matter, as the memory is the same. */
static bool is_room(cl_uint param)
{
    return param == CL_DEVICE_GLOBAL_MEM_SIZE || param == CL_DEVICE_MAX_MEM_ALLOC_SIZE ||
           param == CL_DEVICE_IMAGE_MAX_BUFFER_SIZE || param == CL_DEVICE_IMAGE_MAX_ARRAY_SIZE ||
           param == CL_DEVICE_IMAGE2D_MAX_WIDTH || param == CL_DEVICE_IMAGE2D_MAX_HEIGHT ||
           param == CL_DEVICE_IMAGE3D_MAX_WIDTH || param == CL_DEVICE_IMAGE3D_MAX_HEIGHT ||
           param == CL_DEVICE_IMAGE3D_MAX_DEPTH;
}

static bool answers_alike(cl_uint param, const void *told, uint32_t told_length, const void *there,
                          uint32_t there_length, bool one_host)
{
    cl_ulong least, most;

    if (is_its_own(param) || (one_host && is_room(param)))
        return true;
    if (!there || told_length != there_length)
        return false;
    if ((!is_room(param) && param != WIRE_INFO_LIMITED) || told_length != sizeof(least))
        return !memcmp(told, there, told_length);
    memcpy(&least, told, sizeof(least));
    memcpy(&most, there, sizeof(most));
    return least <= most;
}

static int device_fits(cl_device_id device, const struct info_table *there, bool one_host, char *reason, size_t size)
{
    struct wire_cursor in = wire_cursor(device->infos.bytes, device->infos.length);
    const char *name = info_text(&device->infos, CL_DEVICE_NAME), *other = info_text(there, CL_DEVICE_NAME);
    uint32_t param, told_length;
    char query[64];
    const void *told;

    while (wire_get_info(&in, &param, &told, &told_length)) {
        uint32_t there_length = 0;
        const void *found = info_find(there, param, &there_length);

        if (answers_alike(param, told, told_length, found, there_length, one_host))
            continue;
        cover_query_name(param, query, sizeof(query));
        snprintf(reason, size, "%s does not match %s: %s differs", other ? other : "its device",
                 name ? name : "this device", query);
        return -EXDEV;
    }
    return 0;
}

/* Asks for the target's device of that number. */
static int ask_device(struct node *target, uint32_t id, struct info_table *there)
{
    struct wire_describe_device m = {.device = id};
    struct wire_describe_device_reply reply;
    struct call call;
    int error = call_describe_device(target, &m, &reply, &call);

    if (error)
        return error;
    if (reply.error || !info_table_take(there, reply.infos, reply.infos_length))
        error = -EXDEV;
    call_free(&call);
    return error;
}

static int device_is_like(cl_device_id device, const struct node *target, const struct info_table *there, char *reason,
                          size_t size)
{
    return device->node->any && !device->parent
               ? device_covers(device, there, reason, size)
               : device_fits(device, there, !strcasecmp(device->node->host, target->host), reason, size);
}

int device_ask_fits(cl_device_id device, struct node *target, char *reason, size_t size)
{
    struct info_table there = {0};
    int error = ask_device(target, device->object.id, &there);

    if (!error)
        error = device_is_like(device, target, &there, reason, size);
    free(there.bytes);
    return error;
}

/* Whether the target's device of that number could stand for any device of the node. */
static bool fits_any(const struct view *view, const struct node *node, struct node *target, uint32_t id)
{
    struct info_table there = {0};
    bool fits = ask_device(target, id, &there) != 0; /* unknown */
    char reason[256];

    for (unsigned i = 0; !fits && i < view->device_count; i++)
        fits =
            view->devices[i]->node == node && !device_is_like(view->devices[i], target, &there, reason, sizeof(reason));
    free(there.bytes);
    return fits;
}

/* The first device that does not match may only be in the wrong place, because another device is in its place. Then
 * the other one has to be replaced, and the first may be of use. Marks a device that matches none. */
static void find_unfit(const struct view *view, const struct node *node, struct node *target)
{
    for (unsigned i = 0; i < view->device_count; i++) {
        const uint32_t id = view->devices[i]->object.id;

        if (view->devices[i]->node != node || fits_any(view, node, target, id))
            continue;
        target->unfit = id;
        return;
    }
}

static bool lists(uint32_t id, const uint32_t *ids, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (ids[i] == id)
            return true;
    }
    return false;
}

/* Checks the devices of a platform, and marks them in found. The program's devices have the numbers that their node
 * gave them; the target must use the same numbers. */
static int platform_fits(const struct view *view, const struct node *node, struct node *target, uint32_t platform,
                         bool *found, char *reason, size_t size)
{
    struct wire_describe_platform m = {.platform = platform};
    struct wire_describe_platform_reply reply;
    uint32_t ids[WIRE_MAX_DEVICES], count = 0;
    struct call call;
    int error = call_describe_platform(target, &m, &reply, &call);

    if (error)
        return error;
    for (; !reply.error && count < reply.devices_count; count++)
        ids[count] = reply.devices[count];
    call_free(&call);
    for (unsigned i = 0; !error && i < view->device_count; i++) {
        cl_device_id device = view->devices[i];

        if (device->node != node || device->platform != platform || !lists(device->object.id, ids, count))
            continue;
        found[i] = true;
        error = device_ask_fits(device, target, reason, size);
        if (error == -EXDEV)
            target->unfit = device->object.id;
    }
    return error;
}

static int fits(const struct node *node, struct node *target, char *reason, size_t size)
{
    const struct view *view = session_view(node->session);
    struct wire_list_platforms m;
    struct wire_list_platforms_reply reply;
    struct call call;
    bool *found = calloc(view->device_count + 1, sizeof(*found));
    int error = found ? call_list_platforms(target, &m, &reply, &call) : -ENOMEM;

    target->unfit = 0;
    snprintf(reason, size, "its worker does not answer");
    if (error) {
        free(found);
        return error;
    }
    call_free(&call);
    for (uint32_t i = 0; !error && i < reply.count && i < MOST_PLATFORMS; i++)
        error = platform_fits(view, node, target, i, found, reason, size);
    for (unsigned i = 0; !error && i < view->device_count; i++) {
        const char *name = info_text(&view->devices[i]->infos, CL_DEVICE_NAME);

        if (view->devices[i]->node != node || found[i])
            continue;
        snprintf(reason, size, "it has no %s with the same device number", name ? name : "such device");
        error = -EXDEV;
    }
    if (error == -EXDEV)
        find_unfit(view, node, target);
    free(found);
    return error;
}

static const struct kind platform_kind = {.size = sizeof(struct _cl_platform_id)};

static const struct kind *const kinds[KIND_COUNT] = {
    [WIRE_DEVICE] = &device_kind,     [WIRE_CONTEXT] = &context_kind, [WIRE_QUEUE] = &queue_kind,
    [WIRE_MEMORY] = &memory_kind,     [WIRE_SAMPLER] = &sampler_kind, [WIRE_PROGRAM] = &program_kind,
    [WIRE_KERNEL] = &kernel_kind,     [WIRE_EVENT] = &event_kind,     [WIRE_COMMAND_BUFFER] = &command_buffer_kind,
    [KIND_PLATFORM] = &platform_kind,
};

struct session *vocl_session(void)
{
    static const struct front_end front = {&vocl_dispatch, kinds, open_view, fits, restore_after_fork};

    return session_get(&front);
}

unsigned session_device_count(const struct session *session)
{
    return ((const struct view *)session_view(session))->device_count;
}

cl_device_id session_device(const struct session *session, unsigned index)
{
    return ((const struct view *)session_view(session))->devices[index];
}

cl_platform_id session_platform(const struct session *session)
{
    return ((const struct view *)session_view(session))->platform;
}
