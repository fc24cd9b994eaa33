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

/* The only symbols that this library exports are those that OpenCL's headers (and vocl.h) declare. */
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
#define KIND_ENDING KIND_COUNT /* destructor.c; no object is created with it */

#define USES_RELEASED INT_MIN /* of uses: the nodes were sent its release; under the session's lock */

/* The beginning of every object. The first two words are the ICD loader's (cl_khr_icd 2.0). */
struct object {
    const struct _cl_icd_dispatch *dispatch;
    void *disp_data;
    uint32_t id;            /* on the wire: slot number and, in the top byte, how often the slot was used */
    atomic_uint kind;       /* enum wire_kind; 0 when the slot is free */
    atomic_int references;  /* the application's */
    atomic_int uses;        /* the library's own; the object lives while either is above 0; or USES_RELEASED */
    atomic_bool shown;      /* handle_each() visits it */
    unsigned held;          /* uses that native OpenCL does not have: handle_hold() */
    struct answer *answers; /* info.c */
};

/* Whether a node's worker shares the arena with the program (arena.c). ASKED: a thread has asked it, and waits. */
enum node_memory { NODE_MEMORY_UNKNOWN, NODE_MEMORY_ASKED, NODE_MEMORY_SHARED, NODE_MEMORY_APART };

/* timeline.c: the trace of the member behind a node. */
struct node_timeline {
    bool on;
    uint64_t sent;     /* enqueued commands that were sent to it */
    size_t at;         /* end of the part of the batch whose commands are counted */
    long asked, pause; /* when it was last asked for its time, and how long until the next time, ns */
};

struct node {
    _Atomic enum node_memory memory;
    bool counts; /* memory in the arena that kernels use is counted by its daemon (svm_placed.c) */
    struct session *session;
    unsigned peer, index; /* index: in sets of nodes */
    char host[64];        /* of its worker, or of the last one that it had */
    uint64_t digest;      /* of its worker's description of itself; 0: it has another worker since */
    bool in_process;      /* it is the local member (local.c) */
    /* alive and suspended change under the lock; a thread that reads them without it may see an older value. suspended:
     * it has no member now, but gets one when it is needed. */
    atomic_bool alive;
    atomic_bool suspended;
    atomic_bool any;                 /* a device of another kind may replace its own */
    bool promised;                   /* a spare that is to replace another node's worker */
    uint32_t unfit;                  /* of a spare: the device, from 1 on, that does not match; 0: not known */
    bool unshared;                   /* it shared the program's memory before it moved to another host (unshare.c) */
    bool failing_over;               /* its worker is lost, and is being replaced: nothing is sent (recover.c) */
    unsigned losses;                 /* how often its worker was lost */
    const struct observer *observer; /* observer.h, or NULL */
    struct journal *journal;         /* what it was sent (journal.h), if it is observed */
    /* move.c: the node where objects that the thread aimer creates on this one are created instead; or NULL */
    struct node *aim;
    pthread_t aimer;
    bool told;     /* handle.c: a release is in its batch, which is not finished yet */
    size_t mark;   /* stream.c: where a broadcast begins in the batch */
    uint8_t *last; /* stream_repeat(): the last launch sent, at most WIRE_MAX_REPEATED bytes */
    size_t last_length, repeat_at;
    uint32_t repeats;         /* how often the command at repeat_at in the batch repeats it, or 0 */
    struct wire_buffer batch; /* commands that wait to be sent */
    struct node_timeline timeline;
    /* when it was asked for its time at the start of a trace; 0: it has answered, so its records are of this trace */
    _Atomic uint64_t timeline_opened;
};

/* Immutable answers of a clGet*Info function, by parameter. */
struct info_table {
    uint8_t *bytes;
    size_t length;
    uint32_t first[128]; /* by parameter modulo 128: offset of the first such record, plus 1; 0: none */
};

/* What tells a device apart from those of other nodes, and from others with the same UUID (libvocl/identity.c). */
struct identity {
    bool away;        /* from the program's host, when the session began */
    uint8_t node[16]; /* the UUID of the node where it was then */
    uint32_t twin;    /* WIRE_INFO_TWIN */
};

/* The clock of a device's times: not known yet, none of this host's, or one of these. */
enum device_clock { CLOCK_UNKNOWN, CLOCK_OTHER, CLOCK_RAW, CLOCK_STEADY };

