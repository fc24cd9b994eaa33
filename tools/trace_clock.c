/*
 * Converts clocks. A member's clock is known from round trips: the time of the request, the member's time, and the time
 * of the answer bound its offset; so does the rule that nothing happens before it was requested. Two good answers far
 * apart show the drift. A device's clock is known from its commands: native OpenCL queued each during the worker's
 * call. If the bounds of later commands exclude those of earlier ones, because of drift, the offset is determined anew.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tools.h"
#include "tools/trace.h"

#define FAR_NS 5e9 /* least distance in time of two answers that show the drift */
#define ERRORS 4   /* the drift has to be so many times their errors */

/* ---- members ---- */

static double offset_of(const struct item *asked)
{
    uint64_t there;

    memcpy(&there, asked->more, sizeof(there));
    return (double)(int64_t)(there - asked->head.from) - (double)(asked->head.to - asked->head.from) / 2;
}

static double error_of(const struct item *asked)
{
    return (double)(asked->head.to - asked->head.from) / 2;
}

static const struct item *best(const struct member *member, size_t from, size_t to)
{
    const struct item *found = NULL;

    for (size_t i = from; i < to; i++) {
        if (!found || error_of(member->asked[i]) < error_of(found))
            found = member->asked[i];
    }
    return found;
}

static void find_drift(struct member *member)
{
    const struct item *early = best(member, 0, (member->asked_count + 2) / 3);
    const struct item *late = best(member, member->asked_count * 2 / 3, member->asked_count);
    double apart, drift, wrong;

    if (!early || !late || late->head.to < early->head.to)
        return;
    apart = (double)(late->head.to - early->head.to);
    if (apart < FAR_NS)
        return;
    drift = (offset_of(late) - offset_of(early)) / apart;
    wrong = (error_of(late) + error_of(early)) / apart;
    if (fabs(drift) > ERRORS * wrong)
        member->drift = drift;
}

struct command *trace_find_command(const struct member *member, uint64_t number)
{
    size_t low = 0, high = member->command_count;

    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (member->commands[middle].what.number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < member->command_count && member->commands[low].what.number == number ? &member->commands[low] : NULL;
}

static void find_cause(const struct process *process, const struct item *item, const struct item *call)
{
    const struct timeline_call sent = trace_sent(item);
    struct member *member = sent.count ? trace_member(process, sent.member, item->head.to) : NULL;

    if (!member || !call || call->head.from > item->head.from)
        return;
    for (uint64_t number = sent.first; number - sent.first < sent.count; number++) {
        struct command *command = trace_find_command(member, number);

        if (!command)
            break;
        command->sent = call->head.from;
        command->estimated = call->estimated;
        command->caller = call->thread;
    }
}

/* Finds the call that sent each command. Goes backwards, as the call that contains an item is of the same thread and
 * ends later. */
static void find_causes(struct process *process)
{
    const struct item **calls = calloc(process->thread_count + 1, sizeof(*calls)); /* the next call of each thread */

    if (!calls)
        fail(1, "out of memory");
    for (size_t i = process->item_count; i-- > 0;) {
        const struct item *item = &process->items[i];
        const struct item **call = &calls[trace_thread(process, item->thread)];

        if (item->head.kind == TIMELINE_CALL)
            *call = item;
        if (item->head.kind == TIMELINE_CALL || item->head.kind == TIMELINE_SENT)
            find_cause(process, item, *call);
    }
    free(calls);
}

static uint64_t here(const struct member *member, uint64_t there)
{
    const double since = (double)(int64_t)(there - member->origin);

    return there - (uint64_t)llround(member->offset + member->drift * since);
}

/* Narrows the offset: nothing happens on the member before it was requested here. */
static void narrow(struct member *member)
{
    double low = member->offset - member->error, high = member->offset + member->error;

    for (size_t i = 0; i < member->command_count && !member->drift; i++) {
        const struct command *command = &member->commands[i];
        const double most = (double)(int64_t)(command->what.before - command->sent);

        if (command->sent && command->what.before && !command->estimated && most < high && most > low)
            high = most;
    }
    member->offset = (low + high) / 2;
    member->error = (high - low) / 2;
}

static void member_clock(struct member *member)
{
    const struct item *found = best(member, 0, member->asked_count);

    if (!found)
        return;
    memcpy(&member->origin, found->more, sizeof(member->origin));
    member->offset = offset_of(found);
    member->error = error_of(found);
    find_drift(member);
    narrow(member);
}

/* ---- devices ---- */

struct bounds {
    double low, high;
};

static bool has_times(const struct command *command)
{
    const uint64_t *times = command->what.times;

    return times[0] && times[0] <= times[1] && times[1] <= times[2] && times[2] <= times[3];
}

static void place(const struct member *member, struct command *command, double offset)
{
    uint64_t *to[] = {&command->queued, &command->submitted, &command->started, &command->ended};

    for (int i = 0; i < 4; i++)
        *to[i] = here(member, command->what.times[i] - (uint64_t)llround(offset));
    command->native = true;
}

/* Places the device's commands from index from on, as long as one offset fits them. Returns the index after the
 * last. */
static size_t place_some(const struct member *member, uint32_t device, size_t from)
{
    struct bounds bounds = {-INFINITY, INFINITY};
    double middle;
    size_t i;

    for (i = from; i < member->command_count; i++) {
        const struct command *command = &member->commands[i];
        const uint64_t queued = command->what.times[0];
        struct bounds next = bounds;

        if (command->what.device != device || !has_times(command))
            continue;
        if (command->what.before) {
            next.low = fmax(next.low, (double)(int64_t)(queued - command->what.after));
            next.high = fmin(next.high, (double)(int64_t)(queued - command->what.before));
        }
        if (command->over)
            next.low = fmax(next.low, (double)(int64_t)(command->what.times[3] - command->over));
        if (next.low > next.high && bounds.low > -INFINITY)
            break;
        bounds = next;
    }
    middle = bounds.high < INFINITY ? (bounds.low + bounds.high) / 2 : bounds.low;
    for (size_t k = from; k < i; k++) {
        if (member->commands[k].what.device == device && has_times(&member->commands[k]))
            place(member, &member->commands[k], middle);
    }
    return i;
}

static void place_by_worker(const struct member *member, struct command *command)
{
    command->queued = here(member, command->what.before);
    command->submitted = command->started = here(member, command->what.after);
    command->ended = here(member, command->over);
    if (command->submitted > command->ended)
        command->submitted = command->started = command->ended;
}

void trace_clocks(struct process *process)
{
    find_causes(process);
    for (size_t i = 0; i < process->member_count; i++) {
        struct member *member = &process->members[i];

        member_clock(member);
        for (size_t k = 0; k < member->device_count; k++) {
            for (size_t at = 0; at < member->command_count;)
                at = place_some(member, member->devices[k].number, at);
        }
        for (size_t k = 0; k < member->command_count; k++) {
            if (!member->commands[k].native)
                place_by_worker(member, &member->commands[k]);
        }
        for (size_t k = 0; k < member->turn_count; k++) {
            member->turns[k].from = here(member, member->turns[k].from);
            member->turns[k].to = here(member, member->turns[k].to);
        }
        for (size_t k = 0; k < member->staged_count; k++) {
            member->staged[k].from = here(member, member->staged[k].from);
            member->staged[k].to = here(member, member->staged[k].to);
        }
    }
}
