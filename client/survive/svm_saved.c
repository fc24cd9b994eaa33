/*
 * Saved contents of SVM of which program and node each have a copy (svm_remote.c): as of the node's last snapshot, and
 * as read for the next one. The unit is an allocation; of each, all that has ever been written is saved.
 */
#include <errno.h>
#include <string.h>

#include "client/core/session.h"
#include "client/data/contents.h"
#include "client/memory/svm.h"
#include "client/survive/journal.h"
#include "client/survive/recover.h"

#define MOST_PARTS 64

struct svm_contents {
    unsigned count;
    struct {
        size_t from, size;
    } parts[MOST_PARTS];
    uint8_t bytes[];
};

static struct svm_saved **list_of(struct journal *j, uint64_t number)
{
    return &j->svm[number % JOURNAL_LISTS];
}

static struct svm_saved *find(struct journal *j, uint64_t number)
{
    struct svm_saved *saved = *list_of(j, number);

    while (saved && saved->number != number)
        saved = saved->next;
    return saved;
}

static void saved_free(struct svm_saved *saved)
{
    free(saved->contents);
    free(saved->next_contents);
    free(saved);
}

void svm_saved_free(struct journal *j)
{
    for (unsigned i = 0; i < JOURNAL_LISTS; i++) {
        while (j->svm[i]) {
            struct svm_saved *saved = j->svm[i];

            j->svm[i] = saved->next;
            saved_free(saved);
        }
    }
}

const uint8_t *svm_saved_next(const struct svm_saved *saved, unsigned *at, uint64_t *address, size_t *size)
{
    const struct svm_contents *contents = saved->contents;
    const uint8_t *bytes;

    if (!contents || *at >= contents->count)
        return NULL;
    bytes = contents->bytes;
    for (unsigned i = 0; i < *at; i++)
        bytes += contents->parts[i].size;
    *address = (uintptr_t)saved->memory + contents->parts[*at].from;
    *size = contents->parts[*at].size;
    ++*at;
    return bytes;
}

/* ---- the end of a snapshot ---- */

static void note_alive(struct journal *j, const struct svm_place *list, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct svm_saved *saved = find(j, list[i].number);

        if (saved)
            saved->alive = true;
    }
}

static void renew(struct svm_saved **at)
{
    while (*at) {
        struct svm_saved *saved = *at;

        if (!saved->alive) {
            *at = saved->next;
            saved_free(saved);
            continue;
        }
        saved->alive = false;
        if (saved->next_contents) {
            free(saved->contents);
            saved->contents = saved->next_contents;
            saved->next_contents = NULL;
        }
        at = &saved->next;
    }
}

int svm_saved_renew(struct journal *j)
{
    unsigned count;
    struct svm_place *list = svm_remote_list(j->node, false, &count);

    if (!list)
        return -ENOMEM;
    note_alive(j, list, count);
    for (unsigned i = 0; i < JOURNAL_LISTS; i++)
        renew(&j->svm[i]);
    free(list);
    return 0;
}

/* The entries stay in their lists, which a replay may be reading. */
void svm_saved_drop_next(struct journal *j)
{
    for (unsigned i = 0; i < JOURNAL_LISTS; i++) {
        for (struct svm_saved *saved = j->svm[i]; saved; saved = saved->next) {
            const struct svm_place place = {.number = saved->number};

            if (saved->next_contents)
                svm_remote_mark(&place, WRITTEN_SAVE);
            free(saved->next_contents);
            saved->next_contents = NULL;
        }
    }
}

/* ---- reading the contents for a snapshot ---- */

static bool has_changed(struct journal *j, const struct svm_place *place)
{
    const struct svm_saved *saved = find(j, place->number);

    return svm_remote_take_mark(place, WRITTEN_SAVE) || !saved || !(saved->contents || saved->next_contents);
}

struct svm_place *svm_saved_find(struct node *node, unsigned *count, size_t *bytes)
{
    unsigned all;
    struct svm_place *list = svm_remote_list(node, true, &all);

    *count = 0;
    if (!list)
        return NULL;
    session_lock(node->session);
    for (unsigned i = 0; i < all; i++) {
        const struct svm_place place = list[i];

        if (!place.chosen || !has_changed(node->journal, &place))
            continue;
        *bytes += svm_remote_bytes(&place);
        list[i] = list[*count];
        list[(*count)++] = place;
    }
    session_unlock(node->session);
    while (all > *count)
        svm_remote_unhold(&list[--all]);
    return list;
}

/* Takes over the contents, unless it fails. Lock held. */
static int keep(struct journal *j, const struct svm_place *place, struct svm_contents *contents)
{
    struct svm_saved *saved = find(j, place->number), **at = list_of(j, place->number);

    if (j->off)
        return -ENOMEM;
    if (!saved) {
        saved = calloc(1, sizeof(*saved));
        if (!saved)
            return -ENOMEM;
        *saved = (struct svm_saved){.next = *at, .number = place->number, .memory = place->memory};
        *at = saved;
    }
    free(saved->next_contents);
    saved->next_contents = contents;
    return 0;
}

static int read_parts(struct node *node, const struct svm_place *place, struct svm_contents *contents)
{
    uint8_t *bytes = contents->bytes;
    struct contents c = {.member = node};
    int error = 0;

    for (unsigned i = 0; i < contents->count && !error; i++) {
        const struct extent part =
            extent_at((uintptr_t)place->memory + contents->parts[i].from, contents->parts[i].size);

        error = contents_take(&c, &part, bytes);
        bytes += contents->parts[i].size;
    }
    return contents_end(&c, error);
}

int svm_saved_take(struct node *node, const struct svm_place *place, size_t *bytes)
{
    struct svm_contents *contents = calloc(1, sizeof(*contents)), *more;
    size_t all = 0, from, to;
    int error = contents ? 0 : -ENOMEM;

    for (unsigned at = 0; contents && svm_remote_next(place, &at, &from, &to); all += to - from) {
        contents->parts[contents->count].from = from;
        contents->parts[contents->count++].size = to - from;
    }
    more = error ? NULL : realloc(contents, sizeof(*contents) + all);
    if (more)
        contents = more;
    error = more ? read_parts(node, place, contents) : -ENOMEM;
    session_lock(node->session);
    if (!error)
        error = keep(node->journal, place, contents);
    session_unlock(node->session);
    if (error)
        free(contents);
    else
        *bytes += all;
    return error;
}
