/*
 * Declarations that the files of devcom/ share. devcom calls MPI by its profiling names, PMPI_*, so that a library that
 * intercepts the application's calls does not intercept devcom's.
 *
 * Ranks of this host are "near": each has a board in shared memory, which the others write. The other ranks are "far":
 * data for them are sent as messages to their progress threads (nic.c).
 */
#ifndef DEVCOM_INTERNAL_H
#define DEVCOM_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "devcom.h"
#include "ground/waiting.h"

#define LINE 64
#define MOST_SEGMENTS 256
#define MOST_GROUPS 64
#define MOST_IDS (MOST_SEGMENTS + 1 + MOST_GROUPS) /* with the library's scratch segments, see scratch_id() */
#define MOST_SIGNALS 65535
#define MOST_QUEUES 32
#define YIELD_EVERY 512  /* polls: there may be fewer cores than threads that wait for each other */
#define ALONE_POLLS 4096 /* before the first yield, some 10 us: a yield delays a signal by half a us */
#define ALONE_KERNEL_POLLS 16384
#define PIECE_BYTES ((size_t)64 << 20) /* the most that one message carries */

/* ---- the library's own signals of each rank, after the program's: blocks of a word for each rank ---- */
enum own_block {
    OWN_AGREEMENT, /* two, used alternately */
    OWN_COLLECTIVE = 2,
    OWN_KERNELS, /* kernels' collectives */
    OWN_LETTER,  /* passive messages from a rank; those to it that it has taken */
    OWN_TAKEN,
    OWN_GROUPS /* of each group number two: commits (group.c), collectives */
};

/* ---- board.c: memory of a rank that its neighbours read and write ---- */

/* A segment, as its owner publishes it. */
struct listing {
    _Atomic uint64_t generation; /* 0: no segment */
    uint64_t bytes, address;     /* address: in the owner's process, for bound memory */
    int32_t fd;                  /* of the owner's process, for shared memory; otherwise -1 */
    uint32_t path;               /* enum devcom_path */
} __attribute__((aligned(LINE)));

struct board {
    struct memory_owner owner;
    _Atomic uint32_t bell __attribute__((aligned(LINE))); /* a doze (ground/doze.h), of the owner's threads */
    _Atomic uint32_t mute; /* number of devices that write signals here and cannot ring */
    struct listing listings[MOST_IDS];
};

/* Collective. Returns 0, or a negative errno on all ranks. */
int board_open(struct devcom *d);
void board_close(struct devcom *d);
_Atomic int64_t *board_signals(const struct devcom *d, int rank);
/* Returns the counter of threads of a visiting rank that now copy to or from a near rank's segment by system calls. */
_Atomic uint32_t *board_visits(const struct devcom *d, int rank, unsigned segment, int visitor);
/* Wakes the owner's threads if they sleep. Called after a word of its board was written. */
void board_ring(struct board *board);
/* Whether a rank has been lost; whether any has. */
bool board_lost(const struct devcom *d, int rank);
bool board_any_lost(struct devcom *d);

/* ---- context.c ---- */

struct nic;
struct segment;

/* How a near rank's segment is reached from here. */
struct attachment {
    _Atomic uint64_t generation;
    _Atomic uint32_t users;
    uint8_t *base; /* NULL: not mapped */
    size_t bytes, mapped_bytes;
    uint64_t address;
    enum devcom_path path;
    bool by_messages; /* near, but reached neither by loads and stores nor by system calls */
    bool fixed;       /* mapped in a global address space, which unmaps it */
};

struct devcom {
    MPI_Comm comm;
    int rank, size;
    struct devcom_options o;
    struct waits waits;    /* how threads wait for the board's bell */
    bool alone;            /* this host has at least as many processors as ranks */
    size_t eager_given;    /* the value of the options; 0: none */
    unsigned words;        /* number of signals, the library's own included */
    struct board **boards; /* by rank; NULL: far */
    struct neighbours neighbours;
    pthread_mutex_t registering, receiving;
    pthread_mutex_t kernels[MOST_QUEUES]; /* of kernels' streams: a refusal concerns the endpoint that holds this */
    int letter_from;                      /* sender of the passive message that was received last */
    _Atomic int64_t *letters;             /* by rank: passive messages sent to it */
    struct attachment *attachments;       /* by rank and segment */
    _Atomic(struct segment *) own[MOST_IDS];
    _Atomic uint32_t users[MOST_IDS]; /* operations that use a segment of own */
    uint64_t generations;
    uint64_t agreements;
    struct nic *nic;
    struct collective *collective;
    struct group_number *group_numbers; /* group.c */
    _Atomic uint64_t told;              /* see context_told() */
};

static inline unsigned own_signal(const struct devcom *d, unsigned block, int rank)
{
    return d->o.signals + block * (unsigned)d->size + (unsigned)rank;
}

/* The id of the library's scratch segment (collective.c), which kernels know, too; that of a group; the number of ids
 * with these. */
static inline unsigned scratch_id(const struct devcom *d)
{
    return d->o.segments;
}

