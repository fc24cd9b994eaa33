/* The trace of what the program does (base/timeline.h): the client's part. All functions do nothing when tracing is
 * off. */
#ifndef VOCL_CLIENT_TRACE_TIMELINE_H
#define VOCL_CLIENT_TRACE_TIMELINE_H

#include "base/timeline.h"
#include "client/core/session.h"

/* ---- timeline.c ---- */
/* OpenCL's functions, in the order of opencl.def. */
enum timeline_function {
#define EXPORTED(name, first, since) TIMELINE_##name,
#define BY_NAME(name, offered, own) TIMELINE_##name,
#include "base/opencl.def"
    TIMELINE_FUNCTIONS
};

struct timeline_here {
    uint64_t since;
    uint32_t function;
};
/* The calls that programs make most often, and that take next to no time. */
__attribute__((always_inline)) static inline bool timeline_is_light(uint32_t function)
{
    return function == TIMELINE_clSetKernelArg || function == TIMELINE_clSetKernelArgSVMPointer ||
           function == TIMELINE_clEnqueueNDRangeKernel || function == TIMELINE_clRetainEvent ||
           function == TIMELINE_clReleaseEvent;
}
/* Begins a call of the program. Returns 0 if it is part of another call. */
uint64_t timeline_call_begin(bool light);
/* Ends it. address: where the call returns to. */
void timeline_call_end(uint32_t function, const void *address);

__attribute__((always_inline)) static inline struct timeline_here timeline_enter(uint32_t function)
{
    return (struct timeline_here){timeline_wanted() ? timeline_call_begin(timeline_is_light(function)) : 0, function};
}

/* The struct's address is not passed on, so that it needs no memory. */
__attribute__((always_inline)) static inline void timeline_leave(const struct timeline_here *here)
{
    if (__builtin_expect(here->since != 0, false))
        timeline_call_end(here->function, __builtin_return_address(0));
}

/* The first statement of every entry point. */
#define TIMELINE(name)                                                                                                 \
    __attribute__((cleanup(timeline_leave), unused)) struct timeline_here timeline_here =                              \
        timeline_enter(TIMELINE_##name)

/* Counts the commands in the node's batch that have not been counted. To be called before any of them is sent. Under
 * the lock. */
void timeline_count_batch(struct node *node);
/* Counts a launch that is not in the batch, as the last launch there is repeated once more. */
void timeline_folded(struct node *node);
/* To be called before the batch is sent: may add a question for the node's time. */
void timeline_pushing(struct node *node);

/* Returns the time in ns, or 0 when tracing is off. */
uint64_t timeline_now(void);
/* Records that the thread has waited since then; nothing if since is 0. */
void timeline_waited(uint64_t since, enum timeline_reason reason, const struct node *node, uint32_t event);
void timeline_trip(uint64_t since, const struct node *node, uint16_t number);
void timeline_data(uint64_t since, const struct node *node, bool out, bool direct, uint64_t bytes);
void timeline_span(uint64_t since, const struct node *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Handles a note of a node for the trace. Returns false if it is malformed. */
bool timeline_note(struct node *node, uint16_t number, struct wire_cursor *fields);

/* Asks all of the session's nodes, or a new one, to report for the trace from now on. Under the lock. */
void timeline_open(struct session *session);
void timeline_open_node(struct node *node);
/* Waits, at most some seconds, for what nodes have yet to report. */
void timeline_end(struct session *session);
/* Carries out "start FOLDER" or "stop", and writes a message for the user to text. Returns whether it was done. */
bool timeline_request(struct session *session, const char *words, char *text, size_t size);

/* ---- sites.c ---- */
/* Returns the number of the place in the program that an entry point returns to, and records a new place. 0: it has
 * none. */
uint32_t site_of(const void *address);
/* Makes all places be recorded again: into another trace, or by another process. */
void sites_again(void);

#endif
