/*
 * Contents that workers keep: see keep.h. They go in pieces, each under a number of its own. What is said of them goes
 * beside the node's batch, so that none of it comes into journals, or to another worker than it was meant for.
 */
#include "client/keep.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"
#include "client/client.h"
#include "client/group.h"
#include "client/journal.h"
#include "client/recover.h"

#define SHARE ((size_t)16 << 20) /* goes at a time */
#define UNDER_WAY 4              /* so many */
#define HOLDERS 3                /* two, and one while some go */

struct keep {
    LIST_ENTRY(keep) in;
    struct node *node; /* whose contents they are */
    struct wire_region whole;
    uint32_t first, count;     /* the numbers of the pieces */
    unsigned holders[HOLDERS]; /* members, or 0 */
};

/* What a member is asked to do with a piece, and has not answered. */
struct asked {
    LIST_ENTRY(asked) in;
    uint32_t contents;
    unsigned peer;
    bool over;
    int error;
};

/* Under the session's lock. */
static struct {
    bool on;
    uint32_t last; /* number */
    LIST_HEAD(, keep) keeps;
    LIST_HEAD(, asked) asked;
} keeping;

void keep_open(void)
{
    const char *where = settings_string(SETTING_RECOVER_TO);

    keeping.on = !strcmp(where, "node");
    if (!keeping.on && *where && strcmp(where, "host"))
        vocl_log(LOG_ERROR, "VOCL_RECOVER_TO has to be host or node; contents are kept at this host");
}

void keep_after_fork(void)
{
    memset(&keeping, 0, sizeof(keeping));
}

bool keep_is_on(void)
{
    return keeping.on;
}

/* ---- who ---- */

static bool can_keep(const struct node *node)
{
    return node->journal && node->alive && !node->mending && !node->rests && node->peer;
}

struct node *keep_choose(struct node *node)
{
    struct session *session = node->session;
    const unsigned count = session_node_count(session);
    struct node *found = NULL;

    for (unsigned i = 1; keeping.on && i < count; i++) {
        struct node *other = session_node(session, (node->index + i) % count);
        const bool away = strcasecmp(other->host, node->host) != 0;

        if (!can_keep(other) || (found && !away))
            continue;
        found = other;
        if (away)
            break;
    }
    return found;
}

static bool holds(const struct keep *keep, unsigned peer)
{
    bool found = false;

    for (unsigned i = 0; i < HOLDERS && !found; i++)
        found = keep->holders[i] == peer;
    return found;
}

/* Any of them; 0: nobody has it. */
static unsigned holder(const struct keep *keep)
{
    unsigned peer = 0;

    for (unsigned i = 0; i < HOLDERS && !peer; i++)
        peer = keep->holders[i];
    return peer;
}

bool keep_is_there(const struct keep *keep)
{
    return holder(keep) != 0;
}

bool keep_is_whole(const struct keep *keep)
{
    bool another = false;

    for (unsigned i = 0; i < HOLDERS; i++)
        another |= keep->holders[i] && keep->holders[i] != keep->node->peer;
    return another && holds(keep, keep->node->peer);
}

static void add_holder(struct keep *keep, unsigned peer)
{
    unsigned i = 0;

    while (i < HOLDERS - 1 && keep->holders[i])
        i++;
    keep->holders[i] = peer;
}

static void remove_holder(struct keep *keep, unsigned peer)
{
    for (unsigned i = 0; i < HOLDERS; i++) {
        if (keep->holders[i] == peer)
            keep->holders[i] = 0;
    }
}

/* ---- what they are told ---- */

static struct wire_region piece_of(const struct keep *keep, uint32_t index)
{
    struct wire_region part = keep->whole;

    if (part.kind == WIRE_PIECE) {
        part.origin[0] = index * SHARE;
        part.size = keep->whole.size - part.origin[0] < SHARE ? keep->whole.size - part.origin[0] : SHARE;
    }
    return part;
}

/* One thing that a node's member is to do with all pieces. */
struct task {
    struct keep *keep;
    struct node *node;
    unsigned peer; /* the member */
    bool again;    /* it is a new one that is told all again: what the node's batch has is not for it yet */
    uint32_t memory;
    unsigned from;
    void (*put)(struct wire_buffer *out, const struct task *task, uint32_t index);
    struct wire_buffer out;
    int error;
};

