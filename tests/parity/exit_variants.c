/*
 * The ways in which a program that uses OpenCL can end: it starts itself once for each way, with its name as an
 * argument, and tells how that ended. Objects are not released and work is under way.
 */
#include "parity.h"
#include <pthread.h>
#include <signal.h>
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

/* What is under way when the program ends takes a while. */
static void work_enqueue(cl_int times)
{
    CHECK(clSetKernelArg(kernel, 1, sizeof(times), &times));
    CHECK(clEnqueueNDRangeKernel(p.queue, kernel, 1, NULL, (size_t[]){COUNT}, (size_t[]){64}, 0, NULL, NULL));
}

/* Once to the end, as PoCL 3.1 aborts when the program ends while a kernel is being compiled. */
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
    cl_event event = marker_behind_gate(); /* before: the thread may be quick */
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, thread_exit, &status) == 0);
    gate_wait(event);
    return 1;
}

/* The first thread ends before the program does. PoCL's threads would keep it alive, so another has to end it. */
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
