/*
 * Replays to a new worker what the lost one was sent: the objects of the last snapshot, their contents, and the
 * commands since, in the same order.
 *
 * The program may have acted on what it had learned. So the log notes where an event was known to be complete, or data
 * had arrived, and there the replay waits for the same. Commands that only the program had ordered so come in that
 * order again. Reads whose data the program has are not repeated; a marker takes their
 * place in the queue.
 *
 * If memory is shared with the worker, a part of the log has ended for good (epoch.c): of that part only what creates
 * objects is replayed, with markers for the events of what is left out, and shared memory is restored to what it was at
 * the end of that part.
 *
 * Nodes that have interacted since their last snapshot (struct group) are replayed together, in the original order of
 * turns: so contents go from one to the other, and events of one are waited for on the other, as the first time.
 */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "client/core/session.h"
#include "client/data/contents.h"
#include "client/data/transfer.h"
#include "client/survive/effects.h"
#include "client/survive/journal.h"
#include "client/survive/replicas.h"
#include "client/survive/recover.h"

#define FRAME ((size_t)48 << 10)

struct fence { /* a read that is not repeated: event marks its end */
    struct fence *next;
    uint32_t event, tag;
};

struct replay {
    struct journal *j;
    struct node *node;
    struct replaying *all;
    size_t at;     /* position in the log of what is replayed next */
    uint64_t turn; /* the turn of that */
    struct wire_buffer out;
    uint32_t *done; /* events known to be over, by slot */
    uint32_t room;
    uint32_t wanted, answered; /* the event or call awaited; the last call answered */
    struct fence *fences, *unused;
    uint32_t last_fence;             /* last of the fences' events, above all slots that the log can use */
    uint8_t last[WIRE_MAX_REPEATED]; /* the last launch of the part that has ended */
    size_t last_length;
    bool refused; /* an SVM allocation at its old address */
    bool failed;
};

/* Nodes that are replayed together, in the original order. */
struct replaying {
    struct replay *each;
    unsigned count;
};

void replay_event(struct journal *j, uint32_t event)
{
    struct replay *r = j->replay;
    const uint32_t slot = event & 0xffffff;
    uint32_t *more;

    if (!r)
        return;
    if (slot >= r->room) {
        more = realloc(r->done, (slot * 2 + 64) * sizeof(*more));
        r->failed |= !more;
        if (!more)
            return;
        memset(more + r->room, 0, (slot * 2 + 64 - r->room) * sizeof(*more));
        r->done = more;
        r->room = slot * 2 + 64;
    }
    r->done[slot] = event;
}

void replay_reply(struct journal *j, uint32_t call)
{
    if (j->replay)
        j->replay->answered = call;
}

void replay_refused(struct journal *j)
{
    if (j->replay)
        j->replay->refused = true;
}

/* ---- sending, and waiting ---- */

/* Whether the replay has failed. Replays of several nodes are of no use without one of them. */
static bool has_failed(const struct replay *r)
{
    bool failed = false;

    for (unsigned i = 0; i < r->all->count && !failed; i++) {
        const struct replay *one = &r->all->each[i];

        failed = one->j->lost || one->j->off || one->failed || one->out.failed;
    }
    return failed;
}

static bool sent(void *argument)
{
    struct replay *r = argument;
    int error;

    if (has_failed(r) || !r->out.length)
        return true;
    error = transport_send(session_transport(r->node->session), r->node->peer, r->out.bytes, r->out.length);
    if (!error) {
        wire_trace("=>", r->node->peer, r->out.bytes, r->out.length);
        r->out.length = 0;
    }
    return !error;
}

static bool is_done(const struct replay *r, uint32_t event)
{
    const uint32_t slot = event & 0xffffff;

    return slot < r->room && r->done[slot] == event;
}

static bool reached(void *argument)
{
    struct replay *r = argument;

    return has_failed(r) || is_done(r, r->wanted);
}

static bool answered(void *argument)
{
    struct replay *r = argument;

    return has_failed(r) || r->answered == r->wanted;
}

