/*
 * Data between the application's memory and a node. Up to WIRE_MAX_INLINE bytes go in the command or note itself; more
 * is sent as bulk data, straight from and to the application's memory where this is contiguous.
 */
#include <errno.h>

#include "client/core/observer.h"
#include "client/core/stream.h"
#include "client/data/transfer.h"
#include "client/trace/timeline.h"

/* Reads of so many bytes and more are not copied if earlier transfers use their memory, but taken later. */
#define TAKEN_LATER ((size_t)256 << 10)

struct transfer {
    struct open_transfer open;
    struct layout layout;
    uint8_t *memory; /* what is sent, or received into: the application's memory, or a packed copy */
    size_t length;
    bool packed, reading, detached, waiting, done;
    bool kept;            /* its data are in the journal */
    unsigned ready_after; /* while it is held: the node's count of losses when its worker was ready to send */
    cl_int status;
    cl_event event;
    struct object *keep;
    void *owned;
    struct arrival *before;     /* arrival of what uses the same memory first */
    struct arrival_waiter turn; /* waiting: for before */
};

static const uint8_t *layout_end(const struct layout *layout)
{
    return layout->memory + layout_extent(layout);
}

/* The transfers under way, under the session's lock. */
static struct transfers *all_of(const struct node *node)
{
    return &session_under_way(node->session)->transfers;
}

static struct transfer *first_of(const struct node *node)
{
    return (struct transfer *)TAILQ_FIRST(&all_of(node)->all);
}

static struct transfer *next_of(const struct transfer *transfer)
{
    return (struct transfer *)TAILQ_NEXT(&transfer->open, in);
}

static void transfer_link(struct transfer *transfer)
{
    if (transfer->reading) {
        transfer->open.from = transfer->layout.memory;
        transfer->open.to = layout_end(&transfer->layout);
    }
    transfers_add(all_of(transfer->open.node), &transfer->open);
}

/* Gives the transfer memory of its own, for data that must not be in the program's memory, or not yet. Returns whether
 * it has some. */
static bool have_own_memory(struct transfer *transfer)
{
    uint8_t *memory = transfer->packed ? NULL : malloc(transfer->length);

    if (memory)
        transfer->memory = memory;
    transfer->packed |= memory != NULL;
    return transfer->packed;
}

static struct transfer *transfer_new(struct node *node, const struct layout *layout, bool chunked)
{
    struct transfer *transfer = calloc(1, sizeof(*transfer));

    if (!transfer)
        return NULL;
    transfer->open.node = node;
    transfer->open.tag =
        wire_tag(atomic_fetch_add(&session_under_way(node->session)->last_tag, 1)) | (chunked ? WIRE_TAG_CHUNKED : 0);
    transfer->layout = *layout;
    transfer->length = layout_bytes(layout);
    transfer->memory = layout->memory;
    if (layout_is_contiguous(layout) || have_own_memory(transfer))
        return transfer;
    free(transfer);
    return NULL;
}

/* Under the lock. */
static void transfer_free(struct transfer *transfer)
{
    transfer->detached = true;
    if (transfer->waiting)
        return;
    arrival_drop(transfer->before);
    free(transfer->owned);
    if (transfer->packed)
        free(transfer->memory);
    if (transfer->event)
        handle_drop(transfer->event);
    if (transfer->keep)
        handle_drop(transfer->keep);
    free(transfer);
}

/* Called when it is the transfer's turn to use its memory. */
static void transfer_turn(void *argument);

static void wait_for_turn(struct transfer *transfer)
{
    if (transfer->waiting)
        return;
    transfer->waiting = true;
    arrival_then(transfer->before, &transfer->turn, transfer_turn, transfer);
}

static void transfer_end(struct transfer *transfer, cl_int status)
{
    const struct layout tight = layout_tight(&transfer->layout, transfer->memory);
    struct arrival *own = transfer->open.own;

    if (transfer->done)
        return;
    if (transfer->reading && !status && !arrival_is_over(transfer->before)) {
        wait_for_turn(transfer);
        return;
    }
    transfers_remove(all_of(transfer->open.node), &transfer->open);
    if (transfer->reading && !status && transfer->open.node->observer)
        transfer->open.node->observer->arrived(transfer->open.node, transfer->open.tag);
    if (transfer->reading && !status && transfer->packed)
        layout_copy(&transfer->layout, &tight);
    transfer->done = true;
    transfer->status = status;
    transfer->open.own = NULL;
    if (transfer->event && status < 0)
        event_set_status(transfer->event, status, 0, NULL);
    if (transfer->detached)
        transfer_free(transfer);
    if (own) {
        arrival_part_over(own);
        arrival_drop(own);
    }
}

