/*
 * vocl-trace: what programs left in a folder (base/timeline.h) as one Trace Event JSON file, and a report of it.
 *
 *   trace_main.c     its command line
 *   trace_read.c     files: checked, and taken apart
 *   trace_table.c    what has a number, found by it
 *   trace_quick.c    calls of which the clock was not read
 *   trace_site.c     who called; trace_symbol.c: names of places in code, trace_no_symbol.c: none, without elfutils
 *   trace_clock.c    the clocks of members, and of devices, in terms of the program's
 *   trace_hosts.c    the clocks of several hosts in terms of one
 *   trace_write.c    the file: tracks of programs; trace_node.c: those of workers; trace_xtq.c: XTQ's messages
 *   explain_read.c   the file again: sums
 *   explain_print.c  the report; explain_hints.c: what could be done about it
 */
#ifndef VOCL_TOOLS_TRACE_H
#define VOCL_TOOLS_TRACE_H

#include <jansson.h>

#include "base/timeline.h"

/* A record, with what follows its head. */
struct item {
    struct timeline_record head;
    const void *more;
    size_t length; /* of that */
    uint32_t thread;
    bool estimated; /* the times of a call: nobody read the clock */
};

struct command {
    struct timeline_command what;
    uint64_t over;                              /* it was seen to be, by the worker's clock */
    uint64_t queued, submitted, started, ended; /* by the program's clock */
    uint64_t sent;                              /* when the call that sent it began, 0: not known */
    bool estimated;                             /* that */
    uint32_t caller;                            /* the thread of that */
    uint64_t waited;                            /* the end of a wait for it, 0: none */
    uint32_t waiter;                            /* the thread of that */
    bool native;                                /* times are the native OpenCL's */
};

struct turn {
    uint32_t device;
    uint64_t from, to;
};

struct staged {
    uint32_t device;
    uint64_t from, to;
    struct timeline_bytes what;
};

struct name {
    uint32_t number;
    const char *text;
};

/* Places in an array, by numbers. */
struct trace_table {
    struct trace_slot {
        uint64_t number;
        size_t place;
        bool used;
    } * slots;
    size_t room, count;
};

/* A worker, while it was a member of that number. */
struct member {
    uint32_t number;
    const char *host;
    uint64_t since;            /* by the program's clock */
    const struct item **asked; /* TIMELINE_CLOCK */
    size_t asked_count;
    struct command *commands; /* by their numbers */
    size_t command_count;
    struct turn *turns;
    size_t turn_count;
    struct staged *staged;
    size_t staged_count;
    struct name *names, *devices;
    size_t name_count, device_count;
    struct trace_table name_places;
    /* the program's time is its own - offset - drift * (its own - origin) */
    uint64_t origin;
    double offset, drift, error; /* ns; drift: without a unit */
};

/* A call without times, or, with some, what was done in the one behind it. */
struct quick {
    uint64_t from, to;
    uint32_t function;
    struct timeline_call sent;
};

/* What is known of a place in code; "" and 0: nothing. */
struct symbol {
    char function[256], source[512];
    int line;
};

/* Where the program called OpenCL. */
struct site {
    uint32_t number;
    uint64_t place;
    const char *file;
    struct symbol symbol;
    char *text; /* in words */
};

struct thread {
    uint32_t number;
    char name[16];
    /* while it is read: since when the calls that are waiting cannot have begun, and what the last one sent */
    uint64_t known;
    struct quick *quick;
    size_t quick_count;
    struct timeline_call sent;
};

struct process {
    uint32_t number;
    char host[64], program[64];
    struct timeline_clock clock;
    double shift, shift_error; /* ns: what was added to its times; INFINITY: only wall clocks say it */
    uint64_t dropped;
    struct item *items; /* by the time of their end */
    size_t item_count;
    struct average *averages; /* by function: how long calls took */
    struct thread *threads;
    size_t thread_count;
    struct trace_table thread_places;
    struct member *members;
    size_t member_count;
    struct site *sites; /* by their numbers */
    size_t site_count;
};

struct trace {
    struct process *processes;
    size_t process_count;
    uint64_t start; /* the earliest time, which is 0 in the file */
};

