/*
 * What of a log is over for good, as its effects are in memory that is here (window.c): only what makes objects is told
 * of it, and in place of commands there are markers for their events.
 */
#include <string.h>

#include "client/survive/recover.h"
#include "client/survive/replaying.h"

struct over {
    uint32_t queue, event, subscribe;
};

/* Its event, if it has one, is over, too. */
static void put_event_over(struct replay *r, const struct over *over)
{
    const struct wire_enqueue_marker m = {.queue = over->queue, .event = over->event, .subscribe = over->subscribe};

    if (over->event)
        wire_put_enqueue_marker(&r->out, &m);
}

#define OVER(name)                                                                                                     \
    __attribute__((unused)) static void over_##name(struct replay *r, struct wire_cursor in)                           \
    {                                                                                                                  \
        struct over over = {0};                                                                                        \
        struct wire_##name m;                                                                                          \
                                                                                                                       \
        r->failed |= !wire_get_##name(&in, &m);                                                                        \
        if (r->failed)                                                                                                 \
            return;
#define SEND(name, number) OVER(name)
#define ENQUEUE(name, number) OVER(name) over.queue = m.queue;
#define NOTE(name, number) OVER(name)
#define PEER(name, number) OVER(name)
#define CALL(name, number) OVER(name)
#define REPLY(name)                                                                                                    \
    put_event_over(r, &over);                                                                                          \
    }                                                                                                                  \
    OVER(name##_reply)
#define NEW_EVENT                                                                                                      \
    over.event = m.event;                                                                                              \
    over.subscribe = m.subscribe;
#define END                                                                                                            \
    put_event_over(r, &over);                                                                                          \
    }
#include "wire/fields.h"
#include "wire/commands.def"
#include "wire/fields_end.h"

/* What a launch has told of its kernel's arguments stays so. */
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

static void launch_over(struct replay *r, struct wire_cursor fields)
{
    const size_t length = fields.left + WIRE_HEADER;

    r->last_length = length <= sizeof(r->last) ? length : 0;
    memcpy(r->last, fields.at - WIRE_HEADER, r->last_length);
    keep_arguments(r, fields);
    over_enqueue_ndrange(r, fields);
}

static void repeat_over(struct replay *r, struct wire_cursor fields)
{
    struct wire_repeat m;

    r->failed |= !wire_get_repeat(&fields, &m) || r->last_length < WIRE_HEADER ||
                 !wire_patch(r->last, r->last_length, m.patch, m.patch_length);
    if (r->failed || !m.patch_length)
        return;
    fields = wire_cursor(r->last + WIRE_HEADER, r->last_length - WIRE_HEADER);
    keep_arguments(r, fields);
    over_enqueue_ndrange(r, fields);
}

/* Contents of what is gone since. */
static bool empty_over(struct replay *r, uint16_t number, struct wire_cursor fields)
{
    struct wire_create_buffer buffer;
    struct wire_create_image image;

    if (number == WIRE_create_buffer && wire_get_create_buffer(&fields, &buffer)) {
        buffer.tag = buffer.data_length = 0;
        wire_put_create_buffer(&r->out, &buffer);
    } else if (number == WIRE_create_image && wire_get_create_image(&fields, &image)) {
        image.tag = image.data_length = 0;
        wire_put_create_image(&r->out, &image);
    } else {
        return number == WIRE_bring || number == WIRE_take || number == WIRE_take_svm;
    }
    return true;
}

void replay_tell_over(struct replay *r, uint16_t number, struct wire_cursor fields)
{
    if (number == JOURNAL_EVENT || number == JOURNAL_DATA || number == JOURNAL_TURN || empty_over(r, number, fields))
        return;
    if (number == WIRE_enqueue_ndrange) {
        launch_over(r, fields);
        return;
    }
    if (number == WIRE_repeat) {
        repeat_over(r, fields);
        return;
    }
    switch (number) {
#define ENQUEUE(name, code)                                                                                            \
    case WIRE_##name:                                                                                                  \
        over_##name(r, fields);                                                                                        \
        return;
#include "wire/fields.h"
#include "wire/commands.def"
#include "wire/fields_end.h"
    }
    replay_tell(r, number, fields);
}
