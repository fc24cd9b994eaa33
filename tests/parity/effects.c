/*
 * A command is complete when its effect is in the program's memory, and when it no longer needs that memory: for every
 * command that moves data, every way to learn that it is complete, and every kind of queue. Memory that a command fills
 * holds other bytes before; the memory of a command is unmapped, and ends at an unmapped page, as soon as it is
 * complete.
 *
 * usage: effects [SIZE...]
 */
#include "parity.h"
#include <semaphore.h>

#define LARGE ((size_t)2 << 20) /* from this size on not all combinations, */
#define HUGE ((size_t)8 << 20)  /* and from this one few */

enum queue_kind { IN_ORDER, OUT_OF_ORDER, PROFILED, QUEUE_KINDS };

static const char *const queue_names[] = {"in order", "out of order", "profiled"};

static struct parity parity;
static cl_command_queue queues[QUEUE_KINDS],
    elsewhere;       /* elsewhere: another queue, of another device if there is one */
static cl_mem other; /* for other commands */
static unsigned char value;
static unsigned wrong;

/* The objects and memory of a command. */
struct work {
    cl_command_queue queue;
    enum queue_kind kind;
    size_t size, width, height;
    cl_mem buffer, image;
    unsigned char *svm;
    unsigned char *memory; /* the program's, which ends at an unmapped page, or a map */
    size_t length, pitch;  /* of the memory */
};

struct command {
    const char *name;
    enum { BUFFER, IMAGE, SVM } what;
    bool writes, maps; /* writes: to the device */
    bool rect;         /* the memory's rows have gaps */
    cl_int (*run)(struct work *w, cl_uint count, const cl_event *list, cl_event *event);
};

static const size_t zero[3];

/* ---- commands ---- */

static cl_int read_buffer(struct work *w, cl_uint count, const cl_event *list, cl_event *event)
{
    return clEnqueueReadBuffer(w->queue, w->buffer, CL_FALSE, 0, w->size, w->memory, count, list, event);
}

static cl_int write_buffer(struct work *w, cl_uint count, const cl_event *list, cl_event *event)
{
    return clEnqueueWriteBuffer(w->queue, w->buffer, CL_FALSE, 0, w->size, w->memory, count, list, event);
}

static cl_int read_rect(struct work *w, cl_uint count, const cl_event *list, cl_event *event)
{
    const size_t region[3] = {w->width, w->height, 1};

    return clEnqueueReadBufferRect(w->queue, w->buffer, CL_FALSE, zero, zero, region, 0, 0, w->pitch, 0, w->memory,
                                   count, list, event);
}

static cl_int write_rect(struct work *w, cl_uint count, const cl_event *list, cl_event *event)
{
    const size_t region[3] = {w->width, w->height, 1};

    return clEnqueueWriteBufferRect(w->queue, w->buffer, CL_FALSE, zero, zero, region, 0, 0, w->pitch, 0, w->memory,
                                    count, list, event);
}

static cl_int read_image(struct work *w, cl_uint count, const cl_event *list, cl_event *event)
{
    const size_t region[3] = {w->width, w->height, 1};

    return clEnqueueReadImage(w->queue, w->image, CL_FALSE, zero, region, 0, 0, w->memory, count, list, event);
}

static cl_int write_image(struct work *w, cl_uint count, const cl_event *list, cl_event *event)
{
    const size_t region[3] = {w->width, w->height, 1};

    return clEnqueueWriteImage(w->queue, w->image, CL_FALSE, zero, region, 0, 0, w->memory, count, list, event);
}

static cl_int map_buffer(struct work *w, cl_uint count, const cl_event *list, cl_event *event)
{
    cl_int status;

    w->memory = clEnqueueMapBuffer(w->queue, w->buffer, CL_FALSE, CL_MAP_READ, 0, w->size, count, list, event, &status);
    return status;
}

static cl_int map_image(struct work *w, cl_uint count, const cl_event *list, cl_event *event)
{
    const size_t region[3] = {w->width, w->height, 1};
    cl_int status;

    w->memory = clEnqueueMapImage(w->queue, w->image, CL_FALSE, CL_MAP_READ, zero, region, &w->pitch, NULL, count, list,
                                  event, &status);
    return status;
}

static cl_int unmap_buffer(struct work *w, cl_uint count, const cl_event *list, cl_event *event)
{
    return clEnqueueUnmapMemObject(w->queue, w->buffer, w->memory, count, list, event);
}

static cl_int unmap_image(struct work *w, cl_uint count, const cl_event *list, cl_event *event)
{
    return clEnqueueUnmapMemObject(w->queue, w->image, w->memory, count, list, event);
}

