/* What the files of executor/ share. */
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

/* What another thread hands to executor_poll(). */
struct job {
    struct job *next;
    void (*run)(struct executor *x, struct job *job);
};

/* usm.c: the functions of a platform */
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

/* svm.c: memory that commands name by address */
struct allocation {
    struct allocation *next;
    cl_context context; /* or NULL */
    void *native;       /* clSVMAlloc's */
    uint8_t *memory;    /* whole pages in it: native alignment may be no more than that of the largest type */
    size_t size;
    struct counted *counted;
    const struct usm *usm; /* whose unified shared memory it is; or NULL */
    bool placed;           /* the application's memory, which only counts */
};

#define SLICES 64

struct slice { /* time_slices.c: of a device */
    bool asks, mine, wanted, recalled, watching;
    unsigned in_flight, most, stalled; /* launches that run, and may; looks in vain */
    cl_event first, newest;            /* of those that run */
    long began_us, idle_us;            /* when the first was launched, or counted last; since when none runs */
    long moved_us;                     /* when one was launched or let through last */
    uint64_t busy_us;
};

#define MOST_LISTED (WIRE_MAX_OBJECTS + WIRE_MAX_DEVICES) /* objects in all lists of a command */

struct executor {
    struct executor_host host;
    struct slice slices[SLICES];
    unsigned waits_for; /* the device whose turn a halted stream waits for */
    bool halted;
    uint32_t again_left; /* times that again still has to run, stopped on its way */
    uint64_t launches;
    bool moves;                 /* it may matter when data move between devices */
    LIST_HEAD(, moving) moving; /* arbitration.c: those whose gate is closed */
    unsigned arbitrations_open; /* those that are not over */
    unsigned contents_coming;   /* contents.c */
    atomic_size_t memory_used;
    struct table tables[WIRE_KIND_LAST + 1];
    void *listed[MOST_LISTED]; /* the objects of the lists of the command at hand */
    uint32_t listed_count;
    cl_platform_id platforms[32];
    cl_uint platform_count;
    _Atomic(struct job *) finished;
    TAILQ_HEAD(, wait) waits; /* event.c; oldest first */
    unsigned late_waits;      /* of them, of which the driver may tell late */
    bool gate_failed;         /* ever, an event that others wait for */
    uint8_t *shared;          /* svm.c */
    size_t shared_size;
    struct allocation *allocations;
    struct usm *usm;
    struct transfer *incoming, **incoming_last; /* migrate_in.c: that wait for the data */
    struct outgoing *outgoing, **outgoing_last; /* migrate_out.c */
    uint32_t migration_tag;
    struct unexpected *unexpected; /* peer.c */
    size_t unexpected_bytes;
    struct keeping *keeping; /* keep.c */
    size_t kept_bytes;
    struct event *orphans; /* imported events that are released, but not over */
    uint8_t *losses;       /* of other workers, by number */
    unsigned loss_count;
    struct queue *to_flush;      /* queues that were used */
    const char *_Atomic command; /* what is being executed, or was last */
    atomic_uint entered;         /* stall.c */
    unsigned inside;
    struct command_buffer *recording; /* the one that the command at hand is recorded in, or NULL */
    bool held, bad, exhausted;
    struct timeline *timeline;                   /* timeline.c, or NULL */
    bool traced;                                 /* commands are written down there */
    _Alignas(8) uint8_t last[WIRE_MAX_REPEATED]; /* the command that again repeats */
    size_t last_length;
    uint8_t *backlog;
    size_t backlog_length;
    /* helper thread */
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct slow *slow_first, **slow_last;
};

/* timeline.c: while x->traced. A command of a queue, with its fields as struct wire_NAME, is about to be done; it was.
 */
void timeline_begin(struct command *c, uint16_t number, const void *fields);
void timeline_enqueued(struct command *c);
/* What is over is put down; and told to the application. */
/* Bulk data were copied natively since then, if that is not 0. */
uint64_t timeline_copies(const struct executor *x);
void timeline_copied(struct executor *x, unsigned device, bool out, uint64_t since, uint64_t bytes);
void timeline_look(struct executor *x);
void timeline_turn(struct executor *x); /* now and then */
void timeline_tell(struct executor *x);
/* Whether the stream waits for its turn on that device, if that has changed. */
void timeline_waits(struct executor *x, unsigned device, bool waits);

