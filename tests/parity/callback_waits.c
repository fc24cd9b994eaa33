/*
 * Which callbacks have been called when a wait returns: natively those of all events that the wait was for, and of all
 * that these waited for. Also callbacks that are called at once, by the thread that sets the status or that registers
 * too late, the order of an event's statuses, and callbacks that wait, enqueue and read themselves.
 *
 * Natively, a wait that begins when a command is complete but its callbacks still run does not wait for them. Therefore
 * all that is counted here is behind a user event, which another thread completes while this one waits.
 */
#include "parity.h"
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { COUNT = 256, FEW = 20, MANY = 3000, THREADS = 4 };

static const char *source = "kernel void next(global int *data)\n"
                            "{\n"
                            "    data[get_global_id(0)] += 1;\n"
                            "}\n";

static struct parity p;
static cl_kernel kernel;
static cl_mem buffer;
static cl_int values[COUNT];
static atomic_int calls;

static void CL_CALLBACK note(cl_event event, cl_int status, void *data)
{
    (void)event;
    (void)status;
    atomic_fetch_add(data ? (atomic_int *)data : &calls, 1);
}

static void CL_CALLBACK note_slowly(cl_event event, cl_int status, void *data)
{
    usleep(2000);
    note(event, status, data);
}

static cl_event launch(cl_command_queue queue, cl_event wait)
{
    cl_event event;
    CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, (size_t[]){COUNT}, NULL, wait ? 1 : 0, wait ? &wait : NULL,
                                 &event));
    return event;
}

/* ---- each way to wait ---- */

enum way { BY_FINISH, BY_EVENTS, BY_LAST_EVENT, BY_MARKER, BY_READ, BY_WRITE, BY_MAP, WAYS };
static const char *const way_names[WAYS] = {"clFinish",        "clWaitForEvents",  "the last event", "a marker",
                                            "a blocking read", "a blocking write", "a blocking map"};

static void wait_by(enum way way, cl_command_queue queue, cl_uint count, cl_event *events)
{
    cl_int status;
    cl_event marker;
    void *mapped;
    switch (way) {
    case BY_FINISH: /* natively it does not wait for the last command's own callbacks */
        CHECK(clReleaseEvent(launch(queue, NULL)));
        CHECK(clFinish(queue));
        break;
    case BY_EVENTS: /* natively events are waited for one after the other */
        for (cl_uint i = 0; i < count / 2; i++) {
            cl_event first = events[i];
            events[i] = events[count - 1 - i];
            events[count - 1 - i] = first;
        }
        CHECK(clWaitForEvents(count, events));
        break;
    case BY_LAST_EVENT:
        CHECK(clWaitForEvents(1, &events[count - 1]));
        break;
    case BY_MARKER:
        CHECK(clEnqueueMarkerWithWaitList(queue, 0, NULL, &marker));
        CHECK(clWaitForEvents(1, &marker));
        CHECK(clReleaseEvent(marker));
        break;
    case BY_READ:
        CHECK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(values), values, 0, NULL, NULL));
        break;
    case BY_WRITE:
        CHECK(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, sizeof(values), values, 0, NULL, NULL));
        break;
    case BY_MAP:
        mapped = clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_READ, 0, sizeof(values), 0, NULL, NULL, &status);
        CHECK(status);
        CHECK(clEnqueueUnmapMemObject(queue, buffer, mapped, 0, NULL, NULL));
        break;
    case WAYS:
        break;
    }
}

static void count_watch(enum way way, int count, bool slow)
{
    cl_event *events = calloc((size_t)count, sizeof(*events)), gate = parity_gate(&p);
    pthread_t opener;
    atomic_store(&calls, 0);
    for (int i = 0; i < count; i++) {
        events[i] = launch(p.queue, i ? NULL : gate);
        CHECK(clSetEventCallback(events[i], CL_COMPLETE, slow ? note_slowly : note, NULL));
    }
    parity_rich();
    opener = parity_gate_open_later(gate);
    wait_by(way, p.queue, (cl_uint)count, events);
    printf("%d%s, %s: %d called\n", count, slow ? " slow ones" : "", way_names[way], atomic_load(&calls));
    EXPECT(pthread_join(opener, NULL) == 0);
    CHECK(clFinish(p.queue));
    for (int i = 0; i < count; i++)
        CHECK(clReleaseEvent(events[i]));
    CHECK(clReleaseEvent(gate));
    free(events);
}

