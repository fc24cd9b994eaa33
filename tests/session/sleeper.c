/* A program with a session, for tests that end it: prints "ready" and then does what its argument says. */
#include <CL/cl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Returns 3 when the loss of the device is reported; waits for it for at most ten minutes. */
static int finish_until_lost(cl_command_queue queue, cl_mem buffer)
{
    int zero = 0;

    for (int i = 0; i < 60000; i++) {
        if (clEnqueueFillBuffer(queue, buffer, &zero, sizeof(zero), 0, 4096, 0, NULL, NULL) || clFinish(queue))
            return 3;
        usleep(10000);
    }
    return 4;
}

int main(int count, char **arguments)
{
    const char *how = count > 1 ? arguments[1] : "sleep";
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    cl_mem buffer;

    if (clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return 1;
    context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    queue = clCreateCommandQueueWithProperties(context, device, NULL, NULL);
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, NULL, NULL);
    if (!buffer || clFinish(queue))
        return 1;
    signal(SIGINT, SIG_DFL);
    puts("ready");
    fflush(stdout);
    if (!strcmp(how, "finish"))
        return finish_until_lost(queue, buffer);
    if (!strcmp(how, "exit"))
        exit(0);
    if (!strcmp(how, "_exit"))
        _exit(0);
    if (!strcmp(how, "abort"))
        abort();
    if (!strcmp(how, "sleep")) { /* until the test ends it, or itself ends */
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        sleep(600);
    }
    return 0;
}
