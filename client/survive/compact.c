/*
 * Compacts a journal: keeps, of all that a node was sent, the commands that create its objects. Left out are commands
 * in queues, which have ended; objects that are released, and from which no remaining one was made; and contents. Goes
 * from the last command to the first, so that what is needed is known before the command that creates it comes.
 */
#include <errno.h>
#include <string.h>

#include "client/survive/effects.h"
#include "client/survive/journal.h"
#include "client/survive/recover.h"

struct command {
    struct wire_cursor fields;
    uint16_t number;
    bool keep;
};

/* What is known so far about an object's number. */
struct mark {
    uint32_t id;
    uint32_t released; /* the command that releases it, plus 1 */
    bool needed;
};

/* SVM: the address at which some was freed, by which command, plus 1; or at which a buffer lies over some. */
struct address {
    uint64_t at;
    uint32_t released;
};

struct addresses {
    struct address *list;
    uint32_t count, room;
};

struct compaction {
    struct command *commands;
    uint32_t count;
    struct mark *marks[WIRE_KIND_LAST + 1]; /* by slot */
    uint32_t room[WIRE_KIND_LAST + 1];
    struct addresses freed, used;
    bool failed;
};

/* ---- marks ---- */

/* Returns NULL if memory is exhausted, or the number is no object's. */
static struct mark *mark_of(struct compaction *s, unsigned kind, uint32_t id)
{
    const uint32_t slot = id & 0xffffff;
    struct mark *more;

    if (!kind || kind > WIRE_KIND_LAST || !id)
        return NULL;
    if (slot >= s->room[kind]) {
        const uint32_t room = slot + slot / 2 + 64;

        more = realloc(s->marks[kind], room * sizeof(*more));
        s->failed |= !more;
        if (!more)
            return NULL;
        memset(more + s->room[kind], 0, (room - s->room[kind]) * sizeof(*more));
        s->marks[kind] = more;
        s->room[kind] = room;
    }
    return &s->marks[kind][slot];
}

static bool is_alive(struct compaction *s, unsigned kind, uint32_t id)
{
    const struct mark *mark = mark_of(s, kind, id);

    return !mark || mark->id != id || !mark->released || mark->needed;
}

/* Called for each object of a kept command: the object is needed, so what creates it is kept, and its release, if any.
 * If the command creates it, its number is no longer looked for. */
static void need(void *argument, unsigned kind, uint32_t id, bool makes)
{
    struct compaction *s = argument;
    struct mark *mark = mark_of(s, kind, id);

    if (!mark)
        return;
    if (mark->id != id)
        *mark = (struct mark){.id = id};
    mark->needed = true;
    if (mark->released)
        s->commands[mark->released - 1].keep = true;
    if (makes)
        *mark = (struct mark){0};
}

static void forget(void *argument, unsigned kind, uint32_t id, bool makes)
{
    struct mark *mark = makes ? mark_of(argument, kind, id) : NULL;

    if (mark)
        *mark = (struct mark){0};
}

/* ---- shared virtual memory, which has no numbers ---- */

static void add_address(struct compaction *s, struct addresses *to, uint64_t at, uint32_t released)
{
    if (to->count == to->room) {
        const uint32_t room = to->room * 2 + 16;
        struct address *more = realloc(to->list, room * sizeof(*more));

        s->failed |= !more;
        if (!more)
            return;
        to->list = more;
        to->room = room;
    }
    to->list[to->count++] = (struct address){at, released};
}

/* Takes the addresses within size bytes from at on off the list. Returns whether there were any, and in *released the
 * command of the last one. */
static bool take_addresses(struct addresses *from, uint64_t at, uint64_t size, uint32_t *released)
{
    uint32_t left = 0;

    for (uint32_t i = 0; i < from->count; i++) {
        if (from->list[i].at - at < size)
            *released = from->list[i].released;
        else
            from->list[left++] = from->list[i];
    }
    size = from->count - left;
    from->count = left;
    return size;
}

static void look_at_freed(struct compaction *s, uint32_t at)
{
    struct wire_cursor in = s->commands[at].fields;
    struct wire_svm_free m;

    s->failed |= !wire_get_svm_free(&in, &m);
    if (!s->failed)
        add_address(s, &s->freed, m.address, at + 1);
}

/* Whether an allocation is kept: freed memory is kept for a buffer over it that still exists, and freed once more. */
static bool is_alloc_alive(struct compaction *s, struct wire_cursor in)
{
    struct wire_svm_alloc m;
    uint32_t released = 0, none;
    bool used, alive;

    s->failed |= !wire_get_svm_alloc(&in, &m);
    if (s->failed)
        return false;
    used = m.wanted && take_addresses(&s->used, m.wanted, m.size, &none);
    alive = !m.wanted || !take_addresses(&s->freed, m.wanted, 1, &released) || used;
    if (alive && released)
        s->commands[released - 1].keep = true;
    return alive;
}

