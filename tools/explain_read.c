/* Computes sums over a trace, from the file that `vocl run --trace` writes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/explain.h"
#include "tools/tools.h"

/* ---- events ---- */

static double number_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static struct interval interval_of(const json_t *event)
{
    const double from = number_of(event, "ts");

    return (struct interval){from, from + number_of(event, "dur")};
}

static void add(struct intervals *to, struct interval interval)
{
    to->all = trace_more(to->all, &to->count, sizeof(*to->all));
    to->all[to->count - 1] = interval;
}

/* Copies a text, as events are freed when they have been counted. */
static const char *kept(const char *text)
{
    char *copy = strdup(text);

    if (!copy)
        fail(1, "out of memory");
    return copy;
}

static struct sum_function *function_named(struct explained *e, const char *name)
{
    for (size_t i = 0; i < e->function_count; i++) {
        if (!strcmp(e->functions[i].name, name))
            return &e->functions[i];
    }
    e->functions = trace_more(e->functions, &e->function_count, sizeof(*e->functions));
    e->functions[e->function_count - 1].name = kept(name);
    return &e->functions[e->function_count - 1];
}

/* Returns the index of that name; *is_new: it is one more, the last. */
static size_t place_of(json_t **index, const char *key, size_t count, bool *is_new)
{
    json_t *place;

    *index = *index ? *index : json_object();
    place = json_object_get(*index, key);
    *is_new = !place;
    if (place)
        return (size_t)json_integer_value(place);
    if (json_object_set_new(*index, key, json_integer((json_int_t)count)))
        fail(1, "out of memory");
    return count;
}

static struct sum_site *site_of(struct explained *e, const char *function, const char *site)
{
    char key[1200];
    bool is_new;
    size_t place;

    snprintf(key, sizeof(key), "%s %s", function, site);
    place = place_of(&e->site_index, key, e->site_count, &is_new);
    if (is_new) {
        e->sites = trace_more(e->sites, &e->site_count, sizeof(*e->sites));
        e->sites[place] = (struct sum_site){.calls.name = kept(function), .site = kept(site)};
    }
    return &e->sites[place];
}

static struct sum_command *command_named(struct explained *e, const char *name, bool kernel)
{
    char key[1200];
    bool is_new;
    size_t place;

    snprintf(key, sizeof(key), "%c %s", kernel ? 'k' : 'c', name);
    place = place_of(&e->command_index, key, e->command_count, &is_new);
    if (is_new) {
        e->commands = trace_more(e->commands, &e->command_count, sizeof(*e->commands));
        e->commands[place] = (struct sum_command){.name = kept(name), .kernel = kernel, .least = INFINITY};
    }
    return &e->commands[place];
}

static struct sum_worker *worker_of(struct explained *e, int program, int number)
{
    struct sum_worker *found = NULL;

    for (size_t i = 0; i < e->worker_count; i++) {
        if (e->workers[i].program == program && e->workers[i].number == number)
            found = &e->workers[i];
    }
    return found;
}

static struct sum_worker *worker_at(struct explained *e, int pid)
{
    struct sum_worker *found = NULL;

    for (size_t i = 0; i < e->worker_count; i++)
        found = e->workers[i].pid == pid ? &e->workers[i] : found;
    return found;
}

static void count_call(struct sum_function *function, double time, const json_t *args)
{
    function->calls++;
    function->time += time;
    function->most = fmax(function->most, time);
    function->trips += (uint64_t)number_of(args, "round_trips");
    function->waited += number_of(args, "waited_us");
    function->bytes_out += (uint64_t)number_of(args, "bytes_out");
    function->bytes_in += (uint64_t)number_of(args, "bytes_in");
}

static void take_call(struct explained *e, const json_t *event, const json_t *args)
{
    const char *name = text_of(event, "name");
    const struct interval when = interval_of(event);
    const double time = when.to - when.from;

    count_call(function_named(e, name), time, args);
    count_call(&site_of(e, name, text_of(args, "site"))->calls, time, args);
    e->in_calls += time;
    e->first = fmin(e->first, when.from);
    e->last = fmax(e->last, when.to);
    e->trips += (uint64_t)number_of(args, "round_trips");
}

static void take_run(struct explained *e, const json_t *event, const json_t *args)
{
    const bool kernel = json_object_get(args, "kernel") != NULL;
    struct sum_command *command = command_named(e, text_of(event, "name"), kernel);
    const struct interval when = interval_of(event);
    const double time = when.to - when.from;
    struct sum_worker *worker;

    command->count++;
    command->bytes += (uint64_t)number_of(args, "bytes");
    e->launches += kernel;
    if (!json_is_true(json_object_get(args, "native_times")))
        return;
    command->time += time;
    command->least = fmin(command->least, time);
    command->most = fmax(command->most, time);
    command->queued += number_of(args, "queued_us") + number_of(args, "submitted_us");
    add(&e->held,
        (struct interval){when.from - number_of(args, "queued_us") - number_of(args, "submitted_us"), when.to});
    worker = worker_at(e, (int)number_of(event, "pid"));
    if (worker)
        add(&worker->runs, when);
}

