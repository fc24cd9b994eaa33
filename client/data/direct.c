/*
 * Commands that are carried out in the program: nothing is sent, and their events are complete at once, here.
 *
 * These are reads, writes and maps of buffers whose memory program and worker share (block.c), on devices that are the
 * host's own CPU: they need no message except to know that the queue's turn has come, and not even that while nothing
 * is under way. The same holds for memory of the arena, and for markers and barriers that have nothing to wait for.
 */
#include <errno.h>

#include "client/core/deliver.h"
#include "client/core/halt.h"
#include "client/data/coherence.h"
#include "client/memory/arena.h"
#include "client/memory/memory.h"
#include "client/trace/timeline.h"

/* A non-blocking call copies at most so many bytes itself, which takes some milliseconds. Another thread copies more,
 * when their turn has come. */
#define MOST_AT_ONCE ((size_t)64 << 20)

static bool is_quiet(cl_command_queue queue)
{
    return node_is_there(queue->node) && atomic_load(&queue->enqueued) == atomic_load(&queue->finished);
}

/* Whether an event can be made here: its times must be comparable with the device's. */
static bool can_tell(cl_command_queue queue)
{
    return !(queue->properties & CL_QUEUE_PROFILING_ENABLE) ||
           (arena_shared_with(queue->node) && device_time(queue->device));
}

enum waits { OVER, PENDING, FAILED };

static enum waits waits(cl_uint count, const cl_event *list)
{
    enum waits all = OVER;

    for (cl_uint i = 0; i < count; i++) {
        cl_int status = atomic_load(&list[i]->status);

        if (status < 0)
            return FAILED;
        if (status != CL_COMPLETE)
            all = PENDING;
    }
    return all;
}

int direct_turn(cl_command_queue queue, cl_uint count, const cl_event *list)
{
    for (cl_uint i = 0; i < count; i++) {
        if (event_wait(list[i]) < 0)
            return -ECANCELED;
    }
    return queue_wait_idle(queue);
}

bool direct_may(cl_command_queue queue, cl_bool blocking, size_t bytes, cl_uint count, const cl_event *list,
                const cl_event *event)
{
    enum waits pending;

    if (event_check(queue->context, count, list) || (event && !can_tell(queue)))
        return false;
    pending = waits(count, list);
    if (pending == FAILED)
        return false;
    if (is_quiet(queue) && pending == OVER)
        return blocking || bytes <= MOST_AT_ONCE;
    return blocking && queue_in_order(queue);
}

bool direct_sync_may(cl_command_queue queue, bool named, cl_uint count, const cl_event *list, const cl_event *event)
{
    if (!node_is_there(queue->node) || event_check(queue->context, count, list) || waits(count, list) != OVER ||
        (event && !can_tell(queue)))
        return false;
    if (is_quiet(queue))
        return true;
    return queue_in_order(queue) ? !event : named; /* later commands wait anyway */
}

/* Makes the event in a quiet call: while nodes are changed all events are visited, and none may be half made. */
static cl_event make_event(cl_command_queue queue, cl_command_type type, const uint64_t times[4])
{
    HALT_GUARD_QUIET;

    return event_over(queue, type, times);
}

static int end(cl_command_queue queue, cl_command_type type, const uint64_t times[4], cl_event *event)
{
    cl_event over = event ? make_event(queue, type, times) : NULL;

    event_show();
    if (event && !over)
        return -ENOMEM;
    if (event)
        *event = over;
    return 0;
}

/* The times differ, as those of every command do: programs divide by the difference. */
int direct_end(cl_command_queue queue, cl_command_type type, uint64_t queued, cl_event *event)
{
    const uint64_t now = event ? device_time(queue->device) : 0;
    const uint64_t times[4] = {queued, queued, queued, now > queued ? now : queued + 1};

    return end(queue, type, times, event);
}

/* The device's clock may have been found to be another one since the call began. */
static uint64_t time_after(cl_command_queue queue, uint64_t before)
{
    const uint64_t now = device_time(queue->device);

    return now > before ? now : before;
}

