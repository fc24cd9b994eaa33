/* The application's objects: a struct for each kind, and the tables in which their numbers find them. */
#ifndef VOCL_EXECUTOR_OBJECTS_H
#define VOCL_EXECUTOR_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <CL/cl.h>
#include <CL/cl_ext.h>

#include "base/cl_ext.h"
#include "wire/wire.h"

struct executor;

/* What all kinds begin with: the number, why it could not be made (what whoever uses it is told), the native handle. */
struct object {
    uint32_t id;
    cl_int error;
    void *native;
};

#define OBJECT(handle)                                                                                                 \
    union {                                                                                                            \
        struct object object;                                                                                          \
        struct {                                                                                                       \
            uint32_t id;                                                                                               \
            cl_int error;                                                                                              \
            handle native;                                                                                             \
        };                                                                                                             \
    }

/* Whether it is there natively, for any kind. */
#define is_usable(object) (!(object)->error && (object)->native)

/* gates.c: something that may fail, and that commands wait for */
struct gate {
    struct gates *gates; /* NULL: nobody waits for it, or it is over */
    TAILQ_ENTRY(gate) in;
    uint64_t number;
    bool of_event;
};

/* order.c: a command whose call has returned as if it were over. */
struct order {
    cl_event event;          /* NULL: it is over */
    uint64_t number, behind; /* behind: as an event object's */
    struct queue *only;      /* the only queue that there has been at a time, whose own order is enough; or NULL */
    bool several, loose;     /* several: there has been another beside it; loose: it has commands like that */
};

struct device {
    OBJECT(cl_device_id);
    unsigned ordinal; /* of the root device among the session's */
    bool part;        /* a sub-device */
};

struct context {
    OBJECT(cl_context);
    cl_device_id on;         /* first device */
    cl_command_queue spare;  /* for data that no queue of the application moves */
    struct staging *staging; /* for a device that has memory of its own, or NULL */
    struct queue *mover;     /* for other nodes: a queue that has no number; or NULL */
    struct gates *gates;     /* or NULL */
    struct order order;      /* the newest command that those after it come behind, in whatever queue */
    bool scrubs;             /* its memory may have been another session's */
};

struct queue {
    OBJECT(cl_command_queue);
    cl_context in;
    uint32_t context_id;
    cl_device_id on;
    unsigned ordinal;        /* of its root device */
    cl_command_queue spare;  /* the context's */
    struct staging *staging; /* likewise */
    bool unified, out_of_order, profiling, lazy;
    bool timed;            /* native profiling is on, also unasked */
    uint64_t behind;       /* the newest gate it may wait for, 0 if none */
    uint64_t behind_order; /* in order: up to there its commands are behind the context's order */
    cl_event barrier;      /* out of order: the newest one's, which may be over, or NULL */
    struct step *steps;    /* lazy.c */
    bool used;             /* since it was flushed: */
    struct queue *next;    /* in to_flush, dispatch.c */
};

struct memory {
    OBJECT(cl_mem);
    uint32_t context_id;
    bool used;           /* and then: */
    unsigned ordinal;    /* of the device where it was used last */
    uint64_t *addresses; /* of a buffer that has one, on each of its context's devices; or NULL */
    uint32_t address_count;
    size_t size;               /* if it has addresses */
    struct contents *contents; /* that it was made with, as what it was made of may have been; or NULL */
};

struct sampler {
    OBJECT(cl_sampler);
};

struct program {
    OBJECT(cl_program);
    struct include_tree *tree; /* of the last build, or NULL */
    bool hidden;               /* build.c */
};

struct kernel {
    OBJECT(cl_kernel);
    uint8_t *kinds; /* enum wire_argument of each argument, 0 if not known */
    cl_uint kind_count;
    uint32_t *memories;     /* of each argument the memory object, or 0; or NULL */
    uint32_t timeline_name; /* timeline.c: the number of its name, or 0 */
};

struct event {
    OBJECT(cl_event);
    cl_event begin;                 /* whose times are its own until the end, or NULL */
    bool imported, user, completed; /* of another worker; the application's; it is over */
    uint32_t context_id;            /* user */
    uint32_t queue_id;              /* 0: user, imported */
    bool late, released;            /* it will be over; it is to be dropped then */
    struct gate gate;               /* of these two */
    uint64_t behind;                /* the newest gate it may wait for, 0 if none */
    struct event *next;             /* peer.c */
};

struct command_buffer {
    OBJECT(cl_command_buffer_khr);
    struct recording *recording; /* command_buffer.c */
};

/* By the kinds of commands.def. */
#define OBJECT_DEVICE struct device
#define OBJECT_CONTEXT struct context
#define OBJECT_QUEUE struct queue
#define OBJECT_MEMORY struct memory
#define OBJECT_SAMPLER struct sampler
#define OBJECT_PROGRAM struct program
#define OBJECT_KERNEL struct kernel
#define OBJECT_EVENT struct event
#define OBJECT_COMMAND_BUFFER struct command_buffer

struct table {
    struct object **slots;
    uint32_t count;
};

/* The object of a kind (enum wire_kind) with that number, or NULL. */
void *object_get(const struct executor *x, unsigned kind, uint32_t id);
/* NULL when the number is in use or no good. It has an error until its maker says otherwise. */
void *object_new(struct executor *x, unsigned kind, uint32_t id);
/* With what it has natively. */
void object_drop(struct executor *x, unsigned kind, struct object *object);
/* Out of its table; it is the caller's. */
void object_take(struct executor *x, unsigned kind, struct object *object);

#endif
