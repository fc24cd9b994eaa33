/*
 * Data between the application's memory and a node. Up to WIRE_MAX_INLINE bytes travel in the command or note itself;
 * more goes as bulk data, straight from and into the application's memory where it is contiguous.
 */
#include "base/settings.h"
#include "libvocl/internal.h"

#define CHUNKED 0x80000000u /* in a tag: the other side works in chunks of WIRE_CHUNK */

struct transfer {
    struct transfer *next;
    struct node *node;
    uint32_t tag;
    struct layout layout;
    uint8_t *memory; /* what is sent or received: the application's, or a packed copy */
    size_t length;
    bool packed, reading, detached, started, done;
    unsigned pieces;
    cl_int status;
    cl_event event;
    struct object *keep;
    void *owned;
};

static struct transfer *transfers; /* reads under way, under the session's lock */
static atomic_uint last_tag;

static struct transfer *transfer_new(struct node *node, const struct layout *layout, bool chunked)
{
    struct transfer *transfer = calloc(1, sizeof(*transfer));
    uint32_t tag;

    if (!transfer)
        return NULL;
    do
        tag = (atomic_fetch_add(&last_tag, 1) + 1) & 0x3fffff;
    while (!tag);
    transfer->node = node;
    transfer->tag = tag | (chunked ? CHUNKED : 0);
    transfer->layout = *layout;
    transfer->length = layout_bytes(layout);
    transfer->memory = layout->memory;
    transfer->packed = !layout_is_contiguous(layout);
    if (transfer->packed) {
        transfer->memory = malloc(transfer->length);
        if (!transfer->memory) {
            free(transfer);
            return NULL;
        }
    }
    return transfer;
}

static void transfer_free(struct transfer *transfer)
{
    free(transfer->owned);
    if (transfer->packed)
        free(transfer->memory);
    if (transfer->event)
        handle_drop(transfer->event);
    if (transfer->keep)
        handle_drop(transfer->keep);
    free(transfer);
}

static void transfer_end(struct transfer *transfer, cl_int status)
{
    const struct layout tight = layout_tight(&transfer->layout, transfer->memory);

    if (transfer->done)
        return;
    for (struct transfer **at = &transfers; *at; at = &(*at)->next) {
        if (*at == transfer) {
            *at = transfer->next;
            break;
        }
    }
    if (transfer->reading && !status && transfer->packed)
        layout_copy(&transfer->layout, &tight);
    transfer->done = true;
    transfer->status = status;
    if (transfer->event && transfer->reading)
        event_data_done(transfer->event, status);
    if (transfer->detached)
        transfer_free(transfer);
}

static void piece_done(void *argument, int status)
{
    struct transfer *transfer = argument;

    if (status)
        transfer->status = node_lost_error();
    if (--transfer->pieces == 0)
        transfer_end(transfer, transfer->status);
}

/* All pieces at once: the transport moves them in order. */
static void start_pieces(struct transfer *transfer)
{
    struct transport *transport = session_transport(transfer->node->session);
    size_t piece = transfer->tag & CHUNKED ? WIRE_CHUNK : transfer->length;
    size_t offset = 0;
    int error = 0;

    transfer->started = true;
    transfer->pieces = 1; /* this function's own, so that the end comes once */
    while (!error && offset < transfer->length) {
        size_t length = transfer->length - offset < piece ? transfer->length - offset : piece;

        transfer->pieces++;
        if (transfer->reading)
            error = transport_take(transport, transfer->node->peer, transfer->tag, transfer->memory + offset, length,
                                   piece_done, transfer);
        else
            error = transport_give(transport, transfer->node->peer, transfer->tag, transfer->memory + offset, length,
                                   piece_done, transfer);
        if (error)
            transfer->pieces--;
        offset += length;
    }
    piece_done(transfer, error);
}

cl_int transfer_write(struct node *node, const struct layout *layout, bool chunked, struct object *keep,
                      struct transfer **out, uint32_t *tag, const void **inline_data, uint32_t *inline_length)
{
    struct transfer *transfer = transfer_new(node, layout, chunked);
    struct layout tight;