/* Sends what was put. */
static void flush(struct replay *r)
{
    session_wait(r->node->session, sent, r);
}

static void flush_much(struct replay *r)
{
    if (r->out.length > FRAME)
        flush(r);
}

/* Sends what was put for all nodes, as what is awaited may depend on it. */
static void flush_all(struct replay *r)
{
    for (unsigned i = 0; i < r->all->count; i++)
        flush(&r->all->each[i]);
}

static void wait_for_event(struct replay *r, uint32_t event)
{
    flush_all(r);
    r->wanted = event;
    session_wait(r->node->session, reached, r);
}

static void wait_for_call(struct replay *r, uint32_t call)
{
    flush(r);
    r->wanted = call;
    session_wait(r->node->session, answered, r);
}

/* ---- bulk data ---- */

static void gave(void *argument, int status)
{
    (void)status; /* a loss is reported as such */
    ((struct journal *)argument)->giving--;
}

/* Sends bulk data from where they are. */
static void give(struct replay *r, uint32_t tag, const uint8_t *bytes, size_t length)
{
    r->j->giving++;
    if (transport_give(session_transport(r->node->session), r->node->peer, tag, bytes, length, gave, r->j)) {
        r->j->giving--;
        r->j->lost = true;
    }
}

/* Sends bulk data again: from the program's memory if their transfer is not over, else from the journal. */
static void give_again(struct replay *r, uint32_t tag)
{
    const uint8_t *bytes;
    size_t length;

    if (!tag || transfer_give_again(r->node, tag))
        return;
    bytes = journal_find_data(r->j, tag, &length);
    if (bytes)
        give(r, tag, bytes, length);
    else
        vocl_log(LOG_DEBUG, "replay: no data under %x", tag);
}

/* ---- reads ---- */

static struct fence *fence_new(struct replay *r)
{
    struct fence *fence = r->unused;

    if (fence) {
        r->unused = fence->next;
    } else {
        fence = calloc(1, sizeof(*fence));
        r->failed |= !fence || r->last_fence >= 0xffffff;
        if (r->failed) {
            free(fence);
            return NULL;
        }
        fence->event = ++r->last_fence;
    }
    fence->next = r->fences;
    r->fences = fence;
    return fence;
}

static void put_place(struct replay *r, const struct outline *instead)
{
    const struct wire_enqueue_place m = {.queue = instead->queue,
                                         .event = instead->event,
                                         .subscribe = instead->subscribe,
                                         .wait = instead->wait,
                                         .wait_count = instead->wait_count};

    wire_put_enqueue_place(&r->out, &m);
}

static void put_read_over(struct replay *r, const struct outline *read)
{
    struct outline own = *read, after = *read;
    struct fence *fence = fence_new(r);

    if (!fence)
        return;
    fence->tag = read->data_out;
    if (read->event) {
        own.subscribe |= SUBSCRIBE_COMPLETE;
        put_place(r, &own);
        after.wait = &read->event;
        after.wait_count = 1;
    }
    after.event = fence->event;
    after.subscribe = SUBSCRIBE_COMPLETE;
    put_place(r, &after);
}

static void drop_fence(struct replay *r, struct fence **at)
{
    struct fence *fence = *at;
    const struct wire_release m = {.kind = WIRE_EVENT, .object = fence->event};

    *at = fence->next;
    wire_put_release(&r->out, &m);
    if (is_done(r, fence->event))
        r->done[fence->event & 0xffffff] = 0;
    fence->next = r->unused;
    r->unused = fence;
}

static void wait_for_data(struct replay *r, uint32_t tag)
{
    for (struct fence **at = &r->fences; *at; at = &(*at)->next) {
        if ((*at)->tag != tag)
            continue;
        wait_for_event(r, (*at)->event);
        drop_fence(r, at);
        return;
    }
}

/* ---- one command ---- */

/* Waits for an SVM allocation, which has to be where it was, since contents hold addresses. A worker that has something
 * else there is dismissed. */
