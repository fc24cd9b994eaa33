/*
 * Groups: the collectives of some ranks (GASPI: gaspi_group; section 4.2.5).
 *
 * A group has a number, the same on its members, which stands for signals and a scratch segment of its own; so the
 * collectives of different groups do not disturb each other. At a commit each member tells all ranks a digest of its
 * list, in a word that says how far it is, too. A member then waits until all that it lists have told it the same
 * digest, and, after a second round, until all have seen that. Since members also tell the ranks that they do not list,
 * nobody waits for a rank that has committed another list under the number.
 *
 * A failure is told to all, and never withdrawn: the number cannot be used again. So no commit mistakes the failure of
 * an earlier one for its own, and none waits for a rank that has failed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "devcom/collective.h"

/* What a rank tells of its group of a number, in the order in which it may follow. */
enum state {
    COMMITS = 1,
    AGREED, /* all that the rank lists commit the same list */
    FAILED,
    DELETED,
};

/* The word: the number of the commit, the state, and the list's digest or the error. It only grows. */
#define COMMIT_SHIFT 36
#define STATE_SHIFT 32
#define LAST_COMMIT (INT64_MAX >> COMMIT_SHIFT) /* which is said to have failed */

/* What a rank knows of a number, also between groups. */
struct group_number {
    struct devcom_group *group; /* that has the number now */
    bool failed;
    uint32_t commits; /* number of this rank's commits */
    int64_t *ended;   /* by rank: its last commit that is over for this rank */
};

struct devcom_group {
    struct collective c; /* valid from the first call of commit on */
    struct devcom *d;
    unsigned number;
    int *ranks, size;
    bool begun, committed;
    int64_t *seen; /* by member: the commit of this group */
};

/* ---- words ---- */

static unsigned commit_word(const struct devcom_group *g, int rank)
{
    return own_signal(g->d, OWN_GROUPS + 2 * g->number, rank);
}

static struct group_number *number_of(const struct devcom_group *g)
{
    return &g->d->group_numbers[g->number];
}

static int64_t word_of(int64_t commit, enum state state, uint32_t detail)
{
    return commit << COMMIT_SHIFT | (int64_t)state << STATE_SHIFT | detail;
}

static enum state state_of(int64_t word)
{
    return word >> STATE_SHIFT & 15;
}

static uint32_t digest(const struct devcom_group *g)
{
    uint64_t hash = hash_bytes(g->ranks, (size_t)g->size * sizeof(*g->ranks));

    return (uint32_t)(hash ^ hash >> 32);
}

static int tell(const struct devcom_group *g, int rank, enum state state, uint32_t detail)
{
    int64_t commit = state == FAILED ? LAST_COMMIT : number_of(g)->commits;

    return notify_own(g->d, rank, commit_word(g, g->d->rank), DEVCOM_SIGNAL_SET, word_of(commit, state, detail));
}

/* A rank that is lost needs not know. */
static void tell_all(const struct devcom_group *g, enum state state, uint32_t detail)
{
    for (int rank = 0; rank < g->d->size; rank++) {
        if (rank != g->d->rank)
            tell(g, rank, state, detail);
    }
}

/* ---- the list ---- */

static int place_in(const struct devcom_group *g, int rank)
{
    int place = 0;

    while (place < g->size && g->ranks[place] < rank)
        place++;
    return place;
}

static bool lists(const struct devcom_group *g, int rank)
{
    int place = place_in(g, rank);

    return place < g->size && g->ranks[place] == rank;
}

static void group_free(struct devcom_group *g)
{
    free(g->ranks);
    free(g->seen);
    free(g);
}

