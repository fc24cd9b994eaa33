/* Endpoints, devices that communicate: the data that their kernels use (vocl_dev.cl), and the threads that empty the
 * kernels' queues. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/thread.h"
#include "devcom/endpoint.h"
#include "ground/device.h"
#include "ground/text.h"

#define BUSY_US 200
#define LOOK_US 10000 /* interval of the checks for lost ranks */
#define MUTE_US 100

TEXT_OF_FILE(devcom_device_text, DEVCOM_SOURCE_DIR "/vocl_dev.cl");
TEXT_OF_FILE(devcom_fetch_text, DEVCOM_SOURCE_DIR "/vocl_fetch.cl");
TEXT_OF_FILE(devcom_collective_text, DEVCOM_SOURCE_DIR "/vocl_collective.cl");
TEXT_OF_FILE(devcom_old_text, DEVCOM_SOURCE_DIR "/vocl_old.cl");

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

/* A queue of kernels whose commands are being done. */
struct draining {
    struct devcom_endpoint *e;
    struct device_ring *ring;
    const struct device_command *commands;
    _Atomic uint64_t *posted, *arrived;
    unsigned stream;
    uint64_t run; /* commands before this one have been started */
};

static struct draining draining_of(struct devcom_endpoint *e, unsigned index)
{
    size_t ranks = (size_t)index * (size_t)e->d->size;

    return (struct draining){.e = e,
                             .ring = &e->rings[index],
                             .commands = e->commands + (size_t)index * e->words->depth,
                             .posted = e->posted + ranks,
                             .arrived = e->arrived + ranks,
                             .stream = kernel_stream(e->d, index),
                             .run = atomic_load(&e->rings[index].tail)};
}

static void quiet(struct devcom_endpoint *e, unsigned stream)
{
    int error = stream_quiet(e->d, stream, DEVCOM_BLOCK);

    if (error)
        endpoint_fail(e, error);
}

/* Does an atomic, after the earlier commands of its queue, and leaves the results where the work-group reads them. */
static void run_atomic(struct devcom_endpoint *e, unsigned stream, const struct device_command *command)
{
    struct device_words *words = e->words;
    unsigned index = command->signal % (sizeof(words->results) / sizeof(*words->results));
    int64_t found = 0;
    int error;

    quiet(e, stream);
    if (command->kind == KIND_ADD)
        error = devcom_fetch_add(e->d, command->rank, command->remote_segment, command->remote_offset, command->value,
                                 DEVCOM_BLOCK, &found);
    else
        error = devcom_compare_swap(e->d, command->rank, command->remote_segment, command->remote_offset,
                                    (int64_t)command->offset, command->value, DEVCOM_BLOCK, &found);
    if (error)
        endpoint_fail(e, error);
    words->results[index] = error;
    words->values[index] = found;
}

static void run_transfer(struct devcom_endpoint *e, unsigned stream, const struct device_command *command)
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

    while ((error = stream_transfer(e->d, &put, stream, command->kind == KIND_GET)) == -EAGAIN)
        quiet(e, stream);
    if (error)
        endpoint_fail(e, error);
}

static void run_command(struct devcom_endpoint *e, unsigned stream, const struct device_command *command)
{
    if (command->kind >= KIND_ADD)
        run_atomic(e, stream, command);
    else
        run_transfer(e, stream, command);
}

static void run_commands(struct draining *q)
{
    uint64_t head = atomic_load(&q->ring->head);

    for (; q->run != head; q->run++) {
        struct device_command command = q->commands[q->run % q->e->words->depth];

        run_command(q->e, q->stream, &command);
    }
}

static void publish_arrived(struct draining *q, int rank)
{
    if (atomic_load_explicit(&q->posted[rank], memory_order_relaxed) >
        atomic_load_explicit(&q->arrived[rank], memory_order_relaxed))
        atomic_store(&q->arrived[rank], q->run);
}

/* Publishes how far the commands are. Returns whether all that were started have taken effect. */
static bool publish(struct draining *q)
{
    struct devcom *d = q->e->d;
    bool all = true;

    for (int rank = 0; rank < d->size; rank++) {
        if (d->nic && nic_busy(d, rank, q->stream))
            all = false;
        else
            publish_arrived(q, rank);
    }
    if (!d->nic || nic_left(d, ALL_RANKS, q->stream))
        atomic_store(&q->ring->left, q->run);
    return all;
}

