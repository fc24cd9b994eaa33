/* Objects that the client works with: nodes, devices, contexts, queues, memory objects and events. */
#ifndef VOCL_CLIENT_CORE_OBJECTS_H
#define VOCL_CLIENT_CORE_OBJECTS_H

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

/* The only symbols that leave this library are those that OpenCL's headers (and vocl.h) declare. */
#pragma GCC visibility push(default)
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl.h>
#include <CL/cl_egl.h>
#include <CL/cl_ext.h>
#include <CL/cl_gl.h>
#include <CL/cl_icd.h>
#include "vocl.h"
CL_API_ENTRY cl_int CL_API_CALL clIcdGetPlatformIDsKHR(cl_uint count, cl_platform_id *platforms, cl_uint *count_ret);
#pragma GCC visibility pop

#include "base/cl_ext.h"
#include "client/core/node_set.h"
#include "client/core/ranks.h"
#include "transport/transport.h"
#include "wire/wire.h"

#define KIND_PLATFORM (WIRE_KIND_LAST + 1)
#define KIND_COUNT (KIND_PLATFORM + 1)
#define KIND_ENDING KIND_COUNT /* destructor.c; nothing is made of it */

#define USES_RELEASED INT_MIN /* its nodes were told to let go of it; under the session's lock */

/* Begins every object. The first two words are the ICD loader's (cl_khr_icd 2.0). */
struct object {
    const struct _cl_icd_dispatch *dispatch;
    void *disp_data;
    uint32_t id;            /* on the wire: slot number and, in the top byte, how often the slot was used */
    atomic_uint kind;       /* enum wire_kind; 0 when the slot is free */
    atomic_int references;  /* the application's */
    atomic_int uses;        /* the library's own; the object lives while either is above 0; or USES_RELEASED */
    atomic_bool shown;      /* to handle_each() */
    unsigned held;          /* uses that natively nobody has: handle_hold() */
    struct answer *answers; /* info.c */
};

/* A worker's native platform, or several: all devices that live in one process. */
enum node_memory { NODE_MEMORY_UNKNOWN, NODE_MEMORY_ASKED, NODE_MEMORY_SHARED, NODE_MEMORY_APART };

/* timeline.c: of the member that is behind a node. */
struct node_timeline {
    bool on;
    uint64_t sent;     /* commands in queues */
    size_t at;         /* up to where those in the batch are counted */
    long asked, pause; /* when it was last asked for its time, and until it is again, ns */
};

struct node {
    _Atomic enum node_memory memory; /* arena.c */
    bool counts;                     /* what is for kernels there (svm_placed.c) */
    struct session *session;
    unsigned peer, index; /* index: in sets of nodes */
    char host[64];        /* that its worker is on, or was when it had one */
    uint64_t digest;      /* of how its worker described itself, or 0: it has another one since */
    bool in_process;      /* local.c's */
    atomic_bool alive;    /* this and the next change under the lock; who reads them without, */
    atomic_bool
        suspended;   /* may go by memory of its own. suspended: it has no member now, but will when it is needed */
    atomic_bool any; /* another kind of device may be in the place of its own */
    bool promised;   /* spare, and another node's from now on */
    uint32_t unfit;  /* spare: one of its devices, from 1, that is not as it should be; 0: not known */
    bool unshared;   /* it had the program's memory before it went to another host (unshare.c) */
    bool mending;    /* its worker is lost, and is being replaced: nothing is sent (recover.c) */
    unsigned losses; /* how often that was so */
    const struct observer *observer; /* observer.h, or NULL */
    struct journal *journal;         /* what it was told (journal.h), where it is observed */
    struct node *aim;                /* move.c: where what the thread aimer makes on this node goes instead; or NULL */
    pthread_t aimer;
    bool told;     /* handle.c: of an object's end, and its batch is not finished yet */
    size_t mark;   /* stream.c: where a broadcast begins in the batch */
    uint8_t *last; /* stream_fold(): the last launch sent, WIRE_MAX_AGAIN bytes */
    size_t last_length, repeat_at;
    uint32_t repeats;         /* how often it is to be repeated by the command at repeat_at in the batch, or 0 */
    struct wire_buffer batch; /* commands that wait to be sent */
    struct node_timeline timeline;
    _Atomic uint64_t timeline_opened; /* asked for its time then; 0: it has answered, and tells of this trace alone */
};

/* Immutable answers of a clGet*Info function, by parameter. */
struct info_table {
    uint8_t *bytes;
    size_t length;
    uint32_t first[128]; /* where the first one is of which the parameter ends so, plus 1; 0: there is none */
};

