/*
 * What the files of devcom/ share. MPI is called by its profiling names, PMPI_*, as what catches an application's calls
 * is not to catch ours.
 *
 * Ranks of one host are near: each has a board in shared memory, which the others write. The others are far: what is
 * for them goes to their progress threads by messages (nic.c).
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
#define MOST_SIGNALS 65535
#define MOST_QUEUES 32
#define YIELD_EVERY 512  /* spins: there may be fewer cores than threads that wait for each other */
#define ALONE_POLLS 4096 /* before the first look, some 10 us: one that comes late costs half a us */
#define ALONE_KERNEL_POLLS 16384
#define PIECE_BYTES ((size_t)64 << 20) /* what one message carries at most */

/* ---- signals beyond the user's, of each rank ---- */
enum {
    OWN_BARRIER, /* by round: how often it was told */
    OWN_FIXED =
        32, /* then two words for each rank of the agreement, and two of collectives, of the host's and of kernels' */
};

/* ---- board.c: what a rank's neighbours read and write ---- */

/* A segment as its owner lists it. */
struct listing {
    _Atomic uint64_t generation; /* 0: none */
    uint64_t bytes, address;     /* address: in the owner's process, where it is bound memory */
    int32_t fd;                  /* of the owner's process, where it is shared; else -1 */
    uint32_t path;               /* enum devcom_path */
} __attribute__((aligned(LINE)));

/* A passive message; the sender fills it, the receiver empties it. */
enum { LETTER_EMPTY, LETTER_BEING_WRITTEN, LETTER_FULL };
struct letter {
    _Atomic uint32_t full;
    uint32_t bytes;
    uint8_t data[];
};

struct board {
    struct memory_owner owner;
    _Atomic uint32_t bell __attribute__((aligned(LINE))); /* a doze, of the owner's threads */
    _Atomic uint32_t mute;                                /* how many devices write signals here that cannot ring */
    struct listing listings[MOST_SEGMENTS + 1];           /* the last is scratch memory of collectives */
};

/* Collective: 0, or a negative errno on all ranks. */
int board_open(struct devcom *d);
void board_close(struct devcom *d);
_Atomic int64_t *board_signals(const struct devcom *d, int rank);
/* How many threads of a visitor copy by the system, at this moment, to or from what a rank of this host has there. */
_Atomic uint32_t *board_visits(const struct devcom *d, int rank, unsigned segment, int visitor);
/* From a sender, at a rank of this host. */
struct letter *board_letter(const struct devcom *d, int rank, int sender);
/* After a word of a board was written: wake the owner's threads if they sleep. */
void board_ring(struct board *board);
/* Whether a rank of this host, or another, has been lost. */
bool board_lost(const struct devcom *d, int rank);
bool board_any_lost(struct devcom *d);

/* ---- context.c ---- */

struct nic;
struct segment;

/* Another's segment as it is reached from here. */
struct attachment {
    _Atomic uint64_t generation;
    _Atomic uint32_t users;
    uint8_t *base; /* NULL: not mapped */
    size_t bytes, mapped_bytes;
    uint64_t address;
    enum devcom_path path;
    bool by_messages; /* near, but not for loads, stores or copies */
    bool fixed;       /* mapped where the global address space has it, which unmaps it */
};

struct devcom {
    MPI_Comm comm;
    int rank, size;
    struct devcom_options o;
    struct waits waits;    /* for what is told by the board's bell */
    bool alone;            /* there are as many processors as ranks of this host */
    size_t eager_given;    /* options' own; 0: none */
    unsigned words;        /* how many signals, own ones included */
    struct board **boards; /* by rank; NULL: far */
    struct neighbours neighbours;
    pthread_mutex_t registering, receiving;
    pthread_mutex_t kernels[MOST_QUEUES]; /* of kernels' streams: what was refused is of the endpoint that has this */
    int letter_from;                      /* whose passive message was received last */
    struct attachment *attachments;       /* by rank and segment */
    _Atomic(struct segment *) own[MOST_SEGMENTS + 1];
    _Atomic uint32_t users[MOST_SEGMENTS + 1]; /* of own */
    uint64_t generations;
    uint64_t agreements;
    struct nic *nic;
    struct collective *collective;
    _Atomic uint64_t told; /* see context_told() */
};