static cl_int map_svm(struct work *w, cl_uint count, const cl_event *list, cl_event *event)
{
    w->memory = w->svm;
    return clEnqueueSVMMap(w->queue, CL_FALSE, CL_MAP_READ, w->svm, w->size, count, list, event);
}

static cl_int unmap_svm(struct work *w, cl_uint count, const cl_event *list, cl_event *event)
{
    return clEnqueueSVMUnmap(w->queue, w->svm, count, list, event);
}

static cl_int copy_from_svm(struct work *w, cl_uint count, const cl_event *list, cl_event *event)
{
    return clEnqueueSVMMemcpy(w->queue, CL_FALSE, w->memory, w->svm, w->size, count, list, event);
}

static cl_int copy_to_svm(struct work *w, cl_uint count, const cl_event *list, cl_event *event)
{
    return clEnqueueSVMMemcpy(w->queue, CL_FALSE, w->svm, w->memory, w->size, count, list, event);
}

static const struct command commands[] = {
    {"read", BUFFER, false, false, false, read_buffer},
    {"read rect", BUFFER, false, false, true, read_rect},
    {"read image", IMAGE, false, false, false, read_image},
    {"map", BUFFER, false, true, false, map_buffer},
    {"map image", IMAGE, false, true, false, map_image},
    {"svm map", SVM, false, true, false, map_svm},
    {"svm copy here", SVM, false, false, false, copy_from_svm},
    {"write", BUFFER, true, false, false, write_buffer},
    {"write rect", BUFFER, true, false, true, write_rect},
    {"write image", IMAGE, true, false, false, write_image},
    {"unmap", BUFFER, true, true, false, unmap_buffer},
    {"unmap image", IMAGE, true, true, false, unmap_image},
    {"svm unmap", SVM, true, true, false, unmap_svm},
    {"svm copy there", SVM, true, false, false, copy_to_svm},
};

/* ---- ways to learn that a command is complete ---- */

static void release(cl_event event)
{
    CHECK(clReleaseEvent(event));
}

static void wait_and_release(cl_event event)
{
    CHECK(clWaitForEvents(1, &event));
    release(event);
}

static void own_event(struct work *w, cl_event event)
{
    (void)w;
    CHECK(clWaitForEvents(1, &event));
}

static void own_status(struct work *w, cl_event event)
{
    CHECK(clFlush(w->queue));
    while (parity_event_status(event) != CL_COMPLETE)
        ;
}

static void own_profile(struct work *w, cl_event event)
{
    cl_ulong end;

    CHECK(clFlush(w->queue));
    while (w->kind == PROFILED &&
           clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(end), &end, NULL) != CL_SUCCESS)
        ;
    if (w->kind != PROFILED)
        own_event(w, event);
}

static void CL_CALLBACK post(cl_event event, cl_int status, void *argument)
{
    (void)event;
    (void)status;
    sem_post(argument);
}

static void own_callback(struct work *w, cl_event event)
{
    sem_t called;

    sem_init(&called, 0, 0);
    CHECK(clSetEventCallback(event, CL_COMPLETE, post, &called));
    CHECK(clFlush(w->queue));
    while (sem_wait(&called))
        ;
    sem_destroy(&called);
}

static void finish(struct work *w, cl_event event)
{
    (void)event;
    CHECK(clFinish(w->queue));
}

static void marker(struct work *w, cl_event event)
{
    cl_event after;

    (void)event;
    CHECK(clEnqueueMarkerWithWaitList(w->queue, 0, NULL, &after));
    wait_and_release(after);
}

static void barrier(struct work *w, cl_event event)
{
    cl_event after;

    (void)event;
    CHECK(clEnqueueBarrierWithWaitList(w->queue, 0, NULL, &after));
    wait_and_release(after);
}

static void behind_barrier(struct work *w, cl_event event)
{
    cl_event after;

    (void)event;
    CHECK(clEnqueueBarrierWithWaitList(w->queue, 0, NULL, NULL));
    CHECK(clEnqueueFillBuffer(w->queue, other, &value, 1, 0, 64, 0, NULL, &after));
    CHECK(clFlush(w->queue));
    while (parity_event_status(after) != CL_COMPLETE)
        ;
    release(after);
}

/* How many events a later command lists: none in an in-order queue. */
static cl_uint listed(const struct work *w)
{
    return w->kind == OUT_OF_ORDER;
}

