/* Segments: this rank's own, and how those of near ranks are reached from here. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "devcom/internal.h"

#define PAGE ((size_t)4096)
#define LOOK_US 10000 /* then a waiting thread checks whether the other ranks are alive */

struct listing *segment_listing(const struct devcom *d, int rank, unsigned id)
{
    return &d->boards[rank]->listings[id];
}

/* ---- creating ---- */

static bool works_in_host_memory(cl_device_id device)
{
    cl_bool unified = CL_FALSE;

    clGetDeviceInfo(device, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof(unified), &unified, NULL);
    return unified;
}

/* Whether the device uses the memory that a buffer was created over, without a copy. */
static bool is_zero_copy(const struct segment *segment, cl_mem buffer)
{
    cl_int status;
    void *there =
        clEnqueueMapBuffer(segment->commands, buffer, CL_TRUE, CL_MAP_READ, 0, segment->bytes, 0, NULL, NULL, &status);

    if (status)
        return false;
    clEnqueueUnmapMemObject(segment->commands, buffer, there, 0, NULL, NULL);
    clFinish(segment->commands);
    return there == segment->host;
}

/* Creates a buffer over the segment's memory. False: the device cannot work there. */
static bool buffer_over_memory(struct segment *segment)
{
    cl_int status;
    cl_mem buffer = clCreateBuffer(segment->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, segment->bytes,
                                   segment->host, &status);

    if (status)
        return false;
    if (!is_zero_copy(segment, buffer)) {
        clReleaseMemObject(buffer);
        return false;
    }
    segment->buffer = buffer;
    return true;
}

static int buffer_on_device(struct segment *segment)
{
    static const cl_uint zero;
    cl_int status;

    segment->buffer =
        clCreateBuffer(segment->context, CL_MEM_READ_WRITE, (segment->bytes + 3) & ~(size_t)3, NULL, &status);
    if (status)
        return -ENOMEM;
    if (clEnqueueFillBuffer(segment->commands, segment->buffer, &zero, sizeof(zero), 0,
                            (segment->bytes + 3) & ~(size_t)3, 0, NULL, NULL) ||
        clFinish(segment->commands))
        return -EIO;
    return 0;
}

static int host_memory(struct segment *segment, void *at)
{
    segment->mapped_bytes = (segment->bytes + PAGE - 1) & ~(PAGE - 1);
    segment->fd = memory_create(segment->mapped_bytes, at, &segment->host);
    segment->in_range = at;
    return segment->fd < 0 ? segment->fd : 0;
}

/* Unmaps a segment's memory. In a range the reservation replaces it in one step, so that no other thread can map memory
 * there. */
static void host_memory_free(struct segment *segment)
{
    const int nothing = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;

    if (segment->elsewhere)
        return;
    if (segment->fd >= 0) {
        if (segment->in_range)
            mmap(segment->host, segment->mapped_bytes, PROT_NONE, nothing, -1, 0);
        else
            munmap(segment->host, segment->mapped_bytes);
        close(segment->fd);
    }
    segment->fd = -1;
    segment->host = NULL;
}

static void segment_free(struct segment *segment)
{
    if (segment->buffer)
        clReleaseMemObject(segment->buffer);
    host_memory_free(segment);
    if (segment->commands)
        clReleaseCommandQueue(segment->commands);
    if (segment->context)
        clReleaseContext(segment->context);
    free(segment);
}

static struct segment *segment_new(const struct devcom_memory *memory)
{
    struct segment *segment = calloc(1, sizeof(*segment));

    if (!segment)
        return NULL;
    segment->fd = -1;
    segment->bytes = memory->bytes;
    segment->device = memory->device;
    if (memory->commands && !clRetainCommandQueue(memory->commands))
        segment->commands = memory->commands;
    if (memory->context && !clRetainContext(memory->context))
        segment->context = memory->context;
    return segment;
}

static int allocate(struct devcom *d, struct segment *segment, const struct devcom_memory *memory, void *at)
{
    int error;

    if (!memory->context)
        return host_memory(segment, at);
    if (!memory->staged && works_in_host_memory(memory->device)) {
        error = host_memory(segment, at);
        if (error || buffer_over_memory(segment))
            return error;
        host_memory_free(segment);
    }
    if (at)
        return -ENOTSUP;
    if (!d->nic) {
        vocl_log(LOG_ERROR, "devcom: device memory that cannot be mapped requires devcom_options.messages = true");
        return -ENOTSUP;
    }
    return buffer_on_device(segment);
}

static enum devcom_path path_of(const struct segment *segment)
{
    return segment->fd >= 0 ? DEVCOM_MAPPED : segment->host ? DEVCOM_DIRECT : DEVCOM_STAGED;
}