/* Commands of every kind have an event with callbacks. */
static void kinds_watch(void)
{
    cl_int status, pattern = 7;
    cl_event events[16], gate = parity_gate(&p);
    cl_mem other = parity_buffer(&p, CL_MEM_READ_WRITE, sizeof(values), NULL);
    cl_uint count = 0;
    pthread_t opener;
    void *mapped;

    atomic_store(&calls, 0);
    CHECK(clEnqueueMarkerWithWaitList(p.queue, 1, &gate, &events[count++]));
    CHECK(clEnqueueWriteBuffer(p.queue, buffer, CL_FALSE, 0, sizeof(values), values, 0, NULL, &events[count++]));
    CHECK(clEnqueueCopyBuffer(p.queue, buffer, other, 0, 0, sizeof(values), 0, NULL, &events[count++]));
    CHECK(clEnqueueFillBuffer(p.queue, other, &pattern, sizeof(pattern), 0, 16, 0, NULL, &events[count++]));
    events[count++] = launch(p.queue, NULL);
    CHECK(clEnqueueReadBuffer(p.queue, other, CL_FALSE, 0, sizeof(values), values, 0, NULL, &events[count++]));
    mapped = clEnqueueMapBuffer(p.queue, other, CL_FALSE, CL_MAP_READ, 0, 64, 0, NULL, &events[count++], &status);
    CHECK(status);
    CHECK(clEnqueueUnmapMemObject(p.queue, other, mapped, 0, NULL, &events[count++]));
    CHECK(clEnqueueMigrateMemObjects(p.queue, 1, &other, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL, &events[count++]));
    CHECK(clEnqueueBarrierWithWaitList(p.queue, 0, NULL, &events[count++]));
    for (cl_uint i = 0; i < count; i++)
        CHECK(clSetEventCallback(events[i], CL_COMPLETE, note_slowly, NULL));
    CHECK(clReleaseEvent(launch(p.queue, NULL)));
    opener = parity_gate_open_later(gate);
    CHECK(clFinish(p.queue));
    printf("%u kinds of commands: %d called\n", count, atomic_load(&calls));
    EXPECT(pthread_join(opener, NULL) == 0);
    for (cl_uint i = 0; i < count; i++)
        CHECK(clReleaseEvent(events[i]));
    CHECK(clReleaseEvent(gate));
    CHECK(clReleaseMemObject(other));
}

/* The callbacks of the events that a command waits for have been called before it is complete, also across queues. */
static void queues_watch(cl_command_queue_properties properties)
{
    cl_command_queue queues[3];
    cl_event events[3], gate = parity_gate(&p);
    pthread_t opener;

    atomic_store(&calls, 0);
    for (int i = 0; i < 3; i++) {
        queues[i] = parity_queue(&p, properties);
        events[i] = launch(queues[i], i ? events[i - 1] : gate);
        CHECK(clSetEventCallback(events[i], CL_COMPLETE, note_slowly, NULL));
        CHECK(clFlush(queues[i]));
    }
    opener = parity_gate_open_later(gate);
    CHECK(clWaitForEvents(1, &events[2]));
    printf("three queues, one behind the other: %d called\n", atomic_load(&calls));
    EXPECT(pthread_join(opener, NULL) == 0);
    for (int i = 0; i < 3; i++) {
        CHECK(clReleaseEvent(events[i]));
        CHECK(clReleaseCommandQueue(queues[i]));
    }
    CHECK(clReleaseEvent(gate));
}

static void *thread_run(void *unused)
{
    cl_command_queue queue = parity_queue(&p, 0);
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
    atomic_int own = 0;
    (void)unused;
    for (int round = 0; round < 5; round++) {
        cl_event gate = parity_gate(&p), events[FEW];
        pthread_t opener;
        for (int i = 0; i < FEW; i++) {
            pthread_mutex_lock(&one);
            events[i] = launch(queue, i ? NULL : gate);
            pthread_mutex_unlock(&one);
            CHECK(clSetEventCallback(events[i], CL_COMPLETE, note, &own));
        }
        CHECK(clEnqueueMarkerWithWaitList(queue, 0, NULL, NULL));
        opener = parity_gate_open_later(gate);
        CHECK(clFinish(queue));
        EXPECT(atomic_load(&own) == (round + 1) * FEW);
        EXPECT(pthread_join(opener, NULL) == 0);
        for (int i = 0; i < FEW; i++)
            CHECK(clReleaseEvent(events[i]));
        CHECK(clReleaseEvent(gate));
    }
    CHECK(clReleaseCommandQueue(queue));
    return NULL;
}