static void later_fill(struct work *w, cl_event event)
{
    const cl_uint count = listed(w);
    cl_event after;

    CHECK(clEnqueueFillBuffer(w->queue, other, &value, 1, 0, 64, count, count ? &event : NULL, &after));
    wait_and_release(after);
}

static void later_migration(struct work *w, cl_event event)
{
    const cl_uint count = listed(w);
    cl_event after;

    CHECK(clEnqueueMigrateMemObjects(w->queue, 1, &other, CL_MIGRATE_MEM_OBJECT_HOST, count, count ? &event : NULL,
                                     &after));
    wait_and_release(after);
}

static void later_callback(struct work *w, cl_event event)
{
    const cl_uint count = listed(w);
    cl_event after;

    CHECK(clEnqueueMarkerWithWaitList(w->queue, count, count ? &event : NULL, &after));
    own_callback(w, after);
    release(after);
}

static void later_read(struct work *w, cl_event event)
{
    const cl_uint count = listed(w);
    unsigned char byte;

    CHECK(clEnqueueReadBuffer(w->queue, other, CL_TRUE, 7, 1, &byte, count, count ? &event : NULL, NULL));
}

static void later_write(struct work *w, cl_event event)
{
    const cl_uint count = listed(w);

    CHECK(clEnqueueWriteBuffer(w->queue, other, CL_TRUE, 7, 1, &value, count, count ? &event : NULL, NULL));
}

static void later_map(struct work *w, cl_event event)
{
    const cl_uint count = listed(w);
    cl_int status;
    void *map =
        clEnqueueMapBuffer(w->queue, other, CL_TRUE, CL_MAP_READ, 0, 64, count, count ? &event : NULL, NULL, &status);

    CHECK(status);
    CHECK(clEnqueueUnmapMemObject(w->queue, other, map, 0, NULL, NULL));
}

static void other_queue(struct work *w, cl_event event)
{
    cl_event after, last;

    CHECK(clFlush(w->queue));
    CHECK(clEnqueueFillBuffer(elsewhere, other, &value, 1, 0, 64, 1, &event, &after));
    CHECK(clEnqueueMarkerWithWaitList(elsewhere, 0, NULL, &last));
    CHECK(clFlush(elsewhere));
    release(after);
    wait_and_release(last);
}

static void other_queue_finish(struct work *w, cl_event event)
{
    CHECK(clFlush(w->queue));
    CHECK(clEnqueueMarkerWithWaitList(elsewhere, 1, &event, NULL));
    CHECK(clFinish(elsewhere));
}

struct way {
    const char *name;
    bool needs_event, often; /* often: also for large data */
    void (*learn)(struct work *w, cl_event event);
};

static const struct way ways[] = {
    {"its event", true, true, own_event},
    {"its status", true, false, own_status},
    {"its times", true, false, own_profile},
    {"its callback", true, false, own_callback},
    {"clFinish", false, true, finish},
    {"a marker", false, true, marker},
    {"a barrier", false, false, barrier},
    {"what is behind a barrier", false, false, behind_barrier},
    {"a later fill", true, false, later_fill},
    {"a later migration", true, false, later_migration},
    {"a later callback", true, false, later_callback},
    {"a later read", true, true, later_read},
    {"a later write", true, false, later_write},
    {"a later map", true, false, later_map},
    {"another queue", true, true, other_queue},
    {"another queue's clFinish", true, false, other_queue_finish},
};

/* ---- one of each ---- */

