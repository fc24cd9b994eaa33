/* What the program does is written down (base/timeline.h): the client's part of it. All of it does nothing when off. */
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
/* Those that programs make most of, and that take no time worth mentioning. */
__attribute__((always_inline)) static inline bool timeline_is_light(uint32_t function)
{
    return function == TIMELINE_clSetKernelArg || function == TIMELINE_clSetKernelArgSVMPointer ||
           function == TIMELINE_clEnqueueNDRangeKernel || function == TIMELINE_clRetainEvent ||
           function == TIMELINE_clReleaseEvent;
}
/* A call of the program's: 0 if it is part of another. */
uint64_t timeline_call_begin(bool light);
/* address: where it returns to. */
void timeline_call_end(uint32_t function, const void *address);

__attribute__((always_inline)) static inline struct timeline_here timeline_enter(uint32_t function)
{
    return (struct timeline_here){timeline_wanted() ? timeline_call_begin(timeline_is_light(function)) : 0, function};
}

/* By value: what has no address needs no place. */
__attribute__((always_inline)) static inline void timeline_leave(const struct timeline_here *here)
{
    if (__builtin_expect(here->since != 0, false))
        timeline_call_end(here->function, __builtin_return_address(0));
}

/* What every entry point begins with. */
#define TIMELINE(name)                                                                                                 \
    __attribute__((cleanup(timeline_leave), unused)) struct timeline_here timeline_here =                              \
        timeline_enter(TIMELINE_##name)

/* The commands in the node's batch that have not been counted; before any of them is sent. Under the lock. */
void timeline_count_batch(struct node *node);
/* A launch that is not in the batch, for the last one there is repeated once more. */
void timeline_folded(struct node *node);
/* The batch is about to be sent: perhaps the node is asked what time it is. */
void timeline_pushing(struct node *node);

/* 0 when off. */
uint64_t timeline_now(void);
/* Since then the thread has waited; since 0: nothing is written. */
void timeline_waited(uint64_t since, enum timeline_reason reason, const struct node *node, uint32_t event);
void timeline_trip(uint64_t since, const struct node *node, uint16_t number);
void timeline_data(uint64_t since, const struct node *node, bool out, bool direct, uint64_t bytes);
void timeline_span(uint64_t since, const struct node *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A note of the node's is for the timeline; false if it is not well formed. */
bool timeline_note(struct node *node, uint16_t number, struct wire_cursor *fields);

/* The session's nodes, or one that has come, are to tell from now on. Under the lock. */
void timeline_open(struct session *session);
void timeline_open_node(struct node *node);
/* What they have yet to tell is waited for, some seconds. */
void timeline_end(struct session *session);
/* "start FOLDER" or "stop": what is to be said of it, in text; whether it was done. */
bool timeline_request(struct session *session, const char *words, char *text, size_t size);

/* ---- sites.c ---- */
/* The number of the place in the program that an entry point returns to; a new one is written down. 0: it has none. */
uint32_t site_of(const void *address);
/* All are to be written down anew: into another trace, or by another process. */
void sites_again(void);

#endif