/* What a device's times are of: not known yet, none of this host's clocks, or one of them. */
enum device_clock { CLOCK_UNKNOWN, CLOCK_OTHER, CLOCK_RAW, CLOCK_STEADY };

struct _cl_device_id {
    struct object object;
    uint32_t slot; /* its number among the handles, in whose place is the node's */
    struct node *node;
    cl_device_id parent;         /* of a sub-device */
    struct partition *partition; /* the same: what it is a part of */
    uint32_t platform;           /* number of the native platform in its worker */
    unsigned version;            /* of that platform: 120 for OpenCL 1.2 */
    struct info_table infos;
    bool unified;
    cl_uint dimensions;
    size_t item_sizes[3], group_size;
    uint64_t limited; /* bytes that the session may use, 0: all */
    cl_ulong alloc_size, mem_base_align, local_size;
    cl_bool images;
    cl_device_svm_capabilities svm;   /* natively */
    atomic_int clock;                 /* enum device_clock */
    atomic_uint_fast64_t asked[5];    /* queries that the program has made (libvocl/cover.c) */
    bool has_usm, has_addresses;      /* cl_intel_unified_shared_memory, cl_ext_buffer_device_address */
    bool native_kernels, any_pointer; /* any_pointer: kernels may be given addresses that are not clSVMAlloc's */
};

/* A function of the application that is due; or one to be called when an object goes, of which next, function and data
 * are enough. */
struct callback {
    struct callback *next;
    void (*run)(struct callback *callback);
    void (*free)(struct callback *callback); /* when it has returned */
    void (*function)(void);
    void *handle, *data;
    cl_int status;
    /* deliver.c; number and id of the event, if it is an event's */
    struct callback_queue *in;
    uint32_t id;
    uint64_t number, begun;
};

/* Functions that are called one after the other. */
struct callback_queue {
    struct callback *first, **last, *next_due; /* those that have not returned; of these the first that has not begun */
    struct callback *owner;                    /* whose end the next one waits for */
    struct callback_queue *next;
    bool offered;
};

/* Commands of a queue from that number on (out of order: that one) are behind another queue's event. */
struct behind {
    uint32_t queue, event;
    uint64_t number, at;
};
#define MOST_BEHIND 8 /* the newest are known */

struct _cl_context {
    struct object object;
    struct node *node;   /* the first, for what needs only one */
    struct node **nodes; /* of its devices */
    unsigned node_count;
    cl_uint device_count;
    cl_device_id *devices;
    cl_context_properties *properties;
    size_t properties_size;
    void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *);
    void *notify_data;
    struct callback *destructors;
    atomic_uint unset; /* user events that are not set yet */
};

struct _cl_command_queue {
    struct object object;
    cl_context context;
    cl_device_id device;
    struct node *node;
    cl_command_queue_properties properties;
    cl_queue_properties *array; /* as given to clCreateCommandQueueWithProperties */
    size_t array_size;
    cl_uint size;
    atomic_int error; /* of a command that has no event to tell it */
    atomic_uint_fast64_t enqueued, finished,
        well;              /* well: up to there none has failed but those that are known to have */
    atomic_uint eager;     /* of which commands' events the program asks, as far as is known: event_sort() */
    atomic_uint functions; /* to be called back for its commands */
    bool settled;          /* a command of another queue has seen to it that contents are where this one's look */
    /* under the session's lock */
    LIST_HEAD(event_list, _cl_event) called; /* its events that have functions which are not due yet */
    struct callback_queue callbacks;
    struct behind behind[MOST_BEHIND];
    unsigned behind_next;
    struct arrival *arrival,
        *barred; /* of the last command, or, out of order, of all so far; of what barriers came before */
};