/* Retires all commands that were started. What has arrived has left, even if MPI has not reported yet that it was sent.
 */
static void retire(struct draining *q)
{
    for (int rank = 0; rank < q->e->d->size; rank++)
        publish_arrived(q, rank);
    atomic_store(&q->ring->left, q->run);
    atomic_store(&q->ring->tail, q->run);
}

/* Waits until all commands have taken effect, and starts those that are added meanwhile: no more than the queue holds,
 * as none is retired. */
static void wait_and_publish(struct draining *q)
{
    struct devcom *d = q->e->d;
    struct waiting waiting;

    waiting_begin(&waiting, &d->waits, ALL_RANKS, DEVCOM_BLOCK);
    while (!publish(q) && !nic_target_lost(d, ALL_RANKS, q->stream) && waiting_step(&waiting))
        run_commands(q);
    waiting_end(&waiting);
}

/* Does the commands of a queue, and retires them when they have arrived: later stores of kernels are seen later. A rank
 * that is slow does not delay the commands to others. */
static int drain(struct devcom_endpoint *e, unsigned index)
{
    struct draining q = draining_of(e, index);
    pthread_mutex_t *lock = &e->d->kernels[index % e->d->o.queues];

    if (q.run == atomic_load(&q.ring->head))
        return 0;
    pthread_mutex_lock(lock);
    run_commands(&q);
    if (!publish(&q))
        wait_and_publish(&q);
    quiet(e, q.stream); /* takes refusals, and gives up the operations of lost ranks */
    pthread_mutex_unlock(lock);
    retire(&q);
    return 1;
}

static int drain_all(const struct server *server)
{
    struct devcom_endpoint *e = server->e;
    int count = 0;

    for (unsigned i = server->first; i < e->words->queues; i += e->server_count)
        count += drain(e, i);
    return count;
}

static void server_sleep(struct server *server)
{
    struct devcom_endpoint *e = server->e;
    uint32_t lain_down = doze_lie_down(&server->bell);

    if (!drain_all(server) && !atomic_load(&e->stop))
        doze_sleep(&server->bell, lain_down, e->rings_bells ? LOOK_US : MUTE_US);
}

static void *server_run(void *argument)
{
    struct server *server = argument;
    struct devcom_endpoint *e = server->e;
    struct polling polling = polling_begin();

    while (!atomic_load(&e->stop)) {
        if (drain_all(server)) {
            polling = polling_begin();
        } else if (!polling_on(&polling, 1, BUSY_US, NULL)) {
            if (board_any_lost(e->d)) {
                endpoint_fail(e, -ECONNRESET);
                atomic_store(&e->words->stop, 1); /* so that waiting kernels return */
            }
            server_sleep(server);
        }
    }
    drain_all(server);
    return NULL;
}

static void servers_stop(struct devcom_endpoint *e, unsigned count)
{
    atomic_store(&e->stop, true);
    for (unsigned i = 0; i < count; i++) {
        doze_ring(&e->servers[i].bell, DOZE_SLEEPS);
        pthread_join(e->servers[i].thread, NULL);
    }
}

static int servers_start(struct devcom_endpoint *e)
{
    for (unsigned i = 0; i < e->server_count; i++) {
        int error = -thread_start(&e->servers[i].thread, server_run, &e->servers[i]);

        if (error) {
            servers_stop(e, i);
            return error;
        }
    }
    return 0;
}

/* One for each queue, unless that would be more than half of the processors: the kernels need some, too. */
static unsigned choose_servers(const struct devcom_endpoint_options *options, unsigned queues)
{
    long half = sysconf(_SC_NPROCESSORS_ONLN) / 2;
    unsigned count = options->servers ? options->servers : half > 1 ? (unsigned)half : 1;

    return count < queues ? count : queues;
}

/* ---- the data that kernels use ---- */

static void look_for_place(struct devcom_endpoint *e, int rank, unsigned segment)
{
    struct device_place *place = &e->places[(size_t)rank * (scratch_id(e->d) + 1) + segment];
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
        for (unsigned segment = 0; segment <= scratch_id(e->d); segment++)
            look_for_place(e, rank, segment);
    }
    return 0;
}