static inline unsigned own_signal(const struct devcom *d, unsigned which)
{
    return d->o.signals + which;
}

/* The segment of collectives, and how many ids there are with it. */
static inline unsigned scratch_id(const struct devcom *d)
{
    return d->o.segments;
}

static inline unsigned segment_ids(const struct devcom *d)
{
    return d->o.segments + 1;
}

/* Streams of messages to a rank: the program's queues, one that is the library's own, and those of kernels, whose
 * refusals are none of the program's. */
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

static inline bool rank_valid(const struct devcom *d, int rank)
{
    return rank >= 0 && rank < d->size;
}

/* Collective: the least of all ranks' errors, where there are boards; before, ranks_agree() is to be used. */
int context_agree(struct devcom *d, int error);

/* Order that comes about through other processes is nothing that the thread sanitizer can see. */
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
    uint8_t *host; /* NULL: in the device's memory */
    size_t bytes;
    cl_mem buffer;
    cl_context context;
    cl_command_queue commands;
    cl_device_id device;
    int fd;
    size_t mapped_bytes;
    _Atomic uint32_t *users; /* by how many it is used */
    bool elsewhere;          /* the memory is somebody else's to free */
    bool in_range;           /* it lies in a range of addresses that stays reserved without it */
};

/* A segment for the time of an operation; give it back with the same. -EINVAL, -ENOENT. */
int segment_take(struct devcom *d, unsigned id, struct segment **out);
void segment_release(struct segment *segment);
/* A segment of a rank that shares this host; this one's, too. */
int attachment_take(struct devcom *d, int rank, unsigned id, struct attachment **out);
void attachment_release(struct attachment *attachment);
struct listing *segment_listing(const struct devcom *d, int rank, unsigned id);
/* Whether so many bytes from offset are inside. */
static inline bool inside(size_t bytes, size_t offset, size_t length)
{
    return offset <= bytes && length <= bytes - offset;
}
void segments_close(struct devcom *d);
void attachment_drop(struct devcom *d, int rank, unsigned id);
void attachment_forget(struct devcom *d, int rank, unsigned id);
int attachment_fix(struct devcom *d, int rank, unsigned id, void *at);
int segment_adopt(struct devcom *d, struct segment *segment, const struct devcom_memory *memory);
/* Memory at a given address, as the global address space needs it. */
int segment_alloc_at(struct devcom *d, unsigned id, const struct devcom_memory *memory, void *at);

/* ---- shape.c: blocks of up to three dimensions ---- */

/* One side of a transfer. */
struct layout {
    size_t bytes;
    uint32_t count[2];
    size_t stride[2];
};
/* Both sides of a shape; -EINVAL: blocks overlap, or it is larger than anything. */
int shape_layouts(const struct devcom_shape *shape, struct layout *local, struct layout *remote);
/* From the first to the last byte. */
size_t layout_extent(const struct layout *layout);
size_t layout_total(const struct layout *layout);
bool layout_valid(const struct layout *layout);
bool layout_contiguous(const struct layout *layout);
void layout_copy(uint8_t *to, const struct layout *to_layout, const uint8_t *from, const struct layout *from_layout);
/* The same blocks one after the other. */
struct layout layout_packed(const struct layout *layout);
/* Between packed memory of the host and a segment, wherever that is. -EIO. */
int stage_read(const struct segment *segment, size_t offset, const struct layout *layout, uint8_t *packed);
int stage_write(const struct segment *segment, size_t offset, const struct layout *layout, const uint8_t *packed);

/* ---- put.c, signal.c ---- */

/* A put whose places have been checked on this side. */
struct transfer {
    struct segment *segment;
    const uint8_t *data; /* or in memory of the caller's, small */
    size_t offset, remote_offset;
    unsigned local_id, remote_id;
    struct layout local, remote;
    int rank;
    unsigned queue, signal;
    enum devcom_signal_op op;
    int64_t value;
};
/* Everything but segments. */
int transfer_check(struct devcom *d, const struct devcom_put *put, unsigned queue, struct transfer *t);
/* A signal of a rank of this host. */
void signal_apply(struct devcom *d, int rank, unsigned signal, enum devcom_signal_op op, int64_t value);
/* As devcom_signal_wait(), own signals included, unchecked. */
int signal_wait_any(struct devcom *d, unsigned signal, enum devcom_condition condition, int64_t value, long timeout_us,
                    int64_t *out);
