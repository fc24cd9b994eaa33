/*
 * A program that forks while it has a session. usage: fork HOW
 *   exit, _exit, kill, exec   the child ends like this at once
 *   own                       the child opens a session of its own and works in it, while the parent goes on
 *   calls                     threads of the parent are in a call at the fork; the child, in which new threads then
 *                             reuse their stacks, opens a session of its own and loses its worker
 *   system                    the parent runs commands with system() and popen()
 * The parent works before, meanwhile and afterwards, and exits with 0 if all was well.
 */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 4096, THREADS = 4 };

static cl_context context;
static cl_command_queue queue;
static cl_kernel kernel;
static cl_mem buffer;
static cl_device_id device;

static const char *source = "kernel void set(global int *data, int what)\n"
                            "{\n"
                            "    data[get_global_id(0)] = what;\n"
                            "}\n";

static void need(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    printf("%s: %d\n", what, status);
    fflush(stdout);
    _exit(3);
}

static void open_all(void)
{
    cl_platform_id platform;
    cl_program program;
    cl_int status;

    need(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    need(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    need(status, "clCreateContext");
    queue = clCreateCommandQueue(context, device, 0, &status);
    need(status, "clCreateCommandQueue");
    program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    need(status, "clCreateProgramWithSource");
    need(clBuildProgram(program, 0, NULL, NULL, NULL, NULL), "clBuildProgram");
    kernel = clCreateKernel(program, "set", &status);
    need(status, "clCreateKernel");
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, COUNT * sizeof(cl_int), NULL, &status);
    need(status, "clCreateBuffer");
    need(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer), "clSetKernelArg");
}

static void work(cl_int what)
{
    static cl_int data[COUNT];
    const size_t size = COUNT;

    need(clSetKernelArg(kernel, 1, sizeof(what), &what), "clSetKernelArg");
    need(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
    need(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(data), data, 0, NULL, NULL), "clEnqueueReadBuffer");
    if (data[0] != what || data[COUNT - 1] != what) {
        printf("%d instead of %d\n", data[0], what);
        fflush(stdout);
        _exit(4);
    }
}

/* ---- threads that are in a call when the process forks ---- */

static atomic_bool stop;
static pthread_t threads[THREADS];

static void *ask(void *argument)
{
    cl_ulong times[2];

    while (!atomic_load(&stop))
        clGetDeviceAndHostTimer(device, &times[0], &times[1]);
    return argument;
}

/* New threads get the stacks of the threads that the fork has left behind. */
static void *overwrite(void *argument)
{
    volatile char stack[65536];

    for (size_t i = 0; i < sizeof(stack); i++)
        stack[i] = 0x5a;
    return argument;
}

static void start_threads(void *(*run)(void *))
{
    for (int i = 0; i < THREADS; i++)
        need(pthread_create(&threads[i], NULL, run, NULL), "pthread_create");
}

static void join_threads(void)
{
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* Kills the processes of a session that was started with mark in the environment. */
static int kill_session(const char *mark)
{
    DIR *processes = opendir("/proc");
    const struct dirent *entry;
    int killed = 0;

    while (processes && (entry = readdir(processes))) {
        char path[300], text[65536];
        FILE *file;
        size_t length;

        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        snprintf(path, sizeof(path), "/proc/%s/environ", entry->d_name);
        file = fopen(path, "r");
        length = file ? fread(text, 1, sizeof(text), file) : 0;
        if (file)
            fclose(file);
        if (memmem(text, length, mark, strlen(mark) + 1))
            killed += kill(atoi(entry->d_name), SIGKILL) == 0;
    }
    if (processes)
        closedir(processes);
    return killed;
}

static void lose_worker(void)
{
    int nowhere = open("/dev/null", O_WRONLY);
    char mark[64];

    snprintf(mark, sizeof(mark), "VOCL_TEST_CHILD=%d", (int)getpid());
    putenv(mark);
    start_threads(overwrite);
    join_threads();
    open_all();
    work(-1);
    dup2(nowhere, 2); /* hides the message about the loss */
    if (!kill_session(mark))
        _exit(13);
    while (clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(cl_int), &(cl_int){0}, 0, NULL, NULL) == CL_SUCCESS)
        ;
    exit(0);
}

static void child(const char *how)
{
    if (!strcmp(how, "calls"))
        lose_worker();
    if (!strcmp(how, "exit"))
        exit(0);
    if (!strcmp(how, "kill"))
        raise(SIGKILL);
    if (!strcmp(how, "exec"))
        execlp("true", "true", (char *)NULL);
    if (!strcmp(how, "own")) {
        open_all();
        for (cl_int i = 0; i < 200; i++)
            work(-i);
        exit(0);
    }
    _exit(strcmp(how, "_exit") ? 5 : 0);
}

static int fork_and_work(const char *how)
{
    const bool calls = !strcmp(how, "calls");
    int status;
    pid_t pid;

    fflush(stdout);
    atomic_store(&stop, false);
    if (calls)
        start_threads(ask);
    pid = fork();
    if (pid == 0)
        child(how);
    for (cl_int i = 0; i < 100; i++)
        work(i);
    atomic_store(&stop, true);
    if (calls)
        join_threads();
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return 6;
    if (!strcmp(how, "kill"))
        return WIFSIGNALED(status) ? 0 : 7;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 8;
}

static int run_commands(void)
{
    char line[64] = "";
    FILE *pipe;

    if (system("exit 9") != 9 << 8)
        return 10;
    pipe = popen("echo told", "r");
    if (!pipe || !fgets(line, sizeof(line), pipe) || pclose(pipe) != 0)
        return 11;
    return strcmp(line, "told\n") ? 12 : 0;
}

int main(int count, char **arguments)
{
    int status = 0;

    if (count != 2)
        return 99;
    open_all();
    work(1000);
    for (int round = 0; round < 3 && !status; round++) {
        status = !strcmp(arguments[1], "system") ? run_commands() : fork_and_work(arguments[1]);
        work(2000 + round);
    }
    return status;
}