static void moved(void *argument, int status)
{
    struct transfer *transfer = argument;

    if (status && observer_will_fail_over(transfer->open.node))
        transfer->open.started = false;
    else
        transfer_end(transfer, status ? NODE_LOST_STATUS : CL_SUCCESS);
}

static void begin_moving(struct transfer *transfer)
{
    struct transport *transport = session_transport(transfer->open.node->session);
    const unsigned peer = transfer->open.node->peer;
    int error;

    transfer->open.started = true;
    error =
        transfer->reading
            ? transport_take(transport, peer, transfer->open.tag, transfer->memory, transfer->length, moved, transfer)
            : transport_give(transport, peer, transfer->open.tag, transfer->memory, transfer->length, moved, transfer);
    if (error)
        moved(transfer, error);
}

static void start_moving(struct transfer *transfer)
{
    const struct observer *observer = transfer->open.node->observer;

    if (transfer->open.node->failing_over && !transfer->reading)
        return; /* transfer_resume() */
    if (observer && !transfer->reading && !transfer->kept)
        observer->data(transfer->open.node, transfer->open.tag, transfer->memory, transfer->length);
    transfer->kept = true;
    begin_moving(transfer);
}

/* Receives announced data. If earlier data have yet to come to the same memory, the announced ones wait for them, or
 * are received into a copy. */
static void take_in_turn(struct transfer *transfer)
{
    const bool first = arrival_is_over(transfer->before);

    transfer->ready_after = transfer->open.node->losses;
    if (transfer->open.held) /* the worker that was ready before has been replaced */
        return;
    transfer->open.held = !first && !transfer->packed && transfer->length >= TAKEN_LATER;
    if (transfer->open.held)
        wait_for_turn(transfer);
    else if (first || have_own_memory(transfer))
        start_moving(transfer);
    else
        transfer_end(transfer, CL_OUT_OF_HOST_MEMORY);
}

/* Receives the data of a held transfer, if the worker that was ready is still there; its successor says anew when it is
 * ready, maybe while the journal is still being replayed to it. A worker's number does not tell them apart, as it may
 * be used again. */
static void take_held(struct transfer *transfer)
{
    transfer->open.held = false;
    if (transfer->ready_after == transfer->open.node->losses)
        start_moving(transfer);
}

static void pack(struct transfer *transfer)
{
    const struct layout tight = layout_tight(&transfer->layout, transfer->memory);

    if (transfer->packed)
        layout_copy(&tight, &transfer->layout);
}

static void transfer_turn(void *argument)
{
    struct transfer *transfer = argument;

    transfer->waiting = false;
    if (transfer->done) {
        if (transfer->detached)
            transfer_free(transfer);
    } else if (transfer->open.held) {
        take_held(transfer);
    } else if (transfer->reading) {
        transfer_end(transfer, CL_SUCCESS);
    } else {
        pack(transfer);
        start_moving(transfer);
    }
}

/* ---- transfers that use the same memory ---- */

/* Whether earlier data may come to the same memory. Where the program itself writes is not known. */
static bool meets_others(const struct node *node, const struct layout *layout)
{
    return host_command_any() || transfers_come_to(all_of(node), layout->memory, layout_end(layout));
}

/* Whether a write's data go in the command: nothing is allocated for them. e: NULL if they are no command's. */
static bool goes_with_it(const struct node *node, const struct enqueue *e, const struct layout *layout)
{
    bool waits = false;

    if (layout_bytes(layout) > WIRE_MAX_INLINE)
        return false;
    if (!e || !e->arrival)
        return true;
    session_lock(node->session);
    waits = !arrival_is_over(e->arrival) && meets_others(node, layout);
    session_unlock(node->session);
    return !waits;
}

/* Makes the command wait for its data before it is over. Under the lock. */
static int transfer_join(struct transfer *transfer, struct enqueue *e)
{
    if (!arrival_is_over(e->arrival) && meets_others(e->node, &transfer->layout))
        transfer->before = arrival_use(e->arrival);
    transfer->open.own = arrival_new();
    return transfer->open.own && enqueue_arrival(e, transfer->open.own) ? 0 : -ENOMEM;
}

/* ---- to the node ---- */

/* Makes a transfer of a write's data that do not go in the command. */
static int write_new(struct node *node, struct enqueue *e, const struct layout *layout, bool chunked,
                     struct object *keep, struct transfer **out)
{
    struct transfer *transfer = transfer_new(node, layout, chunked);
    int error = 0;

