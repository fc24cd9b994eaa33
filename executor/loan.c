/*
 * Contents that another worker fetches: the side that has them. The application tells of it (lend) in its place among
 * its other commands, so that what it releases afterwards is kept. Behind the commands that wrote the contents they are
 * read natively and given to the other: at once if they are short, or else when it asks.
 *
 * The native read is enqueued when the loan is told of: to wait for the writing command here would let others in
 * between, and where the device is the CPU a kernel then may keep all its threads.
 */
#include "executor/transfer.h"

struct loan {
    struct job job;
    struct loan *next;
    struct executor *x;
    unsigned peer;
    uint32_t event_id;
    struct side side;
    struct queue mover; /* the context's */
    cl_event *after;
    uint32_t after_count, at;  /* at: the one that is waited for here */
    struct transfer *transfer; /* large: mapped, or on its way to be */
    cl_int error;
    bool mapped, wanted, ended; /* ended: its end was told, or nobody is left to be told */
};

static void loan_free(struct loan *loan)
{
    while (loan->after_count)
        clReleaseEvent(loan->after[--loan->after_count]);
    free(loan->after);
    if (loan->side.memory)
        clReleaseMemObject(loan->side.memory);
    if (loan->mover.native)
        clReleaseCommandQueue(loan->mover.native);
    free(loan);
}

static void unlink_loan(struct loan *loan)
{
    struct executor *x = loan->x;
    struct loan **at = &x->loans;

    while (*at && *at != loan)
        at = &(*at)->next;
    if (!*at)
        return;
    *at = loan->next;
    if (x->loans_last == &loan->next)
        x->loans_last = at;
}

void loan_say(struct executor *x, unsigned peer, uint32_t event_id, cl_int status, const void *data, size_t length)
{
    struct wire_piece_here m = {.event = event_id, .status = status, .data = data, .data_length = (uint32_t)length};
    struct wire_buffer out = {0};

    wire_put_piece_here(&out, &m);
    executor_send_fellow(x, peer, &out);
}

static bool waits(const struct loan *loan)
{
    return loan->at < loan->after_count;
}

/* It is freed with the last event that it waits for. */
static void end(struct loan *loan, cl_int error)
{
    if (!loan->ended && error)
        loan_say(loan->x, loan->peer, loan->event_id, error, NULL, 0);
    loan->ended = true;
    unlink_loan(loan);
    if (!waits(loan))
        loan_free(loan);
}

static bool is_large(const struct loan *loan)
{
    return loan->side.part.size > WIRE_MAX_UNASKED;
}

/* What was mapped goes to the one that asked for it, or nowhere. */
static void give_mapped(struct loan *loan)
{
    struct transfer *t = loan->transfer;

    if (!t->error)
        t->error = loan->error;
    transfer_give(t);
    end(loan, CL_SUCCESS);
}

static void mapped(struct executor *x, struct job *job)
{
    struct transfer *t = (struct transfer *)job;
    struct loan *loan = t->loan;

    (void)x;
    loan->mapped = true;
    t->error = transfer_event_error(t->first);
    if (t->error || loan->error || loan->wanted || loan->ended)
        give_mapped(loan);
}

/* Enqueued behind the events. A block is read only once it is asked for. */
static void serve(struct loan *loan, cl_uint count, cl_event *events)
{
    struct executor *x = loan->x;
    struct command c = {.x = x, .queue = &loan->mover, .wait = events, .wait_count = count};
    struct transfer *t;
    cl_int error;

    x->loan_tag = wire_tag(x->loan_tag);
    t = transfer_new(x, loan->mover.native, &loan->side, x->loan_tag, true);
    if (!t) {
        end(loan, CL_OUT_OF_HOST_MEMORY);
        return;
    }
    t->peer = loan->peer;
    t->event_id = loan->event_id;
    t->loan = loan;
    loan->at = loan->after_count;
    if (is_large(loan) && side_can_map(x, &loan->mover, &loan->side)) {
        loan->transfer = t;
        error = transfer_through_map(&c, t, CL_MAP_READ, mapped);
    } else {
        error = transfer_read_whole(&c, t);
    }
    if (error)
        transfer_free(t);
    clFlush(loan->mover.native);
    if (error || !loan->transfer)
        end(loan, error);
}

static void go_on(struct loan *loan);

static void after_over(struct executor *x, struct job *job)
{
    struct loan *loan = (struct loan *)job;

    (void)x;
    if (!loan->error)
        loan->error = transfer_event_error(loan->after[loan->at]);
    loan->at++;
    if (loan->ended && !waits(loan))
        loan_free(loan);
    else
        go_on(loan);
}

