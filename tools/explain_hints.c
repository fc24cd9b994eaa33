/* Hints at what could be improved, in plain words, the most expensive first. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/explain.h"

#define LEAST_PART 0.02 /* fraction of the total time from which a hint is given */
#define WHO 200         /* bytes of a text with a function and its caller */
#define SMALL 16384     /* bytes whose transfer costs less than the round trip */

struct hints {
    const struct explained *e;
    struct hint all[64];
    unsigned count;
};

static bool is_read(const char *name)
{
    return !strncmp(name, "clEnqueueRead", 13) || !strncmp(name, "clEnqueueMap", 12);
}

static bool is_write(const char *name)
{
    return !strncmp(name, "clEnqueueWrite", 14) || !strncmp(name, "clEnqueueUnmap", 14);
}

static bool is_wait(const char *name)
{
    return !strcmp(name, "clFinish") || !strcmp(name, "clWaitForEvents");
}

static const char *seconds(double us, char text[32])
{
    if (us < 1e3)
        snprintf(text, 32, "%.0f us", us);
    else if (us < 1e6)
        snprintf(text, 32, "%.1f ms", us / 1e3);
    else
        snprintf(text, 32, "%.1f s", us / 1e6);
    return text;
}

static struct hint *add(struct hints *h, double cost)
{
    if (h->count == sizeof(h->all) / sizeof(*h->all) || cost <= 0 || cost < LEAST_PART * explain_wall(h->e))
        return NULL;
    h->all[h->count].cost = cost;
    return &h->all[h->count++];
}

/* Describes a function and where it is called, such as "clFinish in solve (cg:88)". */
static const char *who(const struct sum_site *site, char text[WHO])
{
    snprintf(text, WHO, "%s%s%.120s", site->calls.name, *site->site ? " in " : "", site->site);
    return text;
}

static const char *per_launch(const struct explained *e, uint64_t calls)
{
    return e->launches && (double)calls > 0.75 * (double)e->launches && (double)calls < 1.5 * (double)e->launches
               ? " after every kernel"
               : "";
}

static void about_reads(struct hints *h, const struct sum_site *site, const char *cost, const char *wall)
{
    const struct sum_function *f = &site->calls;
    const uint64_t each = f->bytes_in / f->calls;
    struct hint *hint = each <= SMALL ? add(h, f->waited) : NULL;
    char name[WHO];

    if (hint)
        snprintf(
            hint->text, sizeof(hint->text),
            "the program reads %llu bytes%s: %llu round trips by %s, %s of %s; leave results on the device, or read "
            "those of many kernels at once",
            (unsigned long long)each, per_launch(h->e, f->calls), (unsigned long long)f->trips, who(site, name), cost,
            wall);
}

static void about_writes(struct hints *h, const struct sum_site *site, const char *cost, const char *wall)
{
    const struct sum_function *f = &site->calls;
    const uint64_t each = f->bytes_out / f->calls;
    struct hint *hint = each <= SMALL ? add(h, f->waited) : NULL;
    char name[WHO];

    if (hint)
        snprintf(hint->text, sizeof(hint->text),
                 "the program writes %llu bytes at a time and waits for that: %llu round trips by %s, %s of %s; write "
                 "without blocking, or more at once",
                 (unsigned long long)each, (unsigned long long)f->trips, who(site, name), cost, wall);
}

static void about_waits(struct hints *h, const struct sum_site *site, const char *cost, const char *wall)
{
    const struct sum_function *f = &site->calls;
    const double network = f->waited - fmin(f->waited, h->e->device);
    struct hint *hint = f->calls > 10 ? add(h, network) : NULL;
    char name[WHO];

    if (hint)
        snprintf(hint->text, sizeof(hint->text),
                 "the program waits with %s %llu times%s: %llu round trips, %s of %s; the order of a queue is kept "
                 "without it",
                 who(site, name), (unsigned long long)f->calls, per_launch(h->e, f->calls),
                 (unsigned long long)f->trips, cost, wall);
}

static void about_queries(struct hints *h, const struct sum_site *site, const char *cost, const char *wall)
{
    const struct sum_function *f = &site->calls;
    struct hint *hint = f->trips > 10 ? add(h, f->waited) : NULL;
    char name[WHO];

    if (hint)
        snprintf(hint->text, sizeof(hint->text), "%s asks the node: %llu round trips, %s of %s; ask once and remember",
                 who(site, name), (unsigned long long)f->trips, cost, wall);
}

static void about_site(struct hints *h, const struct sum_site *site)
{
    const struct sum_function *f = &site->calls;
    char cost[32], wall[32];

    if (f->trips < 2)
        return;
    seconds(f->waited, cost);
    seconds(explain_wall(h->e), wall);
    if (is_read(f->name))
        about_reads(h, site, cost, wall);
    else if (is_write(f->name))
        about_writes(h, site, cost, wall);
    else if (is_wait(f->name))
        about_waits(h, site, cost, wall);
    else if (!strncmp(f->name, "clGet", 5))
        about_queries(h, site, cost, wall);
}

static void about_data(struct hints *h, const struct sum_site *site)
{
    const struct sum_function *f = &site->calls;
    const uint64_t bytes = f->bytes_in + f->bytes_out;
    struct hint *hint = bytes / f->calls > SMALL ? add(h, f->waited) : NULL;
    char cost[32], wall[32], name[WHO];

    if (hint)
        snprintf(hint->text, sizeof(hint->text),
                 "%s moved %.1f MB, and was waited for: %s of %s; keep on the device what is used there again, or move "
                 "it without blocking while the device works",
                 who(site, name), (double)bytes / 1e6, seconds(f->waited, cost), seconds(explain_wall(h->e), wall));
}

static void about_session(struct hints *h)
{
    const struct explained *e = h->e;
    char cost[32], wall[32];
    struct hint *hint = add(h, e->turn);

    seconds(explain_wall(e), wall);
    if (hint)
        snprintf(hint->text, sizeof(hint->text),
                 "the program waited %s of %s for its turn: others use the same devices; `vocl run --exclusive`, or a "
                 "greater --weight",
                 seconds(e->turn, cost), wall);
    hint = add(h, e->compiler);
    if (hint)
        snprintf(hint->text, sizeof(hint->text),
                 "compiling took %s of %s (clBuildProgram and its like): keep the binaries, and make programs of these "
                 "with clCreateProgramWithBinary",
                 seconds(e->compiler, cost), wall);
    hint = add(h, e->command_count && e->start > 0.2 * explain_wall(e) ? e->start : 0);
    if (hint)
        snprintf(hint->text, sizeof(hint->text),
                 "the session took %s of %s to start: a program that does more in one run pays that once",
                 seconds(e->start, cost), wall);
}

static int by_cost(const void *one, const void *other)
{
    const double a = ((const struct hint *)one)->cost, b = ((const struct hint *)other)->cost;

    return a > b ? -1 : a < b;
}

unsigned explain_hints(const struct explained *e, struct hint hints[MOST_HINTS])
{
    struct hints h = {.e = e};
    unsigned count;

    for (size_t i = 0; i < e->site_count; i++) {
        about_site(&h, &e->sites[i]);
        if (is_read(e->sites[i].calls.name) || is_write(e->sites[i].calls.name))
            about_data(&h, &e->sites[i]);
    }
    about_session(&h);
    qsort(h.all, h.count, sizeof(*h.all), by_cost);
    count = h.count < MOST_HINTS ? h.count : MOST_HINTS;
    memcpy(hints, h.all, count * sizeof(*hints));
    return count;
}