static void wait_for_memory(struct replay *r, uint32_t call)
{
    r->refused = false;
    wait_for_call(r, call);
    if (!r->refused || has_failed(r))
        return;
    vocl_log(LOG_WARN, "worker %u cannot allocate shared virtual memory at the old addresses", r->node->peer);
    r->j->displaced = true;
    failover_dismiss(r->node);
}

static bool is_asked_still(const struct replay *r, const struct outline *m)
{
    return m->call && call_is_open(r->node, m->call);
}

/* Replays a watched release: the note that follows is waited for, the answer is not. */
static void put_release(struct replay *r, struct wire_cursor fields)
{
    struct wire_release_watched m;

    if (wire_get_release_watched(&fields, &m))
        wire_put_release_notify(&r->out, &(struct wire_release_notify){.kind = m.kind, .object = m.object});
}

static void tell_again(struct replay *r, uint16_t number, struct wire_cursor fields, const struct outline *m)
{
    if (number == WIRE_release_watched && !is_asked_still(r, m)) {
        put_release(r, fields);
        return;
    }
    give_again(r, m->data_in);
    wire_put_bytes(&r->out, fields.at - WIRE_HEADER, fields.left + WIRE_HEADER);
    if (number == WIRE_svm_alloc)
        wait_for_memory(r, m->call);
    else if (m->slow)
        wait_for_call(r, m->call);
}

static void tell(struct replay *r, uint16_t number, struct wire_cursor fields)
{
    struct outline m;

    if (number == JOURNAL_EVENT)
        wait_for_event(r, wire_get_u32(&fields));
    else if (number == JOURNAL_DATA)
        wait_for_data(r, wire_get_u32(&fields));
    else if (!outline_get(number, fields, &m))
        return; /* JOURNAL_UNSAID */
    else if (effect_of(number) == EFFECT_PASSES && !is_asked_still(r, &m))
        return;
    else if (!m.data_out || transfer_is_open(r->node, m.data_out))
        tell_again(r, number, fields, &m);
    else if (m.queue)
        put_read_over(r, &m);
}

/* ---- commands before the epoch, whose results are in shared memory (epoch.c) ---- */

/* Puts a marker for the event, if any, of a command that has ended. */
static void put_event_over(struct replay *r, uint16_t number, struct wire_cursor fields)
{
    struct wire_enqueue_marker m;
    struct outline over;

    r->failed |= !outline_get(number, fields, &over);
    m = (struct wire_enqueue_marker){.queue = over.queue, .event = over.event, .subscribe = over.subscribe};
    if (over.event)
        wire_put_enqueue_marker(&r->out, &m);
}

/* Keeps the kernel arguments that a launch has set. */
static void keep_arguments(struct replay *r, struct wire_cursor in)
{
    struct wire_enqueue_ndrange launch;
    struct wire_set_arguments m;

    r->failed |= !wire_get_enqueue_ndrange(&in, &launch);
    if (r->failed || !launch.arguments_length)
        return;
    m = (struct wire_set_arguments){
        .kernel = launch.kernel, .arguments = launch.arguments, .arguments_length = launch.arguments_length};
    wire_put_set_arguments(&r->out, &m);
}

static void put_launch_over(struct replay *r, struct wire_cursor fields)
{
    keep_arguments(r, fields);
    put_event_over(r, WIRE_enqueue_ndrange, fields);
}

static void launch_over(struct replay *r, struct wire_cursor fields)
{
    const size_t length = fields.left + WIRE_HEADER;

    r->last_length = length <= sizeof(r->last) ? length : 0;
    memcpy(r->last, fields.at - WIRE_HEADER, r->last_length);
    put_launch_over(r, fields);
}

static void repeat_over(struct replay *r, struct wire_cursor fields)
{
    struct wire_repeat m;

    r->failed |= !wire_get_repeat(&fields, &m) || r->last_length < WIRE_HEADER ||
                 !wire_patch(r->last, r->last_length, m.patch, m.patch_length);
    if (!r->failed && m.patch_length)
        put_launch_over(r, wire_cursor(r->last + WIRE_HEADER, r->last_length - WIRE_HEADER));
}

