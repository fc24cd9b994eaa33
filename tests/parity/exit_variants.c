/*
 * The ways in which a program that uses OpenCL can end: the program runs itself once for each way, with the way's name
 * as an argument, and prints how that run ended. Objects are not released, and work is under way.
 */
#include "parity.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

enum { COUNT = 1 << 16 };

static const char *source = "kernel void next(global int *data, int times)\n"
                            "{\n"
                            "    int i = get_global_id(0);\n"
                            "    for (int k = 0; k < times; k++)\n"
                            "        data[i] = data[i] * 3 + k;\n"
                            "}\n";

static struct parity p;
static cl_kernel kernel;
static cl_mem buffer;

/* Enqueues work that takes a while, to be under way when the program ends. */
static void work_enqueue(cl_int times)
{
    CHECK(clSetKernelArg(kernel, 1, sizeof(times), &times));
    CHECK(clEnqueueNDRangeKernel(p.queue, kernel, 1, NULL, (size_t[]){COUNT}, (size_t[]){64}, 0, NULL, NULL));
}

/* Waits for one launch, since PoCL 3.1 aborts when the program ends while a kernel is being compiled. */
static void work_start(void)
{
    parity_open(&p, 0);
    kernel = parity_kernel(parity_program(&p, source, NULL), "next");
    buffer = parity_buffer(&p, CL_MEM_READ_WRITE, COUNT * sizeof(cl_int), NULL);
    CHECK(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer));
    work_enqueue(1);
    CHECK(clFinish(p.queue));
    work_enqueue(300);
    CHECK(clFlush(p.queue));
    parity_rich();
}

static void say(const char *text)
{
    printf("%s\n", text);
    fflush(stdout);
}

static void tidy(void)
{
    CHECK(clFinish(p.queue));
    CHECK(clReleaseMemObject(buffer));
    CHECK(clReleaseCommandQueue(p.queue));
    say("tidied up");
}

static void work_more(void)
{
    work_enqueue(1);
    CHECK(clFinish(p.queue));
    say("worked at exit");
}

static void *thread_exit(void *status)
{
    usleep(20000);
    exit(*(int *)status);
}

static void *thread_work(void *unused)
{
    (void)unused;
    usleep(20000);
    work_more();
    exit(15);
}

static cl_event marker_behind_gate(void)
{
    cl_int status;
    cl_event gate = clCreateUserEvent(p.context, &status), event;
    CHECK(status);
    CHECK(clEnqueueMarkerWithWaitList(p.queue, 1, &gate, &event));
    return event;
}

static void gate_wait(cl_event event)
{
    clWaitForEvents(1, &event);
    say("not reached");
}

static int end_by_return(void)
{
    return 0;
}

static int end_by_status(void)
{
    return 42;
}

static int end_by_exit(void)
{
    exit(7);
}

static int end_by_underscore_exit(void)
{
    _exit(8);
}

static int end_by_quick_exit(void)
{
    quick_exit(9);
}

static int end_by_abort(void)
{
    abort();
}

static int end_by_segmentation_fault(void)
{
    static int *volatile nowhere;
    *nowhere = 1;
    return 1;
}

static int end_by_kill(void)
{
    raise(SIGKILL);
    return 1;
}

static int end_by_term(void)
{
    raise(SIGTERM);
    return 1;
}

static int end_by_interrupt(void)
{
    raise(SIGINT);
    return 1;
}

static int end_at_exit(void)
{
    atexit(tidy);
    atexit(work_more);
    return 11;
}

static int end_by_thread(void)
{
    static int status = 12;
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, thread_exit, &status) == 0);
    pthread_join(thread, NULL);
    return 1;
}

static int end_by_thread_while_waiting(void)
{
    static int status = 13;
    cl_event event = marker_behind_gate(); /* first: the thread may be quick */
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, thread_exit, &status) == 0);
    gate_wait(event);
    return 1;
}

/* ---- other threads call OpenCL while this one is in exit() ---- */

static atomic_uint rounds;

static cl_int call_enqueue(cl_command_queue queue)
{
    const cl_int zero = 0;
    return clEnqueueFillBuffer(queue, buffer, &zero, sizeof(zero), 0, 64, 0, NULL, NULL);
}

static cl_int call_flush(cl_command_queue queue)
{
    return clFlush(queue);
}

static cl_int call_write(cl_command_queue queue)
{
    const cl_int one = 1;
    return clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, sizeof(one), &one, 0, NULL, NULL);
}

static cl_int call_read(cl_command_queue queue)
{
    cl_int one;
    return clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(one), &one, 0, NULL, NULL);
}

static cl_int call_create(cl_command_queue queue)
{
    cl_int status;
    cl_mem created = clCreateBuffer(p.context, CL_MEM_READ_WRITE, 1 << 20, NULL, &status);
    (void)queue;
    return created ? clReleaseMemObject(created) : status;
}

static cl_int call_create_context(cl_command_queue queue)
{
    cl_int status;
    cl_context created = clCreateContext(NULL, 1, &p.device, NULL, NULL, &status);
    (void)queue;
    return created ? clReleaseContext(created) : status;
}