/* dispatch.c */
int executor_dispatch(struct executor *x, uint16_t number, struct wire_cursor *fields);
int executor_dispatch_peer(struct executor *x, unsigned peer, uint16_t number, struct wire_cursor *fields);
void executor_finish(struct executor *x, struct job *job); /* any thread */
void executor_resume(struct executor *x);
void executor_send(struct executor *x, struct wire_buffer *command); /* and frees it */
/* There is no memory for what can be neither left out nor refused: nothing is sent any more, and the session ends. */
void executor_exhausted(struct executor *x);
/* Native OpenCL is told to get on with what was enqueued: with the frame's end, or now. */
void executor_flush_later(struct executor *x, struct queue *queue);
void executor_flush(struct executor *x);
/* The same for one native queue whose gate was opened. */
void executor_flush_native(struct executor *x, cl_command_queue queue);
void executor_forget_queue(struct executor *x, struct queue *queue);

/* The stream may go on. */
void executor_go_on(struct executor *x);

/* quota.c */
/* Whether somebody is told what the session uses, or limits it. */
bool quota_counts(const struct executor *x);
/* Whether the session may have so many bytes more; then they count until quota_give_back(), or quota_count()'s end. */
bool quota_take(struct executor *x, size_t size);
/* Whether it would, without taking it. */
bool quota_has(const struct executor *x, size_t size);
void quota_give_back(struct executor *x, size_t size);
/* What was taken is given back when the object is destroyed. */
void quota_count(struct executor *x, cl_mem memory, size_t size);
/* The same for memory that several things may have: it counts until the last is gone. NULL: it is too much, or there is
 * no memory. */
struct counted *quota_hold(struct executor *x, size_t size);
void quota_hold_for(struct counted *counted, cl_mem memory);
void quota_drop(struct counted *counted);
/* Both, for a new object, of what it says that it has: that is as much as it was to have at least. */
cl_int quota_take_memory(struct executor *x, cl_mem memory, size_t least);
/* A device does not show more memory than the session may use. */
void quota_info(const struct executor *x, cl_device_info param, void *value, size_t size);

/* time_slices.c */
/* Whether a launch may be enqueued now; if not, the stream is to halt, and slices_go_on() will let it go on. */
bool slice_may(struct executor *x, const struct queue *queue);
void slices_halt(struct executor *x);
/* A launch was enqueued; its event is the caller's still. */
void slice_launched(struct executor *x, const struct queue *queue, cl_event event);
void slices_go_on(struct executor *x);

/* peer.c, migrate_in.c, migrate_out.c */
/* The application has released an imported event that commands still wait for. */
void event_orphan(struct executor *x, struct event *event);
int executor_send_peer(struct executor *x, unsigned peer, struct wire_buffer *command); /* and frees it */
/* Whether there is such another worker. */
bool executor_is_peer(const struct executor *x, unsigned peer);
/* Whether another worker is gone, for good: where the application replaces lost workers, that is for it to say. */
bool executor_lost(const struct executor *x, unsigned peer);
void migrate_in_lose(struct executor *x, unsigned peer);
void migrate_out_lose(struct executor *x, unsigned peer);
/* What another worker said of an event that the application has yet to tell of. */
enum unexpected_kind { UNEXPECTED_OVER, UNEXPECTED_ASK, UNEXPECTED_PIECE, UNEXPECTED_READY };
struct unexpected {
    struct unexpected *next;
    enum unexpected_kind kind;
    unsigned peer;
    uint32_t id, tag, length;
    cl_int status;
    const void *data;
};
/* Copied. False: there is no room. */
bool unexpected_keep(struct executor *x, const struct unexpected *what);
/* NULL: nothing was heard. The caller frees it. peer 0: any. */
struct unexpected *unexpected_take(struct executor *x, enum unexpected_kind kind, unsigned peer, uint32_t id);

/* keep.c */
void keep_lose(struct executor *x, unsigned peer);
/* Nothing is kept any more. */
void keep_forget(struct executor *x);

