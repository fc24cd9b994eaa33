/* What the files of libvocl share: each file's functions for the others. The objects are in objects.h. */
#ifndef VOCL_LIBVOCL_INTERNAL_H
#define VOCL_LIBVOCL_INTERNAL_H

#include <sys/types.h>

#include "libvocl/objects.h"

/* ---- handle.c ---- */
extern const struct _cl_icd_dispatch vocl_dispatch;
/* A new zeroed object of a kind with one reference, or NULL. */
void *handle_new(unsigned kind);
/* The object if handle is a live one of that kind, else NULL. Never follows a pointer that is not ours. */
void *handle_check(const void *handle, unsigned kind);
/* Another use by the library itself; dropped with handle_drop(), which may destroy the object. */
void handle_use(void *object);
void handle_drop(void *object);
/* clRetainX and clReleaseX. */
cl_int handle_retain(void *handle, unsigned kind, cl_int invalid);
cl_int handle_release(void *handle, unsigned kind, cl_int invalid);
void handle_free(struct object *object);
/* The live object with that number on the wire, or NULL. */
void *handle_find(unsigned kind, uint32_t id);
/* Every live object of a kind; only creation and destruction wait meanwhile. */
void handle_each(unsigned kind, void (*visit)(struct object *object, void *argument), void *argument);
void handle_after_fork(void);

/* ---- dying.c ---- */
/* A destructor callback: the last one registered is the first to be called. */
cl_int dying_add(struct node *node, struct callback **list, void (*function)(void), void *data);
/* Release on the node an object that has destructor callbacks, and destroy it when the node says so. */
void dying_begin(struct object *object, struct node *node);
/* Under the lock. */
bool dying_note(struct node *node, uint32_t kind, uint32_t id);
void dying_lose(struct node *node);
/* Whether objects of the node have gone that it has yet to tell of: a round trip, about an object of its own. */
void dying_catch_up(struct node *node, const struct object *object);

/* ---- session.c ---- */
struct session;
/* The process' session, started if need be; NULL when there is none to be had. */
struct session *session_get(void);
unsigned session_device_count(struct session *session);
cl_device_id session_device(struct session *session, unsigned index);
cl_platform_id session_platform(struct session *session);
void session_lock(struct session *session);
void session_unlock(struct session *session);
/* Wait, under the lock (let go while waiting), until ready(argument). */
void session_wait(struct session *session, bool (*ready)(void *), void *argument);
/* Whether this thread is taking what nodes say: it must not wait for them. */
bool session_polls(void);
/* Something must go on without an application thread waiting for it. Under the lock. */
void session_need_progress(struct session *session);
/* Sleep on a condition that goes with the lock, without driving the transport. False: the session ends by this thread.
 */
bool session_wait_on(struct session *session, pthread_cond_t *condition);
pthread_mutex_t *session_mutex(struct session *session);
bool session_stops(const struct session *session);
/* A condition that threads wait for has changed without news from a node. Under the lock. */
void session_news(struct session *session);
struct transport *session_transport(struct session *session);
cl_int node_lost_error(void);

/* ---- deliver.c: functions of the application ---- */
/* A function of the queue, or of no queue in particular (NULL), is due. Under the lock. */
void deliver(struct session *session, cl_command_queue queue, struct callback *callback);
/* The calling thread runs it. Under the lock, which is let go meanwhile. */
void deliver_here(struct session *session, struct callback *callback);
/* What a wait is for: functions of the queue's commands up to a number, and what these are behind; where event is not 0
 * and order does not say the rest, of that event alone. queue NULL: of that user event. Not those that had begun. */
struct due {
    cl_command_queue queue;
    uint64_t number;
    uint32_t event;
    uint64_t since; /* deliver_now_begun() when the wait began */
};
uint64_t deliver_now_begun(void);
bool deliver_settled(struct session *session, const struct due *due);
/* Wait until they have returned. */
void deliver_settle(struct session *session, const struct due *due);
/* The queue's next command is behind these events. */
void deliver_behind(cl_command_queue queue, cl_uint count, const cl_event *list);
/* Around a sleep, under the lock: what this thread's function keeps from running may run. */
void deliver_away(struct session *session);
void deliver_back(void);
/* The process ends, under the lock: what is due is run, but not waited for for long; then all wake up. */
void deliver_stop(struct session *session);
void deliver_wake(void);
void deliver_after_fork(void);

/* ---- note.c ---- */
/* A reply or a note of a node; false if it is not well formed. Under the lock. */
bool note_take(struct node *node, uint16_t number, struct wire_cursor fields);

