/*
 * What of a log is over for good, as its effects are in memory that is here (window.c): only what makes objects is told
 * of it, and in place of commands there are markers for their events.
 */
#include <string.h>

#include "client/survive/effects.h"
#include "client/survive/recover.h"
#include "client/survive/replaying.h"

/* Its event, if it has one, is over, too. */
static void put_event_over(struct replay *r, uint16_t number, struct wire_cursor fields)
{
    struct wire_enqueue_marker m;
    struct outline over;

    r->failed |= !outline_get(number, fields, &over);
    m = (struct wire_enqueue_marker){.queue = over.queue, .event = over.event, .subscribe = over.subscribe};
    if (over.event)
        wire_put_enqueue_marker(&r->out, &m);
}

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
    put_event_over(r, WIRE_enqueue_ndrange, fields);
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
    put_event_over(r, WIRE_enqueue_ndrange, fields);
}

/* Contents of what is gone since. */
static bool empty_over(struct replay *r, uint16_t number, struct wire_cursor fields)
{
    const struct rewriting how = {.empty = true};
    struct outline m;

    if (effect_of(number) == EFFECT_RUNS)
        return outline_get(number, fields, &m) && (m.contents || m.data_out);
    return effect_rewrite(&r->out, number, fields, &how);
}

void replay_tell_over(struct replay *r, uint16_t number, struct wire_cursor fields)
{
    if (number == WIRE_enqueue_ndrange)
        launch_over(r, fields);
    else if (number == WIRE_repeat)
        repeat_over(r, fields);
    else if (wire_is_enqueue(number))
        put_event_over(r, number, fields);
    else if (effect_of(number) != EFFECT_NONE && !empty_over(r, number, fields))
        replay_tell(r, number, fields);
}
