/* The parts of discrete.c, which describes the driver: discrete_card.c knows what the card does and when it ends,
 * discrete_commands.c has the functions that enqueue, discrete_basic.c lets commands of PoCL's basic device wait for
 * user events. */
#ifndef VOCL_TESTS_DRIVERS_DISCRETE_H
#define VOCL_TESTS_DRIVERS_DISCRETE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "pocl.h"

/* The settings of discrete.c: times in ns, rates in bytes a ns. */
struct settings {
    double submit, start, kernel, copy, spin, late, link_rate, memory_rate;
    cl_ulong memory;
    bool needs_flush;
};
extern struct settings settings;

/* The functions of strict.c. */
extern struct _cl_icd_dispatch below;
int strict_change(struct _cl_icd_dispatch *table);

/* ---- discrete_card.c ---- */

enum engine { KERNELS, TO_CARD, FROM_CARD, ENGINES, NO_ENGINE = ENGINES };

struct known { /* a queue, or a command that has an event */
    struct known *next;
    const void *key;           /* the native object */
    unsigned references;       /* the program's, of the event */
    const void *queue;         /* of the command */
    uint64_t number;           /* of the command in its queue; of a queue: commands enqueued */
    uint64_t flushed;          /* of a queue: commands that were flushed */
    bool in_order;             /* of a queue */
    double queued, begin, end; /* end of a queue: when its last command ends */
    bool unset;                /* a user event without a status */
    const void *behind;        /* the user event that the command, or the queue, waits for, or NULL */
    enum engine engine;
    double duration;
    struct known *next_behind; /* in the order in which they were enqueued */
};

/* Of all that is known. find(), forget() and is_submitted() need it. */
extern pthread_mutex_t lock;

double now(void);
double later(double one, double other);
void wait_until(double time);
/* Returns NULL if it is not known. */
struct known *find(const void *key);
void forget(const void *key);
void user_event_made(cl_event event);
void user_event_set(cl_event event);
/* Whether a command that is enqueued now waits for a user event. */
bool comes_behind(cl_command_queue queue, cl_uint count, const cl_event *list);
/* Returns when the card ends a command whose call has begun at the time `queued`. */
double enqueued(cl_command_queue queue, double queued, enum engine engine, double duration, cl_uint count,
                const cl_event *list, const cl_event *event);
void flushed(cl_command_queue queue);
/* Waits until neither a command nor a queue is behind a user event: PoCL's basic device does not. */
void wait_unheld(const void *key);
/* Waits for all commands of the queue, and until then. */
void block(cl_command_queue queue, double end);
/* Whether the card has the command already. */
bool is_submitted(const struct known *command);
/* Memory that the driver allocated for the host is mapped, or no longer. */
void memory_mapped(const void *memory, size_t bytes);
void memory_unmapped(const void *memory);
/* Times of a copy over the link, and of one on the card. */
double over_link(size_t bytes, const void *memory);
double on_card(size_t bytes);

/* ---- discrete_basic.c ---- */

void basic_change(void);
/* Keeps the event of a command that waits for a user event; releases those that are complete. */
void basic_hold(cl_event event);
void basic_release(void);

/* ---- discrete_commands.c ---- */

void commands_change(struct _cl_icd_dispatch *table);

#endif
