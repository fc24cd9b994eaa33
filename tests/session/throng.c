/*
 * Very many devices: data travel from each to the next, in an order in which neighbours have distant numbers, and
 * nothing is computed. Prints the number of devices, and reads a line, before which one of their workers is killed;
 * then continues with all others: commands that wait for the lost device end, and data travel once more, between other
 * pairs than before.
 */
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 2048, BYTES = 64 << 10 };

static cl_uint count;
static cl_device_id devices[MOST];

static void need(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    printf("%s: %d\n", what, status);
    exit(3);
}

static void is_made_of(const unsigned char *bytes, unsigned char what)
{
    for (int i = 0; i < BYTES; i++) {
        if (bytes[i] != what) {
            printf("%d at %d, not %d\n", bytes[i], i, what);
            exit(4);
        }
    }
}

/* Sends data through the devices, from each to the one step further on. Each command waits for the one before it, on
 * another device. */
static void go_round(cl_uint some, cl_uint step, unsigned char what)
{
    static unsigned char bytes[BYTES];
    static cl_command_queue queues[MOST];
    static cl_mem buffers[MOST];
    static cl_event events[MOST];
    cl_uint at = 0;
    cl_int status;
    cl_context context = clCreateContext(NULL, some, devices, NULL, NULL, &status);

    need(status, "clCreateContext");
    for (cl_uint i = 0; i < some; i++, at = (at + step) % some) {
        queues[i] = clCreateCommandQueueWithProperties(context, devices[at], NULL, &status);
        need(status, "clCreateCommandQueueWithProperties");
        buffers[i] = clCreateBuffer(context, 0, BYTES, NULL, &status);
        need(status, "clCreateBuffer");
    }
    need(clEnqueueFillBuffer(queues[0], buffers[0], &what, 1, 0, BYTES, 0, NULL, &events[0]), "clEnqueueFillBuffer");
    for (cl_uint i = 1; i < some; i++)
        need(clEnqueueCopyBuffer(queues[i], buffers[i - 1], buffers[i], 0, 0, BYTES, 1, &events[i - 1], &events[i]),
             "clEnqueueCopyBuffer");
    memset(bytes, ~what, BYTES);
    need(clEnqueueReadBuffer(queues[some - 1], buffers[some - 1], CL_TRUE, 0, BYTES, bytes, 1, &events[some - 1], NULL),
         "clEnqueueReadBuffer");
    is_made_of(bytes, what);
    for (cl_uint i = 0; i < some; i++) {
        need(clReleaseEvent(events[i]), "clReleaseEvent");
        need(clReleaseMemObject(buffers[i]), "clReleaseMemObject");
        need(clReleaseCommandQueue(queues[i]), "clReleaseCommandQueue");
    }
    need(clReleaseContext(context), "clReleaseContext");
}

static cl_int fill_on(cl_device_id device)
{
    cl_int status;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    cl_command_queue queue = status ? NULL : clCreateCommandQueueWithProperties(context, device, NULL, &status);
    cl_mem buffer = status ? NULL : clCreateBuffer(context, 0, BYTES, NULL, &status);

    if (!status)
        status = clEnqueueFillBuffer(queue, buffer, "x", 1, 0, BYTES, 0, NULL, NULL);
    if (!status)
        status = clFinish(queue);
    if (buffer)
        clReleaseMemObject(buffer);
    if (queue)
        clReleaseCommandQueue(queue);
    if (context)
        clReleaseContext(context);
    return status;
}

/* Uses each device, and returns the index of the one that fails. */
static cl_uint find_lost(void)
{
    cl_uint lost = 0;

    for (cl_uint found = 0; !found;) {
        for (cl_uint i = 0; i < count; i++) {
            if (fill_on(devices[i]) != CL_SUCCESS) {
                lost = i;
                found++;
            }
        }
        if (found > 1) {
            printf("%u are lost\n", found);
            exit(5);
        }
    }
    return lost;
}

/* Waits for data that are to come from the lost device: the wait must end. */
static void ask_lost(cl_uint lost)
{
    const cl_uint other = (lost + count / 2) % count;
    cl_device_id both[] = {devices[lost], devices[other]};
    cl_int status;
    cl_context context = clCreateContext(NULL, 2, both, NULL, NULL, &status);
    cl_command_queue queues[2];
    cl_mem buffer;
    cl_event event = NULL;

    if (status != CL_SUCCESS)
        return;
    for (int i = 0; i < 2; i++) {
        queues[i] = clCreateCommandQueueWithProperties(context, both[i], NULL, &status);
        if (status != CL_SUCCESS)
            return;
    }
    buffer = clCreateBuffer(context, 0, BYTES, NULL, &status);
    if (status == CL_SUCCESS)
        status = clEnqueueFillBuffer(queues[0], buffer, "x", 1, 0, BYTES, 0, NULL, &event);
    if (status == CL_SUCCESS)
        status = clEnqueueMigrateMemObjects(queues[1], 1, &buffer, 0, 1, &event, NULL);
    if (status == CL_SUCCESS)
        status = clFinish(queues[1]);
    if (status == CL_SUCCESS)
        printf("what a lost device was to do is done\n");
}

int main(void)
{
    cl_platform_id platform;
    cl_uint lost;

    setvbuf(stdout, NULL, _IOLBF, 0);
    need(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    need(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MOST, devices, &count), "clGetDeviceIDs");
    go_round(count, count > 7 ? 7 : 1, 0x5a);
    printf("%u devices\n", count);
    if (count == 1 || getchar() == EOF)
        return 0;
    lost = find_lost();
    ask_lost(lost);
    devices[lost] = devices[--count];
    go_round(count, count % 11 ? 11 : 1, 0xa5);
    printf("%u devices\n", count);
    return 0;
}
