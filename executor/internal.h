/* Declarations that the files of executor/ share. */
#ifndef VOCL_EXECUTOR_INTERNAL_H
#define VOCL_EXECUTOR_INTERNAL_H

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include "base/cl_ext.h"
#include "executor/commands.h"
#include "executor/driver.h"
#include "executor/executor.h"
#include "executor/objects.h"
#include "wire/tables.h"
#include "wire/wire.h"

/* A job that another thread hands to executor_poll(). */
struct job {
    struct job *next;
    void (*run)(struct executor *x, struct job *job);
};

/* usm.c: the functions of a platform's unified shared memory */
#define USM_FUNCTIONS(FUNCTION)                                                                                        \
    FUNCTION(clHostMemAllocINTEL)                                                                                      \
    FUNCTION(clDeviceMemAllocINTEL)                                                                                    \
    FUNCTION(clSharedMemAllocINTEL)                                                                                    \
    FUNCTION(clMemFreeINTEL)                                                                                           \
    FUNCTION(clSetKernelArgMemPointerINTEL)                                                                            \
    FUNCTION(clEnqueueMemcpyINTEL)                                                                                     \
    FUNCTION(clEnqueueMemFillINTEL)
struct usm {
    struct usm *next;
    cl_platform_id platform;
#define MEMBER(name) name##_fn name;
    USM_FUNCTIONS(MEMBER)
#undef MEMBER
    clEnqueueMigrateMemINTEL_fn clEnqueueMigrateMemINTEL; /* or NULL, */
    clEnqueueMemAdviseINTEL_fn clEnqueueMemAdviseINTEL;   /* as this one */
};

/* svm.c: memory that commands name by its address */
struct allocation {
    struct allocation *next;
    cl_context context; /* or NULL */
    void *native;       /* clSVMAlloc's */
    uint8_t *memory;    /* the whole pages in native, whose alignment may be no more than that of the largest type */
    size_t size;
    struct counted *counted;
    const struct usm *usm; /* the functions of its unified shared memory; NULL: it is none */
    bool placed;           /* memory of the application's, counted here only */
};

#define SLICES 64

struct slice { /* time_slices.c: a device's */
    bool asks, mine, wanted, recalled, watching;
    unsigned in_flight, most, stalled; /* launches under way, most at a time; checks that found no progress */
    cl_event first, newest;            /* the first and the newest launch under way */
    long began_us, idle_us;            /* start of the first launch, or of the last count; since when none runs */
    long moved_us;                     /* when a launch was last enqueued or let through */
    uint64_t busy_us;
};

#define MOST_LISTED (WIRE_MAX_OBJECTS + WIRE_MAX_DEVICES) /* objects in all lists of a command */

struct executor {
    struct executor_host host;
    struct slice slices[SLICES];
    unsigned waits_for; /* the device for whose time slice a halted stream waits */
    bool halted;
    bool frame_ends;     /* no command follows in the frame */
    uint32_t again_left; /* how often the launch in last still has to run: the repeat was halted */
    uint64_t launches;
    bool moves;                           /* it may matter when data move between devices */
    LIST_HEAD(, moving) moving;           /* arbitration.c: those with a closed gate */
    unsigned arbitrations_open;           /* arbitrations that have not ended */
    unsigned contents_coming;             /* objects whose contents are on their way: contents.c */
    atomic_size_t memory_used;            /* in all, */
    atomic_size_t memory_used_on[SLICES]; /* and of each device's memory */
    struct table tables[WIRE_KIND_LAST + 1];
    void *listed[MOST_LISTED]; /* the objects in the lists of the current command */
    uint32_t listed_count;
    cl_platform_id platforms[32];
    cl_uint platform_count;
    _Atomic(struct job *) finished;
    TAILQ_HEAD(, wait) waits; /* event.c; oldest first */
    struct wait *look_next;   /* event_look() goes on there; or NULL */
    unsigned late_waits;      /* those of waits whose callbacks may come late */
    bool gate_failed;         /* an event that others wait for has failed, at any time */
    uint8_t *shared;          /* svm.c: memory shared with the application */
    size_t shared_size;
    struct allocation *allocations;
    struct usm *usm;
    struct transfer *incoming, **incoming_last; /* migrate_in.c: transfers that wait for their data */
    struct outgoing *outgoing, **outgoing_last; /* migrate_out.c */
    uint32_t migration_tag;
    struct unexpected *unexpected; /* peer.c */
    size_t unexpected_bytes;
    struct replica *replicas; /* replicas.c */
    size_t kept_bytes;
    struct event *orphans; /* imported events that are released, but not over */
    uint8_t *losses;       /* of each other worker, by its number */
    unsigned loss_count;
    struct queue *to_flush;      /* queues that were used since they were flushed */
    const char *_Atomic command; /* the command that runs, or ran last */
    atomic_uint entered;         /* stall.c */
    unsigned inside;
    struct command_buffer *recording; /* the one that the current command is recorded in, or NULL */
    bool held, bad, exhausted;
    struct timeline *timeline;                   /* timeline.c, or NULL */
    bool traced;                                 /* commands are recorded in it */
    _Alignas(8) uint8_t last[WIRE_MAX_REPEATED]; /* the launch that a repeat repeats */
    size_t last_length;
    uint8_t *backlog;
    size_t backlog_length;
    /* for the helper thread */
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct slow *slow_first, **slow_last;
};

