/*
 * MPI on device memory (xtqmpi.h): the program's call finds a copy of that memory in the host's, laid out alike, and is
 * MPI's own with that. What MPI is to read is copied before, what it has written afterwards.
 */
#ifndef XTQMPI_DEVICE_H
#define XTQMPI_DEVICE_H

#include <limits.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "mpi/pieces.h"
#include "xtqmpi.h"

/* ---- address.c: addresses ---- */

struct device_memory;

/* From the lowest address to the highest; they only ever get further apart, so that they need not be read together. */
extern _Atomic uintptr_t device_low, device_high;

/* Whether an address may be a device's: all that it costs a program without device memory is one comparison. A datatype
 * may have the addresses in it. */
static inline bool device_near(const void *address)
{
    const uintptr_t at = (uintptr_t)address;

    return at < atomic_load_explicit(&device_high, memory_order_relaxed) &&
           (at >= atomic_load_explicit(&device_low, memory_order_relaxed) || address == MPI_BOTTOM);
}

/* Whether a message at an address is in device memory, or where some was. */
bool device_has(const void *address, MPI_Datatype datatype);
static inline bool device_holds(const void *address, MPI_Datatype datatype)
{
    return device_near(address) && device_has(address, datatype);
}

enum device_where { DEVICE_NOT, DEVICE_MEMORY, DEVICE_RELEASED };
/* Whose memory it is; to be given back. */
enum device_where device_find(const void *address, struct device_memory **out, size_t *offset);
void device_give_back(struct device_memory *memory);
size_t device_bytes(const struct device_memory *memory);

/* ---- stage.c, collective.c ---- */

/* Between device memory, from an offset in it, and the host's, where place is for that offset; at most so many bytes.
 * -EIO. */
int device_read(struct device_memory *memory, size_t offset, uint8_t *place, const struct pieces *pieces);
int device_write(struct device_memory *memory, size_t offset, const uint8_t *place, const struct pieces *pieces,
                 size_t most);
/* Without waiting for the end: of one block. */
int device_read_begin(struct device_memory *memory, size_t offset, void *place, size_t bytes, cl_event *event);
int device_write_begin(struct device_memory *memory, size_t offset, const void *place, size_t bytes, cl_event *event);
int device_event_wait(cl_event event);
/* Memory of the host, which is kept for the next one. NULL: none. */
void *bounce_take(size_t bytes);
void bounce_give(void *memory);

/*
 * A message in device memory and its place in the host's. There is none (memory is NULL) if the address is not a
 * device's: then host is the address.
 */
struct device_operand {
    struct device_memory *memory;
    size_t offset; /* of the address, in memory */
    struct pieces pieces;
    int64_t first, end; /* of these; from the address */
    size_t bytes;       /* of all pieces */
    uint8_t *bounce;
    void *host;    /* what MPI gets for the address */
    MPI_Comm comm; /* whose error handler is told */
};

enum { DEVICE_SENT = 1, DEVICE_RECEIVED = 2 };

/* Prepare an operand of a communicator's; what is to be sent is read. Negative errnos: -EOPNOTSUPP, -ERANGE: not inside
 * of the buffer, -ENOMEM, -EIO. After an error it is closed. */
int operand_open(struct device_operand *o, const void *address, MPI_Count count, MPI_Datatype datatype, unsigned ways,
                 MPI_Comm comm);
/* The same for blocks: pieces_make_blocks(). */
int operand_open_blocks(struct device_operand *o, const void *address, const struct block *blocks, int count,
                        const MPI_Datatype *datatypes, bool each, unsigned ways, MPI_Comm comm);
int operand_read(struct device_operand *o);
/* What has come: at most so many bytes. */
int operand_write(struct device_operand *o, size_t most);
void operand_close(struct device_operand *o);

/* What an operation sends and receives; of the latter so many bytes are written back. */
struct device_pair {
    struct device_operand in, out;
    size_t most;
    bool by_status; /* as many as the status says */
    bool out_sent;  /* what is received is also sent, or stays in part: it is read at each start */
};
/* Of one operand, which is sent or received; *host: what MPI gets for it. Negative errnos, as operand_open(). */
int pair_open(struct device_pair **out, bool sends, const void *data, MPI_Count count, MPI_Datatype datatype,
              unsigned ways, MPI_Comm comm, void **host);
void pair_free(struct device_pair *pair);
/* MPI's call has returned; with a request it goes on. Takes the pair over. MPI's error code. */
int pair_end(int result, MPI_Request *request, struct device_pair *pair);
/* Likewise, of a persistent request. */
int pair_keep(int result, MPI_Request *request, struct device_pair *pair);

/* The error as MPI's, told to the error handler. */
int device_error(MPI_Comm comm, int error, const char *function);
int device_win_error(MPI_Win win, int error, const char *function);
/* Bytes that a status tells of; 0 for a message that was cancelled. */
size_t status_bytes(const MPI_Status *status);

/* ---- request.c: requests with something to be done when they are complete ---- */

struct pending;
typedef int pending_end(void *argument, MPI_Status *status); /* MPI's error code */

