/*
 * The host side of the persistent kernel (persistent.cl): builds it with the program's bodies, starts it, and restarts
 * it when a message arrives after it has left the device for lack of work. While it runs, no thread of the host handles
 * messages, and the kernel waits on the doorbell; otherwise the thread here does.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "ground/device.h"
#include "ground/text.h"
#include "xtq/internal.h"

#define CALIBRATION_POLLS 50000
#define IDLE_US 20000

/* The same structs as in persistent.cl. */
struct device_task {
    uint64_t buffer, buffer_bytes, payload, payload_bytes, arguments, argument_bytes;
    uint32_t initiator, grid[3];
};

struct control {
    uint64_t bells, credits, rings, table, doorbell, ticks, napping;
    uint64_t lane_bytes, ranks, kernels, most_idle, spin_ns, idle_ns, unused[3];
    _Atomic uint64_t ticket, refused, polls; /* from here on written by work-groups */
    _Atomic uint32_t stop, finished, done, calls, helpers_asleep, helpers_call;
    _Atomic int32_t result;
    uint32_t unused_too[3];
    uint64_t body, items, grain, unused_again[5];
    struct device_task task;
};
_Static_assert(sizeof(struct control) == 320, "persistent.cl has the same");
_Static_assert(sizeof(struct table_entry) == 48, "persistent.cl has the same");
_Static_assert(sizeof(struct ring_credit) == 64, "persistent.cl has the same");

struct device_queue {
    struct xtq *x;
    unsigned index;
    size_t groups, items; /* work-groups, and work-items of each */
    cl_command_queue commands;
    cl_kernel kernel;
    struct control *control;
    pthread_t thread;
    _Atomic bool stop;
};

TEXT_OF_FILE(xtq_persistent_source, XTQ_SOURCE_DIR "/persistent.cl");

/* ---- building ---- */

static int write_choice(const struct xtq_queue_entry *entry, char **out)
{
    size_t size;
    FILE *file = open_memstream(out, &size);

    if (!file)
        return -ENOMEM;
    fprintf(file, "int xtq_body(uint body, const struct xtq_task *task, ulong first, ulong last)\n{\n"
                  "    switch (body) {\n");
    for (unsigned i = 0; i < entry->body_count; i++)
        fprintf(file, "    case %u:\n        return %s(task, first, last);\n", i + 1, entry->bodies[i]);
    fprintf(file, "    }\n    return -95;\n}\n");
    return fclose(file) ? -ENOMEM : 0;
}

/* Chooses the number of work-items: that of the entry, or else the one that the device prefers. Fails if the device's
 * limit is exceeded. */
static int choose_items(struct device_queue *queue, const struct xtq_queue_entry *entry)
{
    size_t most, best;

    if (clGetKernelWorkGroupInfo(queue->kernel, entry->device, CL_KERNEL_WORK_GROUP_SIZE, sizeof(most), &most, NULL) ||
        clGetKernelWorkGroupInfo(queue->kernel, entry->device, CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE,
                                 sizeof(best), &best, NULL))
        return -EIO;
    queue->items = entry->items ? entry->items : best ? best : 1;
    return queue->items > most ? -EINVAL : 0;
}

static int make_kernel(struct device_queue *queue, const struct xtq_queue_entry *entry)
{
    static const char mark[] = "/* XTQ: bodies */\n";
    const char *engine = strstr(xtq_persistent_source, mark) + sizeof(mark) - 1;
    size_t lengths[4] = {(size_t)(engine - xtq_persistent_source)};
    char *choice = NULL;
    const char *parts[4] = {xtq_persistent_source, entry->source, NULL, engine};
    cl_program program;
    cl_int status;
    int error = write_choice(entry, &choice);

    if (error)
        return error;
    parts[2] = choice;
    error = device_program(entry->context, entry->device, device_may_call(entry->device), NULL, 4, parts, lengths,
                           "xtq", &program);
    free(choice);
    if (error)
        return error;
    queue->kernel = clCreateKernel(program, "xtq_persistent", &status);
    if (status || clSetKernelArgSVMPointer(queue->kernel, 0, queue->control))
        error = -EIO;
    if (!error)
        error = choose_items(queue, entry);
    clReleaseProgram(program);
    return error;
}

/* ---- running ---- */

static int run_once(struct device_queue *queue)
{
    size_t grid = queue->groups * queue->items;

    atomic_store(&queue->control->finished, 0);
    if (clEnqueueNDRangeKernel(queue->commands, queue->kernel, 1, NULL, &grid, &queue->items, 0, NULL, NULL) ||
        clFinish(queue->commands))
        return -EIO;
    context_tick(queue->x);
    return 0;
}

static struct ring lane_of(const struct device_queue *queue, unsigned initiator)
{
    return region_lane(&queue->x->region, (unsigned)queue->x->rank, queue->index, initiator);
}

static bool something_came(const struct device_queue *queue)
{
    for (int i = 0; i < queue->x->size; i++) {
        struct ring ring = lane_of(queue, (unsigned)i);

        if (atomic_load(ring.bell) != atomic_load(&ring.credit->tail) && !ring_broken(&ring))
            return true;
    }
    return false;
}

