/*
 * Contents that this worker saves in memory of its process: those of its own objects at the time of a snapshot, and
 * replicas of other workers' saved contents, for when one of those is lost. The application says which contents, and
 * how large they are; what another worker asks for, or sends, is checked against that. Workers talk about saved
 * contents outside the session's stream: they can be obtained whatever holds that.
 */
#include "base/log.h"
#include "executor/transfer.h"

struct replica {
    struct job job; /* runs when the native read is over */
    struct replica *next;
    struct executor *x;
    uint32_t number;
    unsigned peer; /* the worker that is to send it, or 0 */
    bool there;
    bool dropped;   /* freed when nobody uses it any more */
    unsigned users; /* those that read or send it, and its arrival */
    cl_event read;
    size_t size;
    uint8_t *bytes;
};

static struct replica *find(const struct executor *x, uint32_t number)
{
    struct replica *kept = x->replicas;

    while (kept && kept->number != number)
        kept = kept->next;
    return kept;
}

static void unlink_kept(struct replica *kept)
{
    struct replica **at = &kept->x->replicas;

    while (*at && *at != kept)
        at = &(*at)->next;
    if (*at)
        *at = kept->next;
}

static void drop(struct replica *kept)
{
    kept->dropped = true;
    if (kept->users)
        return;
    unlink_kept(kept);
    kept->x->kept_bytes -= kept->size;
    if (kept->read)
        clReleaseEvent(kept->read);
    free(kept->bytes);
    free(kept);
}

static void use_over(struct replica *kept)
{
    kept->users--;
    if (kept->dropped)
        drop(kept);
}

static void say(struct executor *x, uint32_t number, cl_int status)
{
    const struct wire_kept m = {number, status};
    struct wire_buffer out = {0};

    wire_put_kept(&out, &m);
    executor_send(x, &out);
}

/* Reports an arrival; contents that could not be obtained are dropped. Ends the use of whoever fetched them. */
static void came(struct replica *kept, cl_int error)
{
    kept->there = !error;
    if (!kept->dropped)
        say(kept->x, kept->number, error);
    kept->dropped |= error != CL_SUCCESS;
    use_over(kept);
}

/* Returns NULL if memory is exhausted. It has one user, who fetches the contents. */
static struct replica *replica_new(struct executor *x, uint32_t number, size_t size)
{
    struct replica *kept = calloc(1, sizeof(*kept));

    if (!kept)
        return NULL;
    *kept = (struct replica){.x = x, .number = number, .size = size, .bytes = malloc(size), .users = 1};
    if (!kept->bytes) {
        free(kept);
        return NULL;
    }
    x->kept_bytes += size;
    kept->next = x->replicas;
    x->replicas = kept;
    return kept;
}

/* ---- of this worker's objects ---- */

/* Returns NULL if the context has no queues for that. */
static struct context *context_of(struct executor *x, const struct memory *memory)
{
    struct context *context = object_get(x, WIRE_CONTEXT, memory->context_id);

    return context && context->spare && context->mover ? context : NULL;
}

static bool is_right(const struct side *side)
{
    return side->part.size && side->part.size <= SIDE_MOST_BYTES &&
           (!side->memory || (side_fits(side) && bounds_side(side)));
}

static void was_read(struct executor *x, struct job *job)
{
    struct replica *kept = (struct replica *)job;

    (void)x;
    came(kept, transfer_event_error(kept->read));
}

int exec_keep(struct executor *x, const struct exec_keep *m)
{
    const struct context *context = context_of(x, m->memory);
    const struct side side = side_from(is_usable(m->memory) ? m->memory->native : NULL, &m->part);
    struct replica *kept;
    cl_int error;

    if (!context || !is_right(&side) || find(x, m->contents))
        return -EBADMSG;
    if (contents_hold(x, m->memory))
        return -EAGAIN;
    kept = side.memory ? replica_new(x, m->contents, side.part.size) : NULL;
    if (!kept) {
        say(x, m->contents, side.memory ? CL_OUT_OF_HOST_MEMORY : CL_MEM_OBJECT_ALLOCATION_FAILURE);
        return 0;
    }
    error = side_read(context->mover->native, &side, kept->bytes, 0, NULL, &kept->read);
    if (error) {
        came(kept, error);
        return 0;
    }
    event_when(x, kept->read, CL_COMPLETE, was_read, &kept->job);
    clFlush(context->mover->native);
    return 0;
}

