/*
 * MPI on device memory (xtqmpi.h): a call of the program becomes MPI's own call on a copy of that memory in host
 * memory, which has the same layout. Data that MPI reads are copied before the call, data that it has written
 * afterwards.
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

/* The lowest and the highest address of device memory. The range only grows, so that they need not be read together. */
extern _Atomic uintptr_t device_low, device_high;

/* Whether an address may be a device's. This costs a program without device memory one comparison. With MPI_BOTTOM the
 * datatype contains the addresses. */
static inline bool device_near(const void *address)
{
    const uintptr_t at = (uintptr_t)address;

    return at < atomic_load_explicit(&device_high, memory_order_relaxed) &&
           (at >= atomic_load_explicit(&device_low, memory_order_relaxed) || address == MPI_BOTTOM);
}

/* Whether a message at an address is in device memory, or in released device memory. */
bool device_has(const void *address, MPI_Datatype datatype);
static inline bool device_holds(const void *address, MPI_Datatype datatype)
{
    return device_near(address) && device_has(address, datatype);
}

enum device_where { DEVICE_NOT, DEVICE_MEMORY, DEVICE_RELEASED };
/* Finds the memory of an address, for device_give_back(), and the offset in it. */
enum device_where device_find(const void *address, struct device_memory **out, size_t *offset);
void device_give_back(struct device_memory *memory);
size_t device_bytes(const struct device_memory *memory);

/* ---- stage.c, collective.c ---- */

/* Copy pieces between device memory and host memory. offset and place are the address that the pieces are relative to,
 * in both; at most most bytes. Return 0; -EIO. */
int device_read(struct device_memory *memory, size_t offset, uint8_t *place, const struct pieces *pieces);
int device_write(struct device_memory *memory, size_t offset, const uint8_t *place, const struct pieces *pieces,
                 size_t most);
/* Begin to copy one block, without waiting for the end. */
int device_read_begin(struct device_memory *memory, size_t offset, void *place, size_t bytes, cl_event *event);
int device_write_begin(struct device_memory *memory, size_t offset, const void *place, size_t bytes, cl_event *event);
int device_event_wait(cl_event event);
/* Allocate and free host memory, which is kept for reuse. bounce_take() returns NULL if memory is exhausted. */
void *bounce_take(size_t bytes);
void bounce_give(void *memory);

/*
 * A message in device memory and its copy in host memory. If the address is not a device's, memory is NULL, and host is
 * the address.
 */
struct device_operand {
    struct device_memory *memory;
    size_t offset; /* of the address, in memory */
    struct pieces pieces;
    int64_t first, end; /* the extent of the pieces; relative to the address */
    size_t bytes;       /* of all pieces */
    uint8_t *bounce;
    void *host;    /* the address that MPI gets instead */
    MPI_Comm comm; /* the communicator whose error handler is called */
};

enum { DEVICE_SENT = 1, DEVICE_RECEIVED = 2 };

/* Prepares an operand for a communicator, and reads data to be sent (ways: DEVICE_SENT). Returns 0, or a negative
 * errno, and then closes it: -EOPNOTSUPP; -ERANGE: not inside of the buffer; -ENOENT: the address was released;
 * -ENOMEM; -EIO. */
int operand_open(struct device_operand *o, const void *address, MPI_Count count, MPI_Datatype datatype, unsigned ways,
                 MPI_Comm comm);
/* Likewise for blocks: see pieces_make_blocks(). */
int operand_open_blocks(struct device_operand *o, const void *address, const struct block *blocks, int count,
                        const MPI_Datatype *datatypes, bool each, unsigned ways, MPI_Comm comm);
int operand_read(struct device_operand *o);
/* Writes received data to the device: at most that many bytes. */
int operand_write(struct device_operand *o, size_t most);
void operand_close(struct device_operand *o);

/* The operands that an operation sends and receives. Of the latter, at most most bytes are written back. */
struct device_pair {
    struct device_operand in, out;
    size_t most;
    bool by_status; /* instead, as many bytes as the status says */
    bool out_sent;  /* the received operand is also sent, or MPI leaves parts of it: it is read at each start */
};
/* Makes a pair of one operand, which is sent or received. *host: the address that MPI gets for it. Returns 0 or a
 * negative errno as operand_open(). */
int pair_open(struct device_pair **out, bool sends, const void *data, MPI_Count count, MPI_Datatype datatype,
              unsigned ways, MPI_Comm comm, void **host);
void pair_free(struct device_pair *pair);
/* Ends an operation after MPI's call has returned result, or, with a request, when that completes. Takes the pair over.
 * Returns MPI's error code. */
int pair_end(int result, MPI_Request *request, struct device_pair *pair);
/* Likewise for a persistent request. */
int pair_keep(int result, MPI_Request *request, struct device_pair *pair);

/* Converts an error to MPI's error code, logs it, and calls the error handler. */
int device_error(MPI_Comm comm, int error, const char *function);
int device_win_error(MPI_Win win, int error, const char *function);
/* Returns the bytes of a status; 0 for a message that was cancelled. */
size_t status_bytes(const MPI_Status *status);

/* ---- request.c: requests with work to be done on completion ---- */

struct pending;
typedef int pending_end(void *argument, MPI_Status *status); /* returns MPI's error code */

/* The number of such requests. */
extern _Atomic unsigned device_pending_count;
static inline bool device_pending(void)
{
    return atomic_load_explicit(&device_pending_count, memory_order_relaxed);
}