static inline bool queue_in_order(cl_command_queue queue)
{
    return !(queue->properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
}

/* Whether a command of it may wait for a user event that the program, or a function of it, has yet to set. */
static inline bool queue_may_be_gated(cl_command_queue queue)
{
    return atomic_load(&queue->context->unset) != 0;
}

struct mapping {
    struct mapping *next;
    void *pointer;
    cl_map_flags flags;
    size_t origin[3], region[3], row_pitch, slice_pitch;
    struct node *node; /* which has mapped it natively, too, if it is in place */
    bool owned;        /* the memory is the mapping's own */
};

/* Who wants to know what was written since the last time: a move, snapshots, and what reads for a store. */
enum { WRITTEN_MOVE = 1, WRITTEN_SAVE = 2, WRITTEN_STORE = 4, WRITTEN_ALL = 7 };

/* written.c: where it ends, where it begins as counted from the object's end, and in which of 64 parts it is. */
struct ever_written {
    atomic_bool all;
    atomic_uint_fast64_t end, back, grains;
};

/* window.c: what a buffer whose memory is here was used for since that window began. */
struct image;
struct in_window {
    uint64_t number;
    bool read, written, filled;   /* filled: it has contents, of whatever window */
    bool cycles;                  /* it was written, read and written again in one window */
    atomic_uint_fast64_t settled; /* the number times 4, and the uses for which nothing is left to do */
    struct image *image;          /* its contents as they were; of that window or one before */
};

struct _cl_mem {
    struct object object;
    cl_context context;
    cl_mem_object_type type;
    cl_mem_flags flags, node_flags; /* node_flags: as the nodes were given them */
    size_t size;
    void *host_pointer;
    _Atomic(uint8_t *) arena; /* in the arena, where the node has the buffer, too; or NULL */
    void *block;              /* the same, if it is block.c's; alone: what maps show since (unshare.c) */
    atomic_bool direct;       /* it is of block.c: the program may use it as it is, between direct_enter() and leave */
    bool apart;               /* counted in journals: its contents are the workers' */
    struct in_window window;  /* of a whole */
    bool svm_remote;          /* host_pointer is of svm_remote.c */
    bool sized;               /* set_content_size */
    struct region *region;    /* it is of exchange.c */
    struct hosted *hosted;    /* hostptr.c; of a whole */
    atomic_uint in_place;     /* maps of it and of its parts; of a whole */
    atomic_uchar written;     /* WRITTEN_*, since these looked last; of a whole */
    struct ever_written ever; /* of a whole */
    uint64_t made;            /* of a whole: the how manieth of the program's, from 1 on */
    struct coherence *coherence; /* of a whole, in a context of several nodes */
    cl_mem parent;               /* of a sub-buffer, or of an image made from a buffer */
    size_t origin;
    cl_mem_properties *properties;
    size_t properties_size;
    struct mutex lock; /* shadow, mappings */
    uint8_t *shadow;   /* what maps of a buffer show; the whole buffer's size */
    struct mapping *mappings;
    cl_uint map_count;
    struct callback *destructors;
    cl_uint packet_size, max_packets;     /* of a pipe */
    cl_mem_device_address_ext *addresses; /* addressed.c: on each device of the context; or NULL */
    cl_mem next_addressed;
    /* images */
    cl_image_format format;
    cl_image_desc desc;
    size_t element_size, row_pitch, slice_pitch; /* slice_pitch 0: has no slices */
};

/* Where something waits for an arrival (arrival.c). */
struct arrival_waiter {
    struct arrival_waiter *next;
    void (*run)(void *argument);
    void *argument;
};

struct event_callback {
    struct event_callback *next;
    cl_int status;
    void(CL_CALLBACK *function)(cl_event, cl_int, void *);
    void *data;
};

#define SUBSCRIBE_COMPLETE (1u << CL_COMPLETE)

struct _cl_event {
    struct object object;
    cl_context context;
    struct node *node;      /* where its command is */
    struct node_set known;  /* nodes that can wait for it */
    cl_command_queue queue; /* NULL for a user event */
    cl_command_type type;
    atomic_uint_fast64_t number; /* in its queue; numbers are given after sending, so two threads' may cross */
    uint64_t before;             /* commands with numbers up to this were sent before it */
    uint64_t since;              /* deliver_now_begun() when it was made */
    atomic_int status;
    atomic_bool asked;  /* the program has asked about it */
    atomic_bool waited; /* of a user event: a command waits for it */
    atomic_bool shown;  /* that it is complete: not before what natively has been called back by then has been */
    /* under the session's lock */
    uint32_t subscribed; /* what its node tells of: a bit for each status */
    bool expected;       /* the node tells of it before the program has asked */
    bool ended;          /* it is over on its node, or the application has set it */
    cl_int end_status;
    struct arrival *arrival; /* without which it does not count as over here */
    struct arrival_waiter arrived;
    bool has_times;
    uint64_t times[4]; /* until it has them: this host's clocks when it was made, if the queue has profiling */
    struct event_callback *callbacks;
    LIST_ENTRY(_cl_event) called; /* in its queue's list, while it has callbacks */
};

/* Whether it is not lost. */
static inline bool node_is_there(const struct node *node)
{
    return node->alive || node->suspended;
}

static inline bool context_has_node(cl_context context, const struct node *node)
{
    for (unsigned i = 0; i < context->node_count; i++) {
        if (context->nodes[i] == node)
            return true;
    }
    return false;
}

#endif