/* timeline.c: only while x->traced. A command of a queue, with its fields as struct wire_NAME, is about to be
 * enqueued; it has been. */
void timeline_begin(struct command *c, uint16_t number, const void *fields);
void timeline_enqueued(struct command *c);
/* The start of a native copy of bulk data, or 0 if not traced; its end, if since is not 0. */
uint64_t timeline_copies(const struct executor *x);
void timeline_copied(struct executor *x, unsigned device, bool out, uint64_t since, uint64_t bytes);
void timeline_look(struct executor *x); /* records what is over */
void timeline_turn(struct executor *x); /* called now and then */
void timeline_tell(struct executor *x); /* sends the records */
/* Whether the stream waits for its time slice on that device; recorded if that has changed. */
void timeline_waits(struct executor *x, unsigned device, bool waits);

/* dispatch.c */
int executor_dispatch(struct executor *x, uint16_t number, struct wire_cursor *fields);
int executor_dispatch_peer(struct executor *x, unsigned peer, uint16_t number, struct wire_cursor *fields);
void executor_finish(struct executor *x, struct job *job); /* any thread */
/* The loop's thread, which polls before it sleeps: nothing has to be woken, which takes system calls. */
void executor_finish_here(struct executor *x, struct job *job);
void executor_resume(struct executor *x);
void executor_send(struct executor *x, struct wire_buffer *command); /* and frees it */
/* Memory is exhausted for something that can be neither left out nor refused: nothing more is sent, and the session
 * ends. */
void executor_exhausted(struct executor *x);
/* Flushes the native queue at the end of the frame; flushes all such queues now. */
void executor_flush_later(struct executor *x, struct queue *queue);
void executor_flush(struct executor *x);
/* Flushes one native queue whose gate was opened. */
void executor_flush_native(struct executor *x, cl_command_queue queue);
void executor_forget_queue(struct executor *x, struct queue *queue);

/* The halted stream may continue. */
void executor_go_on(struct executor *x);

/* queries.c: whether the query's answer, of numbers or a text, means the same in another process */
bool query_is_plain(cl_uint param);
/* Changes an answer of a platform or device that has a newer OpenCL than VOCL. It becomes no longer. */
void version_lower(cl_uint param, void *value, size_t *size);
/* Whether the answers to a query about a device are pointers to texts, in place of which the texts are sent. */
bool query_is_texts(cl_uint param);

/* quota.c */
/* Whether the session's use of memory and launches is reported or limited. */
bool quota_counts(const struct executor *x);
/* Memory counts on each of these devices: a bit for each root device, by its ordinal. */
#define QUOTA_DEVICE(device) (UINT64_C(1) << (device)->ordinal)
#define QUOTA_ALL UINT64_MAX
_Static_assert(SLICES == 64, "a bit for each device");
/* Whether the session may have so many bytes more on all of these devices. They count until quota_give_back(), or as
 * quota_count() says. */
bool quota_take(struct executor *x, uint64_t devices, size_t size);
/* Whether quota_take() would succeed; takes nothing. */
bool quota_has(const struct executor *x, uint64_t devices, size_t size);
void quota_give_back(struct executor *x, uint64_t devices, size_t size);
/* The bytes taken are given back when the object is destroyed. */
void quota_count(struct executor *x, uint64_t devices, cl_mem memory, size_t size);
/* The same for memory that several objects may share: it counts until the last is gone. Returns NULL if it is too
 * much or memory is exhausted. */