void direct_copy(cl_command_queue queue, cl_command_type type, const struct layout *to, const struct layout *from,
                 uint64_t times[4], const cl_event *event)
{
    const uint64_t began = timeline_now();

    times[1] = times[2] = event ? time_after(queue, times[0]) : 0;
    layout_copy(to, from);
    if (began)
        timeline_data(began, queue->node, type == CL_COMMAND_WRITE_BUFFER || type == CL_COMMAND_WRITE_BUFFER_RECT, true,
                      layout_bytes(to));
    times[3] = event ? time_after(queue, times[2]) : 0;
    times[3] += times[3] == times[2];
}

int direct_copied(cl_command_queue queue, cl_command_type type, cl_bool blocking, uint64_t since,
                  const uint64_t times[4], cl_event *event)
{
    const int error = end(queue, type, times, event);

    if (blocking)
        queue_wait_callbacks(queue, since);
    return error;
}

static bool writes_memory(cl_command_type type)
{
    return type != CL_COMMAND_READ_BUFFER && type != CL_COMMAND_READ_BUFFER_RECT;
}

static void mark(cl_mem memory, bool writes)
{
    if (writes && coherence_watched())
        atomic_store(&memory_root(memory)->written, WRITTEN_ALL);
}

/* No thread is between direct_enter() and direct_leave() while a node moves to where it cannot share the memory; nor
 * while the memory is read ahead, which halts calls to take the mark: it could be taken before the memory is
 * written. */
bool direct_enter(cl_mem memory, bool writes)
{
    halt_enter_quietly();
    if (atomic_load_explicit(&memory->direct, memory_order_relaxed)) {
        mark(memory, writes);
        return true;
    }
    halt_leave();
    return false;
}

void direct_leave(void)
{
    halt_leave();
}

int direct_move(cl_command_queue queue, cl_mem memory, cl_command_type type, cl_bool blocking, const struct layout *to,
                const struct layout *from, cl_uint count, const cl_event *list, cl_event *event)
{
    const uint64_t since = deliver_now_begun();
    uint64_t times[4] = {event ? device_time(queue->device) : 0};
    int error = direct_turn(queue, count, list);

    if (error)
        return error;
    if (memory && !direct_enter(memory, writes_memory(type)))
        return -EAGAIN;
    direct_copy(queue, type, to, from, times, event);
    if (memory)
        direct_leave();
    return direct_copied(queue, type, blocking, since, times, event);
}

/* ---- copies that another thread makes later ---- */

struct move_later {
    struct host_command command;
    struct layout to, from;
    cl_mem memory;
    bool writes;
};

static cl_int run_move(struct host_command *command)
{
    const struct move_later *move = (struct move_later *)command;

    layout_copy(&move->to, &move->from);
    mark(move->memory, move->writes); /* afterwards: a thread that reads ahead waits for its end and looks again */
    return CL_SUCCESS;
}

static void free_move(struct host_command *command)
{
    struct move_later *move = (struct move_later *)command;

    handle_drop(&move->memory->object);
    free(move);
}

/* Not out of order, where the command might wait for a user event that is set after it; nor with profiling, as the
 * times would be those of markers. */
bool direct_may_later(cl_command_queue queue, cl_bool blocking, size_t bytes, cl_uint count, const cl_event *list)
{
    return !blocking && bytes > MOST_AT_ONCE && node_is_there(queue->node) && !queue->node->observer &&
           queue_in_order(queue) && !(queue->properties & CL_QUEUE_PROFILING_ENABLE) &&
           !event_check(queue->context, count, list) && waits(count, list) != FAILED;
}

int direct_move_later(cl_command_queue queue, cl_command_type type, cl_mem memory, const struct layout *to,
                      const struct layout *from, cl_uint count, const cl_event *list, cl_event *event)
{
    struct move_later *move = malloc(sizeof(*move));

    if (!move)
        return -ENOMEM;
    *move = (struct move_later){{.run = run_move, .free = free_move}, *to, *from, memory, writes_memory(type)};
    handle_use(&memory->object);
    return host_command_enqueue(queue, type, &move->command, count, list, event);
}
