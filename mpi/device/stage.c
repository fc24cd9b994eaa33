/* Copies between device memory and host memory, the host memory for that, and operands. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "mpi/device/memory.h"

/* ---- copies ---- */

enum way { READ, WRITE };

struct copying {
    const struct device_memory *m;
    enum way way;
    size_t offset;
    uint8_t *host;
};

static int copy_svm(void *argument, const struct piece *piece)
{
    const struct copying *c = argument;
    const struct rows *rows = &piece->rows;
    uint8_t *there = c->m->svm + c->offset + piece->offset, *here = place_at(c->host, piece->offset);

    rows_copy(c->way == READ ? here : there, rows->stride, c->way == READ ? there : here, rows->stride, rows->bytes,
              rows->count);
    return 0;
}

/* Copies SVM, by mapping everything from the first to the last piece. */
static int copy_mapped(struct copying *c, const struct pieces *pieces, size_t most)
{
    const struct device_memory *m = c->m;
    int64_t first, end;
    cl_int status;

    pieces_extent(pieces, &first, &end);
    status = clEnqueueSVMMap(m->commands, CL_TRUE, c->way == READ ? CL_MAP_READ : CL_MAP_READ | CL_MAP_WRITE,
                             m->svm + c->offset + first, (size_t)(end - first), 0, NULL, NULL);
    if (status)
        return status;
    pieces_walk(pieces, most, copy_svm, c);
    return clEnqueueSVMUnmap(m->commands, m->svm + c->offset + first, 0, NULL, NULL);
}

static int copy_buffer(void *argument, const struct piece *piece)
{
    const struct copying *c = argument;

    return rows_move(c->m->commands, c->m->buffer, c->offset + (size_t)piece->offset, &piece->rows,
                     place_at(c->host, piece->offset), piece->rows.stride, c->way == WRITE, false);
}

static int copy(const struct device_memory *m, enum way way, size_t offset, uint8_t *host, const struct pieces *pieces,
                size_t most)
{
    struct copying c = {m, way, offset, host};
    cl_int status, finished;

    if (!pieces->count)
        return 0;
    status = m->svm ? copy_mapped(&c, pieces, most) : pieces_walk(pieces, most, copy_buffer, &c);
    finished = clFinish(m->commands);
    if (status || finished)
        vocl_log(LOG_ERROR, "xtqmpi: copying failed: OpenCL error %d", status ? status : finished);
    return status || finished ? -EIO : 0;
}

int device_read(struct device_memory *memory, size_t offset, uint8_t *place, const struct pieces *pieces)
{
    return copy(memory, READ, offset, place, pieces, SIZE_MAX);
}

int device_write(struct device_memory *memory, size_t offset, const uint8_t *place, const struct pieces *pieces,
                 size_t most)
{
    return copy(memory, WRITE, offset, (uint8_t *)(uintptr_t)place, pieces, most);
}

/* ---- without waiting ---- */

static int block_begin(struct device_memory *m, enum way way, size_t offset, uint8_t *host, size_t bytes,
                       cl_event *event)
{
    *event = NULL;
    if (m->svm) {
        struct piece piece = {.rows = {.bytes = bytes, .count = 1}};

        return copy(m, way, offset, host, &(struct pieces){.list = &piece, .count = 1}, SIZE_MAX);
    }
    if (way == READ ? clEnqueueReadBuffer(m->commands, m->buffer, CL_FALSE, offset, bytes, host, 0, NULL, event)
                    : clEnqueueWriteBuffer(m->commands, m->buffer, CL_FALSE, offset, bytes, host, 0, NULL, event))
        return -EIO;
    clFlush(m->commands);
    return 0;
}

int device_read_begin(struct device_memory *memory, size_t offset, void *place, size_t bytes, cl_event *event)
{
    return block_begin(memory, READ, offset, place, bytes, event);
}

int device_write_begin(struct device_memory *memory, size_t offset, const void *place, size_t bytes, cl_event *event)
{
    return block_begin(memory, WRITE, offset, (uint8_t *)(uintptr_t)place, bytes, event);
}

int device_event_wait(cl_event event)
{
    cl_int status = CL_SUCCESS;

    if (!event)
        return 0;
    status = clWaitForEvents(1, &event);
    clReleaseEvent(event);
    return status ? -EIO : 0;
}

/* ---- host memory, which is kept for reuse, since its pages are mapped already ---- */

#define KEPT 8
#define KEPT_BYTES ((size_t)256 << 20)

struct bounce {
    size_t bytes;
    _Alignas(64) uint8_t memory[];
};

static pthread_mutex_t bounce_lock = PTHREAD_MUTEX_INITIALIZER;
static struct bounce *kept[KEPT];
static size_t kept_bytes;

void *bounce_take(size_t bytes)
{
    struct bounce *bounce = NULL;
    void *memory;

    pthread_mutex_lock(&bounce_lock);
    for (unsigned i = 0; i < KEPT && !bounce; i++) {
        if (!kept[i] || kept[i]->bytes < bytes || kept[i]->bytes / 4 > bytes + 4096)
            continue;
        bounce = kept[i];
        kept[i] = NULL;
        kept_bytes -= bounce->bytes;
    }
    pthread_mutex_unlock(&bounce_lock);
    if (bounce)
        return bounce->memory;
    if (bytes > SIZE_MAX - 2 * sizeof(*bounce) || posix_memalign(&memory, 64, sizeof(*bounce) + bytes))
        return NULL;
    bounce = memory;
    bounce->bytes = bytes;
    return bounce->memory;
}

