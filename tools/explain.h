/* The sums that explain_read.c computes, and explain_print.c and explain_hints.c report. Times are in microseconds. */
#ifndef VOCL_TOOLS_EXPLAIN_H
#define VOCL_TOOLS_EXPLAIN_H

#include "tools/trace.h"

struct sum_function {
    const char *name;
    uint64_t calls, trips, bytes_out, bytes_in;
    double time, waited, most;
};

/* A place in the program that calls a function. */
struct sum_site {
    struct sum_function calls; /* the calls from this place only */
    const char *site;
};

struct sum_command { /* or a kernel */
    const char *name;
    bool kernel;
    uint64_t count, bytes;
    double time, least, most; /* while running, by native OpenCL's times */
    double queued;            /* from being queued to running */
};

struct interval {
    double from, to;
};

struct intervals {
    struct interval *all;
    size_t count;
};

struct sum_worker {
    int pid, program, number;
    const char *host;
    double busy, clock_error;
    uint64_t out, in, shared_out, shared_in;           /* bytes of data; shared: through shared memory, without a
                                                        * message */
    uint64_t frames_out, frames_in, link_out, link_in; /* on the link */
    struct intervals runs, ciphers, packs, copies;
    double cipher, pack, staged; /* time in which data were encrypted, packed, or copied between the worker and its
                                  * devices */
};

struct explained {
    struct sum_function *functions;
    struct sum_site *sites;
    json_t *site_index; /* of sites, by function and site */
    struct sum_command *commands;
    struct sum_worker *workers;
    json_t *command_index; /* of commands, by name */
    size_t function_count, site_count, command_count, worker_count;
    struct intervals held, turns, waits, builds;    /* held: native OpenCL had commands */
    double first, last;                             /* of the program */
    double in_calls, start;                         /* start: duration of the session's start */
    double network, device, turn, compiler, native; /* time spent waiting for these; native: an estimate */
    uint64_t trips, launches, dropped;
};

#define MOST_HINTS 5
struct hint {
    double cost; /* time that the hint is about, in microseconds */
    char text[600];
};

/* ---- explain_read.c ---- */
double explain_wall(const struct explained *e);

/* ---- explain_hints.c ---- */
/* Writes the hints, the most expensive first. Returns how many. */
unsigned explain_hints(const struct explained *e, struct hint hints[MOST_HINTS]);

#endif