int devcom_group_create(struct devcom *d, unsigned number, struct devcom_group **out)
{
    struct group_number *of;
    struct devcom_group *g;
    int error = 0;

    if (!d || !out || number >= d->o.groups)
        return -EINVAL;
    g = calloc(1, sizeof(*g));
    if (!g)
        return -ENOMEM;
    g->d = d;
    g->number = number;
    g->ranks = calloc((size_t)d->size, sizeof(*g->ranks));
    g->seen = calloc((size_t)d->size, sizeof(*g->seen));
    if (!g->ranks || !g->seen) {
        group_free(g);
        return -ENOMEM;
    }
    of = number_of(g);
    pthread_mutex_lock(&d->registering);
    if (of->group || of->failed)
        error = -EBUSY;
    else
        of->group = g;
    pthread_mutex_unlock(&d->registering);
    if (error)
        group_free(g);
    else
        *out = g;
    return error;
}

int devcom_group_add(struct devcom_group *g, int rank)
{
    int place;

    if (!g || !rank_valid(g->d, rank) || g->begun || lists(g, rank))
        return -EINVAL;
    place = place_in(g, rank);
    memmove(g->ranks + place + 1, g->ranks + place, (size_t)(g->size - place) * sizeof(*g->ranks));
    g->ranks[place] = rank;
    g->size++;
    return 0;
}

int devcom_group_size(const struct devcom_group *g)
{
    return g ? g->size : -EINVAL;
}

int devcom_group_rank(const struct devcom_group *g, int member)
{
    return g && member >= 0 && member < g->size ? g->ranks[member] : -EINVAL;
}

/* ---- commit ---- */

static void tell_list(struct devcom_group *g)
{
    struct collective *c = &g->c;

    for (int rank = 0; rank < g->d->size; rank++) {
        if (rank != g->d->rank && collective_begins(c)) {
            int error = tell(g, rank, COMMITS, digest(g));

            collective_did(c, lists(g, rank) ? error : 0);
        }
    }
}

static int judge(const struct devcom_group *g, int64_t word)
{
    if (state_of(word) == FAILED)
        return -(int)(uint16_t)word;
    return (uint32_t)word == digest(g) ? 0 : -EINVAL;
}

/* Waits until a member has said what it commits. What it said of a group that it has deleted does not count. */
static void hear_list(struct devcom_group *g, int member)
{
    struct collective *c = &g->c;
    int64_t word = 0, *ended = &number_of(g)->ended[c->ranks[member]];
    int error;

    if (!collective_begins(c))
        return;
    do {
        error = collective_wait(c, commit_word(g, c->ranks[member]), word_of(*ended + 1, 0, 0), &word);
        if (!error && state_of(word) == DELETED)
            *ended = word >> COMMIT_SHIFT;
    } while (!error && state_of(word) == DELETED);
    g->seen[member] = word >> COMMIT_SHIFT;
    collective_did(c, error ? error : judge(g, word));
}

/* All members have begun to commit, and none begins a collective before this one has agreed: the events that count are
 * those after the present ones, which an earlier group may have left. */
static void agree(struct devcom_group *g)
{
    struct collective *c = &g->c;

    EACH_OTHER(c, m)
    {
        if (collective_begins(c)) {
            c->heard[m] = atomic_load(board_signals(g->d, g->d->rank) + c->words + m);
            collective_did(c, tell(g, c->ranks[m], AGREED, digest(g)));
        }
    }
}

/* Waits until a member has agreed. It may have deleted the group since. */
static void hear_agreement(struct devcom_group *g, int member)
{
    struct collective *c = &g->c;
    int64_t word = 0;
    int error;

    if (!collective_begins(c))
        return;
    error = collective_wait(c, commit_word(g, c->ranks[member]), word_of(g->seen[member], AGREED, 0), &word);
    collective_did(c, !error && state_of(word) == FAILED ? judge(g, word) : error);
}

static void commit(struct collective *c)
{
    struct devcom_group *g = (struct devcom_group *)c; /* its first member */

    tell_list(g);
    EACH_OTHER(c, m)
    {
        hear_list(g, m);
    }
    agree(g);
    EACH_OTHER(c, m)
    {
        hear_agreement(g, m);
    }
}