    if (!transfer)
        return -ENOMEM;
    session_lock(node->session);
    if (keep)
        handle_use(keep);
    transfer->keep = keep;
    if (e)
        error = transfer_join(transfer, e);
    session_unlock(node->session);
    if (error) {
        transfer_cancel(transfer);
        return error;
    }
    if (!transfer->before)
        pack(transfer);
    *out = transfer;
    return 0;
}

int transfer_write(struct enqueue *e, const struct layout *layout, bool chunked, struct object *keep, void *owned,
                   struct transfer_data *data)
{
    int error;

    *data = (struct transfer_data){.layout = layout};
    if (goes_with_it(e->node, e, layout))
        return 0;
    error = write_new(e->node, e, layout, chunked, keep, &data->transfer);
    if (error)
        return error;
    data->transfer->owned = owned;
    data->tag = data->transfer->open.tag;
    return 0;
}

void transfer_pack(struct node *node, struct transfer_data *data)
{
    const struct layout tight = layout_tight(data->layout, session_under_way(node->session)->packed);

    if (data->transfer)
        return;
    data->bytes = data->layout->memory;
    data->length = (uint32_t)layout_bytes(data->layout);
    if (layout_is_contiguous(data->layout))
        return;
    layout_copy(&tight, data->layout);
    data->bytes = tight.memory;
}

/* ---- contents outside of commands ---- */

/* Beyond so many bytes the copy would cost more memory than the wait costs time. */
#define MOST_COPIED ((size_t)64 << 20)

/* Copies the data, so that the program may have its memory back before they are sent. */
static void copy(struct transfer *transfer)
{
    const uint8_t *from = transfer->memory;

    if (!transfer->packed && transfer->length <= MOST_COPIED && have_own_memory(transfer))
        memcpy(transfer->memory, from, transfer->length);
}

/* owned: the program may have its memory back before the data are sent. *out: the caller waits for it, or detaches it;
 * NULL: the data went in the command. */
static int bring(struct node *node, const struct layout *layout, bool owned,
                 void (*put)(struct wire_buffer *, const void *, const struct transfer_data *), const void *argument,
                 struct transfer **out)
{
    struct transfer_data data = {.layout = layout};
    int error = goes_with_it(node, NULL, layout) ? 0 : write_new(node, NULL, layout, false, NULL, &data.transfer);
    struct wire_buffer *commands;

    if (error)
        return error;
    if (data.transfer && owned)
        copy(data.transfer);
    data.tag = data.transfer ? data.transfer->open.tag : 0;
    commands = stream_begin(node);
    transfer_pack(node, &data);
    put(commands, argument, &data);
    timeline_data(timeline_now(), node, true, false, layout_bytes(layout));
    error = stream_finish(node, data.tag || !owned ? STREAM_NOW : STREAM_LATER);
    if (data.transfer && !error)
        transfer_start(data.transfer);
    session_unlock(node->session);
    if (data.transfer && error)
        transfer_cancel(data.transfer);
    else
        *out = data.transfer;
    return error;
}

int transfer_bring(struct node *node, const struct layout *layout,
                   void (*put)(struct wire_buffer *, const void *, const struct transfer_data *), const void *argument,
                   struct transfer **out)
{
    return bring(node, layout, false, put, argument, out);
}

int transfer_contents(struct node *node, const struct layout *layout,
                      void (*put)(struct wire_buffer *, const void *, const struct transfer_data *),
                      const void *argument)
{
    struct transfer *transfer = NULL;
    const int error = bring(node, layout, true, put, argument, &transfer);

    if (error || !transfer)
        return error;
    if (!transfer->packed)
        return transfer_wait(transfer);
    transfer_detach(transfer);
    return 0;
}

void transfer_start(struct transfer *transfer)
{
    if (transfer->reading)
        return;
    transfer_link(transfer);
    if (transfer->before)
        wait_for_turn(transfer);
    else
        start_moving(transfer);
}

/* ---- from the node ---- */

/* The transfer is registered before the command is sent, so that an answer finds it. */
int transfer_read(struct enqueue *e, const struct layout *layout, bool chunked, struct object *keep,
                  struct transfer_data *data)
{
    struct transfer *transfer = transfer_new(e->node, layout, chunked);
    int error;