/* Registers a request, for which end(argument) is called once on completion, perhaps at once. If memory is exhausted,
 * waits for the request and calls it. Returns MPI's error code. */
int pending_add(MPI_Request *request, pending_end *end, void *argument);
/* Likewise, but never calls end at once, so that it may change the status. Not for requests of MPI_PROC_NULL. */
int pending_hold(MPI_Request *request, pending_end *end, void *argument);
/* Registers a persistent request: calls begin at each start, end at each completion, and drop when it is freed. Returns
 * 0; -ENOMEM. */
int pending_keep(MPI_Request *request, int (*begin)(void *), pending_end *end, void (*drop)(void *), void *argument);
/* Calls begin of a persistent request before each start. Returns MPI's error code. */
int pending_start(MPI_Request request);
/* Does MPI_Request_free() for such a request. False if the request is not one. */
bool pending_abandon(MPI_Request *request);
/* Ends freed requests that are complete, or, if all is set, waits for all of them. */
void pending_reap(bool all);

/* The functions that wait for ordinary requests. Statuses are never ignored. */
typedef int wait_one(MPI_Request *request, MPI_Status *status);
typedef int wait_all(int count, MPI_Request *requests, MPI_Status *statuses);
int device_wait(MPI_Request *request, MPI_Status *status, wait_one *wait);
int device_waitall(int count, MPI_Request *requests, MPI_Status *statuses, wait_all *wait);

/* ---- called by functions of other folders ---- */

int device_recv(void *data, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status *status);

/* ---- pipe.c, exchange.c: messages in pieces (xtqmpi_comm_pipeline) ---- */

struct pipe;
/* Returns the pipe of a communicator, or NULL. */
struct pipe *pipe_of(MPI_Comm comm);
/* Frees messages that were still being sent when the program continued: those now sent, or, if all is set, waits for
 * all. */
void pipes_reap(bool all);
/* Do MPI_Isend() and MPI_Irecv() of an operand, which they take over. Return MPI's error code. */
int pipe_isend(struct pipe *pipe, struct device_operand *o, int to, int tag, MPI_Comm comm, MPI_Request *request);
int pipe_irecv(struct pipe *pipe, struct device_operand *o, int from, int tag, MPI_Comm comm, MPI_Request *request);

#define DEVICE_TO_ALL INT_MIN /* different from all ranks, MPI_ROOT and MPI_PROC_NULL */
/* A reduction with device memory. */
struct device_reduction {
    const void *data;
    void *result;
    MPI_Count count;
    MPI_Datatype datatype;
    MPI_Op op;
    int root; /* or DEVICE_TO_ALL */
    MPI_Comm comm;
};
/* Does a reduction if it has device memory, and sets *code to MPI's error code. False if it has none. often: a
 * persistent one, with info, if MPI has these; request: NULL for a blocking one. */
bool device_reduce(const struct device_reduction *r, bool often, MPI_Info info, MPI_Request *request, int *code);
static inline bool device_reduces(const void *data, const void *result)
{
    return device_near(data) || device_near(result);
}

/* ---- window.c: windows of device memory ---- */

struct device_window;
/* Prepares a window of device memory, by replacing its memory by a copy in host memory. Returns NULL if it is not
 * device memory; or with *error set, and the window must then be made without memory, since the other ranks make it,
 * too. */
struct device_window *device_window_make(void **base, MPI_Aint *bytes, int *error);
/* Completes a window after MPI's call, or frees it if that failed. Returns MPI's error code, for result or error. */
int device_window_made(struct device_window *w, MPI_Win win, int result, int error);
/* Returns the state of a window, or NULL if it has nothing to do with device memory. make: make the state then. */
struct device_window *device_window_of(MPI_Win win, bool make);

/* The number of windows that have to do with device memory. */
extern _Atomic unsigned device_window_count;
static inline bool device_windows(void)
{
    return atomic_load_explicit(&device_window_count, memory_order_relaxed);
}

enum { DEVICE_ALL = -1, DEVICE_NOBODY = -2 };
enum { DEVICE_OUT = 1, DEVICE_IN = 2 };

/* Called before and after a synchronisation of MPI. They copy data that kernels have written to the public copy
 * (DEVICE_OUT), and data that others have put to the device (DEVICE_IN). device_window_after() also ends this rank's
 * operations at the target; it returns MPI's error code. */
void device_window_before(MPI_Win win, unsigned what);
int device_window_after(MPI_Win win, int target, unsigned what, int result);
/* Return what to copy before and after MPI_Win_fence(). */
unsigned device_fence_before(int assertion);
unsigned device_fence_after(MPI_Win win, int assertion);
/* Returns this rank in the window if its memory is a device's, otherwise DEVICE_NOBODY. */
int device_rank(MPI_Win win);
/* Frees the state after MPI has freed the window. */
void device_window_close(struct device_window *w);

/* ---- origin.c: operations whose origin is device memory ---- */

struct origin;
/* Keeps the operand of an operation until it is complete at the target; or closes it if result, MPI's error code, says
 * that the operation was not begun. ways: as in operand_open(). Returns MPI's error code. */
int origin_begun(int result, MPI_Win win, int target, struct device_operand *o, unsigned ways);
/* Ends the operations at a target, or at all. Returns 0 or a negative errno. */
int origins_over(struct origin **origins, int target);

#endif