/* One of a rank's own signals, by the queue that is kept for that: the one after the user's. */
int notify_own(struct devcom *d, int rank, unsigned signal, enum devcom_signal_op op, int64_t value);
/* As devcom_put() of one, and so on, by the queue that is kept for that, with any signal and segment; they wait for
 * room. */
int put_own(struct devcom *d, const struct devcom_put *put);
int get_own(struct devcom *d, const struct devcom_put *get);
/* As devcom_put() of one and devcom_queue_fence(), by any stream. */
int stream_put(struct devcom *d, const struct devcom_put *put, unsigned stream);
int stream_fence(struct devcom *d, unsigned stream, long timeout_us);
/* After -EAGAIN: until there is room for another operation to that rank. Whatever was refused remains to be told by the
 * next fence. -ECONNRESET. */
int stream_wait_for_room(struct devcom *d, int rank, unsigned stream);
int queue_flush_own(struct devcom *d, long timeout_us);
int queue_fence_own(struct devcom *d, long timeout_us);

/* So many puts that have been checked, one after the other; their segments are looked for. */
int put_checked(struct devcom *d, struct transfer *transfers, unsigned count, unsigned *done);

/* ---- collective.c ---- */
int collective_open(struct devcom *d);
void collective_close(struct devcom *d);
/* Collective: the first rank's word for all. */
int collective_share(struct devcom *d, uint64_t *word);

/* ---- nic.c, nic_send.c, nic_chain.c, nic_ask.c, atomic.c: what goes by messages ---- */
int nic_open(struct devcom *d);
/* collective: all ranks are there, and each has been told that its messages have arrived. */
void nic_close(struct devcom *d, bool collective);
int nic_put(struct devcom *d, const struct transfer *t);
int nic_get(struct devcom *d, const struct transfer *t);
/* Puts of one queue to one rank of another host as one message (nic_chain.c): whether one more can be, then it is
 * counted; have the rank keep their table; start it; have it forget the table. */
struct chain_size {
    size_t bytes;
    unsigned count;
};
bool nic_chain_fits(struct chain_size *size, const struct transfer *more);
int nic_chain_table(struct devcom *d, const struct transfer *transfers, unsigned count, uint32_t *number);
int nic_chain_start(struct devcom *d, const struct transfer *transfers, unsigned count, uint32_t number);
void nic_chain_forget(struct devcom *d, int rank, unsigned queue, uint32_t number);
/* Whether what the queue has under way has left, or has arrived; *error: the first refusal, which is forgotten. */
/* busy: something is under way to that rank. */
bool nic_busy(const struct devcom *d, int rank, unsigned queue);
/* Whether one more operation may be. */
bool nic_has_room(const struct devcom *d, int rank, unsigned queue);
bool nic_target_lost(const struct devcom *d, unsigned queue);
/* What is under way to ranks that are lost counts no more. */
void nic_forgive(struct devcom *d, unsigned queue);
bool nic_left(struct devcom *d, unsigned queue);
bool nic_arrived(struct devcom *d, unsigned queue);
int nic_refusal(struct devcom *d, unsigned queue);
/* Questions that are answered: see nic.c. */
enum question { ASK_ADD, ASK_SWAP, ASK_SEGMENT };
/* ASK_ADD and ASK_SWAP, at a place that has been checked: what was there (atomic.c). */
int64_t atomic_run(uint8_t *at, enum question question, int64_t first, int64_t second);
int nic_ask(struct devcom *d, int rank, enum question question, unsigned segment, size_t offset, int64_t first,
            int64_t second, long timeout_us, int64_t answer[2]);
int nic_letter(struct devcom *d, int rank, const void *data, size_t bytes, long timeout_us);
/* The letter from a rank of another host has been read. */
void nic_letter_read(struct devcom *d, int rank);

#endif
