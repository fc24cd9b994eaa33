/* Puts and gets: copies if this process can reach the memory, messages otherwise (nic.c). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "devcom/internal.h"

#define VECTORS 64
#define MOST_COPY ((size_t)1 << 30) /* one system call copies at most 2^31 - 1 bytes */

/* ---- by system calls, to and from private memory of another process ---- */

struct vectors {
    struct iovec here[VECTORS], there[VECTORS];
    size_t count, bytes;
    pid_t pid;
    bool get;
};

static int vectors_flush(struct vectors *v)
{
    ssize_t done = 0;

    if (v->count)
        done = v->get ? process_vm_readv(v->pid, v->here, v->count, v->there, v->count, 0)
                      : process_vm_writev(v->pid, v->here, v->count, v->there, v->count, 0);
    if (done < 0)
        return errno == ESRCH ? -ECONNRESET : -EIO;
    if ((size_t)done != v->bytes)
        return -EIO;
    v->count = v->bytes = 0;
    return 0;
}

static int vectors_add(struct vectors *v, uint8_t *here, uint64_t there, size_t bytes)
{
    int error = 0;

    while (bytes && !error) {
        size_t part = bytes < MOST_COPY ? bytes : MOST_COPY;

        v->here[v->count] = (struct iovec){here, part};
        v->there[v->count++] = (struct iovec){(void *)(uintptr_t)there, part};
        v->bytes += part;
        here += part;
        there += part;
        bytes -= part;
        if (v->count == VECTORS || v->bytes >= MOST_COPY)
            error = vectors_flush(v);
    }
    return error;
}

static int copy_by_system(pid_t pid, uint8_t *here, const struct layout *local, uint64_t there,
                          const struct layout *remote, bool get)
{
    struct vectors v = {.pid = pid, .get = get};
    int error = 0;

    if (layout_contiguous(local) && layout_contiguous(remote)) {
        error = vectors_add(&v, here, there, layout_total(local));
        return error ? error : vectors_flush(&v);
    }
    for (uint32_t i = 0; i < local->count[1]; i++) {
        for (uint32_t j = 0; j < local->count[0] && !error; j++)
            error = vectors_add(&v, here + i * local->stride[1] + j * local->stride[0],
                                there + i * remote->stride[1] + j * remote->stride[0], local->bytes);
    }
    return error ? error : vectors_flush(&v);
}

/* Copies by system calls. It is counted as a visit, during which the owner does not delete the segment. */
static int visit(struct devcom *d, const struct transfer *t, struct attachment *a, uint8_t *here,
                 const struct layout *local, bool get)
{
    const struct listing *listing = segment_listing(d, t->rank, t->remote_id);
    _Atomic uint32_t *visits = board_visits(d, t->rank, t->remote_id, d->rank);
    int error = -ENOENT;

    atomic_fetch_add(visits, 1);
    if (atomic_load(&listing->generation) == atomic_load(&a->generation))
        error = copy_by_system(neighbours_process(&d->neighbours, t->rank), here, local, a->address + t->remote_offset,
                               &t->remote, get);
    atomic_fetch_sub(visits, 1);
    return error;
}

/* ---- ranks of this host ---- */

static int copy(struct devcom *d, const struct transfer *t, struct attachment *a, uint8_t *here,
                const struct layout *local, bool get)
{
    uint8_t *there = a->base + t->remote_offset;

    if (!a->base)
        return visit(d, t, a, here, local, get);
    if (get)
        layout_copy(here, local, there, &t->remote);
    else
        layout_copy(there, &t->remote, here, local);
    return 0;
}

/* Copies to or from device memory of this rank. */
static int copy_staged(struct devcom *d, const struct transfer *t, struct attachment *a, bool get)
{
    struct layout flat = layout_packed(&t->local);
    uint8_t *packed;
    int error = 0;

    if (a->base && layout_contiguous(&t->remote)) /* directly: the device's copy is the only one */
        return get ? stage_write(t->segment, t->offset, &t->local, a->base + t->remote_offset)
                   : stage_read(t->segment, t->offset, &t->local, a->base + t->remote_offset);
    packed = malloc(layout_total(&flat));
    if (!packed)
        return -ENOMEM;
    if (!get)
        error = stage_read(t->segment, t->offset, &t->local, packed);
    if (!error)
        error = copy(d, t, a, packed, &flat, get);
    if (!error && get)
        error = stage_write(t->segment, t->offset, &t->local, packed);
    free(packed);
    return error;
}