/* ---- one command ---- */

/* The objects that a command names. */
struct named {
    struct compaction *of;
    unsigned kind; /* of the first */
    uint32_t id;
    bool any_made, alive; /* of what it creates */
};

static void name(void *argument, unsigned kind, uint32_t id, bool makes)
{
    struct named *named = argument;

    if (!named->kind) {
        named->kind = kind;
        named->id = id;
    }
    named->any_made |= makes;
    named->alive |= makes && is_alive(named->of, kind, id);
}

static struct named names(struct compaction *s, const struct command *c)
{
    struct named named = {.of = s};

    s->failed |= !effect_each_object(c->number, c->fields, name, &named);
    return named;
}

static void look_at_release(struct compaction *s, uint32_t at)
{
    const struct named named = names(s, &s->commands[at]);
    struct mark *mark = mark_of(s, named.kind, named.id);

    if (mark)
        *mark = (struct mark){.id = named.id, .released = at + 1};
    else if (s->commands[at].number == WIRE_svm_free)
        look_at_freed(s, at);
}

/* Whether a command is kept. One that BINDS without creating a numbered object always is, as nothing says that it is
 * gone. */
static bool is_kept(struct compaction *s, const struct command *c, bool binds)
{
    const struct named named = names(s, c);

    if (c->number == WIRE_svm_alloc)
        return is_alloc_alive(s, c->fields);
    if (effect_of(c->number) == EFFECT_CHANGES)
        return is_alive(s, named.kind, named.id);
    return named.alive || (binds && !named.any_made);
}

static void look_at_what_makes(struct compaction *s, struct command *c)
{
    struct outline outline;

    s->failed |= !outline_get(c->number, c->fields, &outline);
    c->keep = !s->failed && is_kept(s, c, outline.bound);
    if (c->keep && outline.shared)
        add_address(s, &s->used, outline.shared, 0);
    if (!s->failed)
        effect_each_object(c->number, c->fields, c->keep ? need : forget, s);
}

static void look_at(struct compaction *s, uint32_t at)
{
    struct command *c = &s->commands[at];
    const enum effect effect = effect_of(c->number);

    if (effect == EFFECT_RELEASES)
        look_at_release(s, at);
    else if (effect == EFFECT_MAKES || effect == EFFECT_CHANGES)
        look_at_what_makes(s, c);
}

/* ---- the whole journal ---- */

static bool collect(struct compaction *s, const struct wire_buffer *from)
{
    struct wire_cursor at = wire_cursor(from->bytes, from->length), fields;
    struct command *more;
    uint32_t room = s->count;
    uint16_t number;
    int next;

    while ((next = wire_next(&at, &number, &fields)) == 1) {
        if (s->count == room) {
            room = room * 2 + 256;
            more = realloc(s->commands, room * sizeof(*more));
            if (!more)
                return false;
            s->commands = more;
        }
        s->commands[s->count++] = (struct command){.fields = fields, .number = number};
    }
    return !next;
}

/* Puts a kept command. Releases become plain ones: nobody waits for their end. */
static void put(struct compaction *s, struct wire_buffer *out, const struct command *c)
{
    const struct rewriting how = {.empty = true};
    const struct named named = names(s, c);

    if (effect_of(c->number) == EFFECT_RELEASES && named.kind)
        wire_put_release(out, &(struct wire_release){.kind = named.kind, .object = named.id});
    else if (!effect_rewrite(out, c->number, c->fields, &how))
        wire_put_bytes(out, c->fields.at - WIRE_HEADER, c->fields.left + WIRE_HEADER);
}

int compact_log(const struct wire_buffer *base, const struct wire_buffer *log, struct wire_buffer *out)
{
    struct compaction s = {0};

    s.failed = !collect(&s, base) || !collect(&s, log);
    for (uint32_t i = s.count; i-- && !s.failed;)
        look_at(&s, i);
    for (uint32_t i = 0; i < s.count && !s.failed; i++) {
        if (s.commands[i].keep)
            put(&s, out, &s.commands[i]);
    }
    for (unsigned kind = 0; kind <= WIRE_KIND_LAST; kind++)
        free(s.marks[kind]);
    free(s.freed.list);
    free(s.used.list);
    free(s.commands);
    return s.failed || out->failed ? -ENOMEM : 0;
}