/* Native OpenCL may wait for the one command that wrote them; for one only, as PoCL does not bear it when several of
 * which a command waits fail. */
static bool can_wait_natively(const struct loan *loan)
{
    if (loan->at || loan->after_count > 1 || !loan->mover.out_of_order || driver_flush_waits(loan->mover.native))
        return false;
    if (loan->after_count && transfer_event_error(loan->after[0]))
        return false;
    return !is_large(loan) || side_can_map(loan->x, &loan->mover, &loan->side);
}

static void go_on(struct loan *loan)
{
    if (!loan->error && can_wait_natively(loan))
        serve(loan, loan->after_count, loan->after);
    else if (waits(loan))
        event_when(loan->x, loan->after[loan->at], CL_COMPLETE, after_over, &loan->job);
    else if (loan->error)
        end(loan, loan->error);
    else if (loan->wanted || !is_large(loan))
        serve(loan, 0, NULL);
}

/* What it needs of the application's objects. */
static int hold(struct loan *loan, const struct exec_lend *m)
{
    const struct memory *memory = m->memory;
    const struct context *context = object_get(loan->x, WIRE_CONTEXT, memory->context_id);

    for (uint32_t i = 0; i < m->after_count; i++) {
        const struct event *event = m->after[i];

        if (!is_usable(event)) {
            loan->error = event->error ? event->error : CL_OUT_OF_RESOURCES;
            continue;
        }
        clRetainEvent(event->native);
        loan->after[loan->after_count++] = event->native;
    }
    if (!context || !context->mover || !is_usable(memory)) {
        loan->error = CL_INVALID_MEM_OBJECT;
        return 0;
    }
    loan->mover = *context->mover;
    clRetainCommandQueue(loan->mover.native);
    loan->side.memory = memory->native;
    clRetainMemObject(memory->native);
    if (!bounds_side(&loan->side))
        loan->error = CL_INVALID_VALUE;
    return side_fits(&loan->side) ? 0 : -EBADMSG;
}

int exec_lend(struct executor *x, const struct exec_lend *m)
{
    struct loan *loan;
    struct early *asked;
    int bad;

    if (!executor_is_fellow(x, m->peer))
        return -EBADMSG;
    loan = calloc(1, sizeof(*loan));
    if (!loan)
        return -ENOMEM;
    *loan = (struct loan){.x = x, .peer = m->peer, .event_id = m->event};
    loan->after = calloc(m->after_count + 1, sizeof(*loan->after));
    bad = loan->after ? 0 : -ENOMEM;
    if (!bad && !side_from(&loan->side, NULL, &m->part))
        bad = -EBADMSG;
    if (!bad)
        bad = hold(loan, m);
    if (bad || executor_lost(x, m->peer)) {
        loan_free(loan);
        return bad;
    }
    asked = early_take(x, EARLY_ASK, m->peer, m->event);
    if (asked) {
        loan->wanted = true;
        if (!loan->error)
            loan->error = asked->status;
        free(asked);
    }
    *x->loans_last = loan;
    x->loans_last = &loan->next;
    go_on(loan);
    return 0;
}

int exec_ask_piece(struct executor *x, unsigned peer, const struct wire_ask_piece *m)
{
    const struct early early = {.kind = EARLY_ASK, .peer = peer, .id = m->event, .status = m->status};
    struct loan *loan = x->loans;

    if (m->status > 0)
        return -EBADMSG;
    while (loan && (loan->peer != peer || loan->event_id != m->event))
        loan = loan->next;
    if (!loan)
        return early_keep(x, &early) ? 0 : -ENOMEM;
    if (loan->wanted)
        return -EBADMSG;
    loan->wanted = true;
    if (loan->transfer) {
        loan->error = m->status;
        if (loan->mapped)
            give_mapped(loan);
    } else if (m->status) {
        end(loan, m->status);
    } else if (!waits(loan)) {
        go_on(loan);
    }
    return 0;
}

void loan_lose(struct executor *x, unsigned peer)
{
    struct loan *next;

    for (struct loan *loan = x->loans; loan; loan = next) {
        next = loan->next;
        if (loan->peer != peer || loan->ended)
            continue;
        loan->ended = true;
        loan->error = CL_OUT_OF_RESOURCES;
        if (!loan->transfer)
            end(loan, CL_SUCCESS);
        else if (loan->mapped)
            give_mapped(loan);
    }
}