/* gates.c */
struct gates *gates_new(void); /* or NULL */
void gates_free(struct gates *gates);
void gate_begin(struct gates *gates, struct gate *gate, bool of_event);
void gate_end(struct gate *gate);
/* Who would open it is gone. */
void gate_abandon(struct gate *gate);
/* Whether there was such a one. */
bool gates_stuck(const struct gates *gates);
/* Run a job when none of them is open; false: none is. */
bool gates_last(struct gates *gates, struct executor *x, struct job *job);
/* Whether something may still fail that was begun before, or is itself, the gate of this number. */
bool gates_may_fail(const struct gates *gates, uint64_t behind);
/* Whether one is open that is an event's. */
bool gates_of_events(const struct gates *gates);
/* Hold an event while any gate of now may fail; the number of the newest. */
bool gates_hold(struct gates *gates, cl_event event, uint64_t *newest);

/* dispatch.c: jobs for the helper thread */
struct slow {
    struct job job; /* run on the loop's thread afterwards; frees */
    struct slow *next;
    void (*work)(struct slow *slow);
};
void slow_start(struct executor *x, struct slow *slow);

/* build_turn.c: the turn to build these programs, or to link them, for what is native. To be given back in any case. */
struct build_turn {
    int fd; /* -1: none is needed */
    off_t at;
    bool always; /* whether it has been built before or not */
};
struct build_turn build_turn_take(cl_device_id device, const char *options, bool links, cl_uint count,
                                  const cl_program *programs);
void build_turn_leave(struct build_turn turn, bool built);

/* event.c: what every enqueued command has in common */
struct command {
    struct executor *x;
    struct queue *queue;
    struct event *object;       /* the application's, or NULL */
    uint32_t subscribe, listed; /* listed: events of the application's list */
    cl_uint wait_count;
    cl_event *wait, small[8];
    uint32_t room;         /* of wait */
    struct gates *gates;   /* of its context, or NULL */
    bool behind;           /* it may wait for one of them */
    bool orders;           /* order.c: what comes after it is to come behind it */
    uint64_t newest;       /* of them */
    cl_event event, *ask;  /* ask: for the native call; NULL when nobody needs an event */
    cl_event begin;        /* as an event object's */
    struct moving *moving; /* arbitration.c, or NULL */
    cl_int error;
    struct recording *recording; /* NULL: enqueue it */
    bool traced;
};
/* Both for dispatch.c; what begins ends, also with the handler's -EBADMSG. command.error: CL_SUCCESS as long as it may
 * be enqueued, and how that went. */
int command_begin(struct command *c, struct executor *x, uint32_t queue, uint32_t event, uint32_t subscribe,
                  const uint32_t *wait, uint32_t wait_count);
int command_end(struct command *c, int bad);
/* order.c: it also waits for what its context's queues are to come behind. */
void order_before(struct command *c);
/* queue.c: it also waits for the barrier before it in a queue out of order; for what begins here, and not natively. */
cl_int queue_wait_barrier(struct command *c);
void queue_forget_barrier(struct queue *queue);
/* Whether its own end has to be known for that. */
bool order_needs(struct command *c);
/* A command will wait for a user event: what came before it must not seem to. */
void order_gated(struct command *c);
/* Those that are enqueued after it come behind it. */
void order_after(struct command *c);
/* Run a job when the commands are over that what the application does now comes behind; false: they are. */
bool order_when(struct executor *x, const struct context *context, void (*run)(struct executor *, struct job *),
                struct job *job);
void order_queue_made(struct executor *x, struct context *context, struct queue *queue);
void order_queue_gone(struct executor *x, struct queue *queue);
void order_context_gone(struct context *context);
/* What it waits for, as native calls want it: NULL, not an empty list. */
static inline const cl_event *command_waits(const struct command *c)
{
    return c->wait_count ? c->wait : NULL;
}
/* It waits for one more. False: no memory. */
bool command_wait(struct command *c, cl_event event);
/* It may wait for this one, too, an event's or not. */
void command_gate(struct command *c, struct gate *gate, bool of_event);
/* One of its native events, which nobody else may be told of. */
void command_hold(struct command *c, cl_event event);
/* Of a native event, or why native OpenCL does not say, as when its device has failed; of NULL: CL_COMPLETE. */
cl_int event_status(cl_event event);
/* command_hold(), and event_when() complete. */
void command_when(struct command *c, cl_event event, void (*run)(struct executor *, struct job *), struct job *job);
/* A user event, or an imported one, is over. */
void event_complete(struct executor *x, struct event *event, cl_int status);
/* Released by the application before its status came to be set. */
void event_release_late(struct executor *x, struct event *event);
/* The application's next clFinish of the queue says so. */
void event_queue_failed(struct executor *x, uint32_t queue, cl_int error);
/* Look at the oldest that are waited for, if the driver may tell of them late. */
void event_look(struct executor *x);
void event_when(struct executor *x, cl_event event, cl_int state, void (*run)(struct executor *, struct job *),
                struct job *job);