static void take_data(struct explained *e, const json_t *event, const json_t *args)
{
    struct sum_worker *worker = worker_of(e, (int)number_of(event, "pid"), (int)number_of(args, "worker"));
    const uint64_t bytes = (uint64_t)number_of(args, "bytes");
    const bool out = !strcmp(text_of(args, "direction"), "out"), shared = json_is_true(json_object_get(args, "shared"));

    if (worker)
        *(shared ? out ? &worker->shared_out : &worker->shared_in : out ? &worker->out : &worker->in) += bytes;
}

static void take_link(struct explained *e, const json_t *event, const json_t *args)
{
    struct sum_worker *worker = worker_of(e, (int)number_of(event, "pid"), (int)number_of(args, "worker"));
    const uint64_t bytes = (uint64_t)number_of(args, "bytes");
    const bool out = !strcmp(text_of(args, "direction"), "out");

    if (!worker)
        return;
    *(out ? &worker->link_out : &worker->link_in) += bytes;
    if (!strcmp(text_of(event, "name"), "frame"))
        ++*(out ? &worker->frames_out : &worker->frames_in);
}

/* Takes the time for encrypting, packing or staging data on their way. */
static void take_handling(struct explained *e, const char *category, const json_t *event, const json_t *args)
{
    const int pid = (int)number_of(event, "pid");
    const bool staged = !strcmp(category, "staged");
    struct sum_worker *worker = staged ? worker_at(e, pid) : worker_of(e, pid, (int)number_of(args, "worker"));

    if (worker)
        add(staged                        ? &worker->copies
            : !strcmp(category, "cipher") ? &worker->ciphers
                                          : &worker->packs,
            interval_of(event));
}

static void take_event(struct explained *e, const json_t *event)
{
    const char *category = text_of(event, "cat"), *name = text_of(event, "name");
    const json_t *args = json_object_get(event, "args");

    if (strcmp(text_of(event, "ph"), "X"))
        return;
    if (!strcmp(category, "call"))
        take_call(e, event, args);
    else if (!strcmp(category, "run"))
        take_run(e, event, args);
    else if (!strcmp(category, "data"))
        take_data(e, event, args);
    else if (!strcmp(category, "link"))
        take_link(e, event, args);
    else if (!strcmp(category, "cipher") || !strcmp(category, "pack") || !strcmp(category, "staged"))
        take_handling(e, category, event, args);
    else if (!strcmp(category, "turn"))
        add(&e->turns, interval_of(event));
    else if (!strcmp(category, "trip") && strstr(name, "_program"))
        add(&e->builds, interval_of(event));
    else if (!strcmp(category, "trip") || !strcmp(category, "wait"))
        add(&e->waits, interval_of(event));
    else if (!strcmp(category, "session") && !strcmp(name, "the session starts"))
        e->start += number_of(event, "dur");
}

/* ---- times ---- */

static int by_start(const void *one, const void *other)
{
    const double a = ((const struct interval *)one)->from, b = ((const struct interval *)other)->from;

    return a < b ? -1 : a > b;
}

/* Sorts intervals and merges those that overlap. Returns their total length. */
static double merge(struct intervals *of)
{
    size_t kept = 0;
    double sum = 0;

    if (of->count)
        qsort(of->all, of->count, sizeof(*of->all), by_start);
    for (size_t i = 0; i < of->count; i++) {
        if (kept && of->all[i].from <= of->all[kept - 1].to)
            of->all[kept - 1].to = fmax(of->all[kept - 1].to, of->all[i].to);
        else
            of->all[kept++] = of->all[i];
    }
    of->count = kept;
    for (size_t i = 0; i < kept; i++)
        sum += of->all[i].to - of->all[i].from;
    return sum;
}

/* Returns how much of what lies within the merged intervals by. */
static double covered(const struct intervals *by, struct interval what)
{
    size_t low = 0, high = by->count;
    double sum = 0;

    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (by->all[middle].to <= what.from)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < by->count && by->all[low].from < what.to; low++)
        sum += fmin(by->all[low].to, what.to) - fmax(by->all[low].from, what.from);
    return sum;
}

double explain_wall(const struct explained *e)
{
    return e->last > e->first ? e->last - e->first : 0;
}

/* Splits the waiting time: a command was queued or ran natively, or another session had the time slice; the rest is
 * the network's. */
