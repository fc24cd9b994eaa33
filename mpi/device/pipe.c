/*
 * Long messages in pieces (xtqmpi_comm_pipeline). The first piece is sent as the message itself, after a header, the
 * others on a second communicator. While one is being sent, the next is read from the device, and at the receiver the
 * previous one is written.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "ground/neighbours.h"
#include "mpi/device/device.h"

#define MAGIC UINT64_C(0x766f636c70697065)
#define TAGS 0x8000
#define PATIENCE_US 20000
#define YIELD_EVERY 64 /* there may be more ranks than cores */
#define MOST_PIECE ((size_t)1 << 30)

struct pipe {
    MPI_Comm beside;
    size_t piece;
    _Atomic unsigned serial;
};

struct header {
    uint64_t magic, bytes, piece;
    uint32_t tag, unused;
};

/* One message, at either end. All of it is in host memory, packed, after the header. */
struct passing {
    struct passing *next;
    struct pipe *pipe;
    struct device_operand o;
    uint8_t *memory; /* a struct header, and then the message */
    size_t bytes, requests_made;
    MPI_Request *requests; /* for all pieces but the first */
    MPI_Comm comm;
    MPI_Request first; /* of a receive */
    bool begun;        /* the other pieces are being received, or error says why not */
    int error;
};

/* Receives whose other pieces may not have been requested; and messages whose pieces are still being sent after the
 * program has continued. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct passing *coming, *leaving;
static _Atomic unsigned coming_count;

static int keyval = MPI_KEYVAL_INVALID;

/* ---- the communicator ---- */

static int on_comm_free(MPI_Comm comm, int key, void *value, void *extra)
{
    struct pipe *pipe = value;

    (void)comm;
    (void)key;
    (void)extra;
    PMPI_Comm_free(&pipe->beside);
    free(pipe);
    return MPI_SUCCESS;
}

struct pipe *pipe_of(MPI_Comm comm)
{
    struct pipe *pipe;
    int found = 0;

    if (keyval == MPI_KEYVAL_INVALID || PMPI_Comm_get_attr(comm, keyval, &pipe, &found))
        return NULL;
    return found ? pipe : NULL;
}

static int keyval_make(void)
{
    int error = 0;

    pthread_mutex_lock(&lock);
    if (keyval == MPI_KEYVAL_INVALID && PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_comm_free, &keyval, NULL))
        error = -EIO;
    pthread_mutex_unlock(&lock);
    return error;
}

/* Collective. Gives comm its pipe, on all ranks or on none, since only all ranks together can free the duplicate. On
 * failure the pipe is freed. */
static int pipe_attach(MPI_Comm comm, struct pipe *pipe)
{
    int mine, error;

    if (PMPI_Comm_dup(comm, &pipe->beside)) {
        free(pipe);
        return -EIO;
    }
    mine = PMPI_Comm_set_attr(comm, keyval, pipe) ? -EIO : 0;
    error = ranks_agree(comm, mine);
    if (mine)
        on_comm_free(comm, keyval, pipe, NULL);
    else if (error)
        PMPI_Comm_delete_attr(comm, keyval);
    return error;
}

int xtqmpi_comm_pipeline(MPI_Comm comm, size_t piece_bytes)
{
    const size_t piece = piece_bytes ? piece_bytes : (size_t)512 << 10;
    struct pipe *pipe = malloc(sizeof(*pipe));
    int inter = 0, error;

    if (PMPI_Comm_test_inter(comm, &inter) || inter) {
        free(pipe);
        return inter ? -EINVAL : -EIO;
    }
    if (!pipe)
        error = -ENOMEM;
    else
        error = piece < 4096 || piece > MOST_PIECE || pipe_of(comm) ? -EINVAL : keyval_make();
    error = ranks_agree_on(comm, error, (long[]){error ? 0 : (long)piece}, 1);
    if (error) {
        free(pipe);
        return error;
    }
    *pipe = (struct pipe){.piece = piece};
    return pipe_attach(comm, pipe);
}

/* ---- packed ---- */

static bool is_one_block(const struct device_operand *o)
{
    return o->pieces.count == 1 && o->pieces.list->rows.count == 1;
}

static uint8_t *data_of(const struct passing *p)
{
    return p->memory + sizeof(struct header);
}

static void passing_free(struct passing *p)
{
    operand_close(&p->o);
    bounce_give(p->memory);
    free(p->requests);
    free(p);
}

static struct passing *passing_new(struct pipe *pipe, struct device_operand *o, MPI_Comm comm)
{
    struct passing *p = calloc(1, sizeof(*p));

    if (p) {
        *p = (struct passing){.pipe = pipe, .o = *o, .bytes = o->memory ? o->bytes : 0, .comm = comm};
        p->memory = bounce_take(sizeof(struct header) + p->bytes);
        p->requests = malloc((p->bytes / pipe->piece + 1) * sizeof(*p->requests));
        if (p->memory && p->requests)
            return p;
        free(p->requests);
        bounce_give(p->memory);
    }
    free(p);
    operand_close(o);
    return NULL;
}