static inline unsigned group_scratch_id(const struct devcom *d, unsigned number)
{
    return d->o.segments + 1 + number;
}

static inline unsigned segment_ids(const struct devcom *d)
{
    return d->o.segments + 1 + d->o.groups;
}

/* Streams of messages to a rank: the program's queues, the library's own queue, and kernels' queues, whose refusals are
 * not reported to the program's waits for completion. */
static inline unsigned own_stream(const struct devcom *d)
{
    return d->o.queues;
}

static inline unsigned kernel_stream(const struct devcom *d, unsigned queue)
{
    return d->o.queues + 1 + queue % d->o.queues;
}

static inline unsigned stream_count(const struct devcom *d)
{
    return 2 * d->o.queues + 1;
}

enum { ALL_RANKS = -1 };

static inline bool rank_valid(const struct devcom *d, int rank)
{
    return rank >= 0 && rank < d->size;
}

/* Collective. Returns the least of all ranks' errors. Needs the boards: before these, ranks_agree() is used. */
int context_agree(struct devcom *d, int error);

/* Tell the thread sanitizer of an order that arises through other processes, which it cannot see. */
static inline void context_told(struct devcom *d)
{
#ifdef __SANITIZE_THREAD__
    atomic_fetch_add(&d->told, 1);
#endif
    (void)d;
}

static inline void context_heard(struct devcom *d)
{
#ifdef __SANITIZE_THREAD__
    atomic_load(&d->told);
#endif
    (void)d;
}

/* ---- segment.c ---- */

/* This rank's own segment. */
struct segment {
    uint8_t *host; /* NULL: the segment is in the device's memory */
    size_t bytes;
    cl_mem buffer;
    cl_context context;
    cl_command_queue commands;
    cl_device_id device;
    int fd;
    size_t mapped_bytes;
    _Atomic uint32_t *users; /* number of operations that use the segment */
    bool elsewhere;          /* the memory is not freed with the segment */
    bool in_range;           /* the memory is in a range of addresses that stays reserved after it */
};

/* Takes a segment of this rank for the duration of an operation, until segment_release(). Returns 0; -ENOENT. */
int segment_take(struct devcom *d, unsigned id, struct segment **out);
void segment_release(struct segment *segment);
/* Likewise a segment of a near rank, or of this rank. */
int attachment_take(struct devcom *d, int rank, unsigned id, struct attachment **out);
void attachment_release(struct attachment *attachment);
struct listing *segment_listing(const struct devcom *d, int rank, unsigned id);
/* Whether length bytes from offset on are inside of that many bytes. */
static inline bool inside(size_t bytes, size_t offset, size_t length)
{
    return offset <= bytes && length <= bytes - offset;
}
void segments_close(struct devcom *d);
void attachment_drop(struct devcom *d, int rank, unsigned id);
void attachment_forget(struct devcom *d, int rank, unsigned id);
int attachment_fix(struct devcom *d, int rank, unsigned id, void *at);
int segment_adopt(struct devcom *d, struct segment *segment, const struct devcom_memory *memory);
/* Allocates a segment at a given address, for a global address space; at NULL: anywhere. */
int segment_alloc_at(struct devcom *d, unsigned id, const struct devcom_memory *memory, void *at);
/* Deletes one, the library's own included. Returns 0; -ENOENT. */
int segment_delete_any(struct devcom *d, unsigned id);

/* ---- shape.c: blocks of up to three dimensions ---- */

/* The layout of one side of a transfer. */
struct layout {
    size_t bytes;
    uint32_t count[2];
    size_t stride[2];
};
/* Returns the layouts of both sides of a shape. -EINVAL: blocks overlap, or the sizes are too large. */
int shape_layouts(const struct devcom_shape *shape, struct layout *local, struct layout *remote);
/* Returns the bytes from the first to the last one of a layout, gaps included; the bytes without the gaps. */
size_t layout_extent(const struct layout *layout);
size_t layout_total(const struct layout *layout);
bool layout_valid(const struct layout *layout);
bool layout_contiguous(const struct layout *layout);
void layout_copy(uint8_t *to, const struct layout *to_layout, const uint8_t *from, const struct layout *from_layout);
/* Returns a layout of the same blocks without gaps. */
struct layout layout_packed(const struct layout *layout);
/* Copy between packed memory of the host and a segment in host or device memory. Return 0; -EIO. */
int stage_read(const struct segment *segment, size_t offset, const struct layout *layout, uint8_t *packed);
int stage_write(const struct segment *segment, size_t offset, const struct layout *layout, const uint8_t *packed);

/* ---- put.c, complete.c, signal.c ---- */