static void threads_watch(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        EXPECT(pthread_create(&threads[i], NULL, thread_run, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        EXPECT(pthread_join(threads[i], NULL) == 0);
    printf("several threads: all called\n");
}

/* ---- at once ---- */

static pthread_t caller;

static void CL_CALLBACK note_thread(cl_event event, cl_int status, void *data)
{
    caller = pthread_self();
    note(event, status, data);
}

static void at_once(void)
{
    cl_event gate = parity_gate(&p), event;
    cl_int status;

    atomic_store(&calls, 0);
    CHECK(clSetEventCallback(gate, CL_COMPLETE, note_thread, NULL));
    CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
    printf("user event: %d called by %s thread\n", atomic_load(&calls),
           pthread_equal(caller, pthread_self()) ? "this" : "another");
    CHECK(clSetEventCallback(gate, CL_COMPLETE, note_thread, NULL));
    CHECK(clSetEventCallback(gate, CL_SUBMITTED, note_thread, NULL));
    printf("too late: %d called\n", atomic_load(&calls) - 1);
    CHECK(clReleaseEvent(gate));

    atomic_store(&calls, 0);
    event = launch(p.queue, NULL);
    CHECK(clFinish(p.queue));
    for (cl_int wanted = CL_COMPLETE; wanted <= CL_SUBMITTED; wanted++) {
        caller = 0;
        CHECK(clSetEventCallback(event, wanted, note_thread, NULL));
        printf("after clFinish: %d called by %s thread\n", atomic_load(&calls),
               pthread_equal(caller, pthread_self()) ? "this" : "another");
    }
    CHECK(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL));
    printf("status %d\n", status);
    CHECK(clReleaseEvent(event));
}

/* ---- order ---- */

static cl_int told[8];

static void CL_CALLBACK note_status(cl_event event, cl_int status, void *data)
{
    (void)event;
    (void)data;
    told[atomic_fetch_add(&calls, 1)] = status;
}

static void order_watch(void)
{
    static const cl_int wanted[] = {CL_COMPLETE, CL_RUNNING, CL_SUBMITTED, CL_COMPLETE, CL_SUBMITTED, CL_RUNNING};
    cl_event gate = parity_gate(&p), event = launch(p.queue, gate);
    pthread_t opener;

    atomic_store(&calls, 0);
    for (size_t i = 0; i < PARITY_COUNT(wanted); i++)
        CHECK(clSetEventCallback(event, wanted[i], note_status, NULL));
    CHECK(clReleaseEvent(launch(p.queue, NULL)));
    opener = parity_gate_open_later(gate);
    CHECK(clFinish(p.queue));
    printf("statuses:");
    for (int i = 0; i < atomic_load(&calls); i++)
        printf(" %d", told[i]);
    printf("\n");
    EXPECT(pthread_join(opener, NULL) == 0);
    CHECK(clReleaseEvent(event));
    CHECK(clReleaseEvent(gate));
}

static int sequence[FEW];

static void CL_CALLBACK note_place(cl_event event, cl_int status, void *data)
{
    cl_int own = -1;
    (void)status;
    CHECK(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(own), &own, NULL));
    EXPECT(own == CL_COMPLETE);
    CHECK(clWaitForEvents(1, &event));
    sequence[atomic_fetch_add(&calls, 1)] = (int)(intptr_t)data;
}

static void sequence_watch(void)
{
    const bool release_early = parity_tries("callback-of-released-event");
    cl_event gate = parity_gate(&p), events[FEW];
    pthread_t opener;
    int right = 0;

    atomic_store(&calls, 0);
    for (int i = 0; i < FEW; i++) {
        events[i] = launch(p.queue, i ? NULL : gate);
        CHECK(clSetEventCallback(events[i], CL_COMPLETE, note_place, (void *)(intptr_t)i));
        if (release_early)
            CHECK(clReleaseEvent(events[i]));
    }
    CHECK(clReleaseEvent(launch(p.queue, NULL)));
    opener = parity_gate_open_later(gate);
    CHECK(clFinish(p.queue));
    for (int i = 0; i < atomic_load(&calls); i++)
        right += sequence[i] == i;
    printf("in the queue's order: %d of %d\n", right, atomic_load(&calls));
    EXPECT(pthread_join(opener, NULL) == 0);
    for (int i = 0; i < FEW && !release_early; i++)
        CHECK(clReleaseEvent(events[i]));
    CHECK(clReleaseEvent(gate));
}

/* ---- callbacks that use OpenCL ---- */

static atomic_int stage;

static void stage_wait(int wanted)
{
    for (int i = 0; atomic_load(&stage) < wanted; i++) {
        EXPECT(i < 20000);
        usleep(1000);
    }
}

static void CL_CALLBACK work(cl_event event, cl_int status, void *data)
{
    cl_event own, two[2];
    cl_int *read = malloc(sizeof(values)), seen = CL_QUEUED;

    (void)data;
    EXPECT(status == CL_COMPLETE);
    CHECK(clWaitForEvents(1, &event));
    CHECK(clFinish(p.queue));
    own = launch(p.queue, NULL);
    CHECK(clSetEventCallback(own, CL_COMPLETE, note, NULL));
    CHECK(clWaitForEvents(1, &own));
    CHECK(clReleaseEvent(own));
    CHECK(clEnqueueReadBuffer(p.queue, buffer, CL_TRUE, 0, sizeof(values), read, 0, NULL, NULL));
    two[0] = launch(p.queue, NULL);
    two[1] = launch(p.queue, NULL);
    CHECK(clSetEventCallback(two[0], CL_COMPLETE, note, NULL));
    while (seen > CL_COMPLETE)
        CHECK(clGetEventInfo(two[1], CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(seen), &seen, NULL));
    CHECK(clFinish(p.queue));
    CHECK(clReleaseEvent(two[0]));
    CHECK(clReleaseEvent(two[1]));
    free(read);
    atomic_store(&stage, 1);
}