struct counted *quota_hold(struct executor *x, uint64_t devices, size_t size);
void quota_hold_for(struct counted *counted, cl_mem memory);
void quota_drop(struct counted *counted);
/* quota_take() and quota_count() for a new object, for the size that it reports, but at least that many bytes. */
cl_int quota_take_memory(struct executor *x, uint64_t devices, cl_mem memory, size_t least);
/* Reduces the memory sizes that a device reports to what the session may use. */
void quota_info(const struct executor *x, cl_device_info param, void *value, size_t size);

/* time_slices.c */
/* Whether a launch may be enqueued now. If not, the stream is to halt until slices_go_on() continues it. */
bool slice_may(struct executor *x, const struct queue *queue);
void slices_halt(struct executor *x);
/* A launch was enqueued; the caller still owns its event. */
void slice_launched(struct executor *x, const struct queue *queue, cl_event event);
void slices_go_on(struct executor *x);

/* peer.c, migrate_in.c, migrate_out.c */
/* The application has released an imported event that commands still wait for. */
void event_orphan(struct executor *x, struct event *event);
int executor_send_peer(struct executor *x, unsigned peer, struct wire_buffer *command); /* and frees it */
/* Whether peer is the number of another worker. */
bool executor_is_peer(const struct executor *x, unsigned peer);
/* Whether another worker is gone for good: where the application replaces lost workers, the application decides
 * that. */
bool executor_lost(const struct executor *x, unsigned peer);
void migrate_in_lose(struct executor *x, unsigned peer);
void migrate_out_lose(struct executor *x, unsigned peer);
/* A message of another worker about an event that the application has not yet announced. */
enum unexpected_kind { UNEXPECTED_OVER, UNEXPECTED_ASK, UNEXPECTED_PIECE, UNEXPECTED_READY };
struct unexpected {
    struct unexpected *next;
    enum unexpected_kind kind;
    unsigned peer;
    uint32_t id, tag, length;
    cl_int status;
    const void *data;
};
/* Copies what. Returns false if there is no room. */
bool unexpected_keep(struct executor *x, const struct unexpected *what);
/* Returns NULL if no such message has come. The caller frees it. peer 0: any worker. */
struct unexpected *unexpected_take(struct executor *x, enum unexpected_kind kind, unsigned peer, uint32_t id);

/* replicas.c */
void replicas_lose(struct executor *x, unsigned peer);
/* Drops all saved copies. */
void replicas_forget(struct executor *x);

/* gates.c */
struct gates *gates_new(void); /* or NULL */
void gates_free(struct gates *gates);
void gate_begin(struct gates *gates, struct gate *gate, bool of_event);
void gate_end(struct gate *gate);
/* Ends a gate that nobody will open any more. */
void gate_abandon(struct gate *gate);
/* Whether a gate was abandoned. */
bool gates_stuck(const struct gates *gates);
/* Runs a job when no gate is open any more. Returns false if none is open now. */
bool gates_last(struct gates *gates, struct executor *x, struct job *job);
/* Whether the gate of this number, or one before it, is still open and may fail. */
bool gates_may_fail(const struct gates *gates, uint64_t behind);
/* Whether a gate of an event is open. */
bool gates_of_events(const struct gates *gates);
/* Retains an event while any of the present gates may fail; stores the number of the newest gate. */
bool gates_hold(struct gates *gates, cl_event event, uint64_t *newest);

/* dispatch.c: jobs for the helper thread */
struct slow {
    struct job job; /* runs on the loop's thread afterwards, and frees */
    struct slow *next;
    void (*work)(struct slow *slow);
};
void slow_start(struct executor *x, struct slow *slow);

/* build_turn.c: a process' turn to build these programs, or to link them. To be given back in any case. */
struct build_turn {
    int fd; /* -1: no turn is needed */
    off_t at;
    bool always; /* also if it has been built before */
};
struct build_turn build_turn_take(cl_device_id device, const char *options, bool links, cl_uint count,
                                  const cl_program *programs);
void build_turn_leave(struct build_turn turn, bool built);

/* event.c: the common parts of every enqueued command */
struct command {
    struct executor *x;
    struct queue *queue;
    struct event *object;       /* the application's, or NULL */
    uint32_t subscribe, listed; /* listed: length of the application's wait list */
    cl_uint wait_count;
    cl_event *wait, small[8];
    uint32_t room;         /* of wait */
    struct gates *gates;   /* of its context, or NULL */
    bool behind;           /* it may wait for one of those gates */
    bool orders;           /* order.c: later commands come behind it */
    uint64_t newest;       /* the newest gate that it may wait for */
    cl_event event, *ask;  /* ask: argument of the native call; NULL if nobody needs an event */
    cl_event begin;        /* as in struct event */
    cl_event last;         /* what the queue's was */
    struct moving *moving; /* arbitration.c, or NULL */
    cl_int error;
    struct recording *recording; /* NULL: enqueue it */
    bool traced;
};
/* Both for dispatch.c. command_end() follows command_begin() in any case, also after the handler's -EBADMSG.
 * c->error is CL_SUCCESS while the command may be enqueued, and then the result of that. */