/* How many there are. */
extern _Atomic unsigned device_pending_count;
static inline bool device_pending(void)
{
    return atomic_load_explicit(&device_pending_count, memory_order_relaxed);
}

/* When the request is complete, call end with the argument, once. It may be called at once. -ENOMEM: it has been called
 * after waiting for the request. */
int pending_add(MPI_Request *request, pending_end *end, void *argument);
/* Likewise, but later: end may change the status. Not of MPI_PROC_NULL. */
int pending_hold(MPI_Request *request, pending_end *end, void *argument);
/* A persistent request: begin at each start, end when one is complete, drop with the request. */
int pending_keep(MPI_Request *request, int (*begin)(void *), pending_end *end, void (*drop)(void *), void *argument);
/* For each start. MPI's error code. */
int pending_start(MPI_Request request);
/* MPI_Request_free() of such a request; whether it was one. */
bool pending_abandon(MPI_Request *request);
/* What was freed so and is complete, or all of it. */
void pending_reap(bool all);

/* The waiting that is done otherwise; statuses are there. */
typedef int wait_one(MPI_Request *request, MPI_Status *status);
typedef int wait_all(int count, MPI_Request *requests, MPI_Status *statuses);
int device_wait(MPI_Request *request, MPI_Status *status, wait_one *wait);
int device_waitall(int count, MPI_Request *requests, MPI_Status *statuses, wait_all *wait);

/* ---- what others hand over ---- */

int device_recv(void *data, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status *status);

/* ---- pipe.c, exchange.c: messages in pieces (xtqmpi_comm_pipeline) ---- */

struct pipe;
/* NULL: not on this communicator. */
struct pipe *pipe_of(MPI_Comm comm);
/* Messages that the program has sent, but MPI has not: those that it has now, or all. */
void pipes_reap(bool all);
/* As MPI_Isend() and MPI_Irecv(), of an operand that is taken over. MPI's error code. */
int pipe_isend(struct pipe *pipe, struct device_operand *o, int to, int tag, MPI_Comm comm, MPI_Request *request);
int pipe_irecv(struct pipe *pipe, struct device_operand *o, int from, int tag, MPI_Comm comm, MPI_Request *request);

#define DEVICE_TO_ALL INT_MIN /* no rank is that, nor MPI_ROOT or MPI_PROC_NULL */
/* A reduction with device memory in it; MPI_Count is what MPI's counts fit into. */
struct device_reduction {
    const void *data;
    void *result;
    MPI_Count count;
    MPI_Datatype datatype;
    MPI_Op op;
    int root; /* or DEVICE_TO_ALL */
    MPI_Comm comm;
};
/* Whether there is; then *code is MPI's error code. request: NULL for one that is waited for. */
bool device_reduce(const struct device_reduction *r, MPI_Request *request, int *code);
/* Likewise a persistent one, where MPI has these. */
bool device_reduce_often(const struct device_reduction *r, MPI_Info info, MPI_Request *request, int *code);
static inline bool device_reduces(const void *data, const void *result)
{
    return device_near(data) || device_near(result);
}

/* ---- window.c: windows of device memory ---- */

struct device_window;
/* A window is to be made of device memory: of its copy, then. NULL: it is not; or *error, and it is to be made of
 * nothing, as the other ranks count on this one. */
struct device_window *device_window_make(void **base, MPI_Aint *bytes, int *error);
/* MPI's error code, of making it or of what it was to be made of. */
int device_window_made(struct device_window *w, MPI_Win win, int result, int error);
/* NULL: it has no device memory. make: it will have something to do with it. */
struct device_window *device_window_of(MPI_Win win, bool make);

/* How many windows there are that have something to do with device memory. */
extern _Atomic unsigned device_window_count;
static inline bool device_windows(void)
{
    return atomic_load_explicit(&device_window_count, memory_order_relaxed);
}

enum { DEVICE_ALL = -1, DEVICE_NOBODY = -2 };
enum { DEVICE_OUT = 1, DEVICE_IN = 2 };

/* Before MPI's synchronisation, and after it: what kernels have written gets out to the others (DEVICE_OUT), what
 * others have put gets in to the device (DEVICE_IN). After it this rank's operations at the target are over. */
void device_window_before(MPI_Win win, unsigned what);
int device_window_after(MPI_Win win, int target, unsigned what, int result);
/* What the two sides of MPI_Win_fence() are. */
unsigned device_fence_before(int assertion);
unsigned device_fence_after(MPI_Win win, int assertion);
/* The window's own rank in it, if it is one of device memory. */
int device_rank(MPI_Win win);
/* The window is gone. */
void device_window_close(struct device_window *w);

/* ---- origin.c: operations whose origin is device memory ---- */

struct origin;
/* An operation has been begun, or not, by MPI's error code; its operand is kept until it is complete at the target.
 * ways: as operand_open(). MPI's error code. */
int origin_begun(int result, MPI_Win win, int target, struct device_operand *o, unsigned ways);
/* Those at the target, or at all. 0, or a negative errno. */
int origins_over(struct origin **origins, int target);

#endif