    if (!transfer)
        return -ENOMEM;
    transfer->reading = true;
    transfer->event = e->event;
    if (e->event)
        handle_use(e->event);
    if (keep)
        handle_use(keep);
    transfer->keep = keep;
    session_lock(e->node->session);
    error = transfer_join(transfer, e);
    transfer_link(transfer);
    session_unlock(e->node->session);
    if (error) {
        transfer_cancel(transfer);
        return error;
    }
    *data = (struct transfer_data){.transfer = transfer, .tag = transfer->open.tag, .layout = layout};
    return 0;
}

int transfer_take(struct node *node, const struct layout *layout, struct transfer **out, uint32_t *tag)
{
    struct transfer *transfer = transfer_new(node, layout, false);

    if (!transfer)
        return -ENOMEM;
    transfer->reading = true;
    session_lock(node->session);
    transfer_link(transfer);
    session_unlock(node->session);
    *out = transfer;
    *tag = transfer->open.tag;
    return 0;
}

static struct transfer *find_open(const struct node *node, uint32_t tag, bool reading)
{
    struct transfer *transfer = (struct transfer *)transfers_find(all_of(node), tag);

    return transfer && transfer->open.node == node && transfer->reading == reading ? transfer : NULL;
}

/* Whether a read has its data, and waits for its turn to copy them to the program's memory. */
static bool has_its_data(const struct transfer *transfer)
{
    return transfer->waiting && !transfer->open.held;
}

bool transfer_note(struct node *node, uint32_t tag, bool ready, cl_int status, const void *data, uint32_t length)
{
    struct transfer *transfer = find_open(node, tag, true);

    if (!transfer || transfer->open.started || has_its_data(transfer) || status > 0)
        return false;
    if (ready) {
        take_in_turn(transfer);
        return true;
    }
    if (!status && (transfer->open.held || length != transfer->length))
        return false;
    if (!status && !arrival_is_over(transfer->before) && !have_own_memory(transfer))
        status = CL_OUT_OF_HOST_MEMORY;
    if (!status)
        memcpy(transfer->memory, data, length);
    transfer_end(transfer, status < 0 ? status : CL_SUCCESS);
    return true;
}

static bool transfer_ready(void *argument)
{
    return ((struct transfer *)argument)->done;
}

int transfer_wait(struct transfer *transfer)
{
    struct session *session = transfer->open.node->session;
    const uint64_t since = timeline_now(); /* traced as a wait even if it is over already */
    cl_int status;

    session_lock(session);
    session_wait(session, transfer_ready, transfer);
    timeline_waited(since, TIMELINE_FOR_DATA, transfer->open.node, 0);
    status = transfer->status;
    transfer_free(transfer);
    session_unlock(session);
    return call_verdict(status);
}

void transfer_detach(struct transfer *transfer)
{
    struct session *session = transfer->open.node->session;

    session_lock(session);
    transfer->detached = true;
    if (transfer->done)
        transfer_free(transfer);
    else
        session_need_progress(session);
    session_unlock(session);
}

/* Ends a transfer of which nothing was sent. */
void transfer_cancel(struct transfer *transfer)
{
    struct session *session = transfer->open.node->session;

    session_lock(session);
    transfer->detached = true;
    if (transfer->event)
        handle_drop(transfer->event);
    transfer->event = NULL;
    transfer_end(transfer, CL_OUT_OF_RESOURCES);
    session_unlock(session);
}

void transfer_lose(struct node *node)
{
    for (struct transfer *transfer = first_of(node); transfer;) {
        if (transfer->open.node == node && !transfer->open.started) {
            transfer_end(transfer, NODE_LOST_STATUS);
            transfer = first_of(node); /* others may have ended with it */
        } else {
            transfer = next_of(transfer);
        }
    }
}

/* ---- when a worker is replaced ---- */

bool transfer_any(const struct node *node)
{
    for (const struct transfer *transfer = first_of(node); transfer; transfer = next_of(transfer)) {
        if (transfer->open.node == node)
            return true;
    }
    return false;
}

bool transfer_is_open(const struct node *node, uint32_t tag)
{
    const struct transfer *transfer = find_open(node, tag, true);

    return transfer && !has_its_data(transfer);
}

bool transfer_give_again(struct node *node, uint32_t tag)
{
    struct transfer *transfer = find_open(node, tag, false);

    if (transfer && !transfer->waiting && !transfer->open.started && transfer->kept)
        begin_moving(transfer);
    return transfer;
}

void transfer_resume(struct node *node)
{
    struct transfer *next;

    for (struct transfer *transfer = first_of(node); transfer; transfer = next) {
        next = next_of(transfer);
        if (transfer->open.node == node && !transfer->reading && !transfer->open.started && !transfer->waiting)
            start_moving(transfer);
    }
}