static void split_waits(struct explained *e)
{
    double all;

    merge(&e->held);
    merge(&e->turns);
    e->compiler = merge(&e->builds);
    all = merge(&e->waits);
    for (size_t i = 0; i < e->waits.count; i++) {
        const double device = covered(&e->held, e->waits.all[i]);

        e->device += device;
        e->turn += fmin(covered(&e->turns, e->waits.all[i]), e->waits.all[i].to - e->waits.all[i].from - device);
    }
    e->network = all - e->device - e->turn;
    e->native = explain_wall(e) - e->network - e->turn - e->start;
    e->native = fmax(e->native, 0);
    for (size_t i = 0; i < e->worker_count; i++) {
        struct sum_worker *worker = &e->workers[i];

        worker->busy = merge(&worker->runs);
        worker->cipher = merge(&worker->ciphers);
        worker->pack = merge(&worker->packs);
        worker->staged = merge(&worker->copies);
    }
}

/* ---- the file ---- */

static void find_workers(struct explained *e, const json_t *about)
{
    const json_t *program, *worker;
    size_t i, k;

    json_array_foreach(json_object_get(about, "programs"), i, program)
    {
        e->dropped += (uint64_t)number_of(program, "records_dropped");
        json_array_foreach(json_object_get(program, "workers"), k, worker)
        {
            e->workers = trace_more(e->workers, &e->worker_count, sizeof(*e->workers));
            e->workers[e->worker_count - 1] = (struct sum_worker){.pid = (int)number_of(worker, "pid"),
                                                                  .program = (int)number_of(program, "pid"),
                                                                  .number = (int)number_of(worker, "worker"),
                                                                  .host = text_of(worker, "host"),
                                                                  .clock_error = number_of(worker, "clock_error_us")};
        }
    }
}

static struct explained *begin(const json_t *about)
{
    struct explained *e = calloc(1, sizeof(*e));

    if (!e)
        fail(1, "out of memory");
    e->first = INFINITY;
    find_workers(e, about);
    return e;
}

static bool is_ours(const json_t *about)
{
    return !strcmp(text_of(about, "producer"), "vocl");
}

/* The file as vocl-trace writes it has a line for each event, so that only one has to be in memory at a time, and
 * the rest at the end. */
#define HEAD "{\"displayTimeUnit\""
#define TAIL "],\"otherData\":"

/* Returns the rest, or NULL if the file was not written by vocl-trace, or was changed since. */
static json_t *find_tail(FILE *file, char **line, size_t *size)
{
    json_t *whole = NULL, *about;
    ssize_t length;
    bool head = getline(line, size, file) > 0 && !strncmp(*line, HEAD, strlen(HEAD));

    while (head && !whole && (length = getline(line, size, file)) > 0) {
        if (strncmp(*line, TAIL, strlen(TAIL)))
            continue;
        **line = '{'; /* replaces the bracket; the comma becomes a space */
        (*line)[1] = ' ';
        whole = json_loadb(*line, (size_t)length, 0, NULL);
    }
    about = json_incref(json_object_get(whole, "otherData"));
    json_decref(whole);
    rewind(file);
    return about;
}

/* Returns false if a line is not an event. */
static bool take_lines(struct explained *e, FILE *file, char **line, size_t *size)
{
    ssize_t length = getline(line, size, file);

    while ((length = getline(line, size, file)) > 0 && strncmp(*line, TAIL, strlen(TAIL))) {
        json_t *event;

        while (length && strchr(",\n", (*line)[length - 1]))
            length--;
        event = length ? json_loadb(*line, (size_t)length, 0, NULL) : NULL;
        if (length && !event)
            return false;
        take_event(e, event);
        json_decref(event);
    }
    return true;
}

static struct explained *read_lines(const char *path)
{
    FILE *file = fopen(path, "re");
    struct explained *e = NULL;
    json_t *about; /* is not freed, as hosts' names are in it */
    char *line = NULL;
    size_t size = 0;

    if (!file)
        fail(1, "%s: %m", path);
    about = find_tail(file, &line, &size);
    if (is_ours(about)) {
        e = begin(about);
        if (!take_lines(e, file, &line, &size))
            e = NULL;
    }
    free(line);
    fclose(file);
    return e;
}

/* Reads a file that another tool has laid out differently. */
static struct explained *read_whole(const char *path)
{
    json_error_t why;
    json_t *root = json_load_file(path, 0, &why), *event;
    const json_t *about = json_object_get(root, "otherData"), *events = json_object_get(root, "traceEvents");
    struct explained *e;
    size_t i;

    if (!root)
        fail(1, "%s: %s", path, why.text);
    if (!is_ours(about) || !json_is_array(events))
        fail(1, "this is not a trace that VOCL wrote");
    e = begin(about);
    json_array_foreach(events, i, event) take_event(e, event);
    return e;
}

struct explained *explain_read(const char *path)
{
    struct explained *e = read_lines(path);

    if (!e)
        e = read_whole(path);
    split_waits(e);
    return e;
}
