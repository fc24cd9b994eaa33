/*
 * Which callbacks have been called when the program ends: after a wait, by exit, within a callback, and beside a
 * callback that does not return. Each end is in a process of its own.
 */
#include "parity.h"
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { COUNT = 256, FEW = 20 };

static const char *source = "kernel void next(global int *data)\n"
                            "{\n"
                            "    data[get_global_id(0)] += 1;\n"
                            "}\n";

static struct parity p;
static cl_kernel kernel;
static cl_mem buffer;
static cl_int values[COUNT];
static atomic_int calls, stage;
static atomic_bool called[FEW];

static void CL_CALLBACK note_slowly(cl_event event, cl_int status, void *data)
{
    (void)event;
    (void)status;
    (void)data;
    usleep(2000);
    atomic_fetch_add(&calls, 1);
}

static cl_event launch(cl_command_queue queue, cl_event wait)
{
    cl_event event;
    CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, (size_t[]){COUNT}, NULL, wait ? 1 : 0, wait ? &wait : NULL,
                                 &event));
    return event;
}

static void stage_wait(int wanted)
{
    for (int i = 0; atomic_load(&stage) < wanted; i++) {
        EXPECT(i < 20000);
        usleep(1000);
    }
}

/* Does not print the event: callbacks of two events may be called in any order, and natively sometimes are. */
static void CL_CALLBACK say(cl_event event, cl_int status, void *data)
{
    (void)event;
    (void)status;
    usleep(1000);
    EXPECT(!atomic_exchange((atomic_bool *)data, true));
    printf("called\n");
    fflush(stdout);
}

static void CL_CALLBACK call_exit(cl_event event, cl_int status, void *data)
{
    (void)event;
    (void)status;
    (void)data;
    exit(5);
}

static void CL_CALLBACK never_end(cl_event event, cl_int status, void *data)
{
    (void)event;
    (void)status;
    (void)data;
    atomic_store(&stage, 1);
    for (;;)
        pause();
}

static void say_end(void)
{
    printf("at exit: %d called\n", atomic_load(&calls));
    fflush(stdout);
}

static void enqueue_few(void(CL_CALLBACK *function)(cl_event, cl_int, void *))
{
    for (int i = 0; i < FEW; i++) {
        cl_event event = launch(p.queue, NULL);
        CHECK(clSetEventCallback(event, CL_COMPLETE, function, function == say ? &called[i] : NULL));
        CHECK(clReleaseEvent(event));
    }
}

static int end_after_finish(void)
{
    enqueue_few(say);
    parity_rich();
    launch(p.queue, NULL);
    CHECK(clFinish(p.queue));
    return 3;
}

static int end_by_exit(void)
{
    cl_event last;
    atexit(say_end);
    enqueue_few(note_slowly);
    last = launch(p.queue, NULL);
    CHECK(clWaitForEvents(1, &last));
    exit(4);
}

static int end_in_function(void)
{
    cl_event event = launch(p.queue, NULL);
    atexit(say_end);
    CHECK(clSetEventCallback(event, CL_COMPLETE, call_exit, NULL));
    CHECK(clFlush(p.queue));
    stage_wait(1);
    return 1;
}

static int end_in_function_while_waiting(void)
{
    cl_event gate = parity_gate(&p), event = launch(p.queue, gate);
    CHECK(clSetEventCallback(event, CL_COMPLETE, call_exit, NULL));
    EXPECT(pthread_detach(parity_gate_open_later(gate)) == 0);
    CHECK(clFinish(p.queue));
    printf("not reached\n");
    return 1;
}

static int end_beside_function(void)
{
    cl_event gate = parity_gate(&p), event = launch(p.queue, gate);
    CHECK(clSetEventCallback(event, CL_COMPLETE, never_end, NULL));
    CHECK(clFlush(p.queue));
    CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
    stage_wait(1);
    return 6;
}

static const struct {
    const char *name;
    int (*end)(void);
    bool inside; /* a callback runs meanwhile */
} ends[] = {
    {"after clFinish", end_after_finish, false},
    {"exit", end_by_exit, false},
    {"exit in a function", end_in_function, true},
    {"exit in a function while another thread waits", end_in_function_while_waiting, true},
    {"while a function runs that does not end", end_beside_function, true},
};

static void open_all(void)
{
    parity_open(&p, 0);
    kernel = parity_kernel(parity_program(&p, source, NULL), "next");
    buffer = parity_buffer(&p, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof(values), values);
    parity_args(kernel, 1, sizeof(buffer), &buffer);
    parity_launch(p.queue, kernel, 1, (size_t[]){COUNT}, NULL);
}

int main(int count, char **arguments)
{
    for (size_t i = 0; count > 1 && i < PARITY_COUNT(ends); i++) {
        if (strcmp(ends[i].name, arguments[1]) == 0) {
            open_all();
            return ends[i].end();
        }
    }
    open_all();
    for (size_t i = 0; i < PARITY_COUNT(ends); i++) {
        if (!ends[i].inside || parity_tries("exit-beside-callback"))
            parity_end_print(ends[i].name);
    }
    CHECK(clReleaseMemObject(buffer));
    CHECK(clReleaseKernel(kernel));
    parity_close(&p);
    return 0;
}
