/*
 * Commands that move data between devices of the node, or from one to the host, may have to wait for others with which
 * they would share a bus. Such a command is enqueued behind a gate. A marker waits for the command's wait list; when
 * the marker is complete the host is asked, and opens the gate when the command may go. A command that meets no other
 * goes at once, and the host is only informed.
 */
#include "executor/internal.h"

#define LEAST_BYTES (1u << 20) /* fewer bytes are moved sooner than they are arbitrated */

struct moving {
    struct arbitration move;
    LIST_ENTRY(moving) in; /* those with a closed gate */
    cl_mem memories[MOST_MOVED];
    unsigned memory_count;
    struct job reached, over;
    struct executor *x;
    cl_command_queue queue;
    cl_event first, event; /* event: the gate */
    struct gate open;
    unsigned parts; /* jobs that are still to come */
    bool asked, ended, completed;
};

static void complete(struct moving *m, cl_int status)
{
    if (m->completed)
        return;
    m->completed = true;
    LIST_REMOVE(m, in);
    clSetUserEventStatus(m->event, status);
    gate_end(&m->open);
    executor_flush_native(m->x, m->queue);
}

static void moving_free(struct moving *m)
{
    complete(m, CL_COMPLETE);
    m->x->arbitrations_open--;
    if (m->first)
        clReleaseEvent(m->first);
    if (m->event)
        clReleaseEvent(m->event);
    clReleaseCommandQueue(m->queue);
    free(m);
}

static void part_over(struct moving *m)
{
    if (!--m->parts)
        moving_free(m);
}

static struct moving *moving_at(struct job *job, size_t offset)
{
    return (struct moving *)((uint8_t *)job - offset);
}

static void go(struct arbitration *move)
{
    complete((struct moving *)move, CL_COMPLETE);
}

static void reached(struct executor *x, struct job *job)
{
    struct moving *m = moving_at(job, offsetof(struct moving, reached));
    cl_int error = transfer_event_error(m->first);

    m->asked = !error && !m->ended && !x->host.move(x->host.owner, &m->move);
    if (!m->asked)
        complete(m, error ? error : CL_COMPLETE);
    part_over(m);
}

static void over(struct executor *x, struct job *job)
{
    struct moving *m = moving_at(job, offsetof(struct moving, over));

    m->ended = true;
    if (m->asked)
        x->host.moved(x->host.owner, &m->move);
    part_over(m);
}

void memory_used_at(struct memory *memory, const struct queue *queue)
{
    memory->ordinal = queue->ordinal;
    memory->used = true;
}

bool memory_is_elsewhere(const struct command *c, const struct memory *memory, unsigned *ordinal)
{
    if (!c->x->moves || !c->queue || !memory->used || memory->ordinal == c->queue->ordinal)
        return false;
    *ordinal = memory->ordinal;
    return true;
}

bool arbitration_waits(const struct executor *x, cl_mem memory)
{
    const struct moving *m;

    LIST_FOREACH (m, &x->moving, in) {
        for (unsigned i = 0; i < m->memory_count; i++) {
            if (m->memories[i] == memory)
                return true;
        }
    }
    return false;
}

/* Native OpenCL may run commands that use one object in the order in which they were enqueued, whatever they wait
 * for; and in an out-of-order queue nothing tells when a command with an empty wait list may run, as there may be a
 * barrier before it. Such commands must not wait for each other at the bus in the opposite order. */
static bool may_wait(const struct command *c, const cl_mem *memories, unsigned count)
{
    bool may = !c->queue->out_of_order || c->wait_count;

    for (unsigned i = 0; i < count && may; i++)
        may = !arbitration_waits(c->x, memories[i]);
    return may && count <= MOST_MOVED;
}

static struct moving *moving_new(struct command *c)
{
    struct moving *m = calloc(1, sizeof(*m));

    if (!m)
        return NULL;
    m->x = c->x;
    m->x->arbitrations_open++;
    m->queue = c->queue->native;
    clRetainCommandQueue(m->queue);
    m->completed = true;
    return m;
}

/* Makes the command wait for its turn, or leaves it as it is if that fails. */
static void make_wait(struct command *c, struct moving *m, const cl_mem *memories, unsigned count)
{
    cl_event event = clCreateUserEvent(c->queue->in, NULL);

    if (!event)
        return;
    if (clEnqueueMarkerWithWaitList(m->queue, c->wait_count, command_waits(c), &m->first)) {
        clReleaseEvent(event);
        return;
    }
    m->event = event;
    m->completed = false;
    memcpy(m->memories, memories, count * sizeof(*memories));
    m->memory_count = count;
    LIST_INSERT_HEAD(&c->x->moving, m, in);
    command_gate(c, &m->open, false);
    c->wait[0] = m->event;
    c->wait_count = 1;
}

void arbitration_begin(struct command *c, unsigned source, unsigned target, uint64_t bytes, const cl_mem *memories,
                       unsigned count)
{
    const struct executor_host *host = &c->x->host;
    struct moving *m;

    if (c->error || c->recording || !c->x->moves || bytes < LEAST_BYTES || !host->moves(host->owner, source, target))
        return;
    m = moving_new(c);
    if (!m)
        return;
    m->move = (struct arbitration){.source = source, .target = target, .bytes = bytes, .go = go};
    if (m->x->arbitrations_open > 1 && may_wait(c, memories, count))
        make_wait(c, m, memories, count);
    c->ask = &c->event;
    c->moving = m;
}

void arbitration_enqueued(struct command *c)
{
    struct moving *m = c->moving;

    if (c->error || !c->event) {
        moving_free(m);
        return;
    }
    m->parts = 1 + !m->completed;
    event_when(c->x, c->event, CL_COMPLETE, over, &m->over);
    if (m->completed)
        m->asked = !m->x->host.move(m->x->host.owner, &m->move);
    else
        event_when(c->x, m->first, CL_COMPLETE, reached, &m->reached);
}
