/*
 * vocl-trace: turns the files that programs left in a folder (base/timeline.h) into one Trace Event JSON file, and
 * makes a report of it.
 *
 *   trace_main.c     its command line
 *   trace_read.c     checks and parses the files
 *   trace_table.c    finds things by their numbers
 *   trace_quick.c    calls for which the clock was not read
 *   trace_site.c     callers; trace_symbol.c: names of places in code, trace_no_symbol.c: none, without elfutils
 *   trace_clock.c    converts the clocks of members and devices to the program's
 *   trace_hosts.c    converts the clocks of several hosts to one
 *   trace_write.c    writes the file: tracks of programs; trace_node.c: those of workers; trace_xtq.c: XTQ's messages
 *   explain_read.c   reads the file again and computes sums
 *   explain_print.c  the report; explain_hints.c: what could be improved
 */
#ifndef VOCL_TOOLS_TRACE_H
#define VOCL_TOOLS_TRACE_H

#include <jansson.h>

#include "base/timeline.h"

/* A record, with the data that follow its head. */
struct item {
    struct timeline_record head;
    const void *more;
    size_t length; /* of more */
    uint32_t thread;
    bool estimated; /* the times of a call are estimated: the clock was not read */
};

struct command {
    struct timeline_command what;
    uint64_t over;                              /* when it was seen to be over, by the worker's clock */
    uint64_t queued, submitted, started, ended; /* by the program's clock */
    uint64_t sent;                              /* when the call that sent it began, 0: not known */
    bool estimated;                             /* sent is estimated */
    uint32_t caller;                            /* thread of the call that sent it */
    uint64_t waited;                            /* end of a wait for it, 0: none */
    uint32_t waiter;                            /* thread of that wait */
    bool native;                                /* the times are native OpenCL's */
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

/* Indices into an array, by numbers. */
struct trace_table {
    struct trace_slot {
        uint64_t number;
        size_t place;
        bool used;
    } * slots;
    size_t room, count;
};

/* A worker, for the time in which it was the member with that number. */
struct member {
    uint32_t number;
    const char *host;
    uint64_t since;            /* by the program's clock */
    const struct item **asked; /* TIMELINE_CLOCK */
    size_t asked_count;
    struct command *commands; /* indexed by number */
    size_t command_count;
    struct turn *turns;
    size_t turn_count;
    struct staged *staged;
    size_t staged_count;
    struct name *names, *devices;
    size_t name_count, device_count;
    struct trace_table name_places;
    /* the program's time is: own time - offset - drift * (own time - origin) */
    uint64_t origin;
    double offset, drift, error; /* ns; drift: without a unit */
};

/* A call without times; or, if it has times, what was done in the call after it. */
struct quick {
    uint64_t from, to;
    uint32_t function;
    struct timeline_call sent;
};

/* The function and source line of a place in code; "" and 0: not known. */
struct symbol {
    char function[256], source[512];
    int line;
};

/* A place where the program called OpenCL. */
struct site {
    uint32_t number;
    uint64_t place;
    const char *file;
    struct symbol symbol;
    char *text; /* description */
};

struct thread {
    uint32_t number;
    char name[16];
    /* while it is read: earliest possible start of the pending calls, and what the last one sent */
    uint64_t known;
    struct quick *quick;
    size_t quick_count;
    struct timeline_call sent;
};

struct process {
    uint32_t number;
    char host[64], program[64];
    struct timeline_clock clock;
    double shift, shift_error; /* ns added to its times; INFINITY: known from wall clocks only */
    uint64_t dropped;
    struct item *items; /* ordered by their ends */
    size_t item_count;
    struct average *averages; /* durations of calls, by function */
    struct thread *threads;
    size_t thread_count;
    struct trace_table thread_places;
    struct member *members;
    size_t member_count;
    struct site *sites; /* indexed by number */
    size_t site_count;
};

struct trace {
    struct process *processes;
    size_t process_count;
    uint64_t start; /* the earliest time, which is 0 in the file */
};

/* ---- trace_read.c ---- */
/* Reads the files of a folder; ends the program if there are none. Incomplete records are left out. */
void trace_read(const char *folder, struct trace *trace);
/* Returns the member that had that number at the time, or NULL. */
struct member *trace_member(const struct process *process, uint32_t number, uint64_t time);
/* Returns what a call sent, perhaps nothing. */
struct timeline_call trace_sent(const struct item *item);
/* Return the name of a command or kernel, and of a device. */
const char *trace_name(const struct member *member, uint32_t number, const char *fallback);
const char *trace_device_name(const struct member *member, uint32_t number);
/* Returns the index of a thread, which must exist. */
size_t trace_thread(const struct process *process, uint32_t number);
/* Returns the array with room for one more; ends the program if memory is exhausted. */
void *trace_more(void *array, size_t *count, size_t size);

/* ---- trace_table.c ---- */
#define TRACE_NOWHERE SIZE_MAX
/* Returns the index stored for that number, after storing place if there was none. */
size_t trace_table_add(struct trace_table *table, uint64_t number, size_t place);
size_t trace_table_find(const struct trace_table *table, uint64_t number);

/* ---- trace_quick.c ---- */
/* Takes the next record of a thread: a call without times is kept until one with times comes, which is an item
 * already. */
void trace_quick(struct process *process, struct thread *thread, const struct item *item);
/* No more records will come. */
void trace_quick_end(struct process *process);

/* ---- trace_site.c ---- */
void trace_take_site(struct process *process, const struct item *item);
/* All sites have been taken. */
void trace_sort_sites(struct process *process);
/* Returns where a call came from, or NULL. */
const struct site *trace_site(const struct process *process, const struct item *call);
json_t *trace_sites_json(const struct process *process);

/* ---- trace_symbol.c, trace_no_symbol.c ---- */
/* Looks up an address in a file of code; leaves fields that cannot be found as they are. */
void trace_symbol(const char *file, uint64_t place, struct symbol *symbol);

/* ---- trace_clock.c ---- */
struct command *trace_find_command(const struct member *member, uint64_t number);
void trace_clocks(struct process *process);

/* ---- trace_hosts.c ---- */
/* Converts the times of all processes to one clock. */
void trace_align(struct trace *trace);

/* ---- trace_write.c ---- */
struct writer {
    FILE *file;
    const struct trace *trace;
    bool any;
    uint64_t last_flow;
};
/* Writes the file. Returns false if that failed. */
bool trace_write(struct trace *trace, FILE *file);
/* An event; trace_event() takes over arguments, which may be NULL. phase: X (to is its end), i, b, e, s, t, f, or M. */
struct event {
    const char *phase, *name, *category;
    uint64_t from, to, id; /* id: 0 means none */
    uint32_t process, track;
    json_t *arguments;
};
void trace_event(struct writer *w, const struct event *event);
void trace_track(struct writer *w, uint32_t process, uint32_t track, int order, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* For events that may overlap: picks the first of a track's lanes that is free from then on, and occupies it until
 * the end. */
struct lanes {
    uint64_t busy[64];
    unsigned used;
};
unsigned trace_lane(struct lanes *lanes, uint64_t from, uint64_t to);
/* The numbers of processes and tracks in the file. */
#define TRACE_MEMBERS 1000 /* members of process p are p * 1000 plus their index */
uint32_t trace_process(size_t index);
uint32_t trace_member_process(size_t process, size_t member);

/* ---- trace_node.c ---- */
void trace_write_member(struct writer *w, size_t process, size_t index);

/* ---- trace_xtq.c ---- */
/* Puts and waits are on the tracks of threads, tasks on those of queues. */
void trace_write_messages(struct writer *w, size_t process);
/* Returns the rank of the process in XTQ, or -1. */
int trace_rank(const struct process *process);
/* Compares two messages: a put and its task have the same lane and place in it. */
int trace_by_place(const struct timeline_message *one, const struct timeline_message *other);
/* Writes the arrows of all processes: from puts to tasks, and on to those that waited for their signals. */
void trace_write_message_arrows(struct writer *w);

/* ---- explain_*.c ---- */
struct explained;
/* Ends the program if the file is not one of VOCL's. */
struct explained *explain_read(const char *path);
void explain_print(const struct explained *e, FILE *file);
json_t *explain_json(const struct explained *e);

#endif
