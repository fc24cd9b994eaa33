/* What explain_read.c adds up, and explain_print.c and explain_hints.c say. Times are microseconds. */
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
    struct sum_function calls; /* of these only */
    const char *site;
};

struct sum_command { /* or a kernel */
    const char *name;
    bool kernel;
    uint64_t count, bytes;
    double time, least, most; /* running, by the native OpenCL's times */
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
    uint64_t out, in, shared_out, shared_in;           /* bytes of data; shared: without a message */
    uint64_t frames_out, frames_in, link_out, link_in; /* what the link carried */
    struct intervals runs, ciphers, packs, copies;
    double cipher, pack, staged; /* while data were encrypted, packed, copied between the worker and its devices */
};

struct explained {
    struct sum_function *functions;
    struct sum_site *sites;
    json_t *site_index; /* of sites, by function and site */
    struct sum_command *commands;
    struct sum_worker *workers;
    json_t *command_index; /* of commands, by their names */
    size_t function_count, site_count, command_count, worker_count;
    struct intervals held, turns, waits, builds;    /* held: commands were native OpenCL's */
    double first, last;                             /* of the program */
    double in_calls, start;                         /* start: of the session */
    double network, device, turn, compiler, native; /* waited for; native: an estimate */
    uint64_t trips, launches, dropped;
};

#define MOST_HINTS 5
struct hint {
    double cost; /* what it is about, µs */
    char text[600];
};

/* ---- explain_read.c ---- */
double explain_wall(const struct explained *e);

/* ---- explain_hints.c ---- */
/* The most expensive first; how many. */
unsigned explain_hints(const struct explained *e, struct hint hints[MOST_HINTS]);

#endif