/* A put or get whose arguments have been checked on this side. */
struct transfer {
    struct segment *segment;
    const uint8_t *data; /* or the data, if they are the caller's and few */
    size_t offset, remote_offset;
    unsigned local_id, remote_id;
    struct layout local, remote;
    int rank;
    unsigned queue, signal;
    enum devcom_signal_op op;
    int64_t value;
};
/* Checks everything but the segments. */
int transfer_check(struct devcom *d, const struct devcom_put *put, unsigned queue, struct transfer *t);
/* Changes a signal of a near rank. */
void signal_apply(struct devcom *d, int rank, unsigned signal, enum devcom_signal_op op, int64_t value);
/* Waits as devcom_signal_wait(), also for the library's own signals, in the way of waits. Does not check its arguments.
 */
int signal_wait_any(struct devcom *d, const struct waits *waits, unsigned signal, enum devcom_condition condition,
                    int64_t value, long timeout_us, int64_t *out);
/* Changes any signal of a rank, by the library's own queue: the one after the program's. */
int notify_own(struct devcom *d, int rank, unsigned signal, enum devcom_signal_op op, int64_t value);
/* Do one put or get by the library's own queue, with any signal and segment. They wait for room. */
int put_own(struct devcom *d, const struct devcom_put *put);
int get_own(struct devcom *d, const struct devcom_put *get);
/* Puts data of the caller, which may be changed when this returns, into the scratch segment. */
int put_own_data(struct devcom *d, const struct devcom_put *put, const void *data);
/* Does one put or get, as devcom_put() or devcom_get(), or waits for remote completion, as devcom_quiet(), by any
 * stream. */
int stream_transfer(struct devcom *d, const struct devcom_put *put, unsigned stream, bool get);
int stream_quiet(struct devcom *d, unsigned stream, long timeout_us);
/* Waits, after -EAGAIN, until there is room for another operation to that rank. Refusals remain to be returned by the
 * next quiet. Returns 0; -ECONNRESET. */
int stream_wait_for_room(struct devcom *d, int rank, unsigned stream);
/* Wait for the completion of the library's own operations to a rank. */
int flush_local_own(struct devcom *d, int rank, long timeout_us);
int quiet_own(struct devcom *d, int rank, long timeout_us);

/* Does count puts that have been checked, one after the other, and looks up their segments. */
int put_checked(struct devcom *d, struct transfer *transfers, unsigned count, unsigned *done);

/* ---- collective.c ---- */
int collective_open(struct devcom *d);
void collective_close(struct devcom *d);
/* Returns the place of a rank's passive message in the scratch segment. */
size_t scratch_letter(const struct devcom *d, int rank);
/* Collective. Sends the first rank's word to all. */
int collective_share(struct devcom *d, uint64_t *word);

/* ---- group.c ---- */
int groups_open(struct devcom *d);
void groups_close(struct devcom *d);

/* ---- nic.c, nic_send.c, nic_chain.c, nic_ask.c, atomic.c: operations by messages ---- */
int nic_open(struct devcom *d);
/* Closes the adapter. collective: no rank is lost, and each knows that its messages have arrived. */
void nic_close(struct devcom *d, bool collective);
int nic_put(struct devcom *d, const struct transfer *t);
int nic_get(struct devcom *d, const struct transfer *t);
/* A chain: puts of one queue to one far rank, as one operation (nic_chain.c). nic_chain_fits() returns whether one more
 * put fits, and then counts it. nic_chain_table() sends the table, which the rank keeps; nic_chain_start() starts it;
 * nic_chain_forget() has the rank drop it. */
struct chain_size {
    size_t bytes;
    unsigned count;
};
bool nic_chain_fits(struct chain_size *size, const struct transfer *more);
int nic_chain_table(struct devcom *d, const struct transfer *transfers, unsigned count, uint32_t *number);
int nic_chain_start(struct devcom *d, const struct transfer *transfers, unsigned count, uint32_t number);
void nic_chain_forget(struct devcom *d, int rank, unsigned queue, uint32_t number);
/* Whether an operation of the queue to that rank is pending. */
bool nic_busy(const struct devcom *d, int rank, unsigned queue);
/* Whether one more operation may become pending. */
bool nic_has_room(const struct devcom *d, int rank, unsigned queue);
/* Of the operations of a queue to a rank, or to ALL_RANKS: whether a target with pending ones is lost; whether all have
 * completed locally, and remotely; an error that a target has reported since the last call. nic_forgive() abandons
 * those to lost ranks. */
bool nic_target_lost(const struct devcom *d, int rank, unsigned queue);
bool nic_left(struct devcom *d, int rank, unsigned queue);
bool nic_arrived(struct devcom *d, int rank, unsigned queue);
int nic_refusal(struct devcom *d, int rank, unsigned queue);
void nic_forgive(struct devcom *d, int rank, unsigned queue);
/* Questions, which the owner of a segment answers: see nic_ask.c. */
enum question { ASK_ADD, ASK_SWAP, ASK_SEGMENT };
/* Does ASK_ADD or ASK_SWAP on a word that has been checked, and returns its old value (atomic.c). */
int64_t atomic_run(uint8_t *at, enum question question, int64_t first, int64_t second);
int nic_ask(struct devcom *d, int rank, enum question question, unsigned segment, size_t offset, int64_t first,
            int64_t second, long timeout_us, int64_t answer[2]);

#endif