/* Omits contents of objects that are released since: puts the command without them, or, if it RUNS, not at all. Returns
 * whether the command is dealt with so. */
static bool empty_over(struct replay *r, uint16_t number, struct wire_cursor fields)
{
    const struct rewriting how = {.empty = true};
    struct outline m;

    if (effect_of(number) == EFFECT_RUNS)
        return outline_get(number, fields, &m) && (m.contents || m.data_out);
    return effect_rewrite(&r->out, number, fields, &how);
}

static void tell_over(struct replay *r, uint16_t number, struct wire_cursor fields)
{
    if (number == WIRE_enqueue_ndrange)
        launch_over(r, fields);
    else if (number == WIRE_repeat)
        repeat_over(r, fields);
    else if (wire_is_enqueue(number))
        put_event_over(r, number, fields);
    else if (effect_of(number) != EFFECT_NONE && !empty_over(r, number, fields))
        tell(r, number, fields);
}

/* ---- contents ---- */

/* Returns a tag for bulk data of that size, or 0: the bytes go inline, *with_it of them. */
static uint32_t tag_for(const struct replay *r, size_t size, uint32_t *with_it)
{
    const bool beside = size > WIRE_MAX_INLINE;

    *with_it = beside ? 0 : (uint32_t)size;
    return beside ? wire_tag(atomic_fetch_add(&session_under_way(r->node->session)->last_tag, 1)) : 0;
}

static void give_beside(struct replay *r, uint32_t tag, const uint8_t *bytes, size_t size)
{
    if (tag) {
        give(r, tag, bytes, size);
        flush(r);
    } else {
        flush_much(r);
    }
}

static void restore_kept(struct replay *r, const struct saved *saved)
{
    if (!saved->now.kept || !replicas_restore(saved->now.kept, saved->memory))
        return;
    vocl_log(LOG_ERROR, "the contents of object %u cannot be restored from their copies", saved->memory);
    r->failed = true;
}

static void restore(struct replay *r, const struct saved *saved)
{
    if (saved->waits)
        return;
    restore_kept(r, saved);
    for (size_t at = 0; saved->now.bytes && at < saved->whole.size && !has_failed(r);) {
        const uint8_t *bytes = saved->now.bytes + at;
        struct wire_bring m = {.memory = saved->memory, .part = region_piece(&saved->whole, at), .data = bytes};

        m.tag = tag_for(r, m.part.size, &m.data_length);
        wire_put_bring(&r->out, &m);
        give_beside(r, m.tag, bytes, m.part.size);
        at += m.part.size;
    }
}

static void restore_svm_part(struct replay *r, uint64_t address, const uint8_t *bytes, size_t size)
{
    struct wire_bring_svm m = {.address = address, .size = size, .data = bytes};

    m.tag = tag_for(r, size, &m.data_length);
    wire_put_bring_svm(&r->out, &m);
    give_beside(r, m.tag, bytes, size);
}

static void restore_svm(struct replay *r, const struct svm_saved *saved)
{
    const uint8_t *bytes;
    uint64_t address;
    unsigned part = 0;
    size_t size;

    while (!has_failed(r) && (bytes = svm_saved_next(saved, &part, &address, &size))) {
        for (size_t at = 0; at < size && !has_failed(r); at += CONTENTS_PIECE)
            restore_svm_part(r, address + at, bytes + at, size - at < CONTENTS_PIECE ? size - at : CONTENTS_PIECE);
    }
}

/* Restores what the node had at its last snapshot. */
static void restore_all(struct replay *r)
{
    for (unsigned i = 0; i < JOURNAL_LISTS; i++) {
        for (const struct saved *saved = r->j->saved[i]; saved && !has_failed(r); saved = saved->after)
            restore(r, saved);
        for (const struct svm_saved *saved = r->j->svm[i]; saved && !has_failed(r); saved = saved->next)
            restore_svm(r, saved);
    }
}

