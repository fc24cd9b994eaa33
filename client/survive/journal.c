/* The journal of a node: what it records, and how a snapshot compacts it. */
#include "client/survive/journal.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "client/core/handle.h"
#include "client/core/per_process.h"
#include "client/core/session.h"
#include "client/survive/effects.h"
#include "client/survive/replicas.h"
#include "client/survive/recover.h"

struct kept {
    struct kept *next;
    uint32_t tag;
    size_t length;
    uint8_t bytes[];
};

/* ---- turns ---- */

/* The journal that recorded last, of all journals. */
static PER_PROCESS const struct journal *speaker;
static PER_PROCESS uint64_t turns;

static void put_note(struct journal *j, uint16_t number, uint64_t what)
{
    const uint32_t command[4] = {sizeof(command), number, (uint32_t)what, (uint32_t)(what >> 32)};

    wire_put_bytes(&j->log, command, sizeof(command));
}

static void take_turn(struct journal *j)
{
    if (speaker == j)
        return;
    speaker = j;
    put_note(j, JOURNAL_TURN, ++turns);
}

void journal_end_turn(const struct journal *j)
{
    if (speaker == j)
        speaker = NULL;
}

struct journal *journal_new(struct node *node, size_t limit)
{
    struct journal *j = calloc(1, sizeof(*j));

    speaker = NULL;
    if (j) {
        j->node = node;
        j->limit = limit;
    }
    return j;
}

void journal_drop_data(struct journal *j)
{
    for (unsigned i = 0; i < JOURNAL_LISTS; i++) {
        while (j->kept[i]) {
            struct kept *kept = j->kept[i];

            j->kept[i] = kept->next;
            free(kept);
        }
    }
    j->kept_bytes = 0;
}

bool copy_is_there(const struct copy *copy)
{
    return copy->bytes || copy->kept;
}

void copy_drop(struct copy *copy)
{
    free(copy->bytes);
    replicas_free(copy->kept);
    *copy = (struct copy){0};
}

static void saved_free(struct saved *saved)
{
    copy_drop(&saved->now);
    copy_drop(&saved->next);
    free(saved);
}

void journal_off(struct journal *j)
{
    j->off = true;
    journal_end_turn(j);
    wire_buffer_free(&j->base);
    wire_buffer_free(&j->log);
    if (j->giving || j->replay) /* they are being sent */
        return;
    journal_drop_data(j);
    epoch_free(j);
    svm_saved_free(j);
    for (unsigned i = 0; i < JOURNAL_LISTS; i++) {
        while (j->saved[i]) {
            struct saved *saved = j->saved[i];

            j->saved[i] = saved->after;
            saved_free(saved);
        }
    }
}

/* ---- recording ---- */

static void look_if_full(struct journal *j)
{
    if (j->log.failed) {
        vocl_log(LOG_ERROR, "out of memory for the journal of worker %u: it cannot be replaced if it is lost",
                 j->node->peer);
        journal_off(j);
        return;
    }
    if (!j->since)
        j->since = clock_ns();
    if (!j->full && (j->log.length > JOURNAL_LONGEST || j->log.length + j->kept_bytes > j->limit)) {
        j->full = true;
        recover_snapshot_soon();
    }
}

/* Whether a command names the target of a move, or is never replayed. */
static bool is_left_out(const struct journal *j, uint16_t number, struct wire_cursor fields)
{
    const bool passes = effect_of(number) == EFFECT_PASSES;
    struct outline m;

    if (!passes && !j->mover)
        return false;
    return outline_get(number, fields, &m) && (passes ? !m.call : m.worker == j->mover);
}

static void put_but_passing(const struct journal *j, struct wire_buffer *out, const void *bytes, size_t length)
{
    struct wire_cursor at = wire_cursor(bytes, length), fields;
    uint16_t number;

    while (wire_next(&at, &number, &fields) == 1) {
        if (!is_left_out(j, number, fields))
            wire_put_bytes(out, fields.at - WIRE_HEADER, fields.left + WIRE_HEADER);
    }
}

void journal_sent(struct node *node, const void *bytes, size_t length)
{
    struct journal *j = node->journal;

    if (j->off)
        return;
    take_turn(j);
    if (j->mover || replicas_is_on())
        put_but_passing(j, &j->log, bytes, length);
    else
        wire_put_bytes(&j->log, bytes, length);
    look_if_full(j);
}