static void put_keep(struct wire_buffer *out, const struct task *task, uint32_t index)
{
    const struct wire_keep m = {
        .memory = task->memory, .contents = task->keep->first + index, .part = piece_of(task->keep, index)};

    wire_put_keep(out, &m);
}

static void put_keep_too(struct wire_buffer *out, const struct task *task, uint32_t index)
{
    const struct wire_keep_too m = {
        .contents = task->keep->first + index, .peer = task->from, .size = piece_of(task->keep, index).size};

    wire_put_keep_too(out, &m);
}

static void put_bring_kept(struct wire_buffer *out, const struct task *task, uint32_t index)
{
    const struct wire_bring_kept m = {
        .memory = task->memory, .contents = task->keep->first + index, .part = piece_of(task->keep, index)};

    wire_put_bring_kept(out, &m);
}

static bool is_gone(const struct task *task)
{
    const struct node *node = task->node;

    return node->peer != task->peer || !transport_peer_alive(session_transport(node->session), task->peer) ||
           (!task->again && (!node->alive || node->mending)) || session_stops(node->session);
}

/* Behind what the node was told before. */
static bool sent(void *argument)
{
    struct task *task = argument;
    struct transport *transport = session_transport(task->node->session);

    task->error = is_gone(task) ? -ECONNRESET : 0;
    if (task->error)
        return true;
    if (!task->again) {
        stream_push(task->node);
        if (task->node->batch.length)
            return false;
    }
    task->error = transport_send(transport, task->peer, task->out.bytes, task->out.length);
    if (task->error == -EAGAIN)
        transport_want_drained(transport, task->peer);
    else if (!task->error)
        wire_trace("->", task->peer, task->out.bytes, task->out.length);
    return task->error != -EAGAIN;
}

static bool answered(void *argument)
{
    return ((struct asked *)argument)->over;
}

static int ask(struct task *task, uint32_t index, struct asked *asked)
{
    task->out.length = 0;
    task->put(&task->out, task, index);
    if (task->out.failed)
        return -ENOMEM;
    *asked = (struct asked){.contents = task->keep->first + index, .peer = task->peer};
    LIST_INSERT_HEAD(&keeping.asked, asked, in);
    task->error = -ECONNRESET; /* if the session ends */
    session_wait(task->node->session, sent, task);
    if (!task->error)
        return 0;
    LIST_REMOVE(asked, in);
    return task->error;
}

static int await(struct task *task, struct asked *asked)
{
    session_wait(task->node->session, answered, asked);
    LIST_REMOVE(asked, in);
    return asked->over ? asked->error : -ECONNRESET;
}

/* All pieces, some at a time. */
static int do_all(struct task task)
{
    struct asked asked[UNDER_WAY];
    uint32_t began = 0, ended = 0;
    int error = 0, one;

    while (!error && began < task.keep->count) {
        if (began - ended == UNDER_WAY)
            error = await(&task, &asked[ended++ % UNDER_WAY]);
        if (!error)
            error = ask(&task, began, &asked[began % UNDER_WAY]);
        began += !error;
    }
    while (ended < began) {
        one = await(&task, &asked[ended++ % UNDER_WAY]);
        error = error ? error : one;
    }
    wire_buffer_free(&task.out);
    return error;
}

static int keep_too(struct keep *keep, struct node *node, unsigned from, bool again)
{
    const unsigned peer = node->peer;
    int error;

    add_holder(keep, peer);
    error = do_all(
        (struct task){.keep = keep, .node = node, .peer = peer, .again = again, .from = from, .put = put_keep_too});
    if (error > 0) /* who should have it has not */
        error = -EIO;
    if (error)
        remove_holder(keep, peer);
    return error;
}

/* ---- what they answer ---- */

static int error_of(cl_int status)
{
    switch (status) {
    case CL_SUCCESS:
        return 0;
    case CL_OUT_OF_HOST_MEMORY:
        return -ENOMEM;
    case CL_OUT_OF_RESOURCES: /* another member was lost, as far as this one knows */
        return -ECONNRESET;
    }
    return 1;
}

