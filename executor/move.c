/*
 * Commands that move data between devices of the node, or from one to the host, may wait for those that are in each
 * other's way. Such a command is enqueued behind a gate; what it waits for itself is waited for by a marker, and once
 * that is complete the host is asked, which opens the gate when its turn has come.
 */
#include "executor/internal.h"

#define LEAST_BYTES (1u << 20) /* less is gone sooner than it is thought about */

struct moving {
    struct executor_move move;
    struct job reached, over;
    struct executor *x;
    cl_command_queue queue;
    cl_event first, event; /* event: the gate */
    struct gate open;
    unsigned parts; /* jobs that are to come */
    bool asked, ended, settled;
};

static void settle(struct moving *m, cl_int status)
{
    if (m->settled)
        return;
    m->settled = true;
    clSetUserEventStatus(m->event, status);
    gate_end(&m->open);
    clFlush(m->queue);
}

static void moving_free(struct moving *m)
{
    settle(m, CL_COMPLETE);
    if (m->first)
        clReleaseEvent(m->first);
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

static void go(struct executor_move *move)
{
    settle((struct moving *)move, CL_COMPLETE);
}

static void ask(struct moving *m)
{
    m->asked = !m->ended && !m->x->host.move(m->x->host.owner, &m->move);
    if (!m->asked)
        settle(m, CL_COMPLETE);
}

static void reached(struct executor *x, struct job *job)
{
    struct moving *m = moving_at(job, offsetof(struct moving, reached));
    cl_int error = transfer_event_error(m->first);

    (void)x;
    if (error)
        settle(m, error);
    else
        ask(m);
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

void memory_used_at(struct object *memory, const struct object *queue)
{
    memory->place = queue->place;
    memory->used = true;
}

bool memory_is_elsewhere(const struct command *c, uint32_t id, unsigned *place)
{
    const struct object *memory = c->x->moves && c->queue ? object_get(c->x, WIRE_MEMORY, id) : NULL;

    if (!memory || !memory->used || memory->place == c->queue->place)
        return false;
    *place = memory->place;
    return true;
}

static cl_int enqueue_marker(const struct command *c, struct moving *m)
{
    if (c->queue->out_of_order && !c->wait_count)
        return CL_SUCCESS;
    return clEnqueueMarkerWithWaitList(m->queue, c->wait_count, c->wait_count ? c->wait : NULL, &m->first);
}

void move_begin(struct command *c, unsigned source, unsigned target, uint64_t bytes)
{
    const struct executor_host *host = &c->x->host;
    struct moving *m;
    cl_int error;

    if (c->error || c->recording || !c->x->moves || bytes < LEAST_BYTES || !host->moves(host->owner, source, target))
        return;
    m = calloc(1, sizeof(*m));
    if (!m)
        return;
    m->event = clCreateUserEvent(c->queue->in, &error);
    if (error) {
        free(m);
        return;
    }
    m->move = (struct executor_move){.source = source, .target = target, .bytes = bytes, .go = go};
    m->x = c->x;
    m->queue = c->queue->queue;
    clRetainCommandQueue(m->queue);
    if (enqueue_marker(c, m)) {
        moving_free(m);
        return;
    }
    command_gate(c, &m->open);
    c->wait[0] = m->event;
    c->wait_count = 1;
    c->ask = &c->event;
    c->moving = m;
}

void move_enqueued(struct command *c)
{
    struct moving *m = c->moving;

    if (c->error || !c->event) {
        moving_free(m);
        return;
    }
    m->parts = 1 + (m->first != NULL);
    event_when(c->x, c->event, CL_COMPLETE, over, &m->over);
    if (m->first)
        event_when(c->x, m->first, CL_COMPLETE, reached, &m->reached);
    else
        ask(m);
}
