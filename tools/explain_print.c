/* Prints the report, for people and as JSON. */
#include <stdlib.h>
#include <string.h>

#include "tools/explain.h"

#define MOST_LINES 20

static int by_time(const void *one, const void *other)
{
    const double a = ((const struct sum_function *)one)->time, b = ((const struct sum_function *)other)->time;

    return a > b ? -1 : a < b;
}

static int sites_by_wait(const void *one, const void *other)
{
    const double a = ((const struct sum_site *)one)->calls.waited, b = ((const struct sum_site *)other)->calls.waited;

    return a > b ? -1 : a < b;
}

static int commands_by_time(const void *one, const void *other)
{
    const double a = ((const struct sum_command *)one)->time, b = ((const struct sum_command *)other)->time;

    return a > b ? -1 : a < b;
}

static double share(double part, double of)
{
    return of > 0 ? 100 * part / of : 0;
}

/* ---- text ---- */

static void print_line(FILE *file, const char *what, double us, double wall)
{
    fprintf(file, "  %-34s %10.3f ms %5.1f %%\n", what, us / 1e3, share(us, wall));
}

static void print_times(const struct explained *e, FILE *file)
{
    const double wall = explain_wall(e);

    fprintf(file, "VOCL's report: from the program's first OpenCL call to its last, %.3f ms\n\n", wall / 1e3);
    print_line(file, "the session started", e->start, wall);
    print_line(file, "waited for the network", e->network, wall);
    print_line(file, "waited for devices", e->device, wall);
    print_line(file, "waited for its turn", e->turn, wall);
    print_line(file, "waited for compilers", e->compiler, wall);
    print_line(file, "with native OpenCL, estimated", e->native, wall);
    fprintf(file, "  %llu round trips, %llu launches\n", (unsigned long long)e->trips, (unsigned long long)e->launches);
    if (e->dropped)
        fprintf(file, "  INCOMPLETE: %llu records are missing; increase VOCL_TIMELINE_BYTES\n",
                (unsigned long long)e->dropped);
}

static void print_functions(const struct explained *e, FILE *file)
{
    fprintf(file, "\n  %-34s %8s %11s %10s %11s %8s %12s %12s\n", "calls", "number", "time ms", "mean us", "waited ms",
            "trips", "bytes out", "bytes in");
    for (size_t i = 0; i < e->function_count && i < MOST_LINES; i++) {
        const struct sum_function *f = &e->functions[i];

        fprintf(file, "  %-34s %8llu %11.3f %10.1f %11.3f %8llu %12llu %12llu\n", f->name, (unsigned long long)f->calls,
                f->time / 1e3, f->time / (double)f->calls, f->waited / 1e3, (unsigned long long)f->trips,
                (unsigned long long)f->bytes_out, (unsigned long long)f->bytes_in);
    }
    if (e->function_count > MOST_LINES)
        fprintf(file, "  and %zu others\n", e->function_count - MOST_LINES);
}

/* Prints the places that make the program wait. */
static void print_sites(const struct explained *e, FILE *file)
{
    unsigned shown = 0, others = 0;

    for (size_t i = 0; i < e->site_count; i++) {
        const struct sum_function *f = &e->sites[i].calls;

        if (!f->trips)
            continue;
        if (shown == MOST_LINES) {
            others++;
            continue;
        }
        if (!shown++)
            fprintf(file, "\n  %-60s %8s %11s %12s %12s\n", "round trips, and who makes them", "number", "waited ms",
                    "bytes out", "bytes in");
        fprintf(file, "  %-28s %-31s %8llu %11.3f %12llu %12llu\n", f->name, e->sites[i].site,
                (unsigned long long)f->trips, f->waited / 1e3, (unsigned long long)f->bytes_out,
                (unsigned long long)f->bytes_in);
    }
    if (others)
        fprintf(file, "  and %u others\n", others);
}

static void print_commands(const struct explained *e, FILE *file)
{
    fprintf(file, "\n  %-34s %8s %11s %10s %10s %10s %11s\n", "kernels, and other commands", "number", "running ms",
            "mean us", "least us", "most us", "queued us");
    for (size_t i = 0; i < e->command_count && i < MOST_LINES; i++) {
        const struct sum_command *c = &e->commands[i];

        fprintf(file, "  %-34s %8llu %11.3f %10.1f %10.1f %10.1f %11.1f\n", c->name, (unsigned long long)c->count,
                c->time / 1e3, c->time / (double)c->count, c->time > 0 ? c->least : 0, c->most,
                c->queued / (double)c->count);
    }
}

/* The handling of data on their way takes time, too, in parallel with other work. */
static void print_handling(const struct explained *e, FILE *file)
{
    double any = 0;

    for (size_t i = 0; i < e->worker_count; i++)
        any += e->workers[i].cipher + e->workers[i].pack + e->workers[i].staged;
    if (any <= 0)
        return;
    fprintf(file, "\n  %-34s %14s %14s %14s\n", "on the way to and from workers", "encryption ms", "packing ms",
            "staging ms");
    for (size_t i = 0; i < e->worker_count; i++)
        fprintf(file, "  %-34d %14.3f %14.3f %14.3f\n", e->workers[i].number, e->workers[i].cipher / 1e3,
                e->workers[i].pack / 1e3, e->workers[i].staged / 1e3);
}