static cl_int call_event(cl_command_queue queue)
{
    cl_event event;
    cl_int status = clEnqueueMarkerWithWaitList(queue, 0, NULL, &event);
    cl_int execution;
    if (status)
        return status;
    status = clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(execution), &execution, NULL);
    return status ? status : execution < 0 ? execution : clReleaseEvent(event);
}

static cl_int call_poll(cl_command_queue queue)
{
    static cl_int data[COUNT];
    cl_event event;
    cl_int status = clEnqueueReadBuffer(queue, buffer, CL_FALSE, 0, sizeof(data), data, 0, NULL, &event);
    cl_int execution = CL_QUEUED;
    while (!status && execution > CL_COMPLETE)
        status = clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(execution), &execution, NULL);
    return status ? status : execution < 0 ? execution : clReleaseEvent(event);
}

static cl_int call_program(cl_command_queue queue)
{
    cl_int status;
    cl_program created = clCreateProgramWithSource(p.context, 1, &source, NULL, &status);
    (void)queue;
    return created ? clReleaseProgram(created) : status;
}

static cl_int call_ask(cl_command_queue queue)
{
    size_t size;
    (void)queue;
    return clGetKernelWorkGroupInfo(kernel, p.device, CL_KERNEL_WORK_GROUP_SIZE, sizeof(size), &size, NULL);
}

static const struct {
    const char *name;
    cl_int (*call)(cl_command_queue queue);
} calls[] = {{"enqueue", call_enqueue}, {"flush", call_flush},   {"write", call_write},
             {"read", call_read},       {"create", call_create}, {"create a context", call_create_context},
             {"event", call_event},     {"poll", call_poll},     {"program", call_program},
             {"ask", call_ask}};

/* Repeats one of the calls; it must return the same as while the process does not end. */
static void *thread_call(void *number)
{
    const size_t i = (size_t)number;
    cl_command_queue queue = parity_queue(&p, 0);
    cl_int status;
    while (!(status = calls[i].call(queue))) {
        atomic_fetch_add(&rounds, 1);
        usleep(500);
    }
    dprintf(STDOUT_FILENO, "%s: %s\n", calls[i].name, parity_error_name(status));
    return NULL;
}

/* Called for libc's last write, after all atexit() functions and destructors: the other threads get time to call, and
 * this one, which ends the process, may still release something. */
static ssize_t linger(void *cookie, const char *bytes, size_t length)
{
    cl_int status;
    (void)bytes;
    usleep(300000);
    status = clReleaseMemObject(cookie);
    if (!status)
        status = clReleaseKernel(kernel);
    if (status)
        dprintf(STDOUT_FILENO, "release: %s\n", parity_error_name(status));
    return (ssize_t)length;
}

static int end_while_calling(void)
{
    static const cookie_io_functions_t functions = {.write = linger};
    pthread_t thread;
    FILE *last = fopencookie(parity_buffer(&p, CL_MEM_READ_WRITE, COUNT, NULL), "w", functions);
    EXPECT(last && fputc('.', last) == '.');
    for (size_t i = 0; i < PARITY_COUNT(calls); i++)
        EXPECT(pthread_create(&thread, NULL, thread_call, (void *)i) == 0);
    while (atomic_load(&rounds) < 20 * PARITY_COUNT(calls))
        usleep(1000);
    return 16;
}

/* The initial thread ends before the program does. PoCL's threads would keep the process alive, so another thread ends
 * it. */
static int end_by_last_thread(void)
{
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, thread_work, NULL) == 0);
    pthread_detach(thread);
    pthread_exit(NULL);
}

static int end_by_exec(void)
{
    fflush(stdout);
    execl("/bin/sh", "sh", "-c", "echo another program; exit 14", NULL);
    return 1;
}

static int end_by_term_while_waiting(void)
{
    alarm(1);
    gate_wait(marker_behind_gate());
    return 1;
}

static const struct {
    const char *name;
    int (*end)(void);
} ends[] = {
    {"return", end_by_return},
    {"status", end_by_status},
    {"exit", end_by_exit},
    {"_exit", end_by_underscore_exit},
    {"quick_exit", end_by_quick_exit},
    {"abort", end_by_abort},
    {"segmentation fault", end_by_segmentation_fault},
    {"kill", end_by_kill},
    {"term", end_by_term},
    {"interrupt", end_by_interrupt},
    {"at exit", end_at_exit},
    {"thread", end_by_thread},
    {"thread while waiting", end_by_thread_while_waiting},
    {"while others call", end_while_calling},
    {"last thread", end_by_last_thread},
    {"exec", end_by_exec},
    {"alarm while waiting", end_by_term_while_waiting},
};

static int end_as(const char *name)
{
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    for (size_t i = 0; i < PARITY_COUNT(ends); i++) {
        if (strcmp(ends[i].name, name) == 0) {
            work_start();
            return ends[i].end();
        }
    }
    return 99;
}

int main(int count, char **arguments)
{
    if (count > 1)
        return end_as(arguments[1]);
    for (size_t i = 0; i < PARITY_COUNT(ends); i++)
        parity_end_print(ends[i].name);
    return 0;
}