static int move_near(struct devcom *d, const struct transfer *t, struct attachment *a, bool get)
{
    if (!inside(a->bytes, t->remote_offset, layout_extent(&t->remote)))
        return -ERANGE;
    if (t->data)
        return copy(d, t, a, (uint8_t *)t->data, &t->local, false);
    return t->segment->host ? copy(d, t, a, t->segment->host + t->offset, &t->local, get) : copy_staged(d, t, a, get);
}

/* Does a put or get with a near rank. A get by a copy follows the pending operations of the queue, and is not part of
 * its order otherwise. */
static int transfer_near(struct devcom *d, const struct transfer *t, bool get)
{
    struct attachment *a = NULL;
    bool by_messages = d->nic && nic_busy(d, t->rank, t->queue);
    int error = 0;

    if ((t->segment || t->data) && !by_messages) {
        error = attachment_take(d, t->rank, t->remote_id, &a);
        if (error)
            return error;
        by_messages = a->by_messages;
        if (!by_messages)
            error = move_near(d, t, a, get);
        if (!by_messages && !error &&
            !get) /* before the release: its atomic instruction would wait for the data's cache lines */
            signal_apply(d, t->rank, t->signal, t->op, t->value);
        attachment_release(a);
    } else if (!by_messages && !get) {
        signal_apply(d, t->rank, t->signal, t->op, t->value);
    }
    if (by_messages)
        return !d->nic ? -ENOTSUP : get ? nic_get(d, t) : nic_put(d, t);
    return error;
}

/* ---- checks ---- */

int transfer_check(struct devcom *d, const struct devcom_put *put, unsigned queue, struct transfer *t)
{
    unsigned signals = queue == own_stream(d) ? d->words : d->o.signals;

    if (!rank_valid(d, put->rank) || queue >= stream_count(d) || (unsigned)put->op > DEVCOM_SIGNAL_ADD ||
        (put->op && put->signal >= signals))
        return -EINVAL;
    *t = (struct transfer){.offset = put->offset,
                           .remote_offset = put->remote_offset,
                           .local_id = put->segment,
                           .remote_id = put->remote_segment,
                           .rank = put->rank,
                           .queue = queue,
                           .signal = put->signal,
                           .op = put->op,
                           .value = put->value};
    return shape_layouts(&put->shape, &t->local, &t->remote);
}

static int transfer_go(struct devcom *d, const struct transfer *t, bool get)
{
    if (d->boards[t->rank])
        return transfer_near(d, t, get);
    return get ? nic_get(d, t) : nic_put(d, t);
}

int stream_transfer(struct devcom *d, const struct devcom_put *put, unsigned stream, bool get)
{
    struct transfer t;
    int error = transfer_check(d, put, stream, &t);

    if (error)
        return error;
    if (put->shape.bytes) {
        if (stream != own_stream(d) && (put->segment >= d->o.segments || put->remote_segment >= d->o.segments))
            return -ENOENT;
        error = segment_take(d, put->segment, &t.segment);
        if (error)
            return error;
        if (!inside(t.segment->bytes, t.offset, layout_extent(&t.local)))
            error = -ERANGE;
    }
    if (!error)
        error = transfer_go(d, &t, get);
    segment_release(t.segment);
    return error;
}

/* ---- tables: the look-ups of one put serve the next ---- */

struct lookup {
    struct segment *segment;
    struct attachment *attachment;
    unsigned local_id, remote_id;
    int rank;
};

static void lookup_end(struct lookup *l)
{
    segment_release(l->segment);
    attachment_release(l->attachment);
    *l = (struct lookup){0};
}

static int lookup_segment(struct devcom *d, struct lookup *l, unsigned id)
{
    struct segment *segment;
    int error;

    if (l->segment && l->local_id == id)
        return 0;
    error = segment_take(d, id, &segment);
    if (error)
        return error;
    segment_release(l->segment);
    l->segment = segment;
    l->local_id = id;
    return 0;
}

