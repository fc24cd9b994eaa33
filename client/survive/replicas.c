/*
 * Replicas of contents, kept by workers: see replicas.h. Contents go in pieces, each under a number of its own.
 * Commands about them are sent beside the node's batch, so that none gets into journals, or to another worker than was
 * meant.
 */
#include "client/survive/replicas.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"
#include "client/core/per_process.h"
#include "client/core/session.h"
#include "client/data/contents.h"
#include "client/survive/journal.h"
#include "client/survive/recover.h"

#define ENOUGH 2  /* members that have each of the contents */
#define HOLDERS 4 /* those, and others while some leave */

/* A member that has the contents, or to which they are on their way. */
struct holder {
    unsigned peer; /* 0: none */
    bool there;
};

struct replicas {
    LIST_ENTRY(replicas) in;
    struct node *node; /* whose contents these are */
    struct wire_region whole;
    uint32_t first, count; /* numbers of the pieces */
    struct holder holders[HOLDERS];
    bool made;    /* by all members that are to have it */
    bool dropped; /* to be freed when it has no more users */
    unsigned users;
};

/* A request to a member about a piece, not answered yet. */
struct asked {
    LIST_ENTRY(asked) in;
    uint32_t contents;
    unsigned peer;
    bool over;
    int error;
};

/* Under the session's lock. */
static PER_PROCESS struct {
    bool on;
    uint32_t last;    /* last number given to a piece */
    unsigned leaving; /* a member that is about to forget everything, or 0 */
    LIST_HEAD(, replicas) all;
    LIST_HEAD(, asked) asked;
} replication;

void replicas_open(void)
{
    const char *where = settings_string(SETTING_RECOVER_TO);

    replication.on = !strcmp(where, "node");
    if (!replication.on && *where && strcmp(where, "host"))
        vocl_log(LOG_ERROR, "VOCL_RECOVER_TO has to be host or node; contents are kept at this host");
}

bool replicas_is_on(void)
{
    return replication.on;
}

/* ---- the members that keep a replica ---- */

static bool can_keep(const struct node *node)
{
    return node->journal && node->alive && !node->failing_over && !node->suspended && node->peer;
}

struct node *replicas_choose(struct node *node)
{
    struct session *session = node->session;
    const unsigned count = session_node_count(session);
    struct node *found = NULL;

