/* Questions, which the progress thread of a segment's owner answers. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "devcom/nic.h"

/* ---- answering ---- */

void nic_take_question(struct nic *nic, int rank, const struct wire *wire)
{
    struct wire answer = {.kind = WIRE_ANSWER, .bytes = wire->stride[0]};
    struct segment *segment = NULL;
    int error = segment_take(nic->d, wire->segment, &segment);

    if (!error && wire->question == ASK_SEGMENT) {
        answer.offset = segment->bytes;
        answer.stride[0] = segment->host != NULL;
    } else if (!error && wire->question > ASK_SEGMENT) {
        error = -EINVAL;
    } else if (!error && (wire->offset % sizeof(int64_t) || !inside(segment->bytes, wire->offset, sizeof(int64_t)))) {
        error = -ERANGE;
    } else if (!error && !segment->host) {
        error = -ENOTSUP;
    } else if (!error) {
        answer.offset =
            (uint64_t)atomic_run(segment->host + wire->offset, wire->question, (int64_t)wire->bytes, wire->value);
    }
    segment_release(segment);
    answer.value = error;
    nic_send_message(nic, rank, BACK_TAG, NULL, &answer, NULL, 0);
}

void nic_take_answer(struct nic *nic, const struct wire *wire)
{
    pthread_mutex_lock(&nic->lock);
    for (struct asking *asking = nic->askings; asking; asking = asking->next) {
        if (asking->number == wire->bytes) {
            asking->answer[0] = (int64_t)wire->offset;
            asking->answer[1] = (int64_t)wire->stride[0];
            asking->error = wire->value < 0 ? (int)wire->value : 0;
            atomic_store(&asking->done, true);
        }
    }
    pthread_mutex_unlock(&nic->lock);
}

static void answer_probe(struct nic *nic, int rank, const struct wire *wire)
{
    struct wire answer = {.kind = WIRE_ANSWER, .bytes = wire->stride[0]};

    if (!wire->question)
        nic_send_message(nic, rank, BACK_TAG, NULL, &answer, NULL, 0);
}

static void probe_end(struct nic *nic, int rank, struct incoming *in, int error)
{
    free(in->memory);
    in->memory = NULL;
    if (!error)
        answer_probe(nic, rank, &in->wire);
}

void nic_take_probe(struct nic *nic, int rank, int tag, const struct wire *wire)
{
    if (!(wire->flags & WIRE_BULK)) {
        answer_probe(nic, rank, wire);
    } else if (wire->bytes <= MOST_EAGER) {
        nic_incoming(nic, rank)->wire = *wire;
        nic_receive_packed(nic, rank, tag, wire->bytes, probe_end);
    }
}

/* ---- asking ---- */

static void forget(struct nic *nic, struct asking *asking)
{
    pthread_mutex_lock(&nic->lock);
    for (struct asking **at = &nic->askings; *at; at = &(*at)->next) {
        if (*at == asking) {
            *at = asking->next;
            break;
        }
    }
    pthread_mutex_unlock(&nic->lock);
    free(asking);
}

void nic_askings_close(struct nic *nic)
{
    while (nic->askings)
        forget(nic, nic->askings);
}

/* Under the lock. */
static struct asking *find_left(struct nic *nic, int rank, const struct wire *wire)
{
    struct asking *asking = nic->askings;

    while (asking && !(asking->left && asking->rank == rank && !memcmp(&asking->wire, wire, sizeof(*wire))))
        asking = asking->next;
    return asking;
}

/* Begins a question, or resumes one that was left. Returns -EAGAIN if too many others have been left. */
static int asking_begin(struct nic *nic, int rank, const struct wire *wire, bool resumes, struct asking **out)
{
    struct asking *asking, *fresh = calloc(1, sizeof(*fresh));
    int error = 0;

    if (!fresh)
        return -ENOMEM;
    pthread_mutex_lock(&nic->lock);
    asking = resumes ? find_left(nic, rank, wire) : NULL;
    if (asking) {
        asking->left = false;
        nic->left--;
    } else if (resumes && nic->left >= nic->d->o.queue_depth) {
        error = -EAGAIN;
    } else {
        asking = fresh;
        fresh = NULL;
        asking->rank = rank;
        asking->wire = *wire;
        asking->number = ++nic->questions;
        asking->next = nic->askings;
        nic->askings = asking;
    }
    pthread_mutex_unlock(&nic->lock);
    free(fresh);
    *out = asking;
    return error;
}

