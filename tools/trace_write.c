/* The Trace Event JSON file: tracks of programs, and the common parts of all events. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tools.h"
#include "tools/trace.h"

#define LINKS 5000000u /* tracks of links begin here, so many for each member; threads' numbers are smaller */
#define LINK 1000u
#define MOVES 9000000u

static const char *const functions[] = {
#define EXPORTED(name, first, since) #name,
#define BY_NAME(name, offered, own) #name,
#include "base/opencl.def"
};

/* ---- events ---- */

static void dump(struct writer *w, json_t *object)
{
    fputs(w->any ? ",\n" : "\n", w->file);
    w->any = true;
    if (!object || json_dumpf(object, w->file, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(15)))
        fail(1, "the trace cannot be written: %m");
    json_decref(object);
}

static json_t *microseconds(const struct writer *w, uint64_t time)
{
    return json_real((double)(int64_t)(time - w->trace->start) / 1000);
}

void trace_event(struct writer *w, const struct event *event)
{
    json_t *object = json_pack("{s:s, s:s, s:s, s:i, s:i}", "ph", event->phase, "name", event->name, "cat",
                               event->category, "pid", (int)event->process, "tid", (int)event->track);

    if (!object) { /* a name is not UTF-8 */
        json_decref(event->arguments);
        return;
    }
    json_object_set_new(object, "ts", microseconds(w, event->from));
    if (*event->phase == 'X')
        json_object_set_new(object, "dur",
                            json_real(event->to > event->from ? (double)(event->to - event->from) / 1000 : 0));
    if (event->id)
        json_object_set_new(object, "id", json_integer((json_int_t)event->id));
    if (*event->phase == 'f')
        json_object_set_new(object, "bp", json_string("e"));
    if (event->arguments)
        json_object_set_new(object, "args", event->arguments);
    dump(w, object);
}

static void metadata(struct writer *w, uint32_t process, uint32_t track, const char *what, const char *key,
                     json_t *value)
{
    dump(w, json_pack("{s:s, s:s, s:i, s:i, s:{s:o}}", "ph", "M", "name", what, "pid", (int)process, "tid", (int)track,
                      "args", key, value));
}

void trace_track(struct writer *w, uint32_t process, uint32_t track, int order, const char *format, ...)
{
    va_list arguments;
    char name[700];
    json_t *text;

    va_start(arguments, format);
    vsnprintf(name, sizeof(name), format, arguments);
    va_end(arguments);
    text = json_string(name);
    metadata(w, process, track, track ? "thread_name" : "process_name", "name", text ? text : json_string("?"));
    metadata(w, process, track, track ? "thread_sort_index" : "process_sort_index", "sort_index", json_integer(order));
}

/* Events that do not fit into the last lane overlap there, and are shown wrongly. */
unsigned trace_lane(struct lanes *lanes, uint64_t from, uint64_t to)
{
    const unsigned most = sizeof(lanes->busy) / sizeof(*lanes->busy);
    unsigned lane = 0;

    while (lane < lanes->used && lanes->busy[lane] > from && lane < most - 1)
        lane++;
    if (lane == lanes->used)
        lanes->used++;
    if (lanes->busy[lane] < to)
        lanes->busy[lane] = to;
    return lane;
}

uint32_t trace_process(size_t index)
{
    return (uint32_t)(index + 1) * TRACE_MEMBERS;
}

uint32_t trace_member_process(size_t process, size_t member)
{
    return trace_process(process) + 1 + (uint32_t)member;
}

/* ---- calls ---- */

/* Sums of a thread since its last call. */
struct within {
    uint32_t thread, trips;
    uint64_t waited, out, in, until; /* until: the end of the last wait */
    uint32_t waited_for[8];          /* members: several events of one member cause one wait, for the last */
    unsigned members;
};

/* Round trips to several workers overlap; their waits are counted one after the other. */
static struct item one_at_a_time(struct within *in, const struct item *item)
{
    struct item one = *item;

    if (one.head.from < in->until)
        one.head.from = in->until < one.head.to ? in->until : one.head.to;
    in->until = one.head.to;
    in->waited += one.head.to - one.head.from;
    return one;
}

static void count_wait(struct within *in, const struct item *item)
{
    const struct timeline_wait *wait = item->more;
    bool known = wait->reason == TIMELINE_FOR_ROOM;

    for (unsigned i = 0; i < in->members; i++)
        known |= in->waited_for[i] == item->head.which;
    if (known)
        return;
    in->trips++;
    if (in->members < 8)
        in->waited_for[in->members++] = item->head.which;
}