static int lookup_attachment(struct devcom *d, struct lookup *l, int rank, unsigned id)
{
    struct attachment *a;
    int error;

    if (l->attachment && l->rank == rank && l->remote_id == id)
        return 0;
    attachment_release(l->attachment);
    l->attachment = NULL;
    error = attachment_take(d, rank, id, &a);
    if (error)
        return error;
    l->attachment = a;
    l->rank = rank;
    l->remote_id = id;
    return 0;
}

/* Prefetches the beginning of the next put, which the processor cannot predict. */
static void look_ahead(const struct lookup *l, const struct transfer *next)
{
    const uint8_t *from, *to;

    if (!l->segment || !l->segment->host || !l->attachment || !l->attachment->base || next->local_id != l->local_id ||
        next->remote_id != l->remote_id || next->rank != l->rank)
        return;
    from = l->segment->host + next->offset;
    to = l->attachment->base + next->remote_offset;
    for (size_t line = 0; line < (size_t)3 * LINE; line += LINE) {
        __builtin_prefetch(from + line);
        __builtin_prefetch(to + line, 1);
    }
}

/* Does a put with shared look-ups, if both memories are mapped; otherwise by the general functions. */
static int put_looked_up(struct devcom *d, struct transfer *t, struct lookup *l)
{
    int error;

    if (!t->local.bytes)
        return transfer_go(d, t, false);
    if (t->local_id >= d->o.segments || t->remote_id >= d->o.segments)
        return -ENOENT;
    error = lookup_segment(d, l, t->local_id);
    if (error)
        return error;
    if (!inside(l->segment->bytes, t->offset, layout_extent(&t->local)))
        return -ERANGE;
    t->segment = l->segment;
    if (!d->boards[t->rank] || d->nic || !l->segment->host)
        return transfer_go(d, t, false);
    error = lookup_attachment(d, l, t->rank, t->remote_id);
    if (error)
        return error;
    if (!l->attachment->base)
        return transfer_go(d, t, false);
    error = move_near(d, t, l->attachment, false);
    if (!error && t->op)
        signal_apply(d, t->rank, t->signal, t->op, t->value);
    return error;
}

int put_checked(struct devcom *d, struct transfer *transfers, unsigned count, unsigned *done)
{
    struct lookup lookup = {0};
    unsigned i = 0;
    int error = 0;

    while (i < count && !error) {
        for (size_t line = 0; i + 2 < count && line < sizeof(*transfers);
             line += LINE) /* the data have displaced it from the cache */
            __builtin_prefetch((uint8_t *)&transfers[i + 2] + line);
        if (i + 1 < count)
            look_ahead(&lookup, &transfers[i + 1]);
        error = put_looked_up(d, &transfers[i], &lookup);
        i += !error;
    }
    lookup_end(&lookup);
    *done = i;
    return error;
}

/* ---- the calls ---- */

static int run_list(struct devcom *d, const struct devcom_put *list, unsigned count, unsigned queue, bool get,
                    unsigned *done)
{
    unsigned i = 0;
    int error = d && (list || !count) && queue < d->o.queues ? 0 : -EINVAL;

    while (i < count && !error) {
        error = stream_transfer(d, &list[i], queue, get);
        i += !error;
    }
    if (done)
        *done = i;
    return error;
}

int devcom_put(struct devcom *d, const struct devcom_put *puts, unsigned count, unsigned queue, unsigned *done)
{
    return run_list(d, puts, count, queue, false, done);
}

int devcom_get(struct devcom *d, const struct devcom_put *gets, unsigned count, unsigned queue, unsigned *done)
{
    return run_list(d, gets, count, queue, true, done);
}

/* Does the commonest put, of one block between mapped memories, without layouts, since the time of a short put is that
 * before its first store. False: the general functions must do the put, or say why it is refused. */
static bool put_mapped(struct devcom *d, const struct devcom_put *put, unsigned queue)
{
    struct segment *segment;
    struct attachment *a;
    size_t bytes = put->shape.bytes;
    bool done = false;

    if (!d || d->nic || !bytes || !rank_valid(d, put->rank) || !d->boards[put->rank] || queue >= d->o.queues ||
        (unsigned)put->op > DEVCOM_SIGNAL_ADD || (put->op && put->signal >= d->o.signals) ||
        put->segment >= d->o.segments || put->remote_segment >= d->o.segments ||
        segment_take(d, put->segment, &segment))
        return false;
    if (segment->host && inside(segment->bytes, put->offset, bytes) &&
        !attachment_take(d, put->rank, put->remote_segment, &a)) {
        done = a->base && inside(a->bytes, put->remote_offset, bytes);
        if (done) {
            memmove(a->base + put->remote_offset, segment->host + put->offset, bytes);
            signal_apply(d, put->rank, put->signal, put->op, put->value);
        }
        attachment_release(a);
    }
    segment_release(segment);
    return done;
}