/* ---- trace_read.c ---- */
/* The files of a folder; ends the program if there is nothing in it. What is not whole is left out. */
void trace_read(const char *folder, struct trace *trace);
/* The member that had that number then, or NULL. */
struct member *trace_member(const struct process *process, uint32_t number, uint64_t time);
/* What a call sent, perhaps nothing. */
struct timeline_call trace_sent(const struct item *item);
/* The name of a command or a kernel; of a device. */
const char *trace_name(const struct member *member, uint32_t number, const char *fallback);
const char *trace_device_name(const struct member *member, uint32_t number);
/* The place of a thread, which there is. */
size_t trace_thread(const struct process *process, uint32_t number);
/* One more in an array of so many; ends the program without memory. */
void *trace_more(void *array, size_t *count, size_t size);

/* ---- trace_table.c ---- */
#define TRACE_NOWHERE SIZE_MAX
/* The place of that number, which is this one if it had none. */
size_t trace_table_add(struct trace_table *table, uint64_t number, size_t place);
size_t trace_table_find(const struct trace_table *table, uint64_t number);

/* ---- trace_quick.c ---- */
/* The next record of a thread: one without times is kept until there are some; one with times is an item already. */
void trace_quick(struct process *process, struct thread *thread, const struct item *item);
/* No more will come. */
void trace_quick_end(struct process *process);

/* ---- trace_site.c ---- */
void trace_take_site(struct process *process, const struct item *item);
/* All are there. */
void trace_sort_sites(struct process *process);
/* Where a call came from, or NULL. */
const struct site *trace_site(const struct process *process, const struct item *call);
json_t *trace_sites_json(const struct process *process);

/* ---- trace_symbol.c, trace_no_symbol.c ---- */
/* What is at that address of a file of code: what is not found stays as it is. */
void trace_symbol(const char *file, uint64_t place, struct symbol *symbol);

/* ---- trace_clock.c ---- */
struct command *trace_find_command(const struct member *member, uint64_t number);
void trace_clocks(struct process *process);

/* ---- trace_hosts.c ---- */
/* Times of all processes by one clock. */
void trace_align(struct trace *trace);

/* ---- trace_write.c ---- */
struct writer {
    FILE *file;
    const struct trace *trace;
    bool any;
    uint64_t last_flow;
};
/* Into the file; false: it could not be written. */
bool trace_write(struct trace *trace, FILE *file);
/* One event; takes over arguments, which may be NULL. phase: X (to is its end), i, b, e, s, t, f, or M. */
struct event {
    const char *phase, *name, *category;
    uint64_t from, to, id; /* id: 0: none */
    uint32_t process, track;
    json_t *arguments;
};
void trace_event(struct writer *w, const struct event *event);
void trace_track(struct writer *w, uint32_t process, uint32_t track, int order, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* Of things that may overlap: the first of a track's lanes that is free from then on, taken until then. */
struct lanes {
    uint64_t busy[64];
    unsigned used;
};
unsigned trace_lane(struct lanes *lanes, uint64_t from, uint64_t to);
/* Numbers of processes and tracks in the file. */
#define TRACE_MEMBERS 1000 /* members of the process p are p * 1000 and their index */
uint32_t trace_process(size_t index);
uint32_t trace_member_process(size_t process, size_t member);

/* ---- trace_node.c ---- */
void trace_write_member(struct writer *w, size_t process, size_t index);

/* ---- trace_xtq.c ---- */
/* Puts and waits are on tracks of threads, tasks on those of queues. */
void trace_write_messages(struct writer *w, size_t process);
/* The rank that the process was in XTQ, or -1. */
int trace_rank(const struct process *process);
/* In order: a put and its task are known by the lane and the place there. */
int trace_by_place(const struct timeline_message *one, const struct timeline_message *other);
/* Arrows, of all processes: from puts to tasks, and on to who waited for their signals. */
void trace_write_message_arrows(struct writer *w);

/* ---- explain_*.c ---- */
struct explained;
/* Ends the program if the file is none of ours. */
struct explained *explain_read(const char *path);
void explain_print(const struct explained *e, FILE *file);
json_t *explain_json(const struct explained *e);

#endif