/* ---- choose.c ---- */
/* Orders the list as VOCL_DEVICES has it; how many are left. */
unsigned choose_devices(cl_device_id *devices, unsigned count);

/* ---- stream.c: commands to a node ---- */
/* Encode between begin (takes the session's lock) and end (gives it back). */
struct wire_buffer *stream_begin(struct node *node);
enum stream_urgency { STREAM_LATER, STREAM_SOON, STREAM_NOW };
cl_int stream_end(struct node *node, enum stream_urgency urgency);
/* A launch was encoded at mark: if it is like the last one, only that is sent, and how it differs. */
void stream_fold(struct node *node, size_t mark);
/* As stream_end, the lock is kept. */
cl_int stream_finish(struct node *node, enum stream_urgency urgency);
/* Send what gathered if the node would have nothing to do otherwise. Under the lock. */
void stream_advance(struct node *node);
void stream_push(struct node *node);
/* The same for all nodes of a context. An error if none of them is left. */
struct wire_buffer *broadcast_begin(cl_context context);
cl_int broadcast_end(cl_context context, enum stream_urgency urgency);
/* A round trip, from which call.c makes a function for each CALL: call_begin, wire_put_X, call_send, call_wait. */
struct wire_buffer *call_begin(struct node *node, uint16_t number, struct call *call);
void call_send(struct call *call);
cl_int call_wait(struct call *call);
/* call_X(): what was asked is in m, but for m->call. On success the reply, which may have an error of its own, points
 * into call, and call_free() is due. Its two halves are for round trips to several nodes at once. */
#define CALL(name, number)                                                                                             \
    void call_send_##name(struct node *node, struct wire_##name *m, struct call *call);                                \
    cl_int call_wait_##name(struct call *call, struct wire_##name##_reply *reply);                                     \
    cl_int call_##name(struct node *node, struct wire_##name *m, struct wire_##name##_reply *reply, struct call *call);
#include "wire/fields.h"
#include "wire/commands.def"
#include "wire/fields_end.h"
void call_free(struct call *call);
/* What native OpenCL said to the creation of an object, or to the command of an event: a round trip, for arguments that
 * only it should judge. */
cl_int native_outcome(struct node *node, const struct object *object);
/* From note.c, under the lock. */
bool call_answer(struct node *node, uint16_t number, struct wire_cursor fields);
void call_lose(struct node *node);

/* ---- info.c ---- */
cl_int info_return(const void *value, size_t size, size_t capacity, void *to, size_t *size_ret);
cl_int info_string(const char *string, size_t capacity, void *to, size_t *size_ret);
/* A table as a worker told it, copied: whole records, in which texts end. False: it does not hold together. */
bool info_table_take(struct info_table *table, const void *infos, size_t length);
/* Of a text: it ends within its answer. NULL: there is none. */
const char *info_text(const struct info_table *table, cl_uint param);
const void *info_find(const struct info_table *table, cl_uint param, uint32_t *length);
/* Whether a query is of a later OpenCL than the device's platform, which then does not know it. */
bool info_is_newer(cl_device_id device, cl_uint param);
/* A query that only the node can answer. */
cl_int info_ask(struct node *node, unsigned kind, uint32_t object, uint32_t second, cl_uint param, const void *input,
                size_t input_size, size_t capacity, void *to, size_t *size_ret);
/* The whole answer, of a size that is not known before; *bytes is to be freed. */
cl_int info_take(struct node *node, unsigned kind, uint32_t object, void **bytes, size_t *length);
/* The same for an answer that will not change while the object lives, or until info_forget(): asked once. */
cl_int info_ask_once(struct node *node, unsigned kind, struct object *object, uint32_t second, cl_uint param,
                     const void *input, size_t input_size, size_t capacity, void *to, size_t *size_ret);
/* The same for an answer that several objects share. */
cl_int info_ask_kept(struct answer **kept, struct node *node, unsigned kind, uint32_t object, uint32_t second,
                     cl_uint param, const void *input, size_t input_size, size_t capacity, void *to, size_t *size_ret);
void info_forget(struct answer **kept);
void info_after_fork(void);

/* ---- arrival.c: under the session's lock ---- */
struct arrival; /* NULL: there is nothing to wait for */
/* One part of it is missing. NULL: no memory. */
struct arrival *arrival_new(void);
struct arrival *arrival_use(struct arrival *arrival);
void arrival_drop(struct arrival *arrival);
void arrival_part_over(struct arrival *arrival);
bool arrival_is_over(const struct arrival *arrival);
/* Both have to be over: *to gives up its use for one of what it becomes. False: no memory. */
bool arrival_join(struct arrival **to, struct arrival *more);
/* Now, or when it is over. */
void arrival_then(struct arrival *arrival, struct arrival_waiter *waiter, void (*run)(void *), void *argument);
/* Without the lock. */
bool arrival_any(void); /* whether there is one that is not over */
void arrival_wait(struct session *session, struct arrival *arrival);
void arrival_free(struct session *session, struct arrival *arrival, void *memory); /* when it is over */
void arrival_after_fork(void);

