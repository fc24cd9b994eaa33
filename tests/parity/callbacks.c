/*
 * OpenCL's callbacks: of events (for each status, late, many, enqueueing further work), of builds, of memory objects
 * and contexts that are destroyed. OpenCL leaves open which thread calls, and when, but not that each is called once.
 */
#include "parity.h"
#include <pthread.h>
#include <time.h>

enum { COUNT = 1024, STEPS = 20, MANY = 200, PATIENCE = 20 };

static const char *source = "kernel void next(global int *data)\n"
                            "{\n"
                            "    data[get_global_id(0)] += 1;\n"
                            "}\n";

static struct parity p;
static cl_kernel kernel;
static cl_int zeros[COUNT], result[COUNT];

/* The callbacks that have been called; guarded by lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int calls;

static void call_note(void)
{
    pthread_mutex_lock(&lock);
    calls++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

/* Waits until there have been so many calls since the last wait. */
static void calls_wait(const char *name, int wanted)
{
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += PATIENCE;
    pthread_mutex_lock(&lock);
    while (calls < wanted && pthread_cond_timedwait(&changed, &lock, &limit) == 0)
        ;
    printf("%s: %d of %d calls\n", name, calls, wanted);
    EXPECT(calls == wanted);
    calls = 0;
    pthread_mutex_unlock(&lock);
}

static void calls_none(void)
{
    pthread_mutex_lock(&lock);
    EXPECT(calls == 0);
    pthread_mutex_unlock(&lock);
}

static cl_mem buffer_create(void)
{
    return parity_buffer(&p, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof(zeros), zeros);
}

static void launch(cl_mem buffer, const cl_event *gate, cl_event *event)
{
    CHECK(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer));
    CHECK(
        clEnqueueNDRangeKernel(p.queue, kernel, 1, NULL, (size_t[]){COUNT}, (size_t[]){64}, gate ? 1 : 0, gate, event));
}

/* An event callback: what it was registered for, and the arguments of its call. */
struct registration {
    cl_int wanted, told;
    cl_event event, told_event;
};

static void CL_CALLBACK event_note(cl_event event, cl_int status, void *data)
{
    struct registration *registration = data;
    registration->told_event = event;
    registration->told = status;
    call_note();
}

static void statuses_watch(bool late)
{
    struct registration registrations[] = {
        {.wanted = CL_SUBMITTED}, {.wanted = CL_RUNNING}, {.wanted = CL_COMPLETE}, {.wanted = CL_COMPLETE}};
    cl_mem buffer = buffer_create();
    cl_event gate = parity_gate(&p), event;
    launch(buffer, &gate, &event);
    if (late) {
        CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
        CHECK(clWaitForEvents(1, &event));
    }
    for (size_t i = 0; i < PARITY_COUNT(registrations); i++)
        CHECK(clSetEventCallback(event, registrations[i].wanted, event_note, &registrations[i]));
    if (!late)
        CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
    CHECK(clFinish(p.queue));
    calls_wait(late ? "registered late" : "registered early", PARITY_COUNT(registrations));
    for (size_t i = 0; i < PARITY_COUNT(registrations); i++) {
        EXPECT(registrations[i].told_event == event);
        if (!late)
            printf("for %s: %s\n", parity_status_name(registrations[i].wanted),
                   parity_status_name(registrations[i].told));
    }
    CHECK(clReleaseEvent(event));
    CHECK(clReleaseEvent(gate));
    CHECK(clReleaseMemObject(buffer));
}

/*
 * A user event and a command behind it, which both succeed: PoCL 3.1 does not call back for a user event set to an
 * error, nor for commands that depend on it.
 */