int command_begin(struct command *c, struct executor *x, uint32_t queue, uint32_t event, uint32_t subscribe,
                  const uint32_t *wait, uint32_t wait_count);
int command_end(struct command *c, int bad);
/* The same for a command of the executor's own, in a context's own queue, behind at most one event. The caller sets
 * c->error in between; the command's native event is released at the end. */
void command_begin_own(struct command *c, struct executor *x, struct queue *queue, cl_event wait);
void command_end_own(struct command *c);
/* order.c: adds to the wait list what the queues of the context have to come behind. */
void order_before(struct command *c);
/* queue.c: in an out-of-order queue, adds the barrier before it to the wait list, for commands that begin here and
 * not natively. */
cl_int queue_wait_barrier(struct command *c);
void queue_forget_barrier(struct queue *queue);
/* queue.c: a marker right behind a launch in an in-order queue needs no native command: its event is the launch's. To
 * be called before and after a launch. */
void queue_ask_last(struct command *c);
void queue_keep_last(const struct command *c);
void queue_forget_last(struct queue *queue);
/* Whether the end of this command has to be known for the order. */
bool order_needs(struct command *c);
/* A command will wait for a user event; commands before it must not seem to wait for it. */
void order_gated(struct command *c);
/* Later commands come behind this one. */
void order_after(struct command *c);
/* Runs a job when the commands have ended that the application's next steps come behind. Returns false if they have. */
bool order_when(struct executor *x, const struct context *context, void (*run)(struct executor *, struct job *),
                struct job *job);
void order_queue_made(struct executor *x, struct context *context, struct queue *queue);
void order_queue_gone(struct executor *x, struct queue *queue);
void order_context_gone(struct context *context);
/* The wait list as native calls want it: NULL, not an empty list. */
static inline const cl_event *command_waits(const struct command *c)
{
    return c->wait_count ? c->wait : NULL;
}
/* Adds one event to the wait list. Returns false if memory is exhausted. */
bool command_wait(struct command *c, cl_event event);
/* The command may wait for this gate, too. of_event: it is an event's. */
void command_gate(struct command *c, struct gate *gate, bool of_event);
/* Holds a native event of the command of which nobody else has a reference. */
void command_hold(struct command *c, cl_event event);
/* Returns the event's status, or the error of the query, as when its device has failed; for NULL CL_COMPLETE. */
cl_int event_status(cl_event event);
/* command_hold(), then event_when() for CL_COMPLETE. */
void command_when(struct command *c, cl_event event, void (*run)(struct executor *, struct job *), struct job *job);
/* A user event, or an imported one, has got its final status. */
void event_complete(struct executor *x, struct event *event, cl_int status);
/* The application has released a user event whose status is yet to be set. */
void event_release_late(struct executor *x, struct event *event);
/* The application's next clFinish of the queue returns the error. */
void event_queue_failed(struct executor *x, uint32_t queue, cl_int error);
/* Checks the oldest events that are waited for, if their callbacks may come late. */
void event_look(struct executor *x);
void event_when(struct executor *x, cl_event event, cl_int state, void (*run)(struct executor *, struct job *),
                struct job *job);

/* lazy.c: adds a command that has an event to a lazy queue */
void lazy_add(const struct command *c);
/* Runs what can run. Returns whether nothing is left. */
bool lazy_run(struct executor *x, struct queue *queue);
void lazy_free(struct queue *queue);

/* arbitration.c */
#define MOST_MOVED 8 /* objects of one command; one with more does not wait */
void memory_used_at(struct memory *memory, const struct queue *queue);
/* Whether the object was last used on a device other than the command's. */
bool memory_is_elsewhere(const struct command *c, const struct memory *memory, unsigned *ordinal);
/* The command, which is enqueued next, moves so many bytes of these objects from one device to another and may have
 * to wait. */
void arbitration_begin(struct command *c, unsigned source, unsigned target, uint64_t bytes, const cl_mem *memories,
                       unsigned count);