/* ---- event.c ---- */
cl_int event_check_list(cl_context context, cl_uint count, const cl_event *list);
/* The numbers of the events of a list that are not known to be over, in ids[*left]; the node then knows these. */
uint32_t *event_ids(struct node *node, cl_uint count, const cl_event *list, uint32_t *small, size_t small_count,
                    uint32_t *left);
/* That of one, of which the node then knows in any case. */
uint32_t event_id(struct node *node, cl_event event);
cl_event event_new(cl_context context, cl_command_queue queue, cl_command_type type);
/* The event of a command of which no node knows: it is over. times: where the queue has profiling. */
cl_event event_over(cl_command_queue queue, cl_command_type type, const uint64_t times[4]);
void event_told(cl_event event, cl_int status, uint32_t time_count, const uint64_t *times);
/* This host's time by the clock of the device's events, or 0 if that is not known to be this host's. */
uint64_t device_time(cl_device_id device);
/* Wait until the event is complete; its status. */
cl_int event_wait(cl_event event);
/* A function that is called by a thread of the library. */
cl_int event_call(cl_event event, cl_int status, void(CL_CALLBACK *function)(cl_event, cl_int, void *), void *data);
/* What the application's waits end with, for an event and for all of a queue; since: deliver_now_begun() when they
 * began.
 */
void event_settle(cl_event event, uint64_t since);
void queue_settle(cl_command_queue queue, uint64_t since);
void event_lose(struct node *node);
void event_destroy(cl_event event);

/* ---- queue.c ---- */
/* Where a command goes: into its queue, behind the events of a list, or into a command buffer, behind its points. */
struct site {
    cl_command_queue queue;
    cl_uint count;
    const cl_event *list;
    cl_event *event;
    cl_command_buffer_khr buffer; /* or NULL */
    const cl_sync_point_khr *points;
    cl_sync_point_khr *point;
};

struct enqueue {
    cl_command_queue queue;
    struct node *node;
    const struct site *site; /* NULL: enqueue_begin() */
    struct wire_buffer recorded;
    cl_event event;                   /* NULL if nobody wants one */
    struct arrival *arrival, *behind; /* behind: the queue's when this one began */
    bool bars;                        /* what is behind it waits for it */
    uint32_t event_id, want;
    cl_uint list_count;
    const cl_event *list;
    uint32_t wait_count; /* of the list, without those that are known to be over */
    uint32_t *wait, small_wait[16];
    cl_event *held; /* of the wait list, but the library's own: they stay until the command is sent */
    unsigned held_count;
    struct written { /* coherence_after() */
        cl_mem root;
        size_t offset, size;
    } * written;
    unsigned written_count;
    bool hosted; /* hostptr_before() */
};
/* What every clEnqueueX begins with: checks queue and wait list, and makes the event if wanted. On success must be
 * followed by enqueue_finish() or enqueue_fail(). */
cl_int enqueue_begin(struct enqueue *e, cl_command_queue queue, cl_uint count, const cl_event *list, cl_event *event,
                     cl_command_type type);
/* The same for a command that can be recorded; it is encoded to site_encode(), and site_finish() ends it. */
cl_int site_begin(struct enqueue *e, const struct site *site, cl_command_type type);
struct wire_buffer *site_encode(struct enqueue *e);
cl_int site_finish(struct enqueue *e, const struct site *site);
/* The first half of site_finish(); enqueue_finish() is the other. */
cl_int site_send(struct enqueue *e);
/* A command that does nothing where it stands. */
cl_int site_nothing(struct enqueue *e, const struct site *site);
/* The commands that can be recorded, as their clEnqueueX. */
cl_int copy_buffer(const struct site *site, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset, size_t size);
cl_int copy_rect(const struct site *site, cl_mem from, cl_mem to, const size_t *from_origin, const size_t *to_origin,
                 const size_t *region, size_t from_row, size_t from_slice, size_t to_row, size_t to_slice);
cl_int fill_buffer(const struct site *site, cl_mem buffer, const void *pattern, size_t pattern_size, size_t offset,
                   size_t size);
cl_int copy_image(const struct site *site, cl_mem from, cl_mem to, const size_t *from_origin, const size_t *to_origin,
                  const size_t *region);