static void wait_for_bell(struct device_queue *queue)
{
    struct xtq *x = queue->x;
    _Atomic uint32_t *asleep = region_asleep(&x->region, (unsigned)x->rank, queue->index);

    atomic_store(asleep, ALONE);
    if (!something_came(queue) && !atomic_load(&queue->stop))
        doze_sleep(asleep, ALONE, MOST_SLEEP_US);
    atomic_store(asleep, AWAKE);
}

static void *device_run(void *argument)
{
    struct device_queue *queue = argument;

    while (!atomic_load(&queue->stop)) {
        if (!something_came(queue)) {
            wait_for_bell(queue);
        } else if (run_once(queue)) {
            vocl_log(LOG_ERROR, "xtq: the persistent kernel cannot be run");
            for (int i = 0; i < queue->x->size; i++)
                refuse_lane(queue->x, queue->index, (unsigned)i, -EIO);
        }
    }
    return NULL;
}

/* Runs the kernel once, which compiles it and shows whether it can read the time itself. If it cannot, measures how
 * many polls take idle_us, by the fastest of a few runs without messages. */
static int calibrate(struct device_queue *queue, unsigned idle_us)
{
    struct control *control = queue->control;
    double polls_per_ns = 0;
    int error;

    control->most_idle = 1;
    control->idle_ns = 0;
    error = run_once(queue);
    control->most_idle = CALIBRATION_POLLS;
    control->idle_ns = 1000 * (uint64_t)(idle_us ? idle_us : IDLE_US);
    for (int i = 0; i < 4 && !error && !atomic_load(&control->calls); i++) {
        long start = clock_ns();
        double rate;

        error = run_once(queue);
        rate = (double)atomic_load(&control->polls) / (double)(clock_ns() - start + 1);
        polls_per_ns = rate > polls_per_ns ? rate : polls_per_ns;
    }
    control->most_idle = 1 + (uint64_t)(polls_per_ns * (double)control->idle_ns);
    return error;
}

/* ---- open and close ---- */

static int control_open(struct device_queue *queue)
{
    struct xtq *x = queue->x;
    struct ring first = region_lane(&x->region, (unsigned)x->rank, queue->index, 0);
    struct control *control = aligned_alloc(RING_LINE, sizeof(*control));

    if (!control)
        return -ENOMEM;
    memset(control, 0, sizeof(*control));
    control->bells = (uintptr_t)first.bell;
    control->credits = (uintptr_t)first.credit;
    control->rings = (uintptr_t)first.bytes;
    control->table = (uintptr_t)x->kernel_table;
    control->doorbell = (uintptr_t)region_asleep(&x->region, (unsigned)x->rank, queue->index);
    control->ticks = (uintptr_t)&x->ticks;
    control->napping = (uintptr_t)&region_header(&x->region, (unsigned)x->rank)->napping;
    control->spin_ns = 1000 * (uint64_t)x->spin_us;
    control->lane_bytes = x->lane_bytes;
    control->ranks = (uint64_t)x->size;
    control->kernels = x->kernels;
    queue->control = control;
    return 0;
}

static void device_queue_free(struct device_queue *queue)
{
    if (queue->kernel)
        clReleaseKernel(queue->kernel);
    if (queue->commands)
        clReleaseCommandQueue(queue->commands);
    free(queue->control);
    free(queue);
}

static bool has_bodies(const struct xtq_queue_entry *entry)
{
    for (unsigned i = 0; entry->bodies && i < entry->body_count; i++) {
        if (!entry->bodies[i])
            return false;
    }
    return entry->bodies && entry->body_count;
}

int device_queue_open(struct xtq *x, unsigned index, const struct xtq_queue_entry *entry, struct device_queue **out)
{
    struct device_queue *queue;
    cl_int status;
    int error;

    if (!entry->context || !entry->device || !entry->source || !has_bodies(entry))
        return -EINVAL;
    if (!device_takes_addresses(entry->device))
        return -ENOTSUP;
    queue = calloc(1, sizeof(*queue));
    if (!queue)
        return -ENOMEM;
    queue->x = x;
    queue->index = index;
    queue->groups = entry->groups ? entry->groups : 1;
    queue->commands = clCreateCommandQueueWithProperties(entry->context, entry->device, NULL, &status);
    error = status ? -EIO : control_open(queue);
    if (!error)
        error = make_kernel(queue, entry);
    if (!error)
        error = calibrate(queue, entry->idle_us);
    if (!error)
        error = -thread_start(&queue->thread, device_run, queue);
    if (error) {
        device_queue_free(queue);
        return error;
    }
    *out = queue;
    return 0;
}

uint64_t device_queue_refused(const struct device_queue *queue)
{
    return atomic_load(&queue->control->refused);
}

void device_queue_close(struct device_queue *queue)
{
    struct xtq *x = queue->x;
    _Atomic uint32_t *asleep = region_asleep(&x->region, (unsigned)x->rank, queue->index);

    atomic_store(&queue->stop, true);
    atomic_store(&queue->control->stop, 1);
    region_rouse(asleep);
    pthread_join(queue->thread, NULL);
    atomic_fetch_add(&x->refused, device_queue_refused(queue));
    device_queue_free(queue);
}