int exec_bring_kept(struct executor *x, const struct exec_bring_kept *m)
{
    const struct context *context = context_of(x, m->memory);
    const struct side side = side_from(is_usable(m->memory) ? m->memory->native : NULL, &m->part);
    const struct replica *kept = find(x, m->contents);
    cl_int error = CL_SUCCESS;

    if (!context || !is_right(&side) || !kept || !kept->there || kept->size != side.part.size)
        return -EBADMSG;
    if (contents_hold(x, m->memory))
        return -EAGAIN;
    if (side.memory)
        error = side_put(context->spare, &side, kept->bytes);
    say(x, m->contents, error);
    return 0;
}

int exec_keep_no_more(struct executor *x, const struct exec_keep_no_more *m)
{
    struct replica *kept = find(x, m->contents);

    if (kept)
        drop(kept);
    return 0;
}

void replicas_forget(struct executor *x)
{
    struct replica *next;

    for (struct replica *kept = x->replicas; kept; kept = next) {
        next = kept->next;
        drop(kept);
    }
}

/* ---- of another worker's objects ---- */

int exec_keep_too(struct executor *x, const struct exec_keep_too *m)
{
    const struct wire_keep_ask ask = {m->contents};
    struct wire_buffer out = {0};
    struct replica *kept;

    if (find(x, m->contents) || !m->size || m->size > SIDE_MOST_BYTES)
        return -EBADMSG;
    kept = replica_new(x, m->contents, m->size);
    if (!kept) {
        say(x, m->contents, CL_OUT_OF_HOST_MEMORY);
        return 0;
    }
    vocl_log(LOG_DEBUG, "%zu bytes of contents are kept", x->kept_bytes);
    kept->peer = m->peer;
    wire_put_keep_ask(&out, &ask);
    if (executor_send_peer(x, m->peer, &out))
        came(kept, CL_OUT_OF_RESOURCES);
    return 0;
}

static void given(void *argument, int status)
{
    (void)status; /* the worker that asked for it knows */
    use_over(argument);
}

int exec_keep_ask(struct executor *x, unsigned peer, const struct exec_keep_ask *m)
{
    struct replica *kept = find(x, m->contents);
    struct wire_keep_here here = {.contents = m->contents};
    struct wire_buffer out = {0};

    if (kept && kept->there && !kept->dropped) {
        x->migration_tag = wire_tag(x->migration_tag);
        here.tag = x->migration_tag;
        here.size = kept->size;
    }
    wire_put_keep_here(&out, &here);
    if (executor_send_peer(x, peer, &out) || !here.tag)
        return 0;
    kept->users++;
    if (x->host.give(x->host.owner, peer, here.tag, kept->bytes, kept->size, given, kept))
        use_over(kept);
    return 0;
}

static void taken(void *argument, int status)
{
    came(argument, status ? CL_OUT_OF_RESOURCES : CL_SUCCESS);
}

/* Also for contents that have been dropped meanwhile: the data that were asked for still arrive. */
int exec_keep_here(struct executor *x, unsigned peer, const struct exec_keep_here *m)
{
    struct replica *kept = find(x, m->contents);

    if (!kept || !kept->peer || kept->peer != peer || (m->tag && m->size != kept->size))
        return -EBADMSG;
    kept->peer = 0;
    if (!m->tag)
        came(kept, CL_INVALID_VALUE);
    else if (x->host.take(x->host.owner, peer, m->tag, kept->bytes, kept->size, taken, kept))
        came(kept, CL_OUT_OF_RESOURCES);
    return 0;
}

void replicas_lose(struct executor *x, unsigned peer)
{
    struct replica *next;

    for (struct replica *kept = x->replicas; kept; kept = next) {
        next = kept->next;
        if (kept->peer == peer)
            came(kept, CL_OUT_OF_RESOURCES);
    }
}