cl_int fill_image(const struct site *site, cl_mem image, const void *colour, const size_t *origin,
                  const size_t *region);
cl_int copy_image_to_buffer(const struct site *site, cl_mem image, cl_mem buffer, const size_t *origin,
                            const size_t *region, size_t offset);
cl_int copy_buffer_to_image(const struct site *site, cl_mem buffer, cl_mem image, size_t offset, const size_t *origin,
                            const size_t *region);
cl_int launch(const struct site *site, cl_kernel kernel, cl_uint dims, const size_t *offset, const size_t *global,
              const size_t *local);
/* Make sure there is an event, also when the application wants none. */
cl_int enqueue_need_event(struct enqueue *e, cl_command_type type);
/* For a command that may be blocking: it then has an event, of whose end the node is to tell (e->want). */
cl_int enqueue_want(struct enqueue *e, cl_bool blocking, cl_command_type type);
/* The same for a write, which can be over for the application before it is. */
cl_int enqueue_want_written(struct enqueue *e, cl_bool blocking, const cl_event *event, cl_command_type type);
/* It counts as over only after that. False: no memory. Under the lock. */
bool enqueue_arrival(struct enqueue *e, struct arrival *arrival);
/* For one whose event the program will ask about: the node tells unasked (e->want). */
void enqueue_expect(struct enqueue *e);
/* Sends it, waits if it is blocking, and finishes it. */
cl_int enqueue_end(struct enqueue *e, cl_bool blocking, cl_event *event);
/* status: of stream_end(). Hands the event to the application. */
cl_int enqueue_finish(struct enqueue *e, cl_int status, cl_event *event);
cl_int enqueue_fail(struct enqueue *e, cl_int error);
/* A marker that says it is another command. */
cl_int enqueue_marker_as(cl_command_queue queue, cl_command_type type, cl_uint count, const cl_event *list,
                         cl_event *event);
/* The same for one that the program does: it waits for the gate, and is over after that. */
cl_int enqueue_gated(cl_command_queue queue, cl_command_type type, cl_event gate, struct arrival *done,
                     cl_event *event);
cl_int queue_wait_idle(cl_command_queue queue);
/* Commands up to that number are over; well: those of which nothing else is known have not failed. */
void queue_finished(cl_command_queue queue, uint64_t number, bool well);
void queue_destroy(cl_command_queue queue);

/* ---- command_buffer.c ---- */
/* Contents that the recorded command needs when it is run. */
cl_int record_use(cl_command_buffer_khr buffer, cl_mem memory, unsigned use);
/* What site_begin() and site_send() do for a command that is recorded. */
cl_int record_begin(struct enqueue *e);
cl_int record_send(struct enqueue *e);
void command_buffer_destroy(cl_command_buffer_khr buffer);
/* ---- coherence.c: which nodes have the newest contents of a memory object ---- */
enum use { USE_READ = 1, USE_WRITE = 2 };

/* contents: at the first node only, or anywhere. Nothing to do where a context has one node. */
cl_int coherence_open(cl_mem memory, bool contents);
void coherence_close(cl_mem memory);
/* Before a command that uses a piece, which is fetched if it is to be read; the command then waits for that. */
cl_int coherence_before(struct enqueue *e, cl_mem memory, size_t offset, size_t size, unsigned use);
/* What it writes is noted, ... */
void coherence_after(struct enqueue *e, cl_mem memory, size_t offset, size_t size);
/* ... and counts as soon as the command was sent, for only then can others be told to wait for it. */
void coherence_sent(struct enqueue *e);
/* The part of a whole that begins there: where it ends, and the node that has it. */
size_t coherence_part(cl_mem root, size_t start, struct node **node);
/* It was written at a node without a command. */
void coherence_written(cl_mem root, size_t offset, size_t size, struct node *node);

/* A part of a memory object: a piece of a buffer, a rect of one, or a region of an image. */
struct part {
    enum { PART_PIECE, PART_RECT, PART_IMAGE } kind;
    cl_mem memory;
    size_t bytes;
    size_t offset, size; /* the range of the buffer that it lies in */
    size_t origin[3], region[3], pitch[2];
};
struct part part_piece(cl_mem buffer, size_t offset, size_t size);
struct part part_rect(cl_mem buffer, const size_t *origin, const size_t *region, size_t row_pitch, size_t slice_pitch);
struct part part_image(cl_mem image, const size_t *origin, const size_t *region);
/* The same for the wire. */
struct wire_region part_region(const struct part *part);
cl_int part_before(struct enqueue *e, const struct part *part, unsigned use);
void part_after(struct enqueue *e, const struct part *part);
/* All that a copy needs before it is sent. *sent: another node has its source, and it was sent as a transfer straight
 * from there, with e's event; nothing is left to do. */
