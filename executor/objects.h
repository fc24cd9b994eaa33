/* The application's objects: a struct for each kind, and the tables that find them by their numbers. */
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

/* The common head of all kinds: the number, the error if it could not be created (which its users get), the native
 * handle. */
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

/* Whether an object of any kind exists natively. */
#define is_usable(object) (!(object)->error && (object)->native)

/* gates.c: something that may fail and that commands wait for */
struct gate {
    struct gates *gates; /* NULL: no command waits for it, or it is over */
    TAILQ_ENTRY(gate) in;
    uint64_t number;
    bool of_event;
};

/* order.c: a command whose call has returned before it ended. */
struct order {
    cl_event event;          /* NULL: it is over */
    uint64_t number, behind; /* behind: as in struct event */
    struct queue *only;      /* the context's only queue so far, whose own order is enough; or NULL */
    bool several, loose;     /* several: there has been more than one queue at a time; loose: only has such commands */
};

struct device {
    OBJECT(cl_device_id);
    unsigned ordinal; /* the root device's ordinal among the session's */
    bool part;        /* a sub-device */
};

struct context {
    OBJECT(cl_context);
    cl_device_id on;         /* first device */
    cl_command_queue spare;  /* for data that do not move in a queue of the application */
    struct staging *staging; /* for a device with memory of its own, or NULL */
    struct queue *mover;     /* for transfers with other nodes: a queue without a number; or NULL */
    struct gates *gates;     /* or NULL */
    struct order order;      /* the newest command that later ones, in any queue, come behind */
    uint64_t devices;        /* a bit for each root device, by its ordinal (internal.h: quota.c) */
    bool scrubs;             /* its memory may have been another session's, and is filled with zeros */
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
    bool timed;            /* the native queue has profiling on, perhaps unasked */
    uint64_t behind;       /* the newest gate that it may wait for, 0 if none */
    uint64_t behind_order; /* in order: its commands are behind the context's order up to this number */
    cl_event barrier;      /* out of order: the newest barrier's event, which may be over, or NULL */
    cl_event last;         /* in order: of its newest command, if that is a launch and this is known; or NULL */
    struct step *steps;    /* lazy.c */
    bool used;             /* since it was last flushed; then next is valid */
    struct queue *next;    /* in to_flush, dispatch.c */
};

struct memory {
    OBJECT(cl_mem);
    uint32_t context_id;
    bool used;           /* whether it was used, and so whether ordinal is valid */
    unsigned ordinal;    /* of the device where it was last used */
    uint64_t *addresses; /* of a buffer that has addresses, one for each device of its context; or NULL */
    uint32_t address_count;
    size_t size;               /* if it has addresses */
    struct contents *contents; /* contents on their way when it, or its parent, was created; or NULL */
};

struct sampler {
    OBJECT(cl_sampler);
};

struct program {
    OBJECT(cl_program);
    struct include_tree *tree; /* of the last build, or NULL */
    bool hidden;               /* argument information was added unasked: build.c */
};

struct kernel {
    OBJECT(cl_kernel);
    uint8_t *kinds; /* enum wire_argument of each argument, 0 if not known */
    cl_uint kind_count;
    uint32_t *memories;     /* of each argument the memory object's number, or 0; or NULL */
    uint32_t timeline_name; /* timeline.c: the number of its name, or 0 */
};

struct event {
    OBJECT(cl_event);
    cl_event begin;                 /* the event whose times its own begin with, up to the end; or NULL */
    bool imported, user, completed; /* of another worker; the application's; its status is final */
    uint32_t context_id;            /* of a user event */
    uint32_t queue_id;              /* 0: user, imported */
    bool late, released;            /* its status will be set later; it was released and is dropped then */
    struct gate gate;               /* of a user event or an imported one */
    uint64_t behind;                /* the newest gate that it may wait for, 0 if none */
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

/* Returns the object of a kind (enum wire_kind) with that number, or NULL. */
void *object_get(const struct executor *x, unsigned kind, uint32_t id);
/* Returns NULL if the number is in use or invalid. The object has an error until its creator sets that. */
void *object_new(struct executor *x, unsigned kind, uint32_t id);
/* Frees the object and its native handle. */
void object_drop(struct executor *x, unsigned kind, struct object *object);
/* Removes the object from its table; the caller then owns it. */
void object_take(struct executor *x, unsigned kind, struct object *object);

#endif