static void put_inner(struct writer *w, uint32_t pid, const struct item *item, const char *category, const char *name,
                      json_t *arguments)
{
    trace_event(w,
                &(struct event){"X", name, category, item->head.from, item->head.to, 0, pid, item->thread, arguments});
}

static const char *function_of(const struct item *call)
{
    const uint32_t function = call->head.which % (1u << TIMELINE_FUNCTION_BITS);

    return function < sizeof(functions) / sizeof(*functions) ? functions[function] : "?";
}

static void put_call(struct writer *w, const struct process *process, uint32_t pid, const struct item *item,
                     struct within *in)
{
    const struct timeline_call sent = trace_sent(item);
    const struct site *site = trace_site(process, item);
    json_t *arguments = NULL;

    if (sent.count || in->trips || in->waited || in->out || in->in)
        arguments = json_pack("{s:I, s:I, s:f, s:I, s:I}", "commands", (json_int_t)sent.count, "round_trips",
                              (json_int_t)in->trips, "waited_us", (double)in->waited / 1000, "bytes_out",
                              (json_int_t)in->out, "bytes_in", (json_int_t)in->in);
    if (item->estimated) {
        arguments = arguments ? arguments : json_object();
        json_object_set_new(arguments, "estimated", json_true());
    }
    if (site) {
        arguments = arguments ? arguments : json_object();
        json_object_set_new(arguments, "site", json_string(site->text));
    }
    put_inner(w, pid, item, "call", function_of(item), arguments);
    *in = (struct within){.thread = in->thread};
}

/* ---- waits ---- */

struct event_index {
    struct command **commands;
    size_t count;
};

