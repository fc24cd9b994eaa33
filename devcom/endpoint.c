/* Endpoints, devices that communicate: the data that their kernels use (vocl_dev.cl), and the thread that empties the
 * kernels' queues. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "devcom/endpoint.h"
#include "ground/device.h"
#include "ground/text.h"

#define BUSY_US 200
#define LOOK_US 10000 /* interval of the checks for lost ranks */
#define MUTE_US 100

TEXT_OF_FILE(devcom_device_text, DEVCOM_SOURCE_DIR "/vocl_dev.cl");

void endpoint_fail(struct devcom_endpoint *e, int error)
{
    int32_t none = 0;

    atomic_compare_exchange_strong(&e->words->error, &none, error);
}

int devcom_endpoint_error(struct devcom_endpoint *e)
{
    if (!e)
        return -EINVAL;
    reservations_look(e);
    return atomic_exchange(&e->words->error, 0);
}

/* ---- the queues ---- */

static void fence(struct devcom_endpoint *e, unsigned stream)
{
    int error = stream_fence(e->d, stream, DEVCOM_BLOCK);

    if (error)
        endpoint_fail(e, error);
}

static void run_command(struct devcom_endpoint *e, unsigned stream, const struct device_command *command)
{
    struct devcom_put put = {.segment = command->segment,
                             .remote_segment = command->remote_segment,
                             .offset = command->offset,
                             .remote_offset = command->remote_offset,
                             .shape = {.bytes = command->bytes},
                             .rank = command->rank,
                             .signal = command->signal,
                             .op = command->op,
                             .value = command->value};
    int error;

    while ((error = stream_put(e->d, &put, stream)) == -EAGAIN)
        fence(e, stream);
    if (error)
        endpoint_fail(e, error);
}

/* Does the commands of a queue, and retires them when they have arrived: later stores of kernels are seen later. */
static int drain(struct devcom_endpoint *e, unsigned index)
{
    struct device_ring *ring = &e->rings[index];
    unsigned stream = kernel_stream(e->d, index);
    pthread_mutex_t *lock = &e->d->kernels[index % e->d->o.queues];
    uint64_t tail = atomic_load(&ring->tail), head = atomic_load(&ring->head);

    if (tail == head)
        return 0;
    pthread_mutex_lock(lock);
    for (; tail != head; tail++) {
        struct device_command command = e->commands[index * e->words->depth + tail % e->words->depth];

        run_command(e, stream, &command);
    }
    fence(e, stream);
    pthread_mutex_unlock(lock);
    atomic_store(&ring->tail, head);
    return 1;
}

static int drain_all(struct devcom_endpoint *e)
{
    int count = 0;

    for (unsigned i = 0; i < e->words->queues; i++)
        count += drain(e, i);
    return count;
}

static void endpoint_sleep(struct devcom_endpoint *e)
{
    uint32_t lain_down = doze_lie_down(&e->bell);

    if (!drain_all(e) && !atomic_load(&e->stop))
        doze_sleep(&e->bell, lain_down, e->rings_bells ? LOOK_US : MUTE_US);
}

static void *endpoint_run(void *argument)
{
    struct devcom_endpoint *e = argument;
    struct polling polling = polling_begin();

    while (!atomic_load(&e->stop)) {
        if (drain_all(e)) {
            polling = polling_begin();
        } else if (!polling_on(&polling, 1, BUSY_US, NULL)) {
            if (board_any_lost(e->d)) {
                endpoint_fail(e, -ECONNRESET);
                atomic_store(&e->words->stop, 1); /* so that waiting kernels return */
            }
            endpoint_sleep(e);
        }
    }
    drain_all(e);
    return NULL;
}

/* ---- the data that kernels use ---- */

static void look_for_place(struct devcom_endpoint *e, int rank, unsigned segment)
{
    struct device_place *place = &e->places[(size_t)rank * segment_ids(e->d) + segment];
    struct attachment *a;

    *place = (struct device_place){0};
    if (!e->d->boards[rank] || attachment_take(e->d, rank, segment, &a))
        return;
    place->bytes = a->bytes;
    place->address = (uintptr_t)a->base;
    attachment_release(a);
}

int devcom_endpoint_refresh(struct devcom_endpoint *e)
{
    if (!e)
        return -EINVAL;
    for (int rank = 0; rank < e->d->size; rank++) {
        for (unsigned segment = 0; segment < segment_ids(e->d); segment++)
            look_for_place(e, rank, segment);
    }
    return 0;
}