static void objects_new(struct work *w)
{
    const cl_image_format format = {CL_R, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {
        .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = w->width, .image_height = w->height};
    cl_int status;

    w->buffer = parity_buffer(&parity, CL_MEM_READ_WRITE, w->size, NULL);
    w->image = clCreateImage(parity.context, CL_MEM_READ_WRITE, &format, &desc, NULL, &status);
    if (w->size > 2 * HUGE) /* larger than an image may be */
        return;
    CHECK(status);
}

/* Fills the device's object with a byte. */
static cl_int device_fill(const struct work *w, const struct command *c, unsigned char byte, cl_event *event)
{
    const size_t region[3] = {w->width, w->height, 1};
    const cl_uint colour[4] = {byte, byte, byte, byte};

    switch (c->what) {
    case BUFFER:
        return clEnqueueFillBuffer(w->queue, w->buffer, &byte, 1, 0, w->size, 0, NULL, event);
    case IMAGE:
        return clEnqueueFillImage(w->queue, w->image, colour, zero, region, 0, NULL, event);
    case SVM:
        return clEnqueueSVMMemFill(w->queue, w->svm, &byte, 1, w->size, 0, NULL, event);
    }
    return CL_INVALID_VALUE;
}

/* Reads the device's object into w->memory, to be freed. */
static void device_look(struct work *w, const struct command *c)
{
    const size_t region[3] = {w->width, w->height, 1};

    w->memory = malloc(w->size);
    if (c->what == BUFFER)
        CHECK(clEnqueueReadBuffer(w->queue, w->buffer, CL_TRUE, 0, w->size, w->memory, 0, NULL, NULL));
    else if (c->what == IMAGE)
        CHECK(clEnqueueReadImage(w->queue, w->image, CL_TRUE, zero, region, 0, 0, w->memory, 0, NULL, NULL));
    else
        CHECK(clEnqueueSVMMemcpy(w->queue, CL_TRUE, w->memory, w->svm, w->size, 0, NULL, NULL));
}

/* Sets up the program's memory before the command. */
static void prepare(struct work *w, const struct command *c)
{
    const size_t region[3] = {w->width, w->height, 1};
    cl_int status = CL_SUCCESS;

    w->pitch = c->rect && w->height > 1 ? w->width + 3 : w->width;
    w->length = w->pitch * (w->height - 1) + w->width;
    if (!c->maps) {
        w->memory = parity_memory_new(w->length, c->writes ? value : (unsigned char)~value);
        return;
    }
    if (!c->writes)
        return;
    if (c->what == BUFFER) {
        w->memory = clEnqueueMapBuffer(w->queue, w->buffer, CL_TRUE, CL_MAP_WRITE, 0, w->size, 0, NULL, NULL, &status);
    } else if (c->what == IMAGE) {
        w->memory = clEnqueueMapImage(w->queue, w->image, CL_TRUE, CL_MAP_WRITE, zero, region, &w->pitch, NULL, 0, NULL,
                                      NULL, &status);
    } else {
        status = clEnqueueSVMMap(w->queue, CL_TRUE, CL_MAP_WRITE, w->svm, w->size, 0, NULL, NULL);
        w->memory = w->svm;
    }
    CHECK(status);
    for (size_t row = 0; row < w->height; row++)
        memset(w->memory + row * w->pitch, value, w->width);
}

/* Checks the result right when the command is said to be complete. */
static bool is_there(struct work *w, const struct command *c)
{
    bool right = true;

    for (size_t row = w->height; !c->writes && right && row-- > 0;) { /* the end arrives last */
        right = parity_all_are(w->memory + row * w->pitch, w->width, value);
        if (c->rect && row + 1 < w->height)
            right = right && parity_all_are(w->memory + row * w->pitch + w->width, 3, (unsigned char)~value);
    }
    if (!c->maps)
        parity_memory_free(w->memory, w->length);
    else if (!c->writes && c->what == SVM)
        CHECK(clEnqueueSVMUnmap(w->queue, w->svm, 0, NULL, NULL));
    else if (!c->writes)
        CHECK(clEnqueueUnmapMemObject(w->queue, c->what == BUFFER ? w->buffer : w->image, w->memory, 0, NULL, NULL));
    if (!c->writes)
        return right;
    device_look(w, c);
    right = parity_all_are(w->memory, w->size, value);
    free(w->memory);
    return right;
}

static void say_wrong(const struct work *w, const struct command *c, const char *way)
{
    if (wrong++ < 200)
        printf("%s of %zu bytes, %s, by %s: wrong\n", c->name, w->size, queue_names[w->kind], way);
}

/* The command runs while the fill of the device's object may still run (busy), or after it. */
static void test(struct work *w, const struct command *c, const struct way *way, bool busy)
{
    cl_event filled, event = NULL;
    const bool wants = way->needs_event;

    value++;
    if (c->writes) {
        CHECK(device_fill(w, c, (unsigned char)~value, NULL));
        CHECK(clFinish(w->queue));
        prepare(w, c);
        CHECK(c->run(w, 0, NULL, wants ? &event : NULL));
    } else {
        prepare(w, c);
        CHECK(device_fill(w, c, value, &filled));
        if (!busy)
            CHECK(clFinish(w->queue));
        CHECK(c->run(w, busy ? listed(w) : 0, busy && listed(w) ? &filled : NULL, wants ? &event : NULL));
        release(filled);
    }
    parity_rich();
    way->learn(w, event);
    if (!is_there(w, c))
        say_wrong(w, c, way->name);
    if (event)
        release(event);
    CHECK(clFinish(w->queue));
}

static void CL_CALLBACK destroyed(cl_mem memory, void *argument)
{
    (void)memory;
    sem_post(argument);
}

/* A destructor callback means that the commands which use the object are complete. */
static void test_destructor(struct work *w, const struct command *c)
{
    struct work own = *w;
    sem_t gone;
    bool right = true;

    value++;
    sem_init(&gone, 0, 0);
    objects_new(&own);
    CHECK(clSetMemObjectDestructorCallback(c->what == BUFFER ? own.buffer : own.image, destroyed, &gone));
    prepare(&own, c);
    if (!c->writes)
        CHECK(device_fill(&own, c, value, NULL));
    if (own.kind == OUT_OF_ORDER)
        CHECK(clFinish(own.queue));
    CHECK(c->run(&own, 0, NULL, NULL));
    CHECK(clReleaseMemObject(own.buffer));
    CHECK(clReleaseMemObject(own.image));
    CHECK(clFlush(own.queue));
    while (sem_wait(&gone))
        ;
    for (size_t row = 0; !c->writes && row < own.height; row++)
        right = right && parity_all_are(own.memory + row * own.pitch, own.width, value);
    parity_memory_free(own.memory, own.length);
    if (!right)
        say_wrong(&own, c, "the end of the object");
    CHECK(clFinish(own.queue));
    sem_destroy(&gone);
}

/* Whether a combination is tested: large data take long, and show little more. */
static bool is_due(size_t size, const struct command *c, enum queue_kind kind, const struct way *way)
{
    if (way->learn == later_write && !parity_tries("early-write"))
        return false;
    if (size >= HUGE)
        return kind == IN_ORDER && way->learn == finish && !c->writes && (size == 2 * HUGE || c->run == read_buffer);
    return size < LARGE || (way->often && kind != PROFILED);
}

static void test_size(size_t size)
{
    struct work w = {.width = size < 4096 ? size : 4096};

    w.height = size / w.width;
    w.size = w.width * w.height;
    objects_new(&w);
    w.svm = clSVMAlloc(parity.context, CL_MEM_READ_WRITE, w.size, 0);
    for (size_t c = 0; c < PARITY_COUNT(commands); c++) {
        for (int kind = 0; kind < QUEUE_KINDS; kind++) {
            if (commands[c].what == SVM && !w.svm)
                continue;
            w.queue = queues[kind];
            w.kind = (enum queue_kind)kind;
            for (size_t way = 0; way < PARITY_COUNT(ways); way++) {
                if (!is_due(size, &commands[c], w.kind, &ways[way]))
                    continue;
                if (size < LARGE && !commands[c].writes)
                    test(&w, &commands[c], &ways[way], false);
                test(&w, &commands[c], &ways[way], true);
            }
            if (size < LARGE && !commands[c].maps && commands[c].what != SVM)
                test_destructor(&w, &commands[c]);
        }
    }
    if (w.svm)
        clSVMFree(parity.context, w.svm);
    CHECK(clReleaseMemObject(w.buffer));
    if (w.image)
        CHECK(clReleaseMemObject(w.image));
}

static void open_queues(void)
{
    cl_device_id devices[16];
    cl_uint count;
    cl_int status;

    CHECK(clGetPlatformIDs(1, &parity.platform, NULL));
    CHECK(clGetDeviceIDs(parity.platform, CL_DEVICE_TYPE_ALL, PARITY_COUNT(devices), devices, &count));
    parity.device = devices[0];
    count = count < PARITY_COUNT(devices) ? count : PARITY_COUNT(devices);
    parity.context = clCreateContext(NULL, count, devices, NULL, NULL, &status);
    CHECK(status);
    queues[IN_ORDER] = parity_queue(&parity, 0);
    queues[OUT_OF_ORDER] = parity_queue(&parity, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    queues[PROFILED] = parity_queue(&parity, CL_QUEUE_PROFILING_ENABLE);
    elsewhere = clCreateCommandQueue(parity.context, devices[count - 1], 0, &status);
    CHECK(status);
    other = parity_buffer(&parity, CL_MEM_READ_WRITE, 64, NULL);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {1, 5000, 300000, LARGE, (size_t)16 << 20, (size_t)64 << 20};

    open_queues();
    for (int i = 1; i < argc; i++)
        test_size(strtoul(argv[i], NULL, 0));
    for (size_t i = 0; argc < 2 && i < PARITY_COUNT(sizes); i++)
        test_size(sizes[i]);
    printf("%u wrong\n", wrong);
    for (int kind = 0; kind < QUEUE_KINDS; kind++)
        CHECK(clReleaseCommandQueue(queues[kind]));
    CHECK(clReleaseCommandQueue(elsewhere));
    CHECK(clReleaseMemObject(other));
    CHECK(clReleaseContext(parity.context));
    return 0;
}