static int by_event(const void *one, const void *other)
{
    const struct timeline_command *a = &(*(struct command *const *)one)->what;
    const struct timeline_command *b = &(*(struct command *const *)other)->what;

    if (a->event != b->event)
        return a->event < b->event ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static struct event_index index_events(const struct member *member)
{
    struct event_index index = {NULL, 0};

    for (size_t i = 0; i < member->command_count; i++) {
        if (!member->commands[i].what.event)
            continue;
        index.commands = trace_more(index.commands, &index.count, sizeof(*index.commands));
        index.commands[index.count - 1] = &member->commands[i];
    }
    if (index.count)
        qsort(index.commands, index.count, sizeof(*index.commands), by_event);
    return index;
}

/* Returns the last command with that event that had been sent by then. */
static struct command *of_event(const struct event_index *index, uint32_t event, uint64_t time)
{
    size_t low = 0, high = index->count;

    while (low < high) {
        const size_t middle = (low + high) / 2;
        const struct command *command = index->commands[middle];

        if (command->what.event < event || (command->what.event == event && command->sent <= time))
            low = middle + 1;
        else
            high = middle;
    }
    return low && index->commands[low - 1]->what.event == event ? index->commands[low - 1] : NULL;
}

static const char *name_of(const struct member *member, const struct command *command)
{
    const char *name = trace_name(member, command->what.name, "command");

    name += !strncmp(name, "enqueue_", 8) ? 8 : 0;
    return command->what.kernel ? trace_name(member, command->what.kernel, name) : name;
}

static void put_wait(struct writer *w, const struct process *process, uint32_t pid, const struct item *item,
                     const struct event_index *indices)
{
    const struct timeline_wait *wait = item->more;
    const struct member *member = trace_member(process, item->head.which, item->head.to);
    struct command *command = NULL;
    char name[300];

    if (member && wait->reason == TIMELINE_FOR_EVENT)
        command = of_event(&indices[member - process->members], wait->event, item->head.to);
    if (command) {
        command->waited = item->head.to;
        command->waiter = item->thread;
    }
    snprintf(name, sizeof(name), "wait for %s",
             command                             ? name_of(member, command)
             : wait->reason == TIMELINE_FOR_DATA ? "data"
             : wait->reason == TIMELINE_FOR_ROOM ? "the worker to take more"
                                                 : "an event");
    put_inner(
        w, pid, item, "wait", name,
        command ? json_pack("{s:i, s:I}", "worker", (int)item->head.which, "command", (json_int_t)command->what.number)
                : json_pack("{s:i}", "worker", (int)item->head.which));
}

/* ---- links ---- */

/* The kinds of events on tracks of a link: out and in. */
static const struct lane_kind {
    uint16_t kind;
    const char *category, *event[2], *track[2];
} lane_kinds[] = {
    {TIMELINE_FRAME, "link", {"frame", "frame"}, {"frames to", "frames from"}},
    {TIMELINE_BULK, "link", {"bulk", "bulk"}, {"bulk to", "bulk from"}},
    {TIMELINE_CIPHER, "cipher", {"encrypt", "decrypt"}, {"encryption to", "decryption from"}},
    {TIMELINE_PACK, "pack", {"pack", "unpack"}, {"packing to", "unpacking from"}},
};
#define LANE_KINDS (sizeof(lane_kinds) / sizeof(*lane_kinds))

struct link {
    uint32_t member;
    struct lanes lanes[LANE_KINDS][2];
};

static uint32_t link_track(const struct link *link, size_t kind, bool in, unsigned lane)
{
    return LINKS + LINK * link->member + LINK / LANE_KINDS * (uint32_t)kind + LINK / LANE_KINDS / 2 * in + lane;
}

static void put_link(struct writer *w, uint32_t pid, const struct item *item, size_t kind, struct link *link)
{
    const struct timeline_bytes *bytes = item->more;
    const bool in = !bytes->out;
    const unsigned lane = trace_lane(&link->lanes[kind][in], item->head.from, item->head.to);

    trace_event(w, &(struct event){"X", lane_kinds[kind].event[in], lane_kinds[kind].category, item->head.from,
                                   item->head.to, 0, pid, link_track(link, kind, in, lane),
                                   json_pack("{s:I, s:s, s:i}", "bytes", (json_int_t)bytes->bytes, "direction",
                                             in ? "in" : "out", "worker", (int)item->head.which)});
}

static void name_link(struct writer *w, uint32_t pid, const struct link *link)
{
    for (size_t kind = 0; kind < LANE_KINDS; kind++) {
        for (int in = 0; in < 2; in++) {
            for (unsigned lane = 0; lane < link->lanes[kind][in].used; lane++) {
                const uint32_t track = link_track(link, kind, in, lane);

                trace_track(w, pid, track, 1000 + (int)(track % LINKS % 100000), "%s worker %u",
                            lane_kinds[kind].track[in], link->member);
            }
        }
    }
}

static void write_links(struct writer *w, const struct process *process, uint32_t pid)
{
    struct link *links = NULL;
    size_t count = 0;

    for (size_t i = 0; i < process->item_count; i++) {
        const struct item *item = &process->items[i];
        size_t kind = 0, k = 0;

        while (kind < LANE_KINDS && lane_kinds[kind].kind != item->head.kind)
            kind++;
        if (kind == LANE_KINDS)
            continue;
        while (k < count && links[k].member != item->head.which)
            k++;
        if (k == count) {
            links = trace_more(links, &count, sizeof(*links));
            links[k].member = item->head.which;
        }
        put_link(w, pid, item, kind, &links[k]);
    }
    for (size_t k = 0; k < count; k++)
        name_link(w, pid, &links[k]);
    free(links);
}

/* ---- a program ---- */

static void put_data(struct writer *w, uint32_t pid, const struct item *item, struct within *in)
{
    const struct timeline_bytes *bytes = item->more;

    *(bytes->out ? &in->out : &in->in) += bytes->bytes;
    put_inner(w, pid, item, "data", bytes->out ? "data out" : "data in",
              json_pack("{s:I, s:s, s:i, s:b}", "bytes", (json_int_t)bytes->bytes, "direction",
                        bytes->out ? "out" : "in", "worker", (int)item->head.which, "shared", (int)bytes->direct));
}

/* Writes moves and the like; spans within another are drawn below it. */
static void put_span(struct writer *w, uint32_t pid, const struct item *item)
{
    const bool moment = item->head.to - item->head.from < 20000;

    trace_event(w, &(struct event){moment ? "i" : "X", item->more, "session", item->head.from, item->head.to, 0, pid,
                                   MOVES + item->head.which, json_pack("{s:i}", "worker", (int)item->head.which)});
    trace_track(w, pid, MOVES + item->head.which, 900, "node %u: moves", item->head.which);
}

static void put_item(struct writer *w, const struct process *process, uint32_t pid, const struct item *item,
                     struct within *in, const struct event_index *indices)
{
    struct item one;

    switch (item->head.kind) {
    case TIMELINE_CALL:
        put_call(w, process, pid, item, in);
        break;
    case TIMELINE_TRIP:
        in->trips++;
        one = one_at_a_time(in, item);
        put_inner(w, pid, &one, "trip", item->more, json_pack("{s:i}", "worker", (int)item->head.which));
        break;
    case TIMELINE_WAIT:
        count_wait(in, item);
        one = one_at_a_time(in, item);
        put_wait(w, process, pid, &one, indices);
        break;
    case TIMELINE_DATA:
        put_data(w, pid, item, in);
        break;
    case TIMELINE_SPAN:
        put_span(w, pid, item);
        break;
    }
}

static void write_process(struct writer *w, size_t index)
{
    struct process *process = &w->trace->processes[index];
    const uint32_t pid = trace_process(index);
    struct event_index *indices = calloc(process->member_count + 1, sizeof(*indices));
    struct within *in = calloc(process->thread_count + 1, sizeof(*in));

    if (!indices || !in)
        fail(1, "out of memory");
    for (size_t i = 0; i < process->member_count; i++)
        indices[i] = index_events(&process->members[i]);
    if (trace_rank(process) < 0)
        trace_track(w, pid, 0, (int)pid, "%s (%u on %s)", process->program, process->number, process->host);
    else
        trace_track(w, pid, 0, (int)pid, "%s: XTQ, rank %d (%u on %s)", process->program, trace_rank(process),
                    process->number, process->host);
    for (size_t i = 0; i < process->thread_count; i++) {
        in[i].thread = process->threads[i].number;
        trace_track(w, pid, process->threads[i].number, process->threads[i].number == process->number ? 1 : 2 + (int)i,
                    "%s", process->threads[i].name);
    }
    for (size_t i = 0; i < process->item_count; i++)
        put_item(w, process, pid, &process->items[i], &in[trace_thread(process, process->items[i].thread)], indices);
    write_links(w, process, pid);
    trace_write_messages(w, index);
    for (size_t i = 0; i < process->member_count; i++) {
        trace_write_member(w, index, i);
        free(indices[i].commands);
    }
    free(indices);
    free(in);
}

/* ---- the file ---- */

static json_t *describe(const struct process *process, size_t index)
{
    json_t *members = json_array(), *about;

    for (size_t i = 0; i < process->member_count; i++) {
        const struct member *member = &process->members[i];

        json_array_append_new(members, json_pack("{s:i, s:i, s:s, s:i, s:f, s:f, s:f}", "pid",
                                                 (int)trace_member_process(index, i), "worker", (int)member->number,
                                                 "host", member->host, "clock_answers", (int)member->asked_count,
                                                 "clock_offset_us", member->offset / 1000, "clock_error_us",
                                                 member->error / 1000, "clock_drift_ppm", member->drift * 1e6));
    }
    about = json_pack("{s:i, s:i, s:s, s:s, s:I, s:o, s:o}", "pid", (int)trace_process(index), "process",
                      (int)process->number, "program", process->program, "host", process->host, "records_dropped",
                      (json_int_t)process->dropped, "workers", members, "sites", trace_sites_json(process));
    if (trace_rank(process) >= 0)
        json_object_set_new(about, "xtq_rank", json_integer(trace_rank(process)));
    if (process->shift != 0) {
        json_object_set_new(about, "clock_offset_us", json_real(-process->shift / 1000));
        json_object_set_new(about, "clock_error_us",
                            isfinite(process->shift_error) ? json_real(process->shift_error / 1000) : json_null());
    }
    return about;
}

bool trace_write(struct trace *trace, FILE *file)
{
    struct writer w = {.file = file, .trace = trace};
    json_t *about = json_array();

    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", file);
    for (size_t i = 0; i < trace->process_count; i++) {
        trace_clocks(&trace->processes[i]);
        write_process(&w, i);
        json_array_append_new(about, describe(&trace->processes[i], i));
    }
    trace_write_message_arrows(&w);
    fputs("\n],\"otherData\":", file);
    about = json_pack("{s:s, s:I, s:o}", "producer", "vocl", "start_ns", (json_int_t)trace->start, "programs", about);
    if (!about || json_dumpf(about, file, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(15)))
        return false;
    json_decref(about);
    fputs("}\n", file);
    return !ferror(file) && !fflush(file);
}
