/* Objects by their numbers: the low 24 bits are a place in the table of the kind, the whole is compared. */
#include "executor/internal.h"

#define MOST (1u << 22)

static uint32_t place(uint32_t id)
{
    return id & 0xffffff;
}

struct object *object_get(struct executor *x, unsigned kind, uint32_t id)
{
    struct table *table = &x->tables[kind];
    struct object *object = place(id) < table->count ? table->slots[place(id)] : NULL;

    return object && object->id == id ? object : NULL;
}

bool devices_of(struct executor *x, const uint32_t *ids, uint32_t count, cl_device_id *devices)
{
    for (uint32_t i = 0; i < count; i++) {
        struct object *device = object_get(x, WIRE_DEVICE, ids[i]);

        if (!device)
            return false;
        devices[i] = device->device;
    }
    return count != 0;
}

struct object *object_new(struct executor *x, unsigned kind, uint32_t id)
{
    struct table *table = &x->tables[kind];
    uint32_t at = place(id);

    if (!id || at >= MOST)
        return NULL;
    if (at >= table->count) {
        uint32_t count = table->count ? table->count * 2 : 256;
        struct object **slots;

        while (count <= at)
            count *= 2;
        slots = realloc(table->slots, count * sizeof(struct object *));
        if (!slots)
            return NULL;
        memset(slots + table->count, 0, (count - table->count) * sizeof(struct object *));
        table->slots = slots;
        table->count = count;
    }
    if (table->slots[at])
        return NULL;
    table->slots[at] = calloc(1, sizeof(struct object));
    if (table->slots[at])
        table->slots[at]->id = id;
    return table->slots[at];
}

static void release_native(unsigned kind, struct object *object)
{
    switch (kind) {
    case WIRE_DEVICE:
        if (object->part)
            clReleaseDevice(object->device);
        break;
    case WIRE_CONTEXT:
        if (object->spare)
            clReleaseCommandQueue(object->spare);
        if (object->mover)
            clReleaseCommandQueue(object->mover->queue);
        clReleaseContext(object->context);
        break;
    case WIRE_QUEUE:
        if (object->spare)
            clReleaseCommandQueue(object->spare);
        clReleaseCommandQueue(object->queue);
        break;
    case WIRE_MEMORY:
        clReleaseMemObject(object->memory);
        break;
    case WIRE_SAMPLER:
        clReleaseSampler(object->sampler);
        break;
    case WIRE_PROGRAM:
        clReleaseProgram(object->program);
        break;
    case WIRE_KERNEL:
        clReleaseKernel(object->kernel);
        break;
    case WIRE_EVENT:
        clReleaseEvent(object->event);
        break;
    case WIRE_COMMAND_BUFFER:
        break; /* recording_free() */
    }
}

void object_take(struct executor *x, unsigned kind, struct object *object)
{
    x->tables[kind].slots[place(object->id)] = NULL;
}

void object_drop(struct executor *x, unsigned kind, struct object *object)
{
    if (kind == WIRE_QUEUE)
        order_queue_gone(x, object);
    if (kind == WIRE_QUEUE && object->used)
        executor_flush(x);
    if (kind == WIRE_QUEUE && object->used)
        executor_forget_queue(x, object);
    if (x->tables[kind].slots[place(object->id)] == object)
        object_take(x, kind, object);
    gate_end(&object->gate);
    if (object->order.event)
        clReleaseEvent(object->order.event);
    if (object->native)
        release_native(kind, object);
    if (object->begin)
        clReleaseEvent(object->begin);
    gates_free(object->gates);
    recording_free(x, object);
    lazy_free(object);
    include_free(object->tree);
    free(object->mover);
    free(object->kinds);
    free(object->memories);
    free(object->addresses);
    free(object);
}

bool is_usable(const struct object *object)
{
    return !object->error && object->native;
}

int exec_release(struct executor *x, const struct wire_release *m)
{
    struct object *object = object_get(x, m->kind, m->object);

    if (!object || (m->kind == WIRE_DEVICE && !object->part))
        return -EBADMSG;
    if (m->kind == WIRE_EVENT && object->imported && !object->settled && is_usable(object))
        event_orphan(x, object);
    else if (m->kind == WIRE_EVENT && object->late)
        event_release_late(x, object);
    else
        object_drop(x, m->kind, object);
    return 0;
}

int exec_outcome(struct executor *x, const struct wire_outcome *m)
{
    struct object *object = object_get(x, m->kind, m->object);
    struct wire_outcome_reply reply = {.call = m->call};
    struct wire_buffer out = {0};

    if (!object)
        return -EBADMSG;
    reply.error = object->error;
    wire_put_outcome_reply(&out, &reply);
    executor_send(x, &out);
    return 0;
}

/* ---- releases that are watched ---- */

enum { WATCHED, GONE, ANSWERED };

struct watched {
    struct job job;
    struct executor *x;
    uint32_t kind, id;
    atomic_int state; /* both the native callback and the answer to the release move it on; the second one acts */
};

static void tell_destroyed(struct executor *x, struct job *job)
{
    struct watched *w = (struct watched *)job;
    struct wire_destroyed m = {w->kind, w->id};
    struct wire_buffer out = {0};

    wire_put_destroyed(&out, &m);
    executor_send(x, &out);
    free(w);
}

static void native_gone(struct watched *w)
{
    if (atomic_exchange(&w->state, GONE) == ANSWERED)
        executor_finish(w->x, &w->job);
}

static void CL_CALLBACK memory_gone(cl_mem memory, void *argument)
{
    (void)memory;
    native_gone(argument);
}

static void CL_CALLBACK context_gone(cl_context context, void *argument)
{
    (void)context;
    native_gone(argument);
}

/* Whether the native callback will come. */
static bool watch(struct watched *w, struct object *object)
{
    if (!is_usable(object))
        return false;
    if (w->kind == WIRE_CONTEXT)
        return clSetContextDestructorCallback(object->context, context_gone, w) == CL_SUCCESS;
    return clSetMemObjectDestructorCallback(object->memory, memory_gone, w) == CL_SUCCESS;
}

/* The object is released here, and watched. state: WATCHED, or ANSWERED if the end is told in any case. */
static int release_watched(struct executor *x, uint32_t kind, uint32_t id, int state, struct watched **out)
{
    struct object *object = object_get(x, kind, id);
    struct watched *w;

    if (!object || (kind != WIRE_MEMORY && kind != WIRE_CONTEXT))
        return -EBADMSG;
    w = calloc(1, sizeof(*w));
    if (!w)
        return -ENOMEM;
    *w = (struct watched){.job.run = tell_destroyed, .x = x, .kind = kind, .id = id, .state = state};
    if (!watch(w, object))
        native_gone(w);
    object_drop(x, kind, object);
    *out = w;
    return 0;
}

int exec_release_told(struct executor *x, const struct wire_release_told *m)
{
    struct watched *w;

    return release_watched(x, m->kind, m->object, ANSWERED, &w);
}

int exec_release_watched(struct executor *x, const struct wire_release_watched *m)
{
    struct wire_release_watched_reply reply = {.call = m->call};
    struct wire_buffer out = {0};
    struct watched *w;
    int bad = release_watched(x, m->kind, m->object, WATCHED, &w);

    if (bad)
        return bad;
    reply.gone = atomic_exchange(&w->state, ANSWERED) == GONE;
    if (reply.gone)
        free(w);
    wire_put_release_watched_reply(&out, &reply);
    executor_send(x, &out);
    return 0;
}
