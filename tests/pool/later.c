/*
 * later: a program that looks for devices again until there are some. Prints "none" if there were none at first,
 * and at the end how many there are, after it has used the first.
 */
#include <CL/cl.h>
#include <stdio.h>
#include <time.h>

static cl_uint look(cl_device_id *device)
{
    cl_platform_id platform;
    cl_uint count = 0;

    if (clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, device, &count))
        return 0;
    return count;
}

static int use(cl_device_id device)
{
    const unsigned pattern = 7;
    unsigned back = 0;
    cl_int error = CL_SUCCESS;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    cl_command_queue queue = error ? NULL : clCreateCommandQueueWithProperties(context, device, NULL, &error);
    cl_mem buffer = error ? NULL : clCreateBuffer(context, 0, sizeof(pattern), NULL, &error);

    if (!error)
        error = clEnqueueFillBuffer(queue, buffer, &pattern, sizeof(pattern), 0, sizeof(pattern), 0, NULL, NULL);
    if (!error)
        error = clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(back), &back, 0, NULL, NULL);
    return error || back != pattern;
}

int main(void)
{
    const struct timespec moment = {0, 100000000};
    cl_uint count;
    cl_device_id device;

    for (unsigned tries = 0; !(count = look(&device)); tries++) {
        if (!tries)
            printf("none\n");
        fflush(stdout);
        nanosleep(&moment, NULL);
    }
    printf("%u\n", count);
    return use(device);
}