    for (unsigned i = 1; replication.on && i < count; i++) {
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

static struct holder *find_holder(const struct replicas *replicas, unsigned peer)
{
    const struct holder *found = NULL;

    for (unsigned i = 0; i < HOLDERS && !found; i++)
        found = replicas->holders[i].peer == peer ? &replicas->holders[i] : NULL;
    return (struct holder *)found;
}

static bool holds(const struct replicas *replicas, unsigned peer)
{
    const struct holder *holder = find_holder(replicas, peer);

    return holder && holder->there;
}

/* Returns any member that has the contents, or 0. */
static unsigned any_holder(const struct replicas *replicas)
{
    unsigned peer = 0;

    for (unsigned i = 0; i < HOLDERS && !peer; i++)
        peer = replicas->holders[i].there ? replicas->holders[i].peer : 0;
    return peer;
}

bool replicas_is_there(const struct replicas *replicas)
{
    return any_holder(replicas) != 0;
}

bool replicas_is_whole(const struct replicas *replicas)
{
    bool another = false;

    for (unsigned i = 0; i < HOLDERS; i++)
        another |= replicas->holders[i].there && replicas->holders[i].peer != replicas->node->peer &&
                   replicas->holders[i].peer != replication.leaving;
    return another && holds(replicas, replicas->node->peer);
}

/* Adds a member to which the contents go. Returns false if it has them, or they are on their way, or there is no
 * place. */
static bool add_holder(struct replicas *replicas, unsigned peer)
{
    struct holder *place = find_holder(replicas, peer) ? NULL : find_holder(replicas, 0);

    if (place)
        *place = (struct holder){.peer = peer};
    return place;
}

static void remove_holder(struct replicas *replicas, unsigned peer)
{
    struct holder *holder = find_holder(replicas, peer);

    if (holder)
        *holder = (struct holder){0};
}

/* ---- requests to members ---- */

static struct wire_region piece_of(const struct replicas *replicas, uint32_t index)
{
    return region_piece(&replicas->whole, index * CONTENTS_PIECE);
}

/* A task of a node's member for all pieces. */
struct task {
    struct replicas *replicas;
    struct node *node;
    unsigned peer; /* the member */
    bool again;    /* the member is a new one, in a replay: what is in the node's batch is not for it yet */
    uint32_t memory;
    unsigned from;
    void (*put)(struct wire_buffer *out, const struct task *task, uint32_t index);
    struct wire_buffer out;
    int error;
};

static void put_keep(struct wire_buffer *out, const struct task *task, uint32_t index)
{
    const struct wire_keep m = {
        .memory = task->memory, .contents = task->replicas->first + index, .part = piece_of(task->replicas, index)};

    wire_put_keep(out, &m);
}

static void put_keep_too(struct wire_buffer *out, const struct task *task, uint32_t index)
{
    const struct wire_keep_too m = {
        .contents = task->replicas->first + index, .peer = task->from, .size = piece_of(task->replicas, index).size};

    wire_put_keep_too(out, &m);
}

static void put_bring_kept(struct wire_buffer *out, const struct task *task, uint32_t index)
{
    const struct wire_bring_kept m = {
        .memory = task->memory, .contents = task->replicas->first + index, .part = piece_of(task->replicas, index)};

    wire_put_bring_kept(out, &m);
}

static void put_keep_no_more(struct wire_buffer *out, const struct task *task, uint32_t index)
{
    const struct wire_keep_no_more m = {task->replicas->first + index};

    wire_put_keep_no_more(out, &m);
}

static bool is_gone(const struct task *task)
{
    const struct node *node = task->node;

    return node->peer != task->peer || !transport_peer_alive(session_transport(node->session), task->peer) ||
           (!task->again && (!node->alive || node->failing_over)) || session_stops(node->session);
}

/* Sends the request, after the commands in the node's batch. */
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

static int tell(struct task *task, uint32_t index)
{
    task->out.length = 0;
    task->put(&task->out, task, index);
    if (task->out.failed)
        return -ENOMEM;
    task->error = -ECONNRESET; /* if the session ends */
    session_wait(task->node->session, sent, task);
    return task->error;
}

static int ask(struct task *task, uint32_t index, struct asked *asked)
{
    int error;

    *asked = (struct asked){.contents = task->replicas->first + index, .peer = task->peer};
    LIST_INSERT_HEAD(&replication.asked, asked, in);
    error = tell(task, index);
    if (error)
        LIST_REMOVE(asked, in);
    return error;
}

static int await(struct task *task, struct asked *asked)
{
    session_wait(task->node->session, answered, asked);
    LIST_REMOVE(asked, in);
    return asked->over ? asked->error : -ECONNRESET;
}

/* Does the task for these pieces, several at a time. */
static int do_all(struct task *task, uint32_t first, uint32_t count)
{
    struct asked asked[CONTENTS_UNDER_WAY];
    uint32_t began = 0, ended = 0;
    int error = 0, one;

    while (!error && began < count) {
        if (began - ended == CONTENTS_UNDER_WAY)
            error = await(task, &asked[ended++ % CONTENTS_UNDER_WAY]);
        if (!error)
            error = ask(task, first + began, &asked[began % CONTENTS_UNDER_WAY]);
        began += !error;
    }
    while (ended < began) {
        one = await(task, &asked[ended++ % CONTENTS_UNDER_WAY]);
        error = error ? error : one;
    }
    return error;
}

/* Makes the member drop what it has of the contents. */
static void not_kept(struct task *task)
{
    int error = 0;

    task->put = put_keep_no_more;
    for (uint32_t i = 0; i < task->replicas->count && !error; i++)
        error = tell(task, i);
    remove_holder(task->replicas, task->peer);
}

/* Ends a task with its error: notes that the member has the contents, or makes it drop them. Returns 0 or the error. */
static int is_kept(struct task *task, int error)
{
    struct holder *holder = find_holder(task->replicas, task->peer);

    if (!error && !holder)
        error = -ECONNRESET;
    if (error > 0) /* the member that should have it does not */
        error = -EIO;
    if (!error)
        holder->there = true;
    else
        not_kept(task);
    return error;
}

/* Copies the contents to the node's member from a member that has them, or from the next if that is lost. */
static int replicate(struct replicas *replicas, struct node *node, bool again)
{
    struct task task = {.replicas = replicas, .node = node, .peer = node->peer, .again = again};
    unsigned last = 0;
    int error = -ENODATA;

    for (task.from = any_holder(replicas); task.from && task.from != last; task.from = any_holder(replicas)) {
        last = task.from;
        if (!add_holder(replicas, task.peer))
            return -EBUSY;
        task.put = put_keep_too;
        error = is_kept(&task, do_all(&task, 0, replicas->count));
        if (error != -ECONNRESET)
            break;
    }
    wire_buffer_free(&task.out);
    return error;
}

/* ---- answers of members ---- */

static int error_of(cl_int status)
{
    switch (status) {
    case CL_SUCCESS:
        return 0;
    case CL_OUT_OF_HOST_MEMORY:
        return -ENOMEM;
    case CL_OUT_OF_RESOURCES: /* this member has lost another one */
        return -ECONNRESET;
    }
    return 1;
}

void replicas_note(const struct node *node, uint32_t contents, cl_int status)
{
    struct asked *asked;

    LIST_FOREACH (asked, &replication.asked, in) {
        if (asked->contents != contents || asked->peer != node->peer || asked->over)
            continue;
        asked->over = true;
        asked->error = error_of(status);
        session_news(node->session);
        return;
    }
}

void replicas_lost(unsigned peer)
{
    struct asked *asked;
    struct replicas *replicas;

    LIST_FOREACH (asked, &replication.asked, in) {
        if (asked->peer != peer || asked->over)
            continue;
        asked->over = true;
        asked->error = -ECONNRESET;
    }
    LIST_FOREACH (replicas, &replication.all, in) {
        struct journal *j = replicas->node->journal;

        if (!find_holder(replicas, peer))
            continue;
        remove_holder(replicas, peer);
        if (replicas_is_whole(replicas) || !replicas->made)
            continue;
        if (!j->once)
            vocl_log(LOG_INFO, "contents of worker %u have lost their copy at worker %u, and will be copied again",
                     replicas->node->peer, peer);
        j->once = true;
        recover_snapshot_soon();
    }
}

/* ---- contents ---- */

int replicas_save(struct node *node, struct node *keeper, uint32_t memory, const struct wire_region *whole,
                  struct replicas **out)
{
    struct replicas *replicas = calloc(1, sizeof(*replicas));
    struct task task = {.replicas = replicas, .node = node, .memory = memory, .put = put_keep};
    int error;

    if (!replicas)
        return -ENOMEM;
    session_lock(node->session);
    *replicas = (struct replicas){.node = node, .whole = *whole, .first = replication.last + 1, .count = 1};
    if (whole->kind == WIRE_PIECE)
        replicas->count = (uint32_t)((whole->size + CONTENTS_PIECE - 1) / CONTENTS_PIECE);
    replication.last += replicas->count;
    LIST_INSERT_HEAD(&replication.all, replicas, in);
    task.peer = node->peer;
    add_holder(replicas, node->peer);
    error = do_all(&task, 0, replicas->count);
    wire_buffer_free(&task.out);
    if (!error && find_holder(replicas, task.peer)) {
        find_holder(replicas, task.peer)->there = true;
        error = replicate(replicas, keeper, false);
    }
    if (!error && !replicas_is_whole(replicas))
        error = -ECONNRESET;
    replicas->made = !error;
    if (error)
        replicas_free(replicas);
    else
        *out = replicas;
    session_unlock(node->session);
    return error;
}

static void put_no_more(struct replicas *replicas, struct node *node)
{
    const struct task task = {.replicas = replicas};

    if (!node->alive || !node->peer || !find_holder(replicas, node->peer))
        return;
    for (uint32_t i = 0; i < replicas->count; i++)
        put_keep_no_more(&node->batch, &task, i);
    node->repeats = 0; /* the last launch is elsewhere in the batch */
    session_need_progress(node->session);
}

void replicas_free(struct replicas *replicas)
{
    struct session *session = replicas ? replicas->node->session : NULL;

    if (!replicas)
        return;
    replicas->dropped = true;
    if (replicas->users)
        return;
    LIST_REMOVE(replicas, in);
    for (unsigned i = 0; i < session_node_count(session); i++)
        put_no_more(replicas, session_node(session, i));
    for (unsigned i = 0; i < session_spare_count(session); i++)
        put_no_more(replicas, session_spare(session, i));
    free(replicas);
}

int replicas_restore(struct replicas *replicas, uint32_t memory)
{
    struct node *node = replicas->node;
    struct task task = {
        .replicas = replicas, .node = node, .peer = node->peer, .again = true, .memory = memory, .put = put_bring_kept};
    int error = holds(replicas, node->peer) ? 0 : replicate(replicas, node, true);

    if (!error)
        error = do_all(&task, 0, replicas->count);
    wire_buffer_free(&task.out);
    return error > 0 ? 0 : error; /* above 0: the object could not be created natively */
}

/* ---- members that leave ---- */

/* Returns how many members that have the contents leave, or stay. */
static unsigned going(const struct replicas *replicas, const struct leaving *leaving)
{
    unsigned count = 0;

    for (unsigned i = 0; i < leaving->count; i++)
        count += holds(replicas, leaving->members[i]);
    return count;
}

static unsigned staying(const struct replicas *replicas, const struct leaving *leaving)
{
    unsigned count = 0;

    for (unsigned i = 0; i < HOLDERS; i++)
        count += replicas->holders[i].there;
    return count - going(replicas, leaving);
}

/* Releases the lock meanwhile: the contents may be dropped. */
static void hand_over(struct replicas *replicas, const struct leaving *leaving, struct node *const *to, unsigned count)
{
    for (unsigned i = 0; i < count && staying(replicas, leaving) < ENOUGH && !replicas->dropped; i++) {
        if (!holds(replicas, to[i]->peer))
            replicate(replicas, to[i], false);
    }
}

/* Ends a use, during which the lock was released. Returns the next one in the list. */
static struct replicas *use_over(struct replicas *replicas)
{
    struct replicas *next = LIST_NEXT(replicas, in);

    replicas->users--;
    if (replicas->dropped)
        replicas_free(replicas);
    return next;
}

unsigned replicas_hand_over(const struct leaving *leaving, struct node *const *to, unsigned count)
{
    unsigned least = ENOUGH;

    for (struct replicas *replicas = LIST_FIRST(&replication.all); replicas; replicas = use_over(replicas)) {
        replicas->users++;
        if (!replicas->made || replicas->dropped || !going(replicas, leaving))
            continue;
        hand_over(replicas, leaving, to, count);
        if (!replicas->dropped && staying(replicas, leaving) < least)
            least = staying(replicas, leaving);
    }
    return least;
}

bool replicas_anew(struct node *node)
{
    struct node *keeper;
    bool whole = true;

    for (struct replicas *replicas = LIST_FIRST(&replication.all); replicas; replicas = use_over(replicas)) {
        replicas->users++;
        if (!replicas->made || replicas->dropped || replicas->node != node || replicas_is_whole(replicas))
            continue;
        if (!holds(replicas, node->peer))
            replicate(replicas, node, false);
        keeper = replicas->dropped || replicas_is_whole(replicas) ? NULL : replicas_choose(node);
        if (keeper)
            replicate(replicas, keeper, false);
        whole &= replicas->dropped || replicas_is_whole(replicas);
    }
    return whole;
}

void replicas_leave(unsigned peer)
{
    replication.leaving = peer;
}