void bounce_give(void *memory)
{
    struct bounce *bounce = memory ? (struct bounce *)((uint8_t *)memory - offsetof(struct bounce, memory)) : NULL;

    if (!bounce)
        return;
    pthread_mutex_lock(&bounce_lock);
    for (unsigned i = 0; i < KEPT && bounce; i++) {
        if (kept[i] || kept_bytes + bounce->bytes > KEPT_BYTES)
            continue;
        kept_bytes += bounce->bytes;
        kept[i] = bounce;
        bounce = NULL;
    }
    pthread_mutex_unlock(&bounce_lock);
    free(bounce);
}

/* ---- operands ---- */

/* Finds the memory of an operand, and checks that the whole operand is in it. The datatype may contain the address. */
static int operand_place(struct device_operand *o, const void *address)
{
    const uintptr_t base = (uintptr_t)address;
    int64_t before = address == MPI_BOTTOM ? o->first : 0;
    size_t offset;

    switch (device_find((const void *)(base + (uintptr_t)before), &o->memory, &offset)) {
    case DEVICE_NOT:
        return 0;
    case DEVICE_RELEASED:
        return -ENOENT;
    default:
        break;
    }
    o->offset = offset - (size_t)before; /* of the address; may be negative if that is MPI_BOTTOM */
    if ((int64_t)offset + o->first - before < 0 ||
        (uint64_t)((int64_t)offset + o->end - before) > device_bytes(o->memory))
        return -ERANGE;
    return 0;
}

/* Stages an operand whose pieces are known. */
static int operand_stage(struct device_operand *o, const void *address, unsigned ways)
{
    int error;

    pieces_extent(&o->pieces, &o->first, &o->end);
    o->bytes = pieces_bytes(&o->pieces);
    error = operand_place(o, address);
    if (error || !o->memory)
        return error;
    o->bounce = bounce_take((size_t)(o->end - o->first));
    if (!o->bounce)
        return -ENOMEM;
    o->host = (void *)((uintptr_t)o->bounce - (uintptr_t)o->first);
    return ways & DEVICE_SENT ? operand_read(o) : 0;
}

int operand_open_blocks(struct device_operand *o, const void *address, const struct block *blocks, int count,
                        const MPI_Datatype *datatypes, bool each, unsigned ways, MPI_Comm comm)
{
    bool holds = false;
    int error;

    *o = (struct device_operand){.host = (void *)(uintptr_t)address, .comm = comm};
    if (!each)
        holds = count && device_holds(address, *datatypes);
    for (int i = 0; i < count && each && !holds; i++)
        holds = blocks[i].count && device_holds(place_at(address, blocks[i].place), datatypes[i]);
    if (!holds)
        return 0;
    error = pieces_make_blocks(datatypes, each, blocks, count, &o->pieces);
    if (!error)
        error = operand_stage(o, address, ways);
    if (error)
        operand_close(o);
    return error;
}

int operand_open(struct device_operand *o, const void *address, MPI_Count count, MPI_Datatype datatype, unsigned ways,
                 MPI_Comm comm)
{
    return operand_open_blocks(o, address, &(struct block){.count = count}, count > 0, &datatype, false, ways, comm);
}

int operand_read(struct device_operand *o)
{
    return o->memory ? device_read(o->memory, o->offset, o->host, &o->pieces) : 0;
}

int operand_write(struct device_operand *o, size_t most)
{
    return o->memory && most ? device_write(o->memory, o->offset, o->host, &o->pieces, most) : 0;
}

void operand_close(struct device_operand *o)
{
    bounce_give(o->bounce);
    pieces_free(&o->pieces);
    device_give_back(o->memory);
    o->memory = NULL;
    o->bounce = NULL;
}

/* ---- errors ---- */

static int error_code(int error, const char *function)
{
    static const struct {
        int error, code;
        const char *why;
    } codes[] = {
        {-EOPNOTSUPP, MPI_ERR_TYPE, "this datatype is not supported for device memory"},
        {-ERANGE, MPI_ERR_BUFFER, "the message is not inside the device buffer"},
        {-ENOENT, MPI_ERR_BUFFER, "the device address has been released"},
        {-ENOSYS, MPI_ERR_UNSUPPORTED_OPERATION, "not supported for device memory"},
        {-ENOMEM, MPI_ERR_NO_MEM, "out of memory for a copy of device memory"},
        {-EMSGSIZE, MPI_ERR_TRUNCATE, "the message is longer than the receive buffer"},
        {-EPROTO, MPI_ERR_OTHER,
         "unexpected message piece; the sender must use device memory, too (xtqmpi_comm_pipeline())"},
    };

    for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
        if (codes[i].error == error) {
            vocl_log(LOG_ERROR, "xtqmpi: %s: %s", function, codes[i].why);
            return codes[i].code;
        }
    }
    vocl_log(LOG_ERROR, "xtqmpi: %s: copying device memory failed", function);
    return MPI_ERR_OTHER;
}

int device_error(MPI_Comm comm, int error, const char *function)
{
    int code = error_code(error, function);

    PMPI_Comm_call_errhandler(comm, code);
    return code;
}

int device_win_error(MPI_Win win, int error, const char *function)
{
    int code = error_code(error, function);

    PMPI_Win_call_errhandler(win, code);
    return code;
}

size_t status_bytes(const MPI_Status *status)
{
    MPI_Count bytes = 0;
    int cancelled = 0;

    if (PMPI_Test_cancelled(status, &cancelled) || cancelled ||
        PMPI_Get_elements_x((MPI_Status *)(uintptr_t)status, MPI_BYTE, &bytes) || bytes < 0)
        return 0;
    return (size_t)bytes;
}