int devcom_endpoint_list(struct devcom_endpoint *e, const struct devcom_put *puts, unsigned count)
{
    struct device_element *elements;

    if (!e || (count && !puts))
        return -EINVAL;
    for (unsigned i = 0; i < count; i++) {
        struct transfer checked;

        if (puts[i].shape.count[0] > 1 || puts[i].shape.count[1] > 1 || transfer_check(e->d, &puts[i], 0, &checked))
            return -EINVAL;
    }
    elements = calloc(count ? count : 1, sizeof(*elements));
    if (!elements)
        return -ENOMEM;
    for (unsigned i = 0; i < count; i++)
        elements[i] = (struct device_element){.segment = puts[i].segment,
                                              .rank = (uint32_t)puts[i].rank,
                                              .remote_segment = puts[i].remote_segment,
                                              .signal = puts[i].signal,
                                              .op = puts[i].op,
                                              .offset = puts[i].offset,
                                              .remote_offset = puts[i].remote_offset,
                                              .bytes = puts[i].shape.bytes,
                                              .value = puts[i].value};
    free(e->elements);
    e->elements = elements;
    e->words->elements = (uintptr_t)elements;
    e->words->element_count = count;
    return 0;
}

static int words_allocate(struct devcom_endpoint *e, const struct devcom_endpoint_options *options)
{
    struct devcom *d = e->d;
    uint32_t queues = options->queues ? options->queues : 4, depth = options->depth ? options->depth : 256;

    e->words = aligned_alloc(LINE, (sizeof(*e->words) + LINE - 1) / LINE * LINE);
    e->places = calloc((size_t)d->size * (scratch_id(d) + 1), sizeof(*e->places));
    e->ranks = calloc((size_t)d->size, sizeof(*e->ranks));
    e->rings = aligned_alloc(LINE, queues * sizeof(*e->rings));
    e->commands = calloc((size_t)queues * depth, sizeof(*e->commands));
    e->posted = calloc((size_t)queues * (size_t)d->size, sizeof(*e->posted));
    e->arrived = calloc((size_t)queues * (size_t)d->size, sizeof(*e->arrived));
    e->server_count = choose_servers(options, queues);
    e->servers = calloc(e->server_count, sizeof(*e->servers));
    if (!e->words || !e->places || !e->ranks || !e->rings || !e->commands || !e->posted || !e->arrived || !e->servers)
        return -ENOMEM;
    memset(e->words, 0, sizeof(*e->words));
    memset(e->rings, 0, queues * sizeof(*e->rings));
    *e->words = (struct device_words){.rank = (uint32_t)d->rank,
                                      .size = (uint32_t)d->size,
                                      .segments = d->o.segments,
                                      .signals = d->o.signals,
                                      .queues = queues,
                                      .depth = depth,
                                      .words = own_signal(d, OWN_KERNELS, 0),
                                      .places = (uintptr_t)e->places,
                                      .ranks = (uintptr_t)e->ranks,
                                      .rings = (uintptr_t)e->rings,
                                      .alone = d->alone ? ALONE_KERNEL_POLLS : 0};
    for (unsigned i = 0; i < e->server_count; i++)
        e->servers[i] = (struct server){.e = e, .first = i};
    for (uint32_t i = 0; i < queues; i++) {
        e->rings[i].commands = (uintptr_t)(e->commands + (size_t)i * depth);
        e->rings[i].posted = (uintptr_t)(e->posted + (size_t)i * (size_t)d->size);
        e->rings[i].arrived = (uintptr_t)(e->arrived + (size_t)i * (size_t)d->size);
        e->rings[i].bell = (uintptr_t)&e->servers[i % e->server_count].bell;
    }
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
    free(e->posted);
    free(e->arrived);
    free(e->elements);
    free(e->servers);
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
        error = servers_start(e);
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
    servers_stop(e, e->server_count);
    announce(e, false);
    endpoint_free(e);
}

/* ---- programs ---- */

int devcom_program_create(struct devcom_endpoint *e, const char *source, const char *options, cl_program *out)
{
    const char *const parts[] = {devcom_device_text, devcom_fetch_text, devcom_collective_text,
                                 devcom_old_text,    "\n#line 1\n",     source};

    if (!e || !source || !out)
        return -EINVAL;
    return device_program(e->context, e->device, e->rings_bells, options, 6, parts, NULL, "devcom", out);
}

int devcom_kernel_argument(struct devcom_endpoint *e, cl_kernel kernel, unsigned index)
{
    if (!e || !kernel)
        return -EINVAL;
    return clSetKernelArgSVMPointer(kernel, index, e->words) ? -EIO : 0;
}