static size_t piece_bytes(size_t bytes, size_t piece, size_t at)
{
    return bytes - at < piece ? bytes - at : piece;
}

/* ---- sending ---- */

static void list_add(struct passing **list, struct passing *p)
{
    pthread_mutex_lock(&lock);
    p->next = *list;
    *list = p;
    pthread_mutex_unlock(&lock);
}

static bool pieces_left(struct passing *p)
{
    int left = 1;

    for (size_t i = 0; i < p->requests_made && left; i++)
        PMPI_Test(&p->requests[i], &left, MPI_STATUS_IGNORE);
    return left;
}

void pipes_reap(bool all)
{
    struct passing *list, *next;

    pthread_mutex_lock(&lock);
    list = leaving;
    leaving = NULL;
    pthread_mutex_unlock(&lock);
    for (; list; list = next) {
        next = list->next;
        for (size_t i = 0; i < list->requests_made && all; i++)
            PMPI_Wait(&list->requests[i], MPI_STATUS_IGNORE);
        if (pieces_left(list))
            passing_free(list);
        else
            list_add(&leaving, list);
    }
}

static void receives_progress(void);

/*
 * Called when the first piece has been received. The others mostly follow soon, but the receiver may wait for something
 * that this rank does later. All data are in memory of this library, so the program may continue.
 */
static int on_sent(void *argument, MPI_Status *status)
{
    struct passing *p = argument;
    const long since = clock_us();
    bool left = false;

    (void)status;
    for (unsigned turn = 1; !(left = pieces_left(p)) && clock_us() - since < PATIENCE_US; turn++) {
        receives_progress();
        if (turn % YIELD_EVERY == 0)
            sched_yield();
    }
    if (left)
        passing_free(p);
    else
        list_add(&leaving, p);
    return MPI_SUCCESS;
}

static int piece_send(struct passing *p, size_t at, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
    struct header *header = (struct header *)p->memory;
    const size_t piece = p->pipe->piece, some = piece_bytes(p->bytes, piece, at);

    if (at)
        return PMPI_Isend(data_of(p) + at, (int)some, MPI_BYTE, to, (int)header->tag, p->pipe->beside,
                          &p->requests[p->requests_made++]);
    *header = (struct header){
        .magic = MAGIC, .bytes = p->bytes, .piece = piece, .tag = atomic_fetch_add(&p->pipe->serial, 1) % TAGS};
    return PMPI_Isend(p->memory, (int)(sizeof(*header) + some), MPI_BYTE, to, tag, comm, request);
}

/* Sends all pieces, also those that cannot be read from the device, since the receiver expects them. */
static int pieces_send(struct passing *p, int to, int tag, MPI_Comm comm, MPI_Request *request, int *error)
{
    const size_t piece = p->pipe->piece;
    size_t at = 0, begun = 0;
    cl_event events[2] = {NULL, NULL};
    int result = MPI_SUCCESS;

    do {
        while (begun < p->bytes && begun <= at + piece && is_one_block(&p->o)) { /* one ahead */
            int failed = device_read_begin(p->o.memory, p->o.offset + (size_t)p->o.first + begun, data_of(p) + begun,
                                           piece_bytes(p->bytes, piece, begun), &events[begun / piece % 2]);

            *error = *error ? *error : failed;
            begun += piece;
        }
        if (p->bytes) {
            int failed = device_event_wait(events[at / piece % 2]);

            events[at / piece % 2] = NULL;
            *error = *error ? *error : failed;
        }
        result = piece_send(p, at, to, tag, comm, request);
        at += piece;
    } while (at < p->bytes && !result);
    for (int i = 0; i < 2; i++)
        device_event_wait(events[i]);
    return result;
}

int pipe_isend(struct pipe *pipe, struct device_operand *o, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
    struct passing *p = to == MPI_PROC_NULL ? NULL : passing_new(pipe, o, comm);
    int error = 0, result;

    pipes_reap(false);
    if (to == MPI_PROC_NULL) {
        operand_close(o);
        return PMPI_Isend(NULL, 0, MPI_BYTE, to, tag, comm, request);
    }
    if (!p)
        return device_error(comm, -ENOMEM, "MPI_Isend");
    if (p->bytes && !is_one_block(&p->o)) {
        error = operand_read(&p->o);
        pieces_pack(&p->o.pieces, p->o.host, data_of(p), p->bytes);
    }
    result = pieces_send(p, to, tag, comm, request, &error);
    if (result) {
        passing_free(p);
        return result;
    }
    result = pending_add(request, on_sent, p);
    return error ? device_error(comm, error, "MPI_Isend") : result;
}

/* ---- receiving ---- */

/* Receives and discards a message that is too long, since the sender waits for that. */
static int too_long(struct passing *p, const struct header *header, int from)
{
    uint8_t *memory = malloc(header->piece);
    int result = memory ? MPI_SUCCESS : MPI_ERR_NO_MEM;

    for (uint64_t at = header->piece; at < header->bytes && !result; at += header->piece)
        result =
            PMPI_Recv(memory, (int)header->piece, MPI_BYTE, from, (int)header->tag, p->pipe->beside, MPI_STATUS_IGNORE);
    free(memory);
    return -EMSGSIZE;
}

