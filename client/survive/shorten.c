/*
 * Of all that a node was told, what makes the objects that it has: commands in queues are over, objects that are gone
 * and of which none is made that is left are left out, and so are contents. From the last command to the first, so that
 * what is needed is known when what makes it comes.
 */
#include <errno.h>
#include <string.h>

#include "client/survive/journal.h"
#include "client/survive/recover.h"

struct command {
    const uint8_t *bytes;
    uint32_t length;
    uint16_t number;
    bool keep;
};

/* What is known of the number of an object so far. */
struct mark {
    uint32_t id;
    uint32_t released; /* the command that does, plus 1; GONE: none that would be kept */
    bool needed;
};
#define GONE UINT32_MAX

/* Shared virtual memory: where it was freed, by which command, plus 1; and where a buffer is over some. */
struct address {
    uint64_t at;
    uint32_t released;
};

struct addresses {
    struct address *list;
    uint32_t count, room;
};

struct shortening {
    struct command *commands;
    uint32_t count;
    struct mark *marks[WIRE_KIND_LAST + 1]; /* by slot */
    uint32_t room[WIRE_KIND_LAST + 1];
    struct addresses freed, used;
    bool failed;
    bool alive; /* of the command that is looked at: something that it makes is */
};

/* ---- the numbers of objects in a command ---- */

typedef void visit_id(struct shortening *s, unsigned kind, uint32_t id, bool is_new);