struct _cl_device_id {
    struct object object;
    uint32_t slot; /* its own handle's ID; object.id is the ID on the node */
    struct node *node;
    cl_device_id parent;         /* of a sub-device */
    struct partition *partition; /* of a sub-device: those created with it (libvocl/sub_device.c) */
    uint32_t platform;           /* number of the native platform in its worker */
    unsigned version;            /* of that platform: 120 for OpenCL 1.2 */
    struct identity identity;
    struct info_table infos;
    _Atomic(struct texts *) texts[2]; /* libvocl/device_texts.c: answers that are pointers to texts */
    bool unified;
    cl_uint dimensions;
    size_t item_sizes[3], group_size;
    uint64_t limited; /* bytes that the session may use; 0: all */
    cl_ulong alloc_size, mem_base_align, local_size;
    cl_bool images;
    cl_device_svm_capabilities svm;   /* as the native device has them */
    atomic_int clock;                 /* enum device_clock */
    atomic_uint_fast64_t asked[5];    /* queries that the program has made (libvocl/cover.c) */
    bool has_usm, has_addresses;      /* cl_intel_unified_shared_memory, cl_ext_buffer_device_address */
    bool native_kernels, any_pointer; /* any_pointer: kernels take addresses that are not from clSVMAlloc */
};

/* A callback of the application that is due; or a destructor callback, which only uses next, function and data. */
struct callback {
    struct callback *next;
    void (*run)(struct callback *callback);
    void (*free)(struct callback *callback); /* called when it has returned */
    void (*function)(void);
    void *handle, *data;
    cl_int status;
    /* for deliver.c; number and id of the event, if it is an event's */
    struct callback_queue *in;
    uint32_t id;
    uint64_t number, begun;
};

/* Callbacks that are called one after the other. */
struct callback_queue {
    struct callback *first, **last, *next_due; /* first: has not returned; next_due: has not begun */
    struct callback *owner;                    /* the callback for whose end the next one waits */
    struct callback_queue *next;
    bool offered;
};

/* Commands of a queue from number `at` on (out of order: only that one) wait for an event of another queue: its queue
 * and event, by their IDs, and its number there. */
struct behind {
    uint32_t queue, event;
    uint64_t number, at;
};
#define MOST_BEHIND 8 /* the newest are kept */

struct _cl_context {
    struct object object;
    struct node *node;   /* the first one, for operations that need only one */
    struct node **nodes; /* all nodes that have devices of it */
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
    atomic_int error; /* error of a command that has no event to report it */
    atomic_uint_fast64_t enqueued, finished,
        well;              /* well: of commands up to this number, all that have failed are known */
    atomic_uint eager;     /* commands about whose events the program is known to ask: event_sort() */
    atomic_uint functions; /* callbacks registered for its commands */
    bool settled;          /* a command of another queue migrates what its commands use (libvocl/native.c) */
    /* under the session's lock */
    LIST_HEAD(event_list, _cl_event) called; /* its events with callbacks that are not due yet */
    struct callback_queue callbacks;
    struct behind behind[MOST_BEHIND];
    unsigned behind_next;
    /* arrival: of the last command or, out of order, of all so far; barred: of the barriers so far */
    struct arrival *arrival, *barred;
};