/* Whether a command that uses the object waits to be allowed to move it. */
bool arbitration_waits(const struct executor *x, cl_mem memory);
void arbitration_enqueued(struct command *c);
/* transfer.c: returns CL_SUCCESS, or the error with which the native command failed */
cl_int transfer_event_error(cl_event event);

/* context.c: calls the application's context callback with the text */
void context_tell(struct executor *x, uint32_t context, const char *text);
/* While hush, drops the native error messages of calls that this thread makes: they are only attempts. */
void context_hush(bool hush);
/* Returns an extension's function of the context's own platform (another platform's would not know its objects), or
 * NULL. */
void *context_function(cl_context context, const char *name);

/* memory.c: the command uses the object and comes behind its contents; it fails if the object does not exist
 * natively */
void command_uses(struct command *c, struct memory *memory);
/* The same for all objects that are arguments of the kernel. */
void command_uses_arguments(struct command *c, const struct kernel *kernel);
/* The same for both objects of a copy of so many bytes, which may have to wait for arbitration. */
void command_copies(struct command *c, struct memory *source, struct memory *target, uint64_t bytes);

/* side.c */
#define SIDE_MOST_BYTES WIRE_MAX_REGION
struct side { /* how bytes get into and out of a memory object */
    cl_mem memory;
    void *svm;                   /* in the place of an object; then only part.size matters */
    const struct usm *usm;       /* the functions if svm is unified shared memory, or NULL */
    struct wire_region part;     /* of the object */
    size_t host_row, host_slice; /* pitches of the data in host memory; 0: tight */
};
struct side side_from(cl_mem memory, const struct wire_region *part);
/* The side of a piece of a buffer. */
struct side side_piece(cl_mem memory, uint64_t offset, uint64_t size);
/* Whether the bytes of an image's region are part.size, so that the native call stays inside the block. */
bool side_fits(const struct side *side);
/* Whether it is a piece of a buffer. */
bool side_is_plain(const struct side *side);
/* Whether data can move directly into or out of the mapped object. */
bool side_can_map(const struct executor *x, const struct queue *queue, const struct side *side);
/* Enqueue native copies between the side and a block, and do not block. */
cl_int side_write(cl_command_queue queue, const struct side *s, const void *from, cl_uint count, const cl_event *wait,
                  cl_event *event);
cl_int side_read(cl_command_queue queue, const struct side *s, void *to, cl_uint count, const cl_event *wait,
                 cl_event *event);
/* Writes the block, and waits for the command's end, after which commands of any queue find the data. A blocking write
 * need not wait for that: when it returns, only the block may be used again (Intel's does so for images and rects). */
cl_int side_put(cl_command_queue queue, const struct side *s, const void *from);

/* bounds.c: whether the part lies within its objects; sums and products that overflow do not */
bool bounds_piece(cl_mem buffer, uint64_t offset, uint64_t size);
bool bounds_rect(cl_mem buffer, const size_t origin[3], const size_t region[3], size_t row_pitch, size_t slice_pitch);
bool bounds_region(cl_mem image, const size_t origin[3], const size_t region[3]);
bool bounds_region_and_piece(cl_mem image, const size_t origin[3], const size_t region[3], cl_mem buffer,
                             uint64_t offset);
/* Whether an image that was made from another object lies within that. */
bool bounds_image_of(cl_mem image, cl_mem source);
bool bounds_side(const struct side *side);
void bounds_image_extent(cl_mem image, size_t extent[3]);

/* scrub.c: fills with zeros where the context needs it. After an error the memory must not be used. */
bool scrub_wanted(const struct executor *x, const cl_device_id *devices, uint32_t count);
cl_int scrub_buffer(const struct context *context, cl_mem buffer, size_t size);
cl_int scrub_image(const struct context *context, cl_mem image);
cl_int scrub_allocation(const struct context *context, const struct usm *usm, void *memory, size_t size);

/* transfer.c */
int transfer_write(struct command *c, const struct side *side, uint32_t tag, const void *data, uint32_t length);
int transfer_read(struct command *c, const struct side *side, uint32_t tag);
/* Fills a new object; commands that use it come behind its contents. */
int transfer_fill(struct executor *x, struct context *context, struct memory *memory, const struct side *side,
                  uint32_t tag, const void *data, uint32_t length);
/* Fills any object; the stream is held until the contents have arrived. */
int transfer_bring(struct executor *x, struct context *context, const struct side *side, uint32_t tag, const void *data,
                   uint32_t length);