#define VISIT(name)                                                                                                    \
    __attribute__((unused)) static void visit_##name(struct shortening *s, struct wire_cursor in, visit_id *visit)     \
    {                                                                                                                  \
        struct wire_##name m;                                                                                          \
                                                                                                                       \
        (void)visit;                                                                                                   \
        s->failed |= !wire_get_##name(&in, &m);                                                                        \
        if (s->failed)                                                                                                 \
            return;
#define SEND(name, number) VISIT(name)
#define NOTE(name, number) VISIT(name)
#define PEER(name, number) VISIT(name)
#define CALL(name, number) VISIT(name)
#define REPLY(name)                                                                                                    \
    }                                                                                                                  \
    VISIT(name##_reply)
#define END }
#define ID(kind, name) visit(s, WIRE_##kind, m.name, false);
#define ID_OF(field, name) visit(s, m.field, m.name, false);
#define NEW_ID(kind, name) visit(s, WIRE_##kind, m.name, true);
#define IDS(kind, name, most)                                                                                          \
    for (uint32_t i = 0; i < m.name##_count; i++)                                                                      \
        visit(s, WIRE_##kind, m.name[i], false);
#include "wire/fields.h"
#include "wire/commands.def"
#include "wire/fields_end.h"

/* create_sub_devices tells the numbers that it makes as such. */
static void visit_parts(struct shortening *s, struct wire_cursor in, visit_id *visit)
{
    struct wire_create_sub_devices m;

    s->failed |= !wire_get_create_sub_devices(&in, &m);
    for (uint32_t i = 0; !s->failed && i < m.sub_devices_count; i++)
        visit(s, WIRE_DEVICE, m.sub_devices[i], true);
}

static void visit_all(struct shortening *s, const struct command *c, visit_id *visit)
{
    const struct wire_cursor in = wire_cursor(c->bytes + WIRE_HEADER, c->length - WIRE_HEADER);

    if (c->number == WIRE_create_sub_devices)
        visit_parts(s, in, visit);
    switch (c->number) {
#define SEND(name, number)                                                                                             \
    case number:                                                                                                       \
        visit_##name(s, in, visit);                                                                                    \
        break;
#define CALL(name, number) SEND(name, number)
#include "wire/fields.h"
#include "wire/commands.def"
#include "wire/fields_end.h"
    }
}

/* ---- marks ---- */

/* NULL: out of memory, or no number of an object. */
static struct mark *mark_of(struct shortening *s, unsigned kind, uint32_t id)
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

static void find_made(struct shortening *s, unsigned kind, uint32_t id, bool is_new)
{
    struct mark *mark = is_new ? mark_of(s, kind, id) : NULL;

    s->alive |= mark && (mark->id != id || !mark->released || mark->needed);
}

/* Those of a sub-device that goes with others that stay. */
static void keep_release(struct shortening *s, const struct mark *mark)
{
    if (mark->released && mark->released != GONE)
        s->commands[mark->released - 1].keep = true;
}

/* What a command that is kept uses is kept, and what it makes is no more looked for. */
static void need(struct shortening *s, unsigned kind, uint32_t id, bool is_new)
{
    struct mark *mark = mark_of(s, kind, id);

    if (!mark)
        return;
    if (mark->id != id)
        *mark = (struct mark){.id = id};
    mark->needed = true;
    keep_release(s, mark);
    if (is_new)
        *mark = (struct mark){0};
}

static void forget(struct shortening *s, unsigned kind, uint32_t id, bool is_new)
{
    struct mark *mark = is_new ? mark_of(s, kind, id) : NULL;

    if (mark)
        *mark = (struct mark){0};
}

static void gone(struct shortening *s, unsigned kind, uint32_t id, uint32_t by)
{
    struct mark *mark = mark_of(s, kind, id);

    if (mark)
        *mark = (struct mark){.id = id, .released = by};
}

static bool is_alive(struct shortening *s, unsigned kind, uint32_t id)
{
    const struct mark *mark = mark_of(s, kind, id);

    return !mark || mark->id != id || !mark->released || mark->needed;
}

/* ---- shared virtual memory, which has no numbers ---- */

static void add_address(struct shortening *s, struct addresses *to, uint64_t at, uint32_t released)
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

/* Those from at on, and whether there were any, and of which command the last one is. */
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

static void look_at_freed(struct shortening *s, uint32_t at)
{
    const struct command *c = &s->commands[at];
    struct wire_cursor in = wire_cursor(c->bytes + WIRE_HEADER, c->length - WIRE_HEADER);
    struct wire_svm_free m;

    s->failed |= !wire_get_svm_free(&in, &m);
    if (!s->failed)
        add_address(s, &s->freed, m.address, at + 1);
}

/* What has been freed is kept for a buffer over it that is there still, and freed once more. */
static void look_at_alloc(struct shortening *s, struct command *c)
{
    struct wire_cursor in = wire_cursor(c->bytes + WIRE_HEADER, c->length - WIRE_HEADER);
    struct wire_svm_alloc m;
    uint32_t released = 0, none;
    bool used;

    s->failed |= !wire_get_svm_alloc(&in, &m);
    if (s->failed)
        return;
    used = m.wanted && take_addresses(&s->used, m.wanted, m.size, &none);
    c->keep = !m.wanted || !take_addresses(&s->freed, m.wanted, 1, &released) || used;
    if (c->keep && released)
        s->commands[released - 1].keep = true;
}

static void look_at_buffer(struct shortening *s, const struct command *c)
{
    struct wire_cursor in = wire_cursor(c->bytes + WIRE_HEADER, c->length - WIRE_HEADER);
    struct wire_create_buffer m;

    s->failed |= !wire_get_create_buffer(&in, &m);
    if (!s->failed && m.address)
        add_address(s, &s->used, m.address, 0);
}

/* ---- one command ---- */

/* The object that it changes, which the command has first. */
static unsigned changes(uint16_t number)
{
    switch (number) {
    case WIRE_set_specialization:
    case WIRE_build_program:
    case WIRE_compile_program:
        return WIRE_PROGRAM;
    case WIRE_record:
    case WIRE_finalize_command_buffer:
        return WIRE_COMMAND_BUFFER;
    }
    return 0;
}

static bool makes(uint16_t number)
{
    switch (number) {
    case WIRE_create_context:
    case WIRE_create_queue:
    case WIRE_create_buffer:
    case WIRE_create_sub_buffer:
    case WIRE_create_image:
    case WIRE_create_sampler:
    case WIRE_create_program:
    case WIRE_create_program_binary:
    case WIRE_create_program_il:
    case WIRE_create_program_builtin:
    case WIRE_link_program:
    case WIRE_create_kernel:
    case WIRE_clone_kernel:
    case WIRE_create_sub_devices:
    case WIRE_create_command_buffer:
    case WIRE_create_user_event:
    case WIRE_create_pipe:
    case WIRE_create_addressed_buffer:
        return true;
    }
    return false;
}

static bool releases(uint16_t number)
{
    return number == WIRE_release || number == WIRE_release_notify || number == WIRE_release_watched;
}

static uint32_t word_of(const struct command *c, unsigned word)
{
    uint32_t value;

    memcpy(&value, c->bytes + WIRE_HEADER + word * sizeof(value), sizeof(value));
    return value;
}

static bool is_call(uint16_t number)
{
    switch (number) {
#define CALL(name, number) case number:
#include "wire/fields.h"
#include "wire/commands.def"
#include "wire/fields_end.h"
        return true;
    }
    return false;
}

static void look_at(struct shortening *s, uint32_t at)
{
    struct command *c = &s->commands[at];
    const unsigned head = is_call(c->number), changed = changes(c->number);

    if (releases(c->number)) {
        gone(s, word_of(c, head), word_of(c, head + 1), at + 1);
    } else if (c->number == WIRE_set_user_event) {
        gone(s, WIRE_EVENT, word_of(c, 0), GONE);
    } else if (changed) {
        c->keep = is_alive(s, changed, word_of(c, head));
    } else if (makes(c->number)) {
        s->alive = false;
        visit_all(s, c, find_made);
        c->keep = s->alive;
    } else if (c->number == WIRE_svm_free) {
        look_at_freed(s, at);
        return;
    } else if (c->number == WIRE_svm_alloc) {
        look_at_alloc(s, c);
    } else {
        c->keep = c->number == WIRE_usm_alloc || c->number == WIRE_set_content_size;
        return;
    }
    if (c->keep && c->number == WIRE_create_buffer)
        look_at_buffer(s, c);
    if (c->keep)
        visit_all(s, c, need);
    else if (!releases(c->number) && c->number != WIRE_set_user_event)
        visit_all(s, c, forget);
}

/* ---- all of them ---- */

static bool collect(struct shortening *s, const struct wire_buffer *from)
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
        s->commands[s->count++] = (struct command){
            .bytes = fields.at - WIRE_HEADER, .length = (uint32_t)fields.left + WIRE_HEADER, .number = number};
    }
    return !next;
}

static void put(struct wire_buffer *out, const struct command *c)
{
    struct wire_cursor in = wire_cursor(c->bytes + WIRE_HEADER, c->length - WIRE_HEADER);
    const struct wire_release release = {.kind = word_of(c, is_call(c->number)),
                                         .object = word_of(c, is_call(c->number) + 1)};
    struct wire_create_buffer buffer;
    struct wire_create_image image;

    if (c->number == WIRE_create_buffer && wire_get_create_buffer(&in, &buffer)) {
        buffer.tag = buffer.data_length = 0;
        wire_put_create_buffer(out, &buffer);
    } else if (c->number == WIRE_create_image && wire_get_create_image(&in, &image)) {
        image.tag = image.data_length = 0;
        wire_put_create_image(out, &image);
    } else if (releases(c->number)) {
        wire_put_release(out, &release);
    } else {
        wire_put_bytes(out, c->bytes, c->length);
    }
}

int journal_shorten(const struct wire_buffer *base, const struct wire_buffer *log, struct wire_buffer *out)
{
    struct shortening s = {0};

    s.failed = !collect(&s, base) || !collect(&s, log);
    for (uint32_t i = s.count; i-- && !s.failed;)
        look_at(&s, i);
    for (uint32_t i = 0; i < s.count && !s.failed; i++) {
        if (s.commands[i].keep)
            put(out, &s.commands[i]);
    }
    for (unsigned kind = 0; kind <= WIRE_KIND_LAST; kind++)
        free(s.marks[kind]);
    free(s.freed.list);
    free(s.used.list);
    free(s.commands);
    return s.failed || out->failed ? -ENOMEM : 0;
}