void keep_note(const struct node *node, uint32_t contents, cl_int status)
{
    struct asked *asked;

    LIST_FOREACH (asked, &keeping.asked, in) {
        if (asked->contents != contents || asked->peer != node->peer || asked->over)
            continue;
        asked->over = true;
        asked->error = error_of(status);
        session_news(node->session);
        return;
    }
}

void keep_lost(unsigned peer)
{
    struct asked *asked;
    struct keep *keep;

    LIST_FOREACH (asked, &keeping.asked, in) {
        if (asked->peer != peer || asked->over)
            continue;
        asked->over = true;
        asked->error = -ECONNRESET;
    }
    LIST_FOREACH (keep, &keeping.keeps, in) {
        struct journal *j = keep->node->journal;

        if (!holds(keep, peer))
            continue;
        remove_holder(keep, peer);
        if (!j->since)
            j->since = clock_ns();
        if (!j->full)
            vocl_log(LOG_INFO, "contents of worker %u that worker %u kept are to be kept anew", keep->node->peer, peer);
        j->full = true;
        recover_checkpoint_soon();
    }
}

/* ---- contents ---- */

int keep_save(struct node *node, struct node *keeper, uint32_t memory, const struct wire_region *whole,
              struct keep **out)
{
    struct keep *keep = calloc(1, sizeof(*keep));
    int error;

    if (!keep)
        return -ENOMEM;
    session_lock(node->session);
    *keep = (struct keep){.node = node, .whole = *whole, .first = keeping.last + 1, .count = 1};
    if (whole->kind == WIRE_PIECE)
        keep->count = (uint32_t)((whole->size + SHARE - 1) / SHARE);
    keeping.last += keep->count;
    LIST_INSERT_HEAD(&keeping.keeps, keep, in);
    add_holder(keep, node->peer);
    error = do_all((struct task){.keep = keep, .node = node, .peer = node->peer, .memory = memory, .put = put_keep});
    if (!error)
        error = keep_too(keep, keeper, holder(keep), false);
    if (!error && !keep_is_whole(keep))
        error = -ECONNRESET;
    if (error)
        keep_free(keep);
    else
        *out = keep;
    session_unlock(node->session);
    return error;
}

static void put_no_more(const struct keep *keep, struct node *node)
{
    if (!node->alive || !node->peer || !holds(keep, node->peer))
        return;
    for (uint32_t i = 0; i < keep->count; i++) {
        const struct wire_keep_no_more m = {keep->first + i};

        wire_put_keep_no_more(&node->batch, &m);
    }
    node->repeats = 0; /* the last one is elsewhere in the batch */
    session_need_progress(node->session);
}

void keep_free(struct keep *keep)
{
    struct session *session = keep ? keep->node->session : NULL;

    if (!keep)
        return;
    LIST_REMOVE(keep, in);
    for (unsigned i = 0; i < session_node_count(session); i++)
        put_no_more(keep, session_node(session, i));
    for (unsigned i = 0; i < session_spare_count(session); i++)
        put_no_more(keep, session_spare(session, i));
    free(keep);
}

int keep_restore(struct keep *keep, uint32_t memory)
{
    struct node *node = keep->node;
    const unsigned peer = node->peer;
    int error = 0;

    if (!keep_is_there(keep))
        return -ENODATA;
    if (!holds(keep, peer))
        error = keep_too(keep, node, holder(keep), true);
    if (!error)
        error = do_all((struct task){
            .keep = keep, .node = node, .peer = peer, .again = true, .memory = memory, .put = put_bring_kept});
    return error > 0 ? 0 : error; /* above 0: the object has failed to come into being */
}

int keep_hand_over(struct keep *keep, const struct group *leaving, struct node *to)
{
    bool stays = false;

    for (unsigned i = 0; i < HOLDERS; i++) {
        bool goes = !keep->holders[i];

        for (unsigned at = 0; at < leaving->count && !goes; at++)
            goes = leaving->nodes[at]->peer == keep->holders[i];
        stays |= !goes;
    }
    if (stays)
        return 0;
    return keep_is_there(keep) ? keep_too(keep, to, holder(keep), false) : -ENODATA;
}