/* Publishes a segment to the other ranks. Called under the lock. */
static void list_segment(struct devcom *d, unsigned id, struct segment *segment)
{
    struct listing *listing = segment_listing(d, d->rank, id);

    listing->bytes = segment->bytes;
    listing->address = (uintptr_t)segment->host;
    listing->fd = segment->fd;
    listing->path = path_of(segment);
    segment->users = &d->users[id];
    atomic_store(&d->own[id], segment);
    atomic_store(&listing->generation, ++d->generations);
}

static int add(struct devcom *d, unsigned id, const struct devcom_memory *memory, void *at, bool bind)
{
    struct segment *segment;
    int error = -EBUSY;

    pthread_mutex_lock(&d->registering);
    if (!d->own[id]) {
        segment = segment_new(memory);
        error = !segment ? -ENOMEM : bind ? segment_adopt(d, segment, memory) : allocate(d, segment, memory, at);
        if (!error)
            list_segment(d, id, segment);
        else if (segment)
            segment_free(segment);
    }
    pthread_mutex_unlock(&d->registering);
    return error;
}

int segment_alloc_at(struct devcom *d, unsigned id, const struct devcom_memory *memory, void *at)
{
    if (id >= segment_ids(d) || !memory->bytes || memory->address || memory->buffer ||
        (memory->context && (!memory->device || !memory->commands)) || memory->bytes > (size_t)1 << 46)
        return -EINVAL;
    return add(d, id, memory, at, false);
}

int devcom_segment_alloc(struct devcom *d, unsigned id, const struct devcom_memory *memory)
{
    return !d || !memory || id >= d->o.segments ? -EINVAL : segment_alloc_at(d, id, memory, NULL);
}

/* Takes existing memory for a segment. A buffer over host memory in which the device works counts as that memory. */
int segment_adopt(struct devcom *d, struct segment *segment, const struct devcom_memory *memory)
{
    cl_mem_flags flags = 0;
    void *host = NULL;
    size_t bytes = 0;

    segment->elsewhere = true;
    if (memory->address) {
        segment->host = memory->address;
        return 0;
    }
    if (clGetMemObjectInfo(memory->buffer, CL_MEM_SIZE, sizeof(bytes), &bytes, NULL) || bytes < segment->bytes ||
        clRetainMemObject(memory->buffer))
        return -EINVAL;
    segment->buffer = memory->buffer;
    clGetMemObjectInfo(memory->buffer, CL_MEM_FLAGS, sizeof(flags), &flags, NULL);
    clGetMemObjectInfo(memory->buffer, CL_MEM_HOST_PTR, sizeof(host), &host, NULL);
    if (!memory->staged && (flags & CL_MEM_USE_HOST_PTR) && host && memory->device &&
        works_in_host_memory(memory->device)) {
        segment->host = host;
        if (is_zero_copy(segment, segment->buffer))
            return 0;
        segment->host = NULL;
    }
    return d->nic ? 0 : -ENOTSUP;
}

int devcom_segment_bind(struct devcom *d, unsigned id, const struct devcom_memory *memory)
{
    if (!d || !memory || id >= d->o.segments || !memory->bytes || !memory->address == !memory->buffer ||
        (memory->buffer && !memory->commands))
        return -EINVAL;
    return add(d, id, memory, NULL, true);
}

int devcom_segment_register(struct devcom *d, unsigned id, int error)
{
    if (!d)
        return -EINVAL;
    if (id >= d->o.segments)
        error = error ? error : -EINVAL;
    else if (!error && !d->own[id])
        error = -ENOENT;
    return context_agree(d, error);
}

int devcom_segment_create(struct devcom *d, unsigned id, const struct devcom_memory *memory)
{
    int mine = devcom_segment_alloc(d, id, memory), error = devcom_segment_register(d, id, mine);

    if (error && !mine)
        devcom_segment_delete(d, id);
    return error;
}

/* ---- deleting ---- */

/* Waits until a counter is 0. False after most_us microseconds; negative: no limit. */
static bool wait_until_unused(_Atomic uint32_t *users, long most_us)
{
    long since = clock_us();

    while (atomic_load(users)) {
        if (most_us >= 0 && clock_us() - since >= most_us)
            return false;
        sched_yield();
    }
    return true;
}

/* Waits until the segment's data have been sent. False if a rank is lost: MPI may read data for it for ever. */
static bool wait_until_sent(struct devcom *d, const struct segment *segment)
{
    while (!wait_until_unused(segment->users, LOOK_US)) {
        if (board_any_lost(d))
            return false;
    }
    return true;
}

/* Waits, without limit, until no other rank copies to or from the segment. A dead rank does not count. */
static void wait_until_unvisited(struct devcom *d, unsigned id)
{
    for (int rank = 0; rank < d->size; rank++) {
        _Atomic uint32_t *visits = board_visits(d, d->rank, id, rank);

        while (!wait_until_unused(visits, LOOK_US)) {
            if (board_lost(d, rank))
                atomic_store(visits, 0);
        }
    }
}