int devcom_write_notify(struct devcom *d, unsigned segment, size_t offset, int rank, unsigned remote_segment,
                        size_t remote_offset, size_t bytes, unsigned signal, enum devcom_signal_op op, int64_t value,
                        unsigned queue)
{
    struct devcom_put put = {.segment = segment,
                             .remote_segment = remote_segment,
                             .offset = offset,
                             .remote_offset = remote_offset,
                             .shape = {.bytes = bytes},
                             .rank = rank,
                             .signal = signal,
                             .op = op,
                             .value = value};

    return put_mapped(d, &put, queue) ? 0 : run_list(d, &put, 1, queue, false, NULL);
}

int devcom_write(struct devcom *d, unsigned segment, size_t offset, int rank, unsigned remote_segment,
                 size_t remote_offset, size_t bytes, unsigned queue)
{
    return devcom_write_notify(d, segment, offset, rank, remote_segment, remote_offset, bytes, 0, DEVCOM_SIGNAL_NONE, 0,
                               queue);
}

int devcom_signal_op(struct devcom *d, int rank, unsigned signal, enum devcom_signal_op op, int64_t value,
                     unsigned queue)
{
    return devcom_write_notify(d, 0, 0, rank, 0, 0, 0, signal, op, value, queue);
}

int devcom_read(struct devcom *d, unsigned segment, size_t offset, int rank, unsigned remote_segment,
                size_t remote_offset, size_t bytes, unsigned queue)
{
    struct devcom_put get = {.segment = segment,
                             .remote_segment = remote_segment,
                             .offset = offset,
                             .remote_offset = remote_offset,
                             .shape = {.bytes = bytes},
                             .rank = rank};

    return run_list(d, &get, 1, queue, true, NULL);
}

/* Puts data of the caller. */
static int put_data(struct devcom *d, const struct devcom_put *put, const void *data, unsigned queue)
{
    struct transfer t;
    int error = transfer_check(d, put, queue, &t);

    t.data = put->shape.bytes ? data : NULL;
    return error ? error : transfer_go(d, &t, false);
}

int devcom_write_inline(struct devcom *d, const void *data, size_t bytes, int rank, unsigned remote_segment,
                        size_t remote_offset, unsigned signal, enum devcom_signal_op op, int64_t value, unsigned queue)
{
    struct devcom_put put = {.remote_segment = remote_segment,
                             .remote_offset = remote_offset,
                             .shape = {.bytes = bytes},
                             .rank = rank,
                             .signal = signal,
                             .op = op,
                             .value = value};

    if (!d || queue >= d->o.queues || (bytes && !data))
        return -EINVAL;
    if (bytes > d->o.eager_bytes)
        return -EMSGSIZE;
    return remote_segment < d->o.segments ? put_data(d, &put, data, queue) : -ENOENT;
}

/* ---- the library's own queue ---- */

/* Does a put, of data of the caller unless data is NULL, or a get. Waits while the queue is full. */
static int run_own(struct devcom *d, const struct devcom_put *put, const void *data, bool get)
{
    const unsigned queue = own_stream(d);
    int error;

    while ((error = data ? put_data(d, put, data, queue) : stream_transfer(d, put, queue, get)) == -EAGAIN) {
        error = stream_wait_for_room(d, put->rank, queue);
        if (error)
            break;
    }
    return error;
}

int put_own(struct devcom *d, const struct devcom_put *put)
{
    return run_own(d, put, NULL, false);
}

int put_own_data(struct devcom *d, const struct devcom_put *put, const void *data)
{
    return run_own(d, put, data, false);
}

int get_own(struct devcom *d, const struct devcom_put *get)
{
    return run_own(d, get, NULL, true);
}

int notify_own(struct devcom *d, int rank, unsigned signal, enum devcom_signal_op op, int64_t value)
{
    struct devcom_put put = {.rank = rank, .signal = signal, .op = op, .value = value};

    return put_own(d, &put);
}