/* Leaves a question at its time-out. The answer may still arrive. */
static void leave_asking(struct nic *nic, struct asking *asking)
{
    pthread_mutex_lock(&nic->lock);
    asking->left = true;
    nic->left++;
    pthread_mutex_unlock(&nic->lock);
}

/* Sends a question, with that many bytes of data, in a separate message if the descriptor says so. */
static int send_question(struct nic *nic, int rank, const struct wire *wire, size_t bytes)
{
    unsigned own = own_stream(nic->d);
    struct lane *lane = nic_lane(nic, rank, own);
    uint8_t *data = bytes ? calloc(1, bytes) : NULL;
    int error = bytes && !data ? -ENOMEM : 0;

    pthread_mutex_lock(&lane->lock); /* the data of the library's own queue are sent in the same stream */
    if (!error)
        error = nic_send_message(nic, rank, 1 + (int)own, NULL, wire, data, wire->flags & WIRE_BULK ? 0 : bytes);
    if (!error && wire->flags & WIRE_BULK)
        error = nic_send_packed(nic, rank, 1 + (int)own, NULL, data, bytes);
    else
        free(data);
    pthread_mutex_unlock(&lane->lock);
    return error;
}

/* Asks a rank, and waits for the answer. resumes: the question changes memory, so it must not be sent twice. spin_us:
 * how long to poll. */
static int ask(struct nic *nic, int rank, struct wire *wire, size_t bytes, bool resumes, long spin_us, long timeout_us,
               int64_t answer[2])
{
    struct devcom *d = nic->d;
    struct asking *asking;
    struct waiting waiting;
    int error = asking_begin(nic, rank, wire, resumes, &asking);

    if (error)
        return error;
    if (!asking->sent) {
        asking->sent = true;
        wire->stride[0] = asking->number;
        error = send_question(nic, rank, wire, bytes);
    }
    if (!error) {
        waiting_begin(&waiting, &d->waits, rank, timeout_us);
        waiting.spin_us = spin_us;
        while (!atomic_load(&asking->done) && waiting_step(&waiting))
            ;
        error = waiting_end(&waiting);
    }
    if (atomic_load(&asking->done)) {
        memcpy(answer, asking->answer, sizeof(asking->answer));
        error = asking->error;
    } else if (error == -ETIMEDOUT && resumes) {
        leave_asking(nic, asking);
        return error;
    }
    forget(nic, asking);
    return error;
}

int nic_ask(struct devcom *d, int rank, enum question question, unsigned segment, size_t offset, int64_t first,
            int64_t second, long timeout_us, int64_t answer[2])
{
    struct wire wire = {.kind = WIRE_ASK,
                        .segment = (uint16_t)segment,
                        .offset = offset,
                        .bytes = (uint64_t)first,
                        .question = question,
                        .value = second};

    return ask(d->nic, rank, &wire, 0, question != ASK_SEGMENT, d->waits.spin_us, timeout_us, answer);
}

int nic_probe(struct nic *nic, int rank, unsigned count, size_t bytes, bool bulk, long timeout_us)
{
    struct wire wire = {.kind = WIRE_PROBE, .flags = bulk ? WIRE_BULK : 0, .bytes = bytes, .question = 1};
    int64_t answer[2];
    int error = 0;

    while (!error && count-- > 1)
        error = send_question(nic, rank, &wire, bytes);
    wire.question = 0;
    return error ? error : ask(nic, rank, &wire, bytes, false, timeout_us, timeout_us, answer);
}
