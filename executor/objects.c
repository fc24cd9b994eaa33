/* Objects by their numbers: the low 24 bits are the place in the kind's table, and the whole number is compared. */
#include "executor/internal.h"
#include "executor/staging.h"

#define MOST (1u << 22)

static uint32_t slot_of(uint32_t id)
{
    return id & 0xffffff;
}

void *object_get(const struct executor *x, unsigned kind, uint32_t id)
{
    const struct table *table = &x->tables[kind];
    struct object *object = slot_of(id) < table->count ? table->slots[slot_of(id)] : NULL;

    return object && object->id == id ? object : NULL;
}

static size_t size_of(unsigned kind)
{
    static const size_t sizes[] = {[WIRE_DEVICE] = sizeof(struct device),
                                   [WIRE_CONTEXT] = sizeof(struct context),
                                   [WIRE_QUEUE] = sizeof(struct queue),
                                   [WIRE_MEMORY] = sizeof(struct memory),
                                   [WIRE_SAMPLER] = sizeof(struct sampler),
                                   [WIRE_PROGRAM] = sizeof(struct program),
                                   [WIRE_KERNEL] = sizeof(struct kernel),
                                   [WIRE_EVENT] = sizeof(struct event),
                                   [WIRE_COMMAND_BUFFER] = sizeof(struct command_buffer)};

    return sizes[kind];
}

void *object_new(struct executor *x, unsigned kind, uint32_t id)
{
    struct table *table = &x->tables[kind];
    uint32_t at = slot_of(id);

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
    table->slots[at] = calloc(1, size_of(kind));
    if (table->slots[at])
        *table->slots[at] = (struct object){.id = id, .error = CL_OUT_OF_RESOURCES};
    return table->slots[at];
}

/* ---- destroying objects of each kind ---- */

static void device_destroy(struct device *device)
{
    if (device->native && device->part)
        clReleaseDevice(device->native);
}

/* What is released with a context. NVIDIA's driver waits in clReleaseContext for everything that is enqueued. If
 * that waits for something that this thread has to do, the thread does that first; if nobody will ever do it, the
 * context is not released. */
struct leaving {
    struct job job;
    cl_context context;
    struct gates *gates;
};

static void context_leave(struct executor *x, struct job *job)
{
    struct leaving *leaving = (struct leaving *)job;

    (void)x;
    if (leaving->context && !gates_stuck(leaving->gates))
        clReleaseContext(leaving->context);
    gates_free(leaving->gates);
    free(leaving);
}

static void context_destroy(struct executor *x, struct context *context)
{
    struct leaving *leaving = malloc(sizeof(*leaving));

    order_context_gone(context);
    staging_drop(context->staging);
    if (context->spare)
        clReleaseCommandQueue(context->spare);
    if (context->mover)
        clReleaseCommandQueue(context->mover->native);
    free(context->mover);
    if (!leaving)
        return;
    *leaving = (struct leaving){.job.run = context_leave, .context = context->native, .gates = context->gates};
    if (!gates_last(context->gates, x, &leaving->job))
        context_leave(x, &leaving->job);
}

/* A native queue that is released after its commands: see driver_queue_waits_for_itself(). */
struct leaving_queue {
    struct job job;
    cl_command_queue native;
};

static void queue_leave(struct executor *x, struct job *job)
{
    struct leaving_queue *leaving = (struct leaving_queue *)job;

    (void)x;
    clFinish(leaving->native);
    clReleaseCommandQueue(leaving->native);
    free(leaving);
}

static void queue_release(struct executor *x, cl_command_queue native, bool out_of_order)
{
    struct leaving_queue *leaving = NULL;
    cl_event event;

    if (out_of_order && driver_queue_waits_for_itself(native))
        leaving = malloc(sizeof(*leaving));
    if (!leaving || clEnqueueMarkerWithWaitList(native, 0, NULL, &event)) {
        clReleaseCommandQueue(native);
        free(leaving);
        return;
    }
    *leaving = (struct leaving_queue){.native = native};
    executor_flush_native(x, native);
    event_when(x, event, CL_COMPLETE, queue_leave, &leaving->job);
    clReleaseEvent(event);
}

static void queue_destroy(struct executor *x, struct queue *queue)
{
    order_queue_gone(x, queue);
    if (queue->used)
        executor_flush(x);
    if (queue->used)
        executor_forget_queue(x, queue);
    queue_forget_barrier(queue);
    queue_forget_last(queue);
    staging_drop(queue->staging);
    if (queue->spare)
        clReleaseCommandQueue(queue->spare);
    if (queue->native)
        queue_release(x, queue->native, queue->out_of_order);
    lazy_free(queue);
}

static void memory_destroy(struct memory *memory)
{
    if (memory->native)
        clReleaseMemObject(memory->native);
    contents_drop(memory->contents);
    free(memory->addresses);
}

static void sampler_destroy(struct sampler *sampler)
{
    if (sampler->native)
        clReleaseSampler(sampler->native);
}