cl_int part_copy(struct enqueue *e, const struct part *from, const struct part *to, bool *sent);

/* ---- layout.c ---- */
/* Rows of row_bytes, row_pitch apart, in slices slice_pitch apart. */
struct layout {
    uint8_t *memory;
    size_t row_bytes, rows, slices, row_pitch, slice_pitch;
};
struct layout layout_linear(const void *memory, size_t size);
/* A region of what begins at memory. */
struct layout layout_rect(const void *memory, const size_t *origin, const size_t *region, size_t row_pitch,
                          size_t slice_pitch);
/* The same rows without gaps. */
struct layout layout_tight(const struct layout *layout, uint8_t *memory);
size_t layout_bytes(const struct layout *layout);
size_t layout_extent(const struct layout *layout); /* from the first byte to behind the last */
bool layout_is_contiguous(const struct layout *layout);
/* Between layouts of the same rows. */
void layout_copy(const struct layout *to, const struct layout *from);

/* ---- transfer.c: data between the application's memory and a node ---- */
struct transfer;
/* Prepare to send; data_out/length_out are what to put inline (length 0: it goes in bulk under *tag). e: NULL if it is
 * no command. keep: used until then, or NULL. */
cl_int transfer_write(struct node *node, struct enqueue *e, const struct layout *layout, bool chunked,
                      struct object *keep, struct transfer **out, uint32_t *tag, const void **inline_data,
                      uint32_t *inline_length);
/* memory is freed with the transfer. */
void transfer_own(struct transfer *transfer, void *memory);
/* Of a write that was not started: the contents of a new object, which go from a copy if they are not very long. When
 * transfer_leave() returns the memory is the program's again. */
void transfer_contents(struct transfer *transfer);
cl_int transfer_leave(struct transfer *transfer);
/* Whether the node stages this queue's buffer transfers in chunks. */
bool transfer_chunked(cl_command_queue queue);
/* Under the lock, after the command was encoded: start sending. */
void transfer_start(struct transfer *transfer);
/* Prepare to receive. */
cl_int transfer_read(struct enqueue *e, const struct layout *layout, bool chunked, struct object *keep,
                     struct transfer **out, uint32_t *tag);
/* The same for what is no command's. */
cl_int transfer_take(struct node *node, const struct layout *layout, struct transfer **out, uint32_t *tag);
/* What is moving at the moment, which needs nobody to go on. */
struct arrival *transfer_moving(void);
/* Wait until the application's memory is no longer used (write) or filled (read); frees it. */
cl_int transfer_wait(struct transfer *transfer);
/* Nobody waits for it: it frees itself when done. */
void transfer_detach(struct transfer *transfer);
void transfer_cancel(struct transfer *transfer);
bool transfer_note(struct node *node, uint32_t tag, bool ready, cl_int status, const void *data, uint32_t length);
void transfer_lose(struct node *node);
void transfer_after_fork(void);

/* What reads and writes end with, under the lock that stream_finish() kept, which they give back; error is its
 * result. A blocking one waits here. */
cl_int enqueue_write(struct enqueue *e, struct transfer *transfer, cl_bool blocking, cl_int error, cl_event *event);
cl_int enqueue_read(struct enqueue *e, struct transfer *transfer, cl_bool blocking, cl_int error, cl_event *event);
/* A command that moves no data but has its place in the queue. */
cl_int enqueue_nothing(struct enqueue *e, cl_bool blocking, cl_event *event);

/* ---- shared.c ---- */
/* Whether the node has the memory, too. */
bool shared_has(const struct node *node, const struct layout *layout);
/* What follows part_before(). */
cl_int shared_read(struct enqueue *e, const struct part *part, const struct layout *layout, cl_bool blocking,
                   cl_command_type type, cl_event *event);
cl_int shared_write(struct enqueue *e, const struct part *part, const struct layout *layout, cl_bool blocking,
                    cl_command_type type, cl_event *event);

/* ---- host.c ---- */
struct host_command {
    cl_int (*run)(struct host_command *command); /* CL_SUCCESS, or the event's error */
    void (*free)(struct host_command *command);
    cl_event gate;
    struct session *session;
    struct arrival *done;
};

/* Whether there is one that is not over; under the lock. */
bool host_command_any(void);

/* Takes over command, also when it fails. */
cl_int host_command_enqueue(cl_command_queue queue, cl_command_type type, struct host_command *command, cl_uint count,
                            const cl_event *list, cl_event *event);