/* lazy.c: of a queue that is lazy, each command that has an event */
void lazy_add(const struct command *c);
/* Whether nothing is left. */
bool lazy_run(struct executor *x, struct queue *queue);
void lazy_free(struct queue *queue);

/* arbitration.c */
#define MOST_MOVED 8 /* objects of one command; one with more goes when it is ready */
void memory_used_at(struct memory *memory, const struct queue *queue);
/* Whether a memory object was used last on another device than the command's. */
bool memory_is_elsewhere(const struct command *c, const struct memory *memory, unsigned *ordinal);
/* The command, which is enqueued next, moves so much of these objects from one device to another: it may have to wait.
 */
void arbitration_begin(struct command *c, unsigned source, unsigned target, uint64_t bytes, const cl_mem *memories,
                       unsigned count);
/* Whether a command that uses it waits for its turn to be moved. */
bool arbitration_waits(const struct executor *x, cl_mem memory);
void arbitration_enqueued(struct command *c);
/* transfer.c: CL_SUCCESS, or what a native command has failed with. */
cl_int transfer_event_error(cl_event event);

/* context.c: the application's context callback is told. */
void context_tell(struct executor *x, uint32_t context, const char *text);
/* What native OpenCL says to calls that this thread makes is for nobody: they are tries. */
void context_hush(bool hush);
/* A function of an extension as the context's platform has it: another one's would not know its objects. Or NULL. */
void *context_function(cl_context context, const char *name);

/* memory.c: the command uses it, and comes behind its contents; it fails if that is not there */
void command_uses(struct command *c, struct memory *memory);
/* The same for what a kernel has been given, now or before. */
void command_uses_arguments(struct command *c, const struct kernel *kernel);
/* The same for both of a copy of so many bytes, which may have to wait for its turn. */
void command_copies(struct command *c, struct memory *source, struct memory *target, uint64_t bytes);

/* side.c */
#define SIDE_MOST_BYTES WIRE_MAX_REGION
struct side { /* how the bytes get in and out of the object */
    cl_mem memory;
    void *svm;                   /* instead of an object; then only part.size is of interest */
    const struct usm *usm;       /* svm is unified shared memory; or NULL */
    struct wire_region part;     /* in the object */
    size_t host_row, host_slice; /* of the data's memory; 0: tight */
};
struct side side_from(cl_mem memory, const struct wire_region *part);
/* A piece of a buffer. */
struct side side_piece(cl_mem memory, uint64_t offset, uint64_t size);
/* Whether an image's bytes are those of the region, or the native call would run over the block. */
bool side_fits(const struct side *side);
/* A piece of a buffer. */
bool side_is_plain(const struct side *side);
/* Whether data can move from or into the object itself. */
bool side_can_map(const struct executor *x, const struct queue *queue, const struct side *side);
/* Native copies between it and a block; the reads do not block. */
cl_int side_write(cl_command_queue queue, const struct side *s, const void *from, cl_bool blocking, cl_uint count,
                  const cl_event *wait, cl_event *event);
cl_int side_read(cl_command_queue queue, const struct side *s, void *to, cl_uint count, const cl_event *wait,
                 cl_event *event);

/* bounds.c: whether it lies within the objects, whatever overflows on the way */
bool bounds_piece(cl_mem buffer, uint64_t offset, uint64_t size);
bool bounds_rect(cl_mem buffer, const size_t origin[3], const size_t region[3], size_t row_pitch, size_t slice_pitch);
bool bounds_region(cl_mem image, const size_t origin[3], const size_t region[3]);
/* The same for the bytes of the region in a buffer. */
bool bounds_region_and_piece(cl_mem image, const size_t origin[3], const size_t region[3], cl_mem buffer,
                             uint64_t offset);