/* contents.c */
/* The contents have arrived when the event, which is kept, is over. Returns false if memory is exhausted. */
bool contents_come(struct executor *x, struct memory *memory, cl_event event, uint64_t behind);
struct contents *contents_use(struct contents *contents);
void contents_drop(struct contents *contents);
bool contents_are_coming(const struct contents *contents);
/* The event of contents that are on their way. */
cl_event contents_event(const struct contents *contents);
/* Has a command come behind the contents. */
void contents_before(struct command *c, const struct contents *contents);
/* Returns true if the contents are on their way: a step that is no command in a queue returns -EAGAIN and is
 * repeated later. */
bool contents_hold(struct executor *x, const struct memory *memory);

/* stall.c: around calls of the driver */
void stall_enter(struct executor *x);
void stall_leave(struct executor *x);
int stall_start(struct executor *x);

/* device.c */
void devices_native(struct device *const *devices, uint32_t count, cl_device_id *native);
/* Whether the device shares its memory with the host. */
bool device_is_unified(cl_device_id device);

/* kernel.c: an argument list (wire/tables.h) */
int kernel_set_arguments(struct command *c, const struct kernel *kernel, const void *bytes, uint32_t length);

/* kernel_table.c: of a built program. hidden: as in struct program */
void kernels_describe(cl_program program, cl_device_id device, bool hidden, struct wire_buffer *table);

/* launch.c: the sizes of a work-group, or NULL */
const size_t *local_of(const struct exec_enqueue_ndrange *m);

/* command_buffer.c */
void recording_free(struct executor *x, struct command_buffer *object);
cl_int recording_info(const struct command_buffer *object, cl_uint param, size_t size, void *value, size_t *length);
/* Commands recorded in it come behind these contents. */
void recording_behind(struct command_buffer *object, struct contents *contents);
/* The current command was recorded, or failed with the error. */
void recording_end(struct command_buffer *object, cl_int error);
cl_int record_copy_buffer(struct recording *r, const struct exec_copy_buffer *m);
cl_int record_copy_rect(struct recording *r, const struct exec_copy_rect *m);
cl_int record_fill_buffer(struct recording *r, const struct exec_fill_buffer *m);
cl_int record_copy_image(struct recording *r, const struct exec_copy_image *m);
cl_int record_fill_image(struct recording *r, const void *colour, const struct exec_fill_image *m);
cl_int record_copy_image_to_buffer(struct recording *r, const struct exec_copy_image_to_buffer *m);
cl_int record_copy_buffer_to_image(struct recording *r, const struct exec_copy_buffer_to_image *m);
cl_int record_ndrange(struct recording *r, const struct exec_enqueue_ndrange *m);
cl_int record_barrier(struct recording *r);

/* svm.c */
/* Returns the allocation that contains the whole range, or NULL. */
const struct allocation *allocation_at(const struct executor *x, uint64_t address, uint64_t size);
/* Its size counts on these devices (quota.c). Returns NULL if that is more than the session may have, or memory is
 * exhausted. */
struct allocation *allocation_new(struct executor *x, uint64_t devices, size_t size);
/* Drops an allocation that is not yet one of the session's; adds it to those. */
void allocation_drop(struct allocation *a);
void allocation_add(struct executor *x, struct allocation *a);
/* Frees all allocations. */
void svm_forget(struct executor *x);
bool svm_has(const struct executor *x, uint64_t address, uint64_t size);
/* The same, but only for the memory shared with the application. */
bool svm_is_shared(const struct executor *x, uint64_t address, uint64_t size);
/* Returns the functions of the unified shared memory at the address, or NULL. */
const struct usm *usm_at(const struct executor *x, uint64_t address);
cl_int svm_set_argument(const struct executor *x, cl_kernel kernel, cl_uint index, uint64_t address);
void svm_touch_ends(const struct executor *x, uint64_t address, uint64_t size);

/* usm.c */
void usm_free(const struct allocation *allocation);

/* device_address.c */
bool addressed_has(const struct executor *x, uint64_t address);
cl_int address_set_argument(const struct executor *x, const struct kernel *kernel, cl_uint index, uint64_t address);

/* include.c */
struct include_tree;
/* Replaces options by those that find the files. Call include_remove() and include_free() also when it fails. */
int include_write(const void *files, uint32_t length, char **options, struct include_tree **out);
void include_remove(const struct include_tree *tree);
void include_free(struct include_tree *tree);
/* Puts the application's names back into texts of the native OpenCL. */
void include_restore(const struct include_tree *tree, struct wire_buffer *text);

#endif