/* ---- arena.c ---- */
/* Whether the node sees the arena's memory; asks it the first time. */
bool arena_shared_with(struct node *node);
/* NULL when there is no room. alignment: a power of two, or 0 for that of the largest type. */
void *arena_alloc(size_t size, size_t alignment);
/* Nothing for memory that is not arena_alloc's. */
void arena_free(void *memory);
/* Its contents are not needed any more, but for those of pages that it shares with others. */
bool arena_forget(void *memory, size_t size);
bool arena_has(const void *pointer);
bool arena_has_all(const void *pointer, size_t size);
void arena_after_fork(void);
/* The file behind it, as mappings are told apart, and where in that memory of it is. */
struct arena_file {
    dev_t device;
    ino_t inode;
};
bool arena_identify(struct arena_file *file);
size_t arena_offset(const void *memory);
/* Whole pages of it at another address, instead of what is there: atomically for other threads. Not shared: as they are
 * now, and what is written there is written there only. */
bool arena_show(void *at, const void *memory, size_t size, int protection, bool shared);
/* The next part of it, from *start on, that has pages. */
bool arena_next_data(const void *memory, size_t size, size_t *start, size_t *end);

/* ---- exchange.c: pages of the program's own that are the arena's, too ---- */
struct region;
/* A buffer of so many bytes at a host pointer, in the arena, for so many nodes: *place is its first byte there. What
 * lies in whole pages of the program is the same memory, *inside to *inside_end in the buffer; the rest, or all, is to
 * be copied. *constant: the program cannot write it. */
struct region *exchange_begin(void *pointer, size_t size, unsigned nodes, uint8_t **place, size_t *inside,
                              size_t *inside_end, bool *constant);
/* The program's pages are its own again, as they are now. Nothing that uses the buffer is under way. */
void exchange_end(struct region *region);
/* A node that used it does no more; after the last one it may be freed. */
void exchange_gone(struct region *region);
void exchange_before_fork(void);
void exchange_after_fork(bool child);

/* ---- block.c ---- */
/* Memory for a buffer of the context that its node has, too; NULL if it cannot have that. */
void *block_alloc(cl_context context, size_t size);
/* Nobody uses it, on neither side. */
void block_free(void *memory, size_t size);
/* The same when the node says that the object is gone. */
void block_leave(struct node *node, uint32_t id, void *memory, size_t size);
void block_leave_region(struct node *node, uint32_t id, struct region *region);
bool block_note(struct node *node, uint32_t id);
void block_lose(struct node *node);
void block_after_fork(void);

/* ---- direct.c ---- */
/* Whether a command that moves so many bytes of memory that is here need not be sent: direct_move(), or direct_turn(),
 * what is to be done, and direct_end(), stand for it. Not if the list is not good: that is for enqueue_begin() to tell.
 */
bool direct_may(cl_command_queue queue, cl_bool blocking, size_t bytes, cl_uint count, const cl_event *list,
                const cl_event *event);
/* The same for one that only waits; named: for the events of the list alone, if there are any. */
bool direct_sync_may(cl_command_queue queue, bool named, cl_uint count, const cl_event *list, const cl_event *event);
cl_int direct_turn(cl_command_queue queue, cl_uint count, const cl_event *list);
/* The event, if one is asked for, is over; queued: device_time() when the command came. */
cl_int direct_end(cl_command_queue queue, cl_command_type type, uint64_t queued, cl_event *event);
cl_int direct_move(cl_command_queue queue, cl_command_type type, cl_bool blocking, const struct layout *to,
                   const struct layout *from, cl_uint count, const cl_event *list, cl_event *event);

/* ---- address.c ---- */
/* Pages at just that address, if nothing is there. */
bool address_map(uint64_t address, size_t size, int protection);
/* What the node allocated there. */
void address_free(struct node *node, uint64_t address);
/* Between the program's memory and the node's, within the node's, and a pattern into it. These end e. */
cl_int address_write(struct enqueue *e, cl_command_type type, void *to, const void *from, size_t size, cl_bool blocking,
                     cl_event *event);
cl_int address_read(struct enqueue *e, void *to, const void *from, size_t size, cl_bool blocking, cl_event *event);
cl_int address_copy(struct enqueue *e, cl_command_type type, void *to, const void *from, size_t size, cl_bool blocking,
                    cl_event *event);
cl_int address_fill(struct enqueue *e, void *to, const void *pattern, size_t pattern_size, size_t size,
                    cl_event *event);