void journal_leave_out(const struct journal *j, struct wire_buffer *commands)
{
    struct wire_buffer left = {0};

    put_but_passing(j, &left, commands->bytes, commands->length);
    wire_buffer_free(commands);
    *commands = left;
}

void journal_forget(struct node *node, uint32_t kind, uint32_t id)
{
    struct journal *j = node->journal;
    const struct wire_release m = {.kind = kind, .object = id};

    if (j->off)
        return;
    take_turn(j);
    wire_put_release(&j->log, &m);
    look_if_full(j);
}

void journal_data(struct node *node, uint32_t tag, const void *bytes, size_t length)
{
    struct journal *j = node->journal;
    struct kept **at = &j->kept[tag % JOURNAL_LISTS], *kept;

    if (j->off)
        return;
    kept = malloc(sizeof(*kept) + length);
    j->log.failed |= !kept;
    if (kept) {
        *kept = (struct kept){.next = *at, .tag = tag, .length = length};
        memcpy(kept->bytes, bytes, length);
        *at = kept;
        j->kept_bytes += length;
    }
    look_if_full(j);
}

const uint8_t *journal_find_data(const struct journal *j, uint32_t tag, size_t *length)
{
    const struct kept *kept = j->kept[tag % JOURNAL_LISTS];

    while (kept && kept->tag != tag)
        kept = kept->next;
    *length = kept ? kept->length : 0;
    return kept ? kept->bytes : NULL;
}

void journal_known(struct journal *j, uint16_t number, uint32_t what)
{
    if (j->off)
        return;
    take_turn(j);
    put_note(j, number, what);
}

void journal_unsay(struct journal *j, uint32_t call)
{
    const uint32_t unsaid = JOURNAL_UNSAID;
    struct wire_cursor at = wire_cursor(j->log.bytes, j->log.length), fields;
    uint16_t number;

    while (wire_next(&at, &number, &fields) == 1) {
        const size_t place = (size_t)(fields.at - j->log.bytes) - WIRE_HEADER;
        struct outline m;

        if (outline_get(number, fields, &m) && m.call == call)
            memcpy(j->log.bytes + place + sizeof(uint32_t), &unsaid, sizeof(unsaid));
    }
}

/* ---- commands that cannot be replayed ---- */

static const char *bound_in(const struct wire_buffer *commands)
{
    struct wire_cursor at = wire_cursor(commands->bytes, commands->length), fields;
    struct outline m = {0};
    uint16_t number;

    while (!m.bound && wire_next(&at, &number, &fields) == 1)
        outline_get(number, fields, &m);
    return m.bound;
}

/* Whether any contents have no replica left. */
static bool any_missing(const struct journal *j)
{
    bool any = false;

    for (unsigned i = 0; i < JOURNAL_LISTS && !any; i++) {
        for (const struct saved *saved = j->saved[i]; saved && !any; saved = saved->after)
            any = saved->now.kept && !replicas_is_there(saved->now.kept);
    }
    return any;
}

const char *journal_bound(const struct journal *j)
{
    const char *why = j->off ? "its journal was given up" : j->exposed ? j->exposed : bound_in(&j->base);

    if (!why && any_missing(j))
        why = "both workers that kept its contents are lost";
    return why ? why : bound_in(&j->log);
}

/* ---- contents ---- */

struct saved *journal_find_saved(const struct journal *j, uint32_t memory)
{
    struct saved *saved = j->saved[memory % JOURNAL_LISTS];

    while (saved && saved->memory != memory)
        saved = saved->after;
    return saved;
}

bool journal_save(struct journal *j, uint32_t memory, const struct wire_region *whole, const struct copy *copy,
                  bool waits)
{
    struct saved *saved = journal_find_saved(j, memory);

    if (j->off)
        return false;
    if (!saved) {
        saved = calloc(1, sizeof(*saved));
        if (!saved)
            return false;
        saved->after = j->saved[memory % JOURNAL_LISTS];
        j->saved[memory % JOURNAL_LISTS] = saved;
    }
    copy_drop(&saved->next);
    saved->memory = memory;
    saved->whole = *whole;
    saved->waits = waits;
    saved->next = *copy;
    return true;
}

