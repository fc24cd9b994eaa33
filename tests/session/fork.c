/*
 * A program that forks while it has a session. usage: fork HOW
 *   exit, _exit, kill, exec   the child ends like this at once
 *   own                       the child opens a session of its own and works in it, while the parent goes on
 *   system                    the parent runs commands with system() and popen()
 * The parent works before, meanwhile and afterwards, and ends with 0 when all was well.
 */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 4096 };

static cl_context context;
static cl_command_queue queue;
static cl_kernel kernel;
static cl_mem buffer;

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
    cl_device_id device;
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

static void child(const char *how)
{
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
    int status;
    pid_t pid;

    fflush(stdout);
    pid = fork();
    if (pid == 0)
        child(how);
    for (cl_int i = 0; i < 100; i++)
        work(i);
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