/* ---- hostptr.c: CL_MEM_USE_HOST_PTR, where the program's memory is not the node's ---- */
/* For a new buffer or image that is over memory of the program's; a buffer may get its place by it. */
cl_int hostptr_open(cl_mem memory);
void hostptr_close(cl_mem memory);
/* What the program wrote there is at the node before the command, which is noted as one that uses it. */
cl_int hostptr_before(struct enqueue *e, cl_mem memory, unsigned use);
/* The command that e was for was sent, with that number in its queue, or was not. */
void hostptr_sent(struct enqueue *e, uint64_t number);
void hostptr_not_sent(struct enqueue *e);
/* The program may look now: commands that were under way may be over. Not under the session's lock. */
void hostptr_look(void);
/* The program's last reference goes. */
void hostptr_release(cl_mem memory);
bool hostptr_any(void);
void hostptr_after_fork(void);

/* ---- mirror.c ---- */
void *mirror_alloc(cl_context context, cl_svm_mem_flags flags, size_t size, cl_uint alignment);
/* Memory of a node whose devices take any address, and pages of the program's at the same one: where the program has
 * room for it, and then the node, too. 0: nowhere. */
uint64_t mirror_choose(cl_context context, struct node *node, cl_svm_mem_flags flags, size_t size, size_t whole);
/* False if it is no such memory. */
bool mirror_free(void *memory);
bool mirror_has(const void *pointer);
bool mirror_has_all(const void *pointer, size_t size);
/* The commands on such memory, their arguments checked otherwise. */
cl_int mirror_map(cl_command_queue queue, cl_bool blocking, cl_map_flags flags, void *memory, size_t size,
                  cl_uint count, const cl_event *list, cl_event *event);
cl_int mirror_unmap(cl_command_queue queue, void *memory, cl_uint count, const cl_event *list, cl_event *event);
cl_int mirror_copy(cl_command_queue queue, cl_bool blocking, void *to, const void *from, size_t size, cl_uint count,
                   const cl_event *list, cl_event *event);
cl_int mirror_fill(cl_command_queue queue, void *to, const void *pattern, size_t pattern_size, size_t size,
                   cl_uint count, const cl_event *list, cl_event *event);
cl_int mirror_pointers(cl_kernel kernel, size_t size, const void *pointers);
void mirror_after_fork(void);

/* ---- usm.c, usm_commands.c: cl_intel_unified_shared_memory ---- */
/* CL_DEVICE_*_MEM_CAPABILITIES_INTEL: the native ones, less what is out of the program's reach. */
cl_int usm_capabilities(cl_device_id device, cl_device_info param, size_t size, void *value, size_t *size_ret);
/* Whether any device of the context has it. */
bool usm_offered(cl_context context);
/* Its parameters of clSetKernelExecInfo. */
cl_int usm_exec_info(cl_kernel kernel, cl_kernel_exec_info param, size_t size, const void *value);
cl_int exec_info_send(cl_kernel kernel, cl_kernel_exec_info param, size_t size, const void *value);
void usm_after_fork(void);

/* ---- device_address.c: cl_ext_buffer_device_address ---- */
bool device_address_offered(cl_context context);
/* On all nodes, instead of create_buffer, without contents; undone by device_address_destroy(), also if it fails. */
cl_int device_address_create(cl_mem buffer, cl_mem_flags flags);
void device_address_destroy(cl_mem buffer);
cl_int device_address_info(cl_mem memory, size_t size, void *value, size_t *size_ret);
cl_int device_address_exec_info(cl_kernel kernel, size_t size, const void *value);
/* For a launch, as coherence_before() and coherence_after(). */
cl_int device_address_coherence(struct enqueue *e, cl_kernel kernel, bool after);
void device_address_after_fork(void);

/* ---- extension.c ---- */
/* The answer to a query for extensions: the native ones, of infos, without those that VOCL does not carry. */
cl_int extension_return(const struct info_table *infos, const char *native, uint32_t length, size_t size, void *value,
                        size_t *size_ret);
/* Whether the native answer to such a query names the extension. */
bool extension_lists(const struct info_table *infos, cl_uint param, const char *extension);
/* Whether a device has cl_ext_buffer_device_address as it is from version 1.0 on. */
bool extension_has_device_addresses(const struct info_table *infos);
cl_int extension_return_versions(const cl_name_version *native, uint32_t length, size_t size, void *value,
                                 size_t *size_ret);
/* The function of an extension that a device offers, or NULL. platform NULL: those that need none to be asked for. */
void *extension_function(cl_platform_id platform, const char *name);
/* Functions that are had by name only, under names of the library's own. */
#define BY_NAME(name, offered, own) __typeof__(name) own;
#include "base/opencl.def"