/* The entries stay in their lists, which a replay may be reading. */
void journal_drop_next(struct journal *j)
{
    for (unsigned i = 0; i < JOURNAL_LISTS; i++) {
        for (struct saved *saved = j->saved[i]; saved; saved = saved->after)
            copy_drop(&saved->next);
    }
    svm_saved_drop_next(j);
}

void journal_unshare(struct journal *j)
{
    effect_rewrite_all(&j->base, &(struct rewriting){.apart = true});
    if (j->base.failed)
        journal_off(j);
    for (unsigned i = 0; i < JOURNAL_LISTS; i++) {
        for (struct saved *saved = j->saved[i]; saved; saved = saved->after)
            saved->waits = false;
    }
}

/* The entries stay in their lists, as above. */
void journal_drop_waiting(struct journal *j)
{
    for (unsigned i = 0; i < JOURNAL_LISTS; i++) {
        for (struct saved *saved = j->saved[i]; saved; saved = saved->after) {
            if (!saved->waits)
                continue;
            copy_drop(&saved->now);
            saved->waits = false;
        }
    }
}

static void use_next(struct saved *saved)
{
    copy_drop(&saved->now);
    saved->now = saved->next;
    saved->next = (struct copy){0};
    saved->stale = false;
}

static bool is_used(const struct saved *saved)
{
    const struct object *object = handle_find(WIRE_MEMORY, saved->memory);

    return object && atomic_load(&object->uses) != USES_RELEASED;
}

static void renew_saved(struct saved **at)
{
    while (*at) {
        struct saved *saved = *at;

        if (is_used(saved)) {
            if (copy_is_there(&saved->next))
                use_next(saved);
            at = &saved->after;
        } else {
            *at = saved->after;
            saved_free(saved);
        }
    }
}

/* ---- a snapshot ---- */

int journal_compact(struct journal *j)
{
    struct wire_buffer base = {0};
    int error = compact_log(&j->base, &j->log, &base);

    if (!error)
        error = svm_saved_renew(j);
    if (error) {
        wire_buffer_free(&base);
        return error;
    }
    wire_buffer_free(&j->base);
    wire_buffer_free(&j->log);
    j->base = base;
    for (unsigned i = 0; i < JOURNAL_LISTS; i++)
        renew_saved(&j->saved[i]);
    j->since = 0;
    j->full = false;
    node_set_clear(&j->met);
    j->met_any = false;
    epoch_begin(j);
    return 0;
}

/* ---- groups ---- */

static void note_met(struct node *node, const struct node *other)
{
    struct journal *j = node->journal;

    if (!j || j->off)
        return;
    if (!j->met_any || !node_set_has(&j->met, other->index))
        vocl_log(LOG_DEBUG, "worker %u has met worker %u", node->peer, other->peer);
    j->met_any = true;
    if (node_set_add(&j->met, other->index))
        return;
    vocl_log(LOG_ERROR, "out of memory for the peers of worker %u: it cannot be replaced if it is lost", node->peer);
    journal_off(j);
}

void group_meet(struct node *one, struct node *other)
{
    note_met(one, other);
    note_met(other, one);
}

int group_find(struct node *node, struct group *out)
{
    struct session *session = node->session;
    const unsigned most = session_node_count(session);
    struct node **nodes = calloc(most, sizeof(struct node *));
    bool *has = calloc(most, sizeof(*has));
    unsigned count = 0;

    if (!nodes || !has) {
        free(nodes);
        free(has);
        return -ENOMEM;
    }
    nodes[count++] = node;
    has[node->index] = true;
    for (unsigned i = 0; i < count; i++) {
        const struct journal *j = nodes[i]->journal;

        for (unsigned other = 0; j && j->met_any && other < most; other++) {
            if (has[other] || !node_set_has(&j->met, other))
                continue;
            has[other] = true;
            nodes[count++] = session_node(session, other);
        }
    }
    free(has);
    *out = (struct group){nodes, count};
    return 0;
}

void group_free(struct group *group)
{
    free(group->nodes);
    *group = (struct group){0};
}

const char *group_bound(const struct group *group)
{
    const char *why = NULL;

    for (unsigned i = 0; i < group->count && !why; i++) {
        const struct node *node = group->nodes[i];

        if (node->in_process)
            why = "it has exchanged events or contents with devices of the program's own process";
        else if (!node->alive && !node->failing_over)
            why = "it has exchanged events or contents with a worker that is lost";
        else
            why = journal_bound(node->journal);
    }
    return why;
}