/* Deletes a segment of this rank, the library's own included. */
int segment_delete_any(struct devcom *d, unsigned id)
{
    struct listing *listing;
    struct segment *segment;

    pthread_mutex_lock(&d->registering);
    segment = d->own[id];
    if (segment) {
        listing = segment_listing(d, d->rank, id);
        atomic_store(&listing->generation, 0);
        atomic_store(&d->own[id], NULL);
        wait_until_unvisited(d, id);
        if (wait_until_sent(d, segment)) {
            attachment_drop(d, d->rank, id);
            segment_free(segment);
        }
    }
    pthread_mutex_unlock(&d->registering);
    return segment ? 0 : -ENOENT;
}

int devcom_segment_delete(struct devcom *d, unsigned id)
{
    if (!d)
        return -EINVAL;
    return id < d->o.segments ? segment_delete_any(d, id) : -ENOENT;
}

void segments_close(struct devcom *d)
{
    for (unsigned id = 0; id < segment_ids(d); id++) {
        segment_delete_any(d, id);
        for (int rank = 0; rank < d->size; rank++)
            attachment_drop(d, rank, id);
    }
}

/* ---- using this rank's segments ---- */

/* Counts first, and looks up the segment then: a thread that deletes it removes it first, and then waits for those
 * counted. */
int segment_take(struct devcom *d, unsigned id, struct segment **out)
{
    struct segment *segment;

    if (id >= segment_ids(d))
        return -ENOENT;
    atomic_fetch_add(&d->users[id], 1);
    segment = atomic_load(&d->own[id]);
    if (!segment) {
        atomic_fetch_sub(&d->users[id], 1);
        return -ENOENT;
    }
    *out = segment;
    return 0;
}

void segment_release(struct segment *segment)
{
    if (segment)
        atomic_fetch_sub(segment->users, 1);
}

/* ---- using other ranks' segments ---- */

static struct attachment *attachment_of(const struct devcom *d, int rank, unsigned id)
{
    return &d->attachments[(size_t)rank * segment_ids(d) + id];
}

/* Ends an attachment. Called under the lock, or when no thread uses it any more. */
void attachment_drop(struct devcom *d, int rank, unsigned id)
{
    struct attachment *a = attachment_of(d, rank, id);

    atomic_store(&a->generation, 0);
    wait_until_unused(&a->users, -1);
    if (a->base && rank != d->rank && !a->fixed)
        munmap(a->base, a->mapped_bytes);
    a->base = NULL;
    a->fixed = false;
}

/* Whether the system lets this process access the memory of another. */
static bool may_reach(pid_t pid, uint64_t address)
{
    char byte;
    struct iovec here = {&byte, 1}, there = {(void *)(uintptr_t)address, 1};

    return process_vm_readv(pid, &here, 1, &there, 1, 0) == 1;
}

/* Attaches a near rank's segment. Its listing is copied before it is checked. Called under the lock. */
static int attach(struct devcom *d, int rank, unsigned id, struct attachment *a)
{
    const struct listing *listing = segment_listing(d, rank, id);
    uint64_t generation = atomic_load(&listing->generation);
    int fd = listing->fd, error = 0;

    if (!generation)
        return -ENOENT;
    attachment_drop(d, rank, id);
    a->bytes = listing->bytes;
    a->address = listing->address;
    a->path = listing->path;
    a->by_messages = a->path == DEVCOM_STAGED;
    a->mapped_bytes = (a->bytes + PAGE - 1) & ~(PAGE - 1);
    if (a->path < DEVCOM_MAPPED || a->path > DEVCOM_STAGED)
        return -ENOENT;
    if (rank == d->rank)
        a->base = d->own[id] ? d->own[id]->host : NULL;
    else if (a->path == DEVCOM_MAPPED)
        error = memory_attach(neighbours_process(&d->neighbours, rank), fd, a->mapped_bytes, NULL, &a->base);
    else if (a->path == DEVCOM_DIRECT)
        a->by_messages = !may_reach(neighbours_process(&d->neighbours, rank), a->address);
    if (atomic_load(&listing->generation) != generation) /* the listing was changed meanwhile */
        return -EAGAIN;
    if (error == -ENOENT) /* the descriptor was closed without a change of the listing: the process has ended */
        return -ECONNRESET;
    if (error)
        return error == -ENOMEM ? error : -ENOENT;
    atomic_store(&a->generation, generation);
    return 0;
}

