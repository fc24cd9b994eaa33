/*
 * Creates buffers and images with many bytes of contents while another queue, used by this thread and by another,
 * executes small commands, which must not wait until the contents have arrived. The order shows it: a command that uses
 * the new object has not completed when several small commands have, one after the other. This need not hold each time,
 * as the contents may be quick. Checks the contents.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call) check((call), #call, __LINE__)

enum { SIDE = 4096, SIZE = 4 * SIDE * SIDE, LARGE = 4 * SIZE, OBJECTS = 4, ROUNDS = 5, TRIES = 100 };

static cl_context context;
static cl_command_queue queue;
static unsigned char *contents;
static atomic_bool made;

static void check(cl_int status, const char *call, int line)
{
    if (status == CL_SUCCESS)
        return;
    fprintf(stderr, "creation.c:%d: error %d from %s\n", line, status, call);
    exit(1);
}

static cl_command_queue queue_new(cl_device_id device)
{
    cl_int status;
    cl_command_queue made_queue = clCreateCommandQueueWithProperties(context, device, NULL, &status);

    CHECK(status);
    return made_queue;
}

static cl_mem object_new(bool image, size_t size)
{
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = SIDE, .image_height = SIDE};
    cl_int status;
    cl_mem object =
        image ? clCreateImage(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, &format, &desc, contents, &status)
              : clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, size, contents, &status);

    CHECK(status);
    return object;
}

/* Reads the last four bytes. */
static void read_end(cl_mem object, bool image, size_t size, unsigned char *to, cl_event *event)
{
    const size_t origin[3] = {SIDE - 1, SIDE - 1, 0}, region[3] = {1, 1, 1};

    if (image)
        CHECK(clEnqueueReadImage(queue, object, CL_FALSE, origin, region, 0, 0, to, 0, NULL, event));
    else
        CHECK(clEnqueueReadBuffer(queue, object, CL_FALSE, size - 4, 4, to, 0, NULL, event));
    CHECK(clFlush(queue));
}

static void others(cl_command_queue other, cl_mem small)
{
    for (int i = 0; i < ROUNDS; i++) {
        CHECK(clEnqueueFillBuffer(other, small, "abcd", 4, 0, 4096, 0, NULL, NULL));
        CHECK(clFinish(other));
    }
}

static bool went_on(bool image, cl_command_queue other, cl_mem small)
{
    bool on = false;

    for (int i = 0; i < TRIES && !on; i++) {
        unsigned char last[4] = {0};
        cl_mem objects[OBJECTS];
        cl_event event;
        cl_int state;

        for (int j = 0; j < OBJECTS; j++)
            objects[j] = object_new(image, SIZE);
        read_end(objects[OBJECTS - 1], image, SIZE, last, &event);
        others(other, small);
        CHECK(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(state), &state, NULL));
        on = state > CL_COMPLETE;
        CHECK(clWaitForEvents(1, &event));
        if (memcmp(last, contents + SIZE - 4, 4))
            exit((fprintf(stderr, "these are not the contents\n"), 1));
        CHECK(clReleaseEvent(event));
        for (int j = 0; j < OBJECTS; j++)
            CHECK(clReleaseMemObject(objects[j]));
    }
    return on;
}

static void *make_large(void *argument)
{
    *(cl_mem *)argument = object_new(false, LARGE);
    atomic_store(&made, true);
    return NULL;
}

/* Creates an object with more contents than the library copies: the call lasts until the contents are sent. */
static void with_another_thread(cl_command_queue other, cl_mem small)
{
    unsigned char last[4] = {0};
    unsigned rounds = 0;
    pthread_t thread;
    cl_event event;
    cl_mem object;

    if (pthread_create(&thread, NULL, make_large, &object))
        exit(1);
    for (; !atomic_load(&made); rounds += ROUNDS)
        others(other, small);
    pthread_join(thread, NULL);
    read_end(object, false, LARGE, last, &event);
    CHECK(clWaitForEvents(1, &event));
    if (memcmp(last, contents + LARGE - 4, 4))
        exit((fprintf(stderr, "these are not the large contents\n"), 1));
    printf("while another thread made one of %d MiB: %u commands\n", LARGE >> 20, rounds);
    CHECK(clReleaseEvent(event));
    CHECK(clReleaseMemObject(object));
}

int main(void)
{
    cl_command_queue other;
    cl_platform_id platform;
    cl_device_id device;
    cl_mem small;
    cl_int status;

    CHECK(clGetPlatformIDs(1, &platform, NULL));
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    CHECK(status);
    queue = queue_new(device);
    other = queue_new(device);
    small = clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, NULL, &status);
    CHECK(status);
    contents = malloc(LARGE);
    if (!contents)
        return 1;
    for (size_t i = 0; i < LARGE; i++)
        contents[i] = (unsigned char)(i * 31 + (i >> 12));
    others(other, small);
    for (int image = 0; image <= 1; image++) {
        if (!went_on(image, other, small))
            exit((fprintf(stderr, "nothing goes on while %s is made\n", image ? "an image" : "a buffer"), 1));
    }
    with_another_thread(other, small);
    CHECK(clReleaseMemObject(small));
    CHECK(clReleaseCommandQueue(other));
    CHECK(clReleaseCommandQueue(queue));
    CHECK(clReleaseContext(context));
    return 0;
}