/* ---- svm.c ---- */
cl_device_svm_capabilities svm_capabilities(cl_device_id device);
bool svm_has(const void *pointer);

/* ---- buffer.c ---- */
cl_int buffer_check(cl_command_queue queue, cl_mem buffer);
/* No bytes are a range, too, for reads, writes and fills. */
cl_int buffer_check_range(cl_mem buffer, size_t offset, size_t size);

/* ---- image.c, image_commands.c ---- */
/* Width, height or array size, depth or array size, as read and write regions count them. */
void image_extent(const cl_image_desc *desc, size_t extent[3]);
cl_int image_check(cl_command_queue queue, cl_mem image);
cl_int image_check_region(cl_mem image, const size_t *origin, const size_t *region);
bool image_is_nothing(const size_t *region);
/* The host's side of a region; pitches of 0 mean tight. Others are taken as they are, as PoCL does. */
void image_layout(cl_mem image, const size_t *region, size_t row_pitch, size_t slice_pitch, const void *memory,
                  struct layout *layout);
/* Takes over e, and owned, memory to free when the data has left it. */
cl_int image_write_region(struct enqueue *e, cl_mem image, cl_bool blocking, const size_t *origin, const size_t *region,
                          const struct layout *layout, void *owned, cl_event *event);
cl_int image_read_region(struct enqueue *e, cl_mem image, cl_bool blocking, const size_t *origin, const size_t *region,
                         const struct layout *layout, cl_event *event);

/* ---- include.c ---- */
/* The files that a source includes, as build_program takes them, if the node may not have them. */
void include_collect(struct node *node, const char *source, const char *options, struct wire_buffer *out);

/* ---- program.c, build.c ---- */
/* The arguments that the node does not have; under the kernel's lock. */
void arguments_put(cl_kernel kernel, const struct node *node, struct wire_buffer *out);
void arguments_clean(cl_kernel kernel, const struct node *node);
/* An address as an argument; good: it is one. */
cl_int kernel_set_pointer(cl_kernel kernel, cl_uint index, uint32_t what, uint64_t value, bool good);
bool context_has_device(cl_context context, cl_device_id device);
bool context_has_node(cl_context context, const struct node *node);
/* The numbers of those devices that are the node's; how many. */
cl_uint devices_of_node(const struct node *node, cl_uint count, const cl_device_id *devices, uint32_t *ids);
cl_program program_new(cl_context context, cl_uint count, const cl_device_id *devices);
bool program_is_building(cl_program program);
void program_wait(cl_program program); /* until no build with a callback is under way */
/* The program's kernels, from the node's kernel table; replaces what was known of them. */
cl_int program_take_kernels(cl_program program, const void *bytes, uint32_t length);
void program_forget_kernels(cl_program program);

/* ---- local.c ---- */
/* Devices of this process join the session. */
bool local_open(struct transport *transport);

/* ---- the rest ---- */
void context_destroy(cl_context context);
void memory_destroy(cl_mem memory);
/* Whether only the node knows if there is room for so much. */
bool memory_is_limited(cl_context context, size_t size);
/* What a sub-buffer or an image of a buffer is part of, or the object itself. */
cl_mem memory_root(cl_mem memory);
void sampler_destroy(cl_sampler sampler);
void program_destroy(cl_program program);
void kernel_destroy(cl_kernel kernel);
/* A root device, known to the node under that number. */
/* The version that a native platform says it is: 120 for OpenCL 1.2. */
unsigned platform_version(const struct info_table *infos);
/* Whether the program sees the native platform's name. */
bool platform_is_native(void);
cl_int device_new(struct node *node, uint32_t platform, uint32_t id, cl_device_id *out);
void device_destroy(cl_device_id device);
/* What the node told of it, if it is of that size; else to stays as it is. */
void device_number(cl_device_id device, cl_device_info param, void *to, size_t size);
size_t image_element_size(const cl_image_format *format);
struct mapping *mapping_take(cl_mem memory, void *pointer);
void mapping_add(cl_mem memory, struct mapping *mapping);
cl_int memory_new(cl_context context, cl_mem_object_type type, cl_mem_flags flags, cl_mem *out);
cl_int memory_check_flags(cl_mem_flags flags, const void *host_pointer);
cl_mem_flags memory_inherit_flags(cl_mem from, cl_mem_flags flags);
cl_int memory_check_host(cl_mem memory, cl_map_flags flags);
/* Copy a zero-terminated list of properties of one kind. */
cl_int properties_copy(const void *list, size_t item_size, void **out, size_t *size_out);

static inline cl_int fail_ret(cl_int *ret, cl_int error)
{
    if (ret)
        *ret = error;
    return error;
}

#endif