/* ---- all journals ---- */

/* Reads the next command. While something is waited for, the buffer may grow, and move. */
static bool next_command(struct replay *r, const struct wire_buffer *commands, size_t *at, uint16_t *number,
                         struct wire_cursor *fields)
{
    struct wire_cursor frame;

    if (*at >= commands->length || has_failed(r))
        return false;
    frame = wire_cursor(commands->bytes + *at, commands->length - *at);
    r->failed |= wire_next(&frame, number, fields) != 1;
    if (r->failed)
        return false;
    *at += fields->left + WIRE_HEADER;
    return true;
}

/* Replays objects, contents, and what has ended: nothing of that involves other nodes. */
static void begin(struct replay *r)
{
    struct wire_cursor fields;
    uint16_t number;
    size_t at = 0;

    memcpy(r->j->skip, r->j->printed, sizeof(r->j->skip));
    while (next_command(r, &r->j->base, &at, &number, &fields)) {
        tell(r, number, fields);
        flush_much(r);
    }
    flush(r);
    restore_all(r);
    epoch_restore(r->j);
    while (r->at < r->j->over && next_command(r, &r->j->log, &r->at, &number, &fields)) {
        tell_over(r, number, fields);
        flush_much(r);
    }
}

/* Replays up to where the next turn begins. */
static void tell_turn(struct replay *r)
{
    struct wire_cursor fields;
    uint16_t number;

    while (next_command(r, &r->j->log, &r->at, &number, &fields)) {
        if (number == JOURNAL_TURN) {
            r->turn = wire_get_u64(&fields);
            return;
        }
        tell(r, number, fields);
        flush_much(r);
    }
}

/* Returns the replay whose turn is first, of those that are not finished. */
static struct replay *first_of(const struct replaying *all)
{
    struct replay *first = NULL;

    for (unsigned i = 0; i < all->count; i++) {
        struct replay *r = &all->each[i];

        if (r->at < r->j->log.length && (!first || r->turn < first->turn))
            first = r;
    }
    return first;
}

/* Sends bulk data of commands that wait to be sent: they may have gone to the lost worker before their command. */
static void give_unsent(struct replay *r)
{
    struct wire_cursor at = wire_cursor(r->node->batch.bytes, r->node->batch.length), fields;
    struct outline m;
    uint16_t number;

    while (wire_next(&at, &number, &fields) == 1) {
        if (outline_get(number, fields, &m))
            give_again(r, m.data_in);
    }
}

static void tell_all(const struct replaying *all)
{
    struct replay *r;

    for (unsigned i = 0; i < all->count; i++)
        begin(&all->each[i]);
    while (!has_failed(all->each) && (r = first_of(all)))
        tell_turn(r);
    for (unsigned i = 0; i < all->count; i++) {
        r = &all->each[i];
        while (r->fences)
            drop_fence(r, &r->fences);
        flush(r);
        if (!has_failed(r))
            give_unsent(r);
    }
}

static void replay_free(struct replay *r)
{
    wire_buffer_free(&r->out);
    while (r->unused) {
        struct fence *fence = r->unused;

        r->unused = fence->next;
        free(fence);
    }
    free(r->done);
}

int replay(const struct group *group)
{
    struct replaying all = {.each = calloc(group->count, sizeof(*all.each)), .count = group->count};
    int error = 0;

    if (!all.each)
        return -ENOMEM;
    for (unsigned i = 0; i < all.count; i++) {
        struct node *node = group->nodes[i];

        all.each[i] =
            (struct replay){.j = node->journal, .node = node, .all = &all, .last_fence = handle_highest(WIRE_EVENT)};
        node->journal->replay = &all.each[i];
    }
    tell_all(&all);
    if (has_failed(all.each))
        error = -EIO;
    for (unsigned i = 0; i < all.count; i++) {
        struct replay *r = &all.each[i];

        if (error && r->j->lost)
            error = -ECONNRESET;
        r->j->replay = NULL;
        replay_free(r);
    }
    free(all.each);
    return error;
}
