/* The Trace Event JSON file: tracks of workers. Commands that run on a device are on the device's track, or on
 * several if they overlap; commands that wait are on their queue's. Arrows go from the call to the command that it
 * started, and on to the thread that waited for it. */
#include <stdlib.h>
#include <string.h>

#include "tools/trace.h"

#define DEVICES 100u /* tracks: so many for each device, starting at this number */
#define QUEUES 100000u
#define TURNS 50000u
#define STAGED 60000u

static const char *short_name(const struct member *member, const struct command *command)
{
    const char *name = trace_name(member, command->what.name, "command");

    return strncmp(name, "enqueue_", 8) ? name : name + 8;
}

static const char *name_of(const struct member *member, const struct command *command)
{
    const char *name = short_name(member, command);

    return command->what.kernel ? trace_name(member, command->what.kernel, name) : name;
}

static json_t *arguments(const struct member *member, const struct command *command)
{
    const struct timeline_command *what = &command->what;
    json_t *args = json_pack("{s:s, s:I, s:i, s:i, s:b}", "command", short_name(member, command), "number",
                             (json_int_t)what->number, "queue", (int)what->queue, "worker", (int)member->number,
                             "native_times", (int)command->native);

    if (what->kernel)
        json_object_set_new(args, "kernel", json_string(name_of(member, command)));
    if (what->bytes)
        json_object_set_new(args, "bytes", json_integer((json_int_t)what->bytes));
    if (what->global[0])
        json_object_set_new(args, "global",
                            json_pack("[I, I, I]", (json_int_t)what->global[0], (json_int_t)what->global[1],
                                      (json_int_t)what->global[2]));
    if (what->status < 0)
        json_object_set_new(args, "error", json_integer(what->status));
    json_object_set_new(args, "queued_us", json_real((double)(command->submitted - command->queued) / 1000));
    json_object_set_new(args, "submitted_us", json_real((double)(command->started - command->submitted) / 1000));
    return args;
}

/* Draws an arrow from one track to another. It never goes back in time, which inexact clocks could cause. */
static void put_arrow(struct writer *w, uint32_t program, uint32_t pid, uint32_t track, const struct command *command)
{
    const uint64_t id = ++w->last_flow, at = command->started > command->sent ? command->started : command->sent;
    struct event arrow = {"s", "command", "flow", command->sent, 0, id, program, command->caller, NULL};

    if (!command->sent)
        return;
    trace_event(w, &arrow);
    arrow = (struct event){"t", "command", "flow", at, 0, id, pid, track, NULL};
    if (command->waited < at)
        arrow.phase = "f";
    trace_event(w, &arrow);
    if (command->waited < at)
        return;
    arrow = (struct event){"f", "command", "flow", command->waited, 0, id, program, command->waiter, NULL};
    trace_event(w, &arrow);
}

static void put_waiting(struct writer *w, uint32_t pid, const struct member *member, const struct command *command,
                        uint64_t id)
{
    const uint32_t track = QUEUES + command->what.queue;
    struct event event = {"b",
                          "queued",
                          "queue",
                          command->queued,
                          0,
                          id,
                          pid,
                          track,
                          json_pack("{s:s}", "command", name_of(member, command))};

    trace_event(w, &event);
    event = (struct event){"e", "queued", "queue", command->submitted, 0, id, pid, track, NULL};
    trace_event(w, &event);
    event = (struct event){"b", "submitted", "queue", command->submitted, 0, id, pid, track, NULL};
    trace_event(w, &event);
    event = (struct event){"e", "submitted", "queue", command->started, 0, id, pid, track, NULL};
    trace_event(w, &event);
}

static uint32_t device_track(uint32_t device)
{
    return (1 + device) * DEVICES;
}

static int by_start(const void *one, const void *other)
{
    const uint64_t a = (*(struct command *const *)one)->started, b = (*(struct command *const *)other)->started;

    return a < b ? -1 : a > b;
}

static void name_queues(struct writer *w, uint32_t pid, const struct member *member)
{
    uint32_t last = 0;

    for (size_t i = 0; i < member->command_count; i++) {
        const uint32_t queue = member->commands[i].what.queue;

        if (queue != last)
            trace_track(w, pid, QUEUES + queue, 1000 + (int)queue, "queue %u", queue);
        last = queue;
    }
}

static void write_device(struct writer *w, uint32_t program, uint32_t pid, const struct member *member,
                         struct command **commands, uint32_t device)
{
    const char *name = trace_device_name(member, device);
    struct lanes lanes = {.used = 0};

    for (size_t i = 0; i < member->command_count; i++) {
        struct command *command = commands[i];
        uint32_t track;

        if (command->what.device != device)
            continue;
        track = device_track(device) + trace_lane(&lanes, command->started, command->ended);
        trace_event(w, &(struct event){"X", name_of(member, command), "run", command->started, command->ended, 0, pid,
                                       track, arguments(member, command)});
        put_arrow(w, program, pid, track, command);
        if (command->native)
            put_waiting(w, pid, member, command, ((uint64_t)pid << 32) + command->what.number + 1);
    }
    for (unsigned lane = 0; lane < lanes.used; lane++)
        trace_track(w, pid, device_track(device) + lane, (int)(device_track(device) + lane), "device %u: %s", device,
                    name);
}

static int by_begin(const void *one, const void *other)
{
    const uint64_t a = ((const struct staged *)one)->from, b = ((const struct staged *)other)->from;

    return a < b ? -1 : a > b;
}

/* Writes the copies of bulk data between the worker's memory and its devices'. */
static void write_staged(struct writer *w, uint32_t pid, const struct member *member)
{
    struct lanes lanes = {.used = 0};

    if (member->staged_count)
        qsort(member->staged, member->staged_count, sizeof(*member->staged), by_begin);
    for (size_t i = 0; i < member->staged_count; i++) {
        const struct staged *staged = &member->staged[i];
        const uint32_t track = STAGED + trace_lane(&lanes, staged->from, staged->to);

        trace_event(w, &(struct event){"X", staged->what.out ? "copy from the device" : "copy to the device", "staged",
                                       staged->from, staged->to, 0, pid, track,
                                       json_pack("{s:I, s:i}", "bytes", (json_int_t)staged->what.bytes, "device",
                                                 (int)staged->device)});
    }
    for (unsigned lane = 0; lane < lanes.used; lane++)
        trace_track(w, pid, STAGED + lane, 600, "staging of bulk data");
}

void trace_write_member(struct writer *w, size_t process, size_t index)
{
    const struct member *member = &w->trace->processes[process].members[index];
    const uint32_t program = trace_process(process), pid = trace_member_process(process, index);
    struct command **commands = calloc(member->command_count + 1, sizeof(*commands));

    trace_track(w, pid, 0, (int)pid, "worker %u%s%s", member->number, *member->host ? " on " : " (in the program)",
                member->host);
    for (size_t i = 0; commands && i < member->command_count; i++)
        commands[i] = &member->commands[i];
    if (commands && member->command_count)
        qsort(commands, member->command_count, sizeof(*commands), by_start);
    for (size_t i = 0; commands && i < member->device_count; i++)
        write_device(w, program, pid, member, commands, member->devices[i].number);
    name_queues(w, pid, member);
    write_staged(w, pid, member);
    for (size_t i = 0; i < member->turn_count; i++) {
        const struct turn *turn = &member->turns[i];

        trace_event(w, &(struct event){"X", "waits for its turn", "turn", turn->from, turn->to, 0, pid,
                                       TURNS + turn->device, NULL});
        trace_track(w, pid, TURNS + turn->device, 500, "turns on device %u", turn->device);
    }
    free(commands);
}