static void gate_watch(void)
{
    struct registration own = {.wanted = CL_COMPLETE}, behind = {.wanted = CL_COMPLETE};
    cl_mem buffer = buffer_create();
    cl_event gate = parity_gate(&p), event;
    launch(buffer, &gate, &event);
    CHECK(clSetEventCallback(gate, CL_COMPLETE, event_note, &own));
    CHECK(clSetEventCallback(event, CL_COMPLETE, event_note, &behind));
    CHECK(clFlush(p.queue));
    CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
    calls_wait("user event and a command behind it", 2);
    printf("%s, the command behind it: %s\n", parity_status_name(own.told), parity_status_name(behind.told));
    CHECK(clReleaseEvent(event));
    CHECK(clReleaseEvent(gate));
    CHECK(clReleaseMemObject(buffer));
}

/* The program releases each event before it is complete. */
static void many_watch(void)
{
    static struct registration registrations[MANY];
    cl_mem buffer = buffer_create();
    for (int i = 0; i < MANY; i++) {
        cl_event event;
        launch(buffer, NULL, &event);
        CHECK(clSetEventCallback(event, CL_COMPLETE, event_note, &registrations[i]));
        CHECK(clReleaseEvent(event));
    }
    CHECK(clFlush(p.queue));
    parity_rich();
    calls_wait("events released early", MANY);
    for (int i = 0; i < MANY; i++)
        EXPECT(registrations[i].told == CL_COMPLETE);
    CHECK(clReleaseMemObject(buffer));
}

/* Each completed launch enqueues the next from within the callback. */
struct relay {
    cl_mem buffer;
    int left;
};

static void relay_enqueue(struct relay *relay);

static void CL_CALLBACK relay_next(cl_event event, cl_int status, void *data)
{
    struct relay *relay = data;
    EXPECT(status == CL_COMPLETE);
    CHECK(clReleaseEvent(event));
    if (--relay->left > 0)
        relay_enqueue(relay);
    call_note();
}

static void relay_enqueue(struct relay *relay)
{
    cl_event event;
    launch(relay->buffer, NULL, &event);
    CHECK(clSetEventCallback(event, CL_COMPLETE, relay_next, relay));
    CHECK(clFlush(p.queue));
}

static void relay_run(void)
{
    struct relay relay = {buffer_create(), STEPS};
    relay_enqueue(&relay);
    calls_wait("enqueued by callbacks", STEPS);
    parity_read(p.queue, relay.buffer, 0, sizeof(result), result);
    for (int i = 0; i < COUNT; i++)
        EXPECT(result[i] == STEPS);
    CHECK(clReleaseMemObject(relay.buffer));
}

/* A callback completes the user event that another command waits for. */
static void CL_CALLBACK gate_open(cl_event event, cl_int status, void *data)
{
    (void)event;
    EXPECT(status == CL_COMPLETE);
    CHECK(clSetUserEventStatus(*(cl_event *)data, CL_COMPLETE));
    call_note();
}

static void gate_from_callback(void)
{
    cl_mem buffer = buffer_create();
    cl_event gate = parity_gate(&p), first, second;
    launch(buffer, NULL, &first);
    launch(buffer, &gate, &second);
    CHECK(clSetEventCallback(first, CL_COMPLETE, gate_open, &gate));
    CHECK(clFlush(p.queue));
    CHECK(clWaitForEvents(1, &second));
    calls_wait("a callback opens a gate", 1);
    CHECK(clReleaseEvent(second));
    CHECK(clReleaseEvent(first));
    CHECK(clReleaseEvent(gate));
    CHECK(clReleaseMemObject(buffer));
}

static void CL_CALLBACK program_note(cl_program program, void *data)
{
    *(cl_program *)data = program;
    call_note();
}

static void build_watch(const char *name, const char *text)
{
    cl_int status;
    cl_build_status built;
    cl_program told = NULL, program = clCreateProgramWithSource(p.context, 1, &text, NULL, &status);
    CHECK(status);
    status = clBuildProgram(program, 1, &p.device, NULL, program_note, &told);
    calls_wait(name, 1);
    EXPECT(told == program);
    CHECK(clGetProgramBuildInfo(program, p.device, CL_PROGRAM_BUILD_STATUS, sizeof(built), &built, NULL));
    printf("build status %d\n", built);
    CHECK(clReleaseProgram(program));
}