static void program_destroy(struct program *program)
{
    if (program->native)
        clReleaseProgram(program->native);
    include_free(program->tree);
}

static void kernel_destroy(struct kernel *kernel)
{
    if (kernel->native)
        clReleaseKernel(kernel->native);
    free(kernel->kinds);
    free(kernel->memories);
}

static void event_destroy(struct event *event)
{
    gate_abandon(&event->gate);
    if (event->native)
        clReleaseEvent(event->native);
    if (event->begin)
        clReleaseEvent(event->begin);
}

static void destroy(struct executor *x, unsigned kind, void *object)
{
    switch (kind) {
    case WIRE_DEVICE:
        device_destroy(object);
        break;
    case WIRE_CONTEXT:
        context_destroy(x, object);
        break;
    case WIRE_QUEUE:
        queue_destroy(x, object);
        break;
    case WIRE_MEMORY:
        memory_destroy(object);
        break;
    case WIRE_SAMPLER:
        sampler_destroy(object);
        break;
    case WIRE_PROGRAM:
        program_destroy(object);
        break;
    case WIRE_KERNEL:
        kernel_destroy(object);
        break;
    case WIRE_EVENT:
        event_destroy(object);
        break;
    case WIRE_COMMAND_BUFFER:
        recording_free(x, object);
        break;
    }
}

void object_take(struct executor *x, unsigned kind, struct object *object)
{
    x->tables[kind].slots[slot_of(object->id)] = NULL;
}

void object_drop(struct executor *x, unsigned kind, struct object *object)
{
    if (x->tables[kind].slots[slot_of(object->id)] == object)
        object_take(x, kind, object);
    destroy(x, kind, object);
    free(object);
}

int exec_release(struct executor *x, const struct exec_release *m)
{
    struct device *device = m->kind == WIRE_DEVICE ? (struct device *)m->object : NULL;
    struct event *event = m->kind == WIRE_EVENT ? (struct event *)m->object : NULL;

    if (device && !device->part)
        return -EBADMSG;
    if (x->traced && (m->kind == WIRE_CONTEXT || m->kind == WIRE_QUEUE))
        timeline_look(x); /* which may have events of it */
    if (event && event->imported && !event->completed && is_usable(event))
        event_orphan(x, event);
    else if (event && event->late)
        event_release_late(x, event);
    else
        object_drop(x, m->kind, m->object);
    return 0;
}

struct outcome {
    struct job job;
    struct wire_outcome_reply reply;
};

static void tell_outcome(struct executor *x, struct job *job)
{
    struct outcome *outcome = (struct outcome *)job;

    reply_outcome(x, &outcome->reply);
    free(outcome);
}

/* Answers after everything that is finished but not yet reported: see destructor_catch_up(). */
int exec_outcome(struct executor *x, const struct exec_outcome *m)
{
    struct outcome *outcome = malloc(sizeof(*outcome));

    if (!outcome)
        return -ENOMEM;
    *outcome = (struct outcome){{.run = tell_outcome}, {.call = m->call, .error = m->object->error}};
    executor_finish(x, &outcome->job);
    return 0;
}

/* ---- releases that are watched ---- */

enum { WATCHED, GONE, ANSWERED };

struct watched {
    struct job job;
    struct executor *x;
    uint32_t kind, id;
    atomic_int state; /* both the native callback and the answer to the release advance it; the second one acts */
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

/* Returns whether the native callback will be called. */
static bool watch(struct watched *w, struct object *object)
{
    if (!is_usable(object))
        return false;
    if (w->kind == WIRE_CONTEXT)
        return clSetContextDestructorCallback(object->native, context_gone, w) == CL_SUCCESS;
    return clSetMemObjectDestructorCallback(object->native, memory_gone, w) == CL_SUCCESS;
}

/* Releases the object here, and watches for its native end. state: WATCHED, or ANSWERED if the end is reported in
 * any case. */
static int release_watched(struct executor *x, uint32_t kind, struct object *object, int state, struct watched **out)
{
    struct watched *w;

    if (kind != WIRE_MEMORY && kind != WIRE_CONTEXT)
        return -EBADMSG;
    w = calloc(1, sizeof(*w));
    if (!w)
        return -ENOMEM;
    *w = (struct watched){.job.run = tell_destroyed, .x = x, .kind = kind, .id = object->id, .state = state};
    if (!watch(w, object))
        native_gone(w);
    object_drop(x, kind, object);
    *out = w;
    return 0;
}

int exec_release_notify(struct executor *x, const struct exec_release_notify *m)
{
    struct watched *w;

    return release_watched(x, m->kind, m->object, ANSWERED, &w);
}

int exec_release_watched(struct executor *x, const struct exec_release_watched *m)
{
    struct wire_release_watched_reply reply = {.call = m->call};
    struct watched *w;
    int bad = release_watched(x, m->kind, m->object, WATCHED, &w);

    if (bad)
        return bad;
    reply.gone = atomic_exchange(&w->state, ANSWERED) == GONE;
    if (reply.gone)
        free(w);
    reply_release_watched(x, &reply);
    return 0;
}