static inline bool queue_in_order(cl_command_queue queue)
{
    return !(queue->properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
}

/* Whether a command of the queue may wait for a user event that the program, or a callback, has yet to set. */
static inline bool queue_may_be_gated(cl_command_queue queue)
{
    return atomic_load(&queue->context->unset) != 0;
}

struct mapping {
    struct mapping *next;
    void *pointer;
    cl_map_flags flags;
    size_t origin[3], region[3], row_pitch, slice_pitch;
    struct node *node; /* the node that has mapped it natively, too, if it is in place */
    bool owned;        /* the memory belongs to the mapping */
};

/* The consumers that ask what was written since the last time: moves, snapshots, and reading ahead for a store. */
enum { WRITTEN_MOVE = 1, WRITTEN_SAVE = 2, WRITTEN_STORE = 4, WRITTEN_ALL = 7 };

/* written.c: the range of an object that was ever written: its end; its beginning, counted back from the object's end;
 * and a bit for each of 64 parts. */
struct ever_written {
    atomic_bool all;
    atomic_uint_fast64_t end, back, grains;
};

/* epoch.c: how a buffer whose memory is here was used since that epoch began. */
struct undo_copy;
struct in_epoch {
    uint64_t number;
    bool read, written, filled;   /* filled: it has contents, from whatever epoch */
    bool cycles;                  /* it was once written, read and written again in one epoch */
    atomic_uint_fast64_t settled; /* number times 4, plus the uses (enum use) for which nothing is left to do */
    struct undo_copy *undo;       /* of its contents, of that epoch or one before */
};

struct _cl_mem {
    struct object object;
    cl_context context;
    cl_mem_object_type type;
    cl_mem_flags flags, node_flags; /* node_flags: as sent to the nodes */
    size_t size;
    void *host_pointer;
    _Atomic(uint8_t *) arena; /* its memory in the arena, which the node has, too; or NULL */
    void *block;              /* the same, if block.c allocated it; with arena NULL: what maps still show (unshare.c) */
    atomic_bool direct;       /* block.c's: the program may use it between direct_enter() and direct_leave() */
    bool apart;               /* counted in the journal: only the workers have its contents */
    struct in_epoch epoch;    /* of a root: memory_root() */
    bool svm_remote;          /* host_pointer is memory of svm_remote.c */
    bool sized;               /* clSetContentSizeBufferPoCL() was called for it */
    struct region *region;    /* exchange.c: its memory in the arena, or NULL */
    struct hosted *hosted;    /* hostptr.c; of a root */
    atomic_uint in_place;     /* maps of it and of its parts; of a root */
    atomic_uchar written;     /* WRITTEN_*, since each of these looked last; of a root */
    struct ever_written ever; /* of a root */
    atomic_bool written_otherwise; /* than by unmaps, so that its shadow may lack something; of a root */
    uint64_t made;                 /* of a root: its number among the program's, from 1 on */
    struct coherence *coherence;   /* of a root, in a context of several nodes */
    struct node_set lacks;         /* nodes whose driver refuses its format or alignment */
    bool finer;                    /* a sub-buffer whose origin is aligned for no device, which a driver has taken */
    cl_mem parent;                 /* of a sub-buffer, or of an image made from a buffer */
    size_t origin;
    cl_mem_properties *properties;
    size_t properties_size;
    struct mutex lock; /* guards shadow, mappings and, of a root, coherence */
    uint8_t *shadow;   /* what maps of a buffer show; as large as the whole buffer */
    struct mapping *mappings;
    cl_uint map_count;
    struct callback *destructors;
    cl_uint packet_size, max_packets;     /* of a pipe */
    cl_mem_device_address_ext *addresses; /* addressed.c: its address on each device of the context; or NULL */
    cl_mem next_addressed;
    /* images */
    cl_image_format format;
    cl_image_desc desc;
    size_t element_size, row_pitch, slice_pitch; /* slice_pitch 0: it has no slices */
};

/* A waiter for an arrival (arrival.c). */
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
    struct node *node;      /* the node of its command */
    struct node_set known;  /* nodes where commands can wait for it */
    cl_command_queue queue; /* NULL for a user event */
    cl_command_type type;
    atomic_uint_fast64_t number; /* in its queue; given after sending, so those of two threads may cross */
    uint64_t before;             /* commands with numbers up to this were sent before it */
    uint64_t since;              /* deliver_now_begun() when it was made */
    atomic_int status;
    atomic_bool asked;  /* the program has asked about it */
    atomic_bool waited; /* of a user event: a command waits for it */
    atomic_bool shown;  /* the program may see it complete: callbacks that natively come first were called */
    /* under the session's lock */
    uint32_t subscribed; /* statuses that its node was asked to report: a bit for each */
    bool expected;       /* the node was asked before the program asked */
    bool ended;          /* it has ended on its node, or the application has set it */
    cl_int end_status;
    struct arrival *arrival; /* it does not count as ended here before that is over */
    struct arrival_waiter arrived;
    bool has_times;
    uint64_t times[4]; /* until it has them: this host's clocks when it was made, if the queue has profiling */
    struct event_callback *callbacks;
    LIST_ENTRY(_cl_event) called; /* in its queue's list, while it has callbacks */
};

/* Whether the node is not lost. */
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