/* Begins to write a received piece to the device, if the message is one block. */
static int piece_write(struct passing *p, size_t at, size_t bytes, cl_event *event)
{
    *event = NULL;
    return is_one_block(&p->o)
               ? device_write_begin(p->o.memory, p->o.offset + (size_t)p->o.first + at, data_of(p) + at, bytes, event)
               : 0;
}

static int pieces_receive(struct passing *p, const struct header *header)
{
    const size_t bytes = header->bytes, piece = header->piece;
    cl_event event, before = NULL;
    int error = 0, result = MPI_SUCCESS;

    for (size_t at = 0; at < bytes && !result; at += piece) {
        int failed;

        if (at)
            result = PMPI_Wait(&p->requests[at / piece - 1], MPI_STATUS_IGNORE);
        failed = piece_write(p, at, piece_bytes(bytes, piece, at), &event);
        error = error ? error : failed;
        failed = device_event_wait(before);
        before = event;
        error = error ? error : failed;
    }
    if (device_event_wait(before))
        error = -EIO;
    if (!error && !result && bytes && !is_one_block(&p->o)) {
        pieces_unpack(&p->o.pieces, p->o.host, data_of(p), bytes);
        error = operand_write(&p->o, bytes);
    }
    return result ? -EIO : error;
}

static int message_check(const struct passing *p, const struct header *header, size_t got)
{
    if (got < sizeof(*header) || header->magic != MAGIC || header->piece != p->pipe->piece || header->tag >= TAGS ||
        got != sizeof(*header) + piece_bytes(header->bytes, header->piece, 0))
        return -EPROTO;
    return header->bytes > p->bytes ? -EMSGSIZE : 0;
}

/* Starts to receive the other pieces, after the first has arrived. */
static void receive_begin(struct passing *p, const MPI_Status *status)
{
    const struct header *header = (const struct header *)p->memory;
    const size_t piece = p->pipe->piece;
    size_t bytes;

    p->begun = true;
    p->error = message_check(p, header, status_bytes(status));
    bytes = p->error ? 0 : header->bytes;
    for (size_t at = piece; at < bytes && !p->error; at += piece) {
        if (PMPI_Irecv(data_of(p) + at, (int)piece_bytes(bytes, piece, at), MPI_BYTE, status->MPI_SOURCE,
                       (int)header->tag, p->pipe->beside, &p->requests[p->requests_made++]))
            p->error = -EIO;
    }
}

/* Drives this rank's receives while it waits for its own sends, since other ranks may wait likewise. */
static void receives_progress(void)
{
    if (!atomic_load_explicit(&coming_count, memory_order_relaxed) || pthread_mutex_trylock(&lock))
        return;
    for (struct passing *p = coming; p; p = p->next) {
        MPI_Status status;
        int over = 0, cancelled = 0;

        if (p->begun || PMPI_Request_get_status(p->first, &over, &status) || !over)
            continue;
        PMPI_Test_cancelled(&status, &cancelled);
        if (!cancelled)
            receive_begin(p, &status);
    }
    pthread_mutex_unlock(&lock);
}

static void coming_remove(struct passing *p)
{
    struct passing **at = &coming;

    pthread_mutex_lock(&lock);
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    atomic_fetch_sub(&coming_count, 1);
    pthread_mutex_unlock(&lock);
}

static int on_received(void *argument, MPI_Status *status)
{
    struct passing *p = argument;
    const struct header *header = (const struct header *)p->memory;
    MPI_Comm comm = p->comm;
    int cancelled = 0, error = 0;

    coming_remove(p);
    PMPI_Test_cancelled(status, &cancelled);
    if (!cancelled) {
        if (!p->begun)
            receive_begin(p, status);
        error = p->error;
        if (error == -EMSGSIZE)
            error = too_long(p, header, status->MPI_SOURCE);
        else if (!error)
            error = pieces_receive(p, header);
        PMPI_Status_set_elements_x(status, MPI_BYTE, (MPI_Count)(error ? 0 : header->bytes));
    }
    passing_free(p);
    return error ? device_error(comm, error, "MPI_Irecv") : MPI_SUCCESS;
}

int pipe_irecv(struct pipe *pipe, struct device_operand *o, int from, int tag, MPI_Comm comm, MPI_Request *request)
{
    struct passing *p = from == MPI_PROC_NULL ? NULL : passing_new(pipe, o, comm);
    size_t room;
    int result;

    if (from == MPI_PROC_NULL) {
        operand_close(o);
        return PMPI_Irecv(NULL, 0, MPI_BYTE, from, tag, comm, request);
    }
    if (!p)
        return device_error(comm, -ENOMEM, "MPI_Irecv");
    room = sizeof(struct header) + (p->bytes < pipe->piece ? p->bytes : pipe->piece);
    result = PMPI_Irecv(p->memory, (int)room, MPI_BYTE, from, tag, comm, request);
    if (result) {
        passing_free(p);
        return result;
    }
    p->first = *request;
    atomic_fetch_add(&coming_count, 1);
    list_add(&coming, p);
    return pending_hold(request, on_received, p);
}