static void work_watch(void)
{
    cl_event gate = parity_gate(&p), event = launch(p.queue, gate);
    pthread_t opener;

    atomic_store(&calls, 0);
    atomic_store(&stage, 0);
    CHECK(clSetEventCallback(event, CL_COMPLETE, work, NULL));
    opener = parity_gate_open_later(gate);
    CHECK(clWaitForEvents(1, &event));
    stage_wait(1);
    CHECK(clFinish(p.queue));
    EXPECT(pthread_join(opener, NULL) == 0);
    printf("a function that works: %d called in it\n", atomic_load(&calls));
    CHECK(clReleaseEvent(event));
    CHECK(clReleaseEvent(gate));
}

/* The callback waits for a thread that only waits for the callback's own event, which is complete. */
static void CL_CALLBACK shake(cl_event event, cl_int status, void *data)
{
    (void)event;
    (void)status;
    (void)data;
    atomic_store(&stage, 1);
    stage_wait(2);
    atomic_store(&stage, 3);
}

static void shake_watch(void)
{
    cl_command_queue other = parity_queue(&p, 0);
    cl_event gate = parity_gate(&p), event = launch(p.queue, gate), second;
    cl_int status = CL_QUEUED;

    atomic_store(&stage, 0);
    CHECK(clSetEventCallback(event, CL_COMPLETE, shake, NULL));
    CHECK(clFlush(p.queue));
    CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
    stage_wait(1);
    CHECK(clWaitForEvents(1, &event));
    CHECK(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL));
    EXPECT(status == CL_COMPLETE);
    CHECK(clFinish(p.queue));
    second = launch(other, NULL);
    CHECK(clSetEventCallback(second, CL_COMPLETE, note, NULL));
    CHECK(clWaitForEvents(1, &second));
    CHECK(clFinish(other));
    EXPECT(atomic_load(&stage) == 1);
    atomic_store(&stage, 2);
    stage_wait(3);
    printf("a function that waits for this thread: done\n");
    CHECK(clReleaseEvent(second));
    CHECK(clReleaseEvent(event));
    CHECK(clReleaseEvent(gate));
    CHECK(clReleaseCommandQueue(other));
}

/* ---- objects that are released ---- */

static void CL_CALLBACK note_memory(cl_mem memory, void *data)
{
    (void)memory;
    (void)data;
    atomic_fetch_add(&calls, 1);
}

static void memory_watch(void)
{
    cl_mem own = parity_buffer(&p, CL_MEM_READ_WRITE, sizeof(values), NULL);
    cl_event gate = parity_gate(&p);
    pthread_t opener;

    atomic_store(&calls, 0);
    CHECK(clSetMemObjectDestructorCallback(own, note_memory, NULL));
    CHECK(clEnqueueReadBuffer(p.queue, own, CL_FALSE, 0, sizeof(values), values, 1, &gate, NULL));
    CHECK(clReleaseMemObject(own));
    EXPECT(atomic_load(&calls) == 0);
    opener = parity_gate_open_later(gate);
    CHECK(clFinish(p.queue));
    printf("a buffer in use: %d called\n", atomic_load(&calls));
    EXPECT(pthread_join(opener, NULL) == 0);
    CHECK(clReleaseEvent(gate));
}

int main(void)
{
    parity_open(&p, 0);
    kernel = parity_kernel(parity_program(&p, source, NULL), "next");
    buffer = parity_buffer(&p, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof(values), values);
    parity_args(kernel, 1, sizeof(buffer), &buffer);
    parity_launch(p.queue, kernel, 1, (size_t[]){COUNT}, NULL);
    for (enum way way = 0; way < WAYS; way++) {
        count_watch(way, FEW, false);
        count_watch(way, FEW, true);
    }
    count_watch(BY_FINISH, MANY, false);
    count_watch(BY_LAST_EVENT, MANY, false);
    kinds_watch();
    queues_watch(0);
    queues_watch(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    threads_watch();
    at_once();
    order_watch();
    sequence_watch();
    if (parity_tries("blocking-callback")) {
        work_watch();
        shake_watch();
    }
    memory_watch();
    CHECK(clReleaseMemObject(buffer));
    CHECK(clReleaseKernel(kernel));
    parity_close(&p);
    return 0;
}