/* Destructor callbacks are called in reverse order of registration. */
static int order[4];

static void CL_CALLBACK memory_note(cl_mem memory, void *data)
{
    (void)memory;
    pthread_mutex_lock(&lock);
    order[calls++] = *(int *)data;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void memory_watch(const char *name, cl_mem memory)
{
    static int numbers[] = {1, 2, 3};
    for (int i = 0; i < 3; i++)
        CHECK(clSetMemObjectDestructorCallback(memory, memory_note, &numbers[i]));
    CHECK(clRetainMemObject(memory));
    CHECK(clReleaseMemObject(memory));
    calls_none();
    CHECK(clReleaseMemObject(memory));
    calls_wait(name, 3);
    printf("in the order %d %d %d\n", order[0], order[1], order[2]);
}

static void memories_watch(void)
{
    static char host[4096];
    cl_int status;
    cl_buffer_region region = {0, 1024};
    cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
    cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 16, .image_height = 16};
    memory_watch("buffer destroyed", parity_buffer(&p, CL_MEM_READ_WRITE, 4096, NULL));
    memory_watch("buffer of this program's memory destroyed",
                 parity_buffer(&p, CL_MEM_USE_HOST_PTR, sizeof(host), host));
    cl_mem image = clCreateImage(p.context, CL_MEM_READ_WRITE, &format, &desc, NULL, &status);
    CHECK(status);
    memory_watch("image destroyed", image);
    cl_mem whole = parity_buffer(&p, CL_MEM_READ_WRITE, 4096, NULL);
    cl_mem sub = clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    CHECK(status);
    memory_watch("sub-buffer destroyed", sub);
    CHECK(clReleaseMemObject(whole));
}

/* A buffer that a command still uses is destroyed after the command. */
static void memory_in_use(void)
{
    static int number = 9;
    cl_mem buffer = buffer_create();
    cl_event gate = parity_gate(&p), event;
    CHECK(clSetMemObjectDestructorCallback(buffer, memory_note, &number));
    CHECK(clEnqueueReadBuffer(p.queue, buffer, CL_FALSE, 0, sizeof(result), result, 1, &gate, &event));
    CHECK(clReleaseMemObject(buffer));
    calls_none();
    CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
    CHECK(clFinish(p.queue));
    CHECK(clReleaseEvent(event));
    CHECK(clReleaseEvent(gate));
    calls_wait("buffer in use destroyed", 1);
}

static void CL_CALLBACK context_note(cl_context context, void *data)
{
    (void)context;
    memory_note(NULL, data);
}

static void context_watch(void)
{
    static int numbers[] = {1, 2, 3};
    cl_int status;
    if (parity_version(&p) < 300)
        return;
    cl_context context = clCreateContext(NULL, 1, &p.device, NULL, NULL, &status);
    CHECK(status);
    for (int i = 0; i < 3; i++)
        CHECK(clSetContextDestructorCallback(context, context_note, &numbers[i]));
    CHECK(clReleaseContext(context));
    calls_wait("context destroyed", 3);
    printf("in the order %d %d %d\n", order[0], order[1], order[2]);
}

int main(void)
{
    parity_open(&p, 0);
    cl_program program = parity_program(&p, source, NULL);
    kernel = parity_kernel(program, "next");
    statuses_watch(false);
    statuses_watch(true);
    gate_watch();
    many_watch();
    relay_run();
    gate_from_callback();
    build_watch("built", source);
    build_watch("built with errors", "kernel void broken(global int *data) { data[0] = nothing; }\n");
    memories_watch();
    memory_in_use();
    context_watch();
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseProgram(program));
    parity_close(&p);
    return 0;
}