    if (!transfer)
        return CL_OUT_OF_HOST_MEMORY;
    tight = layout_tight(layout, transfer->memory);
    if (transfer->packed)
        layout_copy(&tight, layout);
    if (keep)
        handle_use(keep);
    transfer->keep = keep;
    *out = transfer;
    *tag = transfer->tag;
    *inline_data = NULL;
    *inline_length = 0;
    if (transfer->length <= WIRE_MAX_INLINE) {
        *inline_data = transfer->memory;
        *inline_length = (uint32_t)transfer->length;
        *tag = 0;
    }
    return CL_SUCCESS;
}

void transfer_own(struct transfer *transfer, void *memory)
{
    transfer->owned = memory;
}

/* Beyond this the copy costs more memory than the wait does time. */
#define MOST_COPIED ((size_t)64 << 20)

void transfer_contents(struct transfer *transfer)
{
    const bool goes_apart = transfer->length > WIRE_MAX_INLINE && !transfer->packed;
    void *copy = goes_apart && transfer->length <= MOST_COPIED ? malloc(transfer->length) : NULL;

    if (copy) {
        transfer->memory = memcpy(copy, transfer->memory, transfer->length);
        transfer->packed = true;
    }
}

cl_int transfer_leave(struct transfer *transfer)
{
    if (transfer->length > WIRE_MAX_INLINE && !transfer->packed)
        return transfer_wait(transfer);
    transfer_detach(transfer);
    return CL_SUCCESS;
}

void transfer_start(struct transfer *transfer)
{
    if (transfer->reading) {
        transfer->next = transfers;
        transfers = transfer;
    } else if (transfer->length <= WIRE_MAX_INLINE) {
        transfer->done = true; /* it went with the command */
    } else {
        start_pieces(transfer);
    }
}

cl_int transfer_read(struct node *node, const struct layout *layout, bool chunked, cl_event event, struct object *keep,
                     struct transfer **out, uint32_t *tag)
{
    struct transfer *transfer = transfer_new(node, layout, chunked);

    if (!transfer)
        return CL_OUT_OF_HOST_MEMORY;
    transfer->reading = true;
    transfer->event = event;
    if (event) {
        handle_use(event);
        event->data_pending = true;
    }
    if (keep)
        handle_use(keep);
    transfer->keep = keep;
    *out = transfer;
    *tag = transfer->tag;
    return CL_SUCCESS;
}

bool transfer_note(struct node *node, uint32_t tag, bool ready, cl_int status, const void *data, uint32_t length)
{
    struct transfer *transfer = transfers;

    while (transfer && (transfer->tag != tag || transfer->node != node || transfer->started))
        transfer = transfer->next;
    if (!transfer)
        return false;
    if (ready) {
        start_pieces(transfer);
        return true;
    }
    if (!status && length != transfer->length)
        return false;
    if (!status)
        memcpy(transfer->memory, data, length);
    transfer_end(transfer, status < 0 ? status : CL_SUCCESS);
    return true;
}

static bool transfer_ready(void *argument)
{
    return ((struct transfer *)argument)->done;
}

cl_int transfer_wait(struct transfer *transfer)
{
    struct session *session = transfer->node->session;
    cl_int status;

    session_lock(session);
    session_wait(session, transfer_ready, transfer);
    status = transfer->status;
    session_unlock(session);
    transfer_free(transfer);
    return status;
}

void transfer_detach(struct transfer *transfer)
{
    struct session *session = transfer->node->session;

    session_lock(session);
    transfer->detached = true;
    if (transfer->done)
        transfer_free(transfer);
    else
        session_need_progress(session);
    session_unlock(session);
}

void transfer_cancel(struct transfer *transfer)
{
    transfer_free(transfer);
}

void transfer_lose(struct node *node)
{
    struct transfer *next;

    for (struct transfer *transfer = transfers; transfer; transfer = next) {
        next = transfer->next;
        if (transfer->node == node && !transfer->started)
            transfer_end(transfer, node_lost_error());
    }
}