static int words_allocate(struct devcom_endpoint *e, const struct devcom_endpoint_options *options)
{
    struct devcom *d = e->d;
    uint32_t queues = options->queues ? options->queues : 4, depth = options->depth ? options->depth : 256;

    e->words = aligned_alloc(LINE, (sizeof(*e->words) + LINE - 1) / LINE * LINE);
    e->places = calloc((size_t)d->size * segment_ids(d), sizeof(*e->places));
    e->ranks = calloc((size_t)d->size, sizeof(*e->ranks));
    e->rings = aligned_alloc(LINE, queues * sizeof(*e->rings));
    e->commands = aligned_alloc(LINE, (size_t)queues * depth * sizeof(*e->commands) + LINE);
    if (!e->words || !e->places || !e->ranks || !e->rings || !e->commands)
        return -ENOMEM;
    memset(e->words, 0, sizeof(*e->words));
    memset(e->rings, 0, queues * sizeof(*e->rings));
    *e->words = (struct device_words){.rank = (uint32_t)d->rank,
                                      .size = (uint32_t)d->size,
                                      .segments = d->o.segments,
                                      .signals = d->o.signals,
                                      .queues = queues,
                                      .depth = depth,
                                      .words = own_signal(d, OWN_FIXED) + 3 * (unsigned)d->size,
                                      .places = (uintptr_t)e->places,
                                      .ranks = (uintptr_t)e->ranks,
                                      .rings = (uintptr_t)e->rings,
                                      .bell = (uintptr_t)&e->bell,
                                      .alone = d->alone ? ALONE_KERNEL_POLLS : 0};
    for (uint32_t i = 0; i < queues; i++)
        e->rings[i].commands = (uintptr_t)(e->commands + (size_t)i * depth);
    for (int rank = 0; rank < d->size; rank++) {
        if (d->boards[rank])
            e->ranks[rank] = (struct device_rank){(uintptr_t)board_signals(d, rank), (uintptr_t)&d->boards[rank]->bell};
    }
    return devcom_endpoint_refresh(e);
}

/* If the device cannot wake threads, tells the near ranks that their threads must check for its writes now and then. */
static void announce(struct devcom_endpoint *e, bool begin)
{
    for (int rank = 0; rank < e->d->size && !e->rings_bells; rank++) {
        if (e->d->boards[rank])
            atomic_fetch_add(&e->d->boards[rank]->mute, begin ? 1 : -1);
    }
}

static void endpoint_free(struct devcom_endpoint *e)
{
    reservations_close(e);
    clReleaseContext(e->context);
    pthread_mutex_destroy(&e->lock);
    free(e->words);
    free(e->places);
    free(e->ranks);
    free(e->rings);
    free(e->commands);
    free(e);
}

int devcom_endpoint_open(struct devcom *d, const struct devcom_endpoint_options *options, struct devcom_endpoint **out)
{
    struct devcom_endpoint *e;
    int error;

    if (!d || !options || !out || !options->context || !options->device || options->queues == 1 ||
        options->queues > MOST_QUEUES || options->depth > 65536 || (options->depth & (options->depth - 1)))
        return -EINVAL;
    if (!device_takes_addresses(options->device))
        return -ENOTSUP;
    e = calloc(1, sizeof(*e));
    if (!e)
        return -ENOMEM;
    e->d = d;
    e->device = options->device;
    e->context = options->context;
    e->rings_bells = device_may_call(e->device);
    clRetainContext(e->context);
    pthread_mutex_init(&e->lock, NULL);
    reservations_open(e);
    clGetDeviceInfo(e->device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(e->units), &e->units, NULL);
    error = words_allocate(e, options);
    if (!error)
        error = -thread_start(&e->thread, endpoint_run, e);
    if (error) {
        endpoint_free(e);
        return error;
    }
    announce(e, true);
    *out = e;
    return 0;
}

void devcom_endpoint_close(struct devcom_endpoint *e)
{
    if (!e)
        return;
    atomic_store(&e->stop, true);
    doze_ring(&e->bell, DOZE_SLEEPS);
    pthread_join(e->thread, NULL);
    announce(e, false);
    endpoint_free(e);
}

/* ---- programs ---- */

int devcom_program_create(struct devcom_endpoint *e, const char *source, const char *options, cl_program *out)
{
    const char *const parts[] = {devcom_device_text, "\n#line 1\n", source};

    if (!e || !source || !out)
        return -EINVAL;
    return device_program(e->context, e->device, e->rings_bells, options, 3, parts, NULL, "devcom", out);
}

int devcom_kernel_argument(struct devcom_endpoint *e, cl_kernel kernel, unsigned index)
{
    if (!e || !kernel)
        return -EINVAL;
    return clSetKernelArgSVMPointer(kernel, index, e->words) ? -EIO : 0;
}
