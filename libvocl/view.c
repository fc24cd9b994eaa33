/*
 * What the program sees of a session: the devices that its nodes have, chosen and in order, and the one platform that
 * they are of.
 */
#include "base/log.h"
#include "libvocl/internal.h"

#define MOST_PLATFORMS 32 /* of one node */

/* A native platform, as a worker tells of it. */
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

static cl_int describe_devices(struct view *view, struct node *node, uint32_t platform, unsigned version,
                               const uint32_t *ids, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        cl_device_id *devices = realloc(view->devices, (view->device_count + 1) * sizeof(*devices));
        cl_int error;

        if (!devices)
            return CL_OUT_OF_HOST_MEMORY;
        view->devices = devices;
        error = device_new(node, platform, ids[i], &devices[view->device_count]);
        if (error)
            return error;
        devices[view->device_count]->version = version;
        view->device_count++;
    }
    return CL_SUCCESS;
}

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

/* The one platform of the program: the newest, whose calls can be made, or that of the first device, if its name is to
 * be seen. */
static void choose_platform(struct view *view)
{
    const bool native = platform_is_native();
    unsigned newest = 0;

    for (unsigned i = 0; i < view->described_count && view->device_count; i++) {
        const struct described *described = &view->described[i];
        const bool first = described->node == view->devices[0]->node && described->number == view->devices[0]->platform;

        if (native ? first : platform_version(&described->infos) > newest) {
            view->platform->infos = described->infos;
            newest = platform_version(&described->infos);
        }
    }
}

static cl_int describe_platform(struct view *view, struct node *node, uint32_t number)
{
    struct wire_describe_platform m = {.platform = number};
    struct wire_describe_platform_reply reply;
    struct call call;
    cl_int error = cl_error(call_describe_platform(node, &m, &reply, &call));
    unsigned version;

    if (error)
        return error;
    if (reply.error) {
        call_free(&call);
        return CL_OUT_OF_RESOURCES;
    }
    error = keep_platform(view, node, number, reply.infos, reply.infos_length, &version);
    if (!error)
        error = describe_devices(view, node, number, version, reply.devices, reply.devices_count);
    call_free(&call);
    return error;
}

static cl_int ask_devices(struct view *view, struct node *node)
{
    struct wire_list_platforms m;
    struct wire_list_platforms_reply reply;
    struct call call;
    cl_int error = cl_error(call_list_platforms(node, &m, &reply, &call));

    if (error)
        return error;
    call_free(&call);
    if (reply.count > MOST_PLATFORMS)
        return CL_OUT_OF_RESOURCES;
    for (uint32_t i = 0; !error && i < reply.count; i++)
        error = describe_platform(view, node, i);
    return error;
}

static void describe_node(struct view *view, struct node *node)
{
    const unsigned before = view->device_count;

    if (ask_devices(view, node))
        vocl_log(LOG_ERROR, "worker %u does not tell its devices", node->peer);
    else if (view->device_count == before)
        vocl_log(LOG_ERROR,
                 "%s has no OpenCL device: no driver in /etc/OpenCL/vendors (or OCL_ICD_VENDORS) gives one; "
                 "`vocl doctor` looks for what is wrong",
                 transport_peer_host(session_transport(node->session), node->peer));
}

static void *open_view(struct session *session)
{
    struct view *view = calloc(1, sizeof(*view));
    const unsigned count = session_node_count(session);
    const unsigned last = count - 1;

    if (!view || !(view->platform = handle_new(KIND_PLATFORM))) {
        free(view);
        return NULL;
    }
    for (unsigned i = 0; i < count; i++) { /* the last member's devices come first, if it is of this process */
        const unsigned node = session_node(session, last)->in_process ? (i + last) % count : i;

        describe_node(view, session_node(session, node));
    }
    view->device_count = choose_devices(view->devices, view->device_count);
    choose_platform(view);
    return view;
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
    static const struct front_end front = {&vocl_dispatch, kinds, open_view};

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