/* An image that was made from another object, in that. */
bool bounds_image_of(cl_mem image, cl_mem source);
bool bounds_side(const struct side *side);
void bounds_image_extent(cl_mem image, size_t extent[3]);

/* scrub.c: where the context needs it. An error: the memory is not to be used. */
bool scrub_wanted(const struct executor *x, const cl_device_id *devices, uint32_t count);
cl_int scrub_buffer(const struct context *context, cl_mem buffer, size_t size);
cl_int scrub_image(const struct context *context, cl_mem image);
cl_int scrub_allocation(const struct context *context, const struct usm *usm, void *memory, size_t size);

/* transfer.c */
int transfer_write(struct command *c, const struct side *side, uint32_t tag, const void *data, uint32_t length);
int transfer_read(struct command *c, const struct side *side, uint32_t tag);
/* Contents of a new object, which is side's: what uses it comes behind them. */
int transfer_fill(struct executor *x, struct context *context, struct memory *memory, const struct side *side,
                  uint32_t tag, const void *data, uint32_t length);
/* Contents of any: the stream is held until they are in. */
int transfer_bring(struct executor *x, struct context *context, const struct side *side, uint32_t tag, const void *data,
                   uint32_t length);

/* contents.c */
/* They will be there when the event is over, which is kept. False: no memory. */
bool contents_come(struct executor *x, struct memory *memory, cl_event event, uint64_t behind);
struct contents *contents_use(struct contents *contents);
void contents_drop(struct contents *contents);
bool contents_are_coming(const struct contents *contents);
/* Of those that are. */
cl_event contents_event(const struct contents *contents);
/* A command comes behind them. */
void contents_before(struct command *c, const struct contents *contents);
/* True: they are on their way, and what is not in a queue is done (-EAGAIN) when they are there. */
bool contents_hold(struct executor *x, const struct memory *memory);

/* stall.c: around what calls the driver */
void stall_enter(struct executor *x);
void stall_leave(struct executor *x);
int stall_start(struct executor *x);

/* device.c */
void devices_native(struct device *const *devices, uint32_t count, cl_device_id *native);
/* Whether it has its memory in common with the host. */
bool device_is_unified(cl_device_id device);

/* kernel.c: an argument list (wire/tables.h) */
int kernel_set_arguments(struct command *c, const struct kernel *kernel, const void *bytes, uint32_t length);

/* kernel_table.c: of a built program. hidden: as a program's */
void kernels_describe(cl_program program, cl_device_id device, bool hidden, struct wire_buffer *table);

/* launch.c: the sizes of a work-group, or NULL */
const size_t *local_of(const struct exec_enqueue_ndrange *m);

/* command_buffer.c */
void recording_free(struct executor *x, struct command_buffer *object);
cl_int recording_info(const struct command_buffer *object, cl_uint param, size_t size, void *value, size_t *length);
/* What is recorded in it comes behind these. */
void recording_behind(struct command_buffer *object, struct contents *contents);
/* The command at hand was recorded, or not. */
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
/* The allocation that has all of it, or NULL. */
const struct allocation *allocation_at(const struct executor *x, uint64_t address, uint64_t size);
/* It counts. NULL: it is more than the session may have, or there is no memory. */
struct allocation *allocation_new(struct executor *x, size_t size);
/* Before it is one of the session's, which it becomes with the second. */
void allocation_drop(struct allocation *a);
void allocation_add(struct executor *x, struct allocation *a);
/* All of it is given back. */
void svm_forget(struct executor *x);
bool svm_has(const struct executor *x, uint64_t address, uint64_t size);
/* The same for memory of the application's alone. */
bool svm_is_shared(const struct executor *x, uint64_t address, uint64_t size);
/* Whose unified shared memory there is, or NULL. */
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
/* Replaces options by those that find the files; include_remove() and include_free() are due also when it fails. */
int include_write(const void *files, uint32_t length, char **options, struct include_tree **out);
void include_remove(const struct include_tree *tree);
void include_free(struct include_tree *tree);
/* The application's names in what the native OpenCL says. */
void include_restore(const struct include_tree *tree, struct wire_buffer *text);

#endif