int attachment_take(struct devcom *d, int rank, unsigned id, struct attachment **out)
{
    const struct listing *listing;
    struct attachment *a;
    int error = 0;

    if (id >= segment_ids(d))
        return -ENOENT;
    listing = segment_listing(d, rank, id);
    a = attachment_of(d, rank, id);
    for (;;) {
        uint64_t generation = atomic_load(&listing->generation);

        atomic_fetch_add(&a->users, 1);
        if (generation && atomic_load(&a->generation) == generation)
            break;
        atomic_fetch_sub(&a->users, 1);
        if (!generation)
            return -ENOENT;
        pthread_mutex_lock(&d->registering);
        if (atomic_load(&a->generation) != atomic_load(&listing->generation))
            error = attach(d, rank, id, a);
        pthread_mutex_unlock(&d->registering);
        if (error && error != -EAGAIN)
            return error;
    }
    *out = a;
    return 0;
}

void attachment_release(struct attachment *a)
{
    if (a)
        atomic_fetch_sub(&a->users, 1);
}

void attachment_forget(struct devcom *d, int rank, unsigned id)
{
    pthread_mutex_lock(&d->registering);
    attachment_drop(d, rank, id);
    pthread_mutex_unlock(&d->registering);
}

/* Maps a slot of another rank over its reserved addresses in a global address space. */
int attachment_fix(struct devcom *d, int rank, unsigned id, void *at)
{
    const struct listing *listing = segment_listing(d, rank, id);
    struct attachment *a = attachment_of(d, rank, id);
    int error;

    pthread_mutex_lock(&d->registering);
    attachment_drop(d, rank, id);
    a->bytes = listing->bytes;
    a->mapped_bytes = (a->bytes + PAGE - 1) & ~(PAGE - 1);
    a->path = DEVCOM_MAPPED;
    a->by_messages = false;
    error = memory_attach(neighbours_process(&d->neighbours, rank), listing->fd, a->mapped_bytes, at, &a->base);
    if (!error) {
        a->fixed = true;
        atomic_store(&a->generation, atomic_load(&listing->generation));
    }
    pthread_mutex_unlock(&d->registering);
    return error;
}

/* ---- queries ---- */

int devcom_segment_ptr(struct devcom *d, int rank, unsigned id, void **out)
{
    struct attachment *a;
    int error;

    if (!d || !out)
        return -EINVAL;
    if (!rank_valid(d, rank) || id >= d->o.segments)
        return -ENOENT;
    if (!d->boards[rank])
        return -ENOTSUP;
    error = attachment_take(d, rank, id, &a);
    if (error)
        return error;
    error = a->base ? 0 : -ENOTSUP;
    if (!error)
        *out = a->base;
    attachment_release(a);
    return error;
}

int devcom_segment_buffer(struct devcom *d, unsigned id, cl_mem *out)
{
    struct segment *segment;
    int error = d && out ? segment_take(d, id, &segment) : -EINVAL;

    if (error)
        return error;
    error = segment->buffer ? 0 : -ENOENT;
    if (!error)
        *out = segment->buffer;
    segment_release(segment);
    return error;
}

static int reach_near(struct devcom *d, int rank, unsigned id, struct devcom_reach *out)
{
    static const char *const whys[] = {
        [DEVCOM_MAPPED] = "both ranks map it: shared memory of this host",
        [DEVCOM_DIRECT] = "it is private memory of a process of this host: the system copies the data",
        [DEVCOM_STAGED] = "it is in a device's own memory",
    };
    struct attachment *a;
    int error = attachment_take(d, rank, id, &a);

    if (error)
        return error;
    *out = (struct devcom_reach){.path = rank == d->rank && a->base ? DEVCOM_MAPPED : a->path, .bytes = a->bytes};
    out->why = whys[out->path];
    if (out->path == DEVCOM_DIRECT && a->by_messages)
        out->why = "the system forbids access to the other process: its owner receives the data";
    attachment_release(a);
    return 0;
}

static int reach_far(struct devcom *d, int rank, unsigned id, long timeout_us, struct devcom_reach *out)
{
    int64_t answer[2];
    int error = nic_ask(d, rank, ASK_SEGMENT, id, 0, 0, 0, timeout_us, answer);

    if (error)
        return error;
    *out = (struct devcom_reach){.path = answer[1] ? DEVCOM_DIRECT : DEVCOM_STAGED, .bytes = (size_t)answer[0]};
    out->why = answer[1] ? "it is memory of another host: its owner receives the data"
                         : "it is in the own memory of a device of another host";
    return 0;
}

int devcom_segment_reach(struct devcom *d, int rank, unsigned id, long timeout_us, struct devcom_reach *out)
{
    if (!d || !out)
        return -EINVAL;
    if (!rank_valid(d, rank) || id >= d->o.segments)
        return -ENOENT;
    return d->boards[rank] ? reach_near(d, rank, id, out) : reach_far(d, rank, id, timeout_us, out);
}