static int commit_begin(struct devcom_group *g)
{
    struct collective *c = &g->c;
    int error = collective_prepare(c, g->d, g->ranks, g->size, place_in(g, g->d->rank));

    c->words = own_signal(g->d, OWN_GROUPS + 2 * g->number + 1, 0);
    c->scratch = group_scratch_id(g->d, g->number);
    c->commit = commit;
    number_of(g)->commits++;
    g->begun = true;
    if (error)
        return error;
    return segment_alloc_at(g->d, c->scratch, &(struct devcom_memory){.bytes = (size_t)g->size * SLOT}, NULL);
}

static void fail(struct devcom_group *g, int error)
{
    number_of(g)->failed = true;
    tell_all(g, FAILED, (uint16_t)-error);
}

int devcom_group_commit(struct devcom_group *g, long timeout_us)
{
    int error = 0;

    if (!g || g->committed || number_of(g)->failed || !lists(g, g->d->rank))
        return -EINVAL;
    if (!g->begun)
        error = commit_begin(g);
    if (!error)
        error = collective_run(&g->c, &(struct call){.kind = COMMIT}, timeout_us);
    if (error == -ETIMEDOUT)
        return error;
    if (error) {
        fail(g, error);
        return error;
    }
    EACH_OTHER(&g->c, m)
    {
        number_of(g)->ended[g->ranks[m]] = g->seen[m];
    }
    g->committed = true;
    return 0;
}

int devcom_group_delete(struct devcom_group *g)
{
    struct group_number *of;

    if (!g)
        return -EINVAL;
    of = number_of(g);
    if (g->committed)
        tell_all(g, DELETED, 0);
    else if (g->begun && !of->failed)
        fail(g, -ECANCELED);
    if (g->begun) {
        segment_delete_any(g->d, g->c.scratch);
        collective_drop(&g->c);
    }
    pthread_mutex_lock(&g->d->registering);
    of->group = NULL;
    pthread_mutex_unlock(&g->d->registering);
    group_free(g);
    return 0;
}

/* ---- collectives ---- */

int devcom_group_barrier(struct devcom_group *g, long timeout_us)
{
    return !g || !g->committed ? -EINVAL : collective_run(&g->c, &(struct call){.kind = BARRIER}, timeout_us);
}

int devcom_group_broadcast(struct devcom_group *g, int root, unsigned segment, size_t offset, size_t bytes,
                           long timeout_us)
{
    struct call call = {.kind = BROADCAST, .segment = segment, .offset = offset, .count = bytes};

    if (!g || !g->committed || !lists(g, root))
        return -EINVAL;
    call.root = place_in(g, root);
    return collective_broadcast(&g->c, &call, timeout_us);
}

int devcom_group_allreduce(struct devcom_group *g, unsigned segment, size_t offset, size_t count, enum devcom_type type,
                           enum devcom_op op, enum devcom_method method, long timeout_us)
{
    struct call call = {REDUCE, -1, segment, offset, count, type, op, method};

    return !g || !g->committed ? -EINVAL : collective_reduction(&g->c, &call, timeout_us);
}

int devcom_group_reduce(struct devcom_group *g, int root, unsigned segment, size_t offset, size_t count,
                        enum devcom_type type, enum devcom_op op, enum devcom_method method, long timeout_us)
{
    struct call call = {REDUCE, 0, segment, offset, count, type, op, method};

    if (!g || !g->committed || !lists(g, root))
        return -EINVAL;
    call.root = place_in(g, root);
    return collective_reduction(&g->c, &call, timeout_us);
}

/* ---- open and close ---- */

int groups_open(struct devcom *d)
{
    d->group_numbers = calloc(d->o.groups, sizeof(*d->group_numbers));
    for (unsigned i = 0; d->group_numbers && i < d->o.groups; i++) {
        d->group_numbers[i].ended = calloc((size_t)d->size, sizeof(int64_t));
        if (!d->group_numbers[i].ended)
            return -ENOMEM;
    }
    return d->group_numbers ? 0 : -ENOMEM;
}

void groups_close(struct devcom *d)
{
    for (unsigned i = 0; d->group_numbers && i < d->o.groups; i++)
        free(d->group_numbers[i].ended);
    free(d->group_numbers);
}