static void print_workers(const struct explained *e, FILE *file)
{
    fprintf(file, "\n  %-34s %8s %14s %14s %14s %14s %9s\n", "workers", "busy %", "data out", "data in", "shared out",
            "shared in", "frames");
    for (size_t i = 0; i < e->worker_count; i++) {
        const struct sum_worker *w = &e->workers[i];
        char name[100];

        snprintf(name, sizeof(name), "%d%s%.60s", w->number, *w->host ? " on " : ", in the program", w->host);
        fprintf(file, "  %-34s %8.1f %14llu %14llu %14llu %14llu %9llu\n", name, share(w->busy, explain_wall(e)),
                (unsigned long long)w->out, (unsigned long long)w->in, (unsigned long long)w->shared_out,
                (unsigned long long)w->shared_in, (unsigned long long)(w->frames_out + w->frames_in));
    }
    print_handling(e, file);
}

static void sort(const struct explained *e)
{
    if (e->function_count)
        qsort(e->functions, e->function_count, sizeof(*e->functions), by_time);
    if (e->site_count)
        qsort(e->sites, e->site_count, sizeof(*e->sites), sites_by_wait);
    if (e->command_count)
        qsort(e->commands, e->command_count, sizeof(*e->commands), commands_by_time);
}

void explain_print(const struct explained *e, FILE *file)
{
    struct hint hints[MOST_HINTS];
    unsigned count = explain_hints(e, hints);

    sort(e);
    print_times(e, file);
    print_functions(e, file);
    print_sites(e, file);
    print_commands(e, file);
    print_workers(e, file);
    if (count)
        fputs("\nWhat could be done:\n", file);
    for (unsigned i = 0; i < count; i++)
        fprintf(file, "  %u. %s\n", i + 1, hints[i].text);
}

/* ---- JSON ---- */

static json_t *function_json(const struct sum_function *f)
{
    return json_pack("{s:s, s:I, s:f, s:f, s:f, s:I, s:I, s:I}", "name", f->name, "calls", (json_int_t)f->calls,
                     "time_us", f->time, "most_us", f->most, "waited_us", f->waited, "round_trips",
                     (json_int_t)f->trips, "bytes_out", (json_int_t)f->bytes_out, "bytes_in", (json_int_t)f->bytes_in);
}

static json_t *functions_json(const struct explained *e)
{
    json_t *all = json_array();

    for (size_t i = 0; i < e->function_count; i++)
        json_array_append_new(all, function_json(&e->functions[i]));
    return all;
}

static json_t *sites_json(const struct explained *e)
{
    json_t *all = json_array();

    for (size_t i = 0; i < e->site_count; i++) {
        json_t *about = function_json(&e->sites[i].calls);

        json_object_set_new(about, "site", json_string(e->sites[i].site));
        json_array_append_new(all, about);
    }
    return all;
}

static json_t *commands_json(const struct explained *e)
{
    json_t *all = json_array();

    for (size_t i = 0; i < e->command_count; i++) {
        const struct sum_command *c = &e->commands[i];

        json_array_append_new(all, json_pack("{s:s, s:b, s:I, s:I, s:f, s:f, s:f, s:f}", "name", c->name, "kernel",
                                             (int)c->kernel, "count", (json_int_t)c->count, "bytes",
                                             (json_int_t)c->bytes, "running_us", c->time, "least_us",
                                             c->time > 0 ? c->least : 0.0, "most_us", c->most, "queued_us", c->queued));
    }
    return all;
}

static json_t *workers_json(const struct explained *e)
{
    json_t *all = json_array();

    for (size_t i = 0; i < e->worker_count; i++) {
        const struct sum_worker *w = &e->workers[i];

        json_array_append_new(all,
                              json_pack("{s:i, s:s, s:f, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f}",
                                        "worker", w->number, "host", w->host, "busy_us", w->busy, "clock_error_us",
                                        w->clock_error, "bytes_out", (json_int_t)w->out, "bytes_in", (json_int_t)w->in,
                                        "shared_out", (json_int_t)w->shared_out, "shared_in", (json_int_t)w->shared_in,
                                        "frames_out", (json_int_t)w->frames_out, "frames_in", (json_int_t)w->frames_in,
                                        "link_out", (json_int_t)w->link_out, "link_in", (json_int_t)w->link_in,
                                        "cipher_us", w->cipher, "pack_us", w->pack, "staged_us", w->staged));
    }
    return all;
}

json_t *explain_json(const struct explained *e)
{
    struct hint hints[MOST_HINTS];
    const unsigned count = explain_hints(e, hints);
    json_t *said = json_array();

    sort(e);
    for (unsigned i = 0; i < count; i++)
        json_array_append_new(said, json_string(hints[i].text));
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "wall_us",
                     explain_wall(e), "session_start_us", e->start, "waited_network_us", e->network, "waited_device_us",
                     e->device, "waited_turn_us", e->turn, "waited_compiler_us", e->compiler, "native_estimate_us",
                     e->native, "round_trips", (json_int_t)e->trips, "launches", (json_int_t)e->launches,
                     "records_dropped", (json_int_t)e->dropped, "functions", functions_json(e), "sites", sites_json(e),
                     "commands", commands_json(e), "workers", workers_json(e), "hints", said);
}
