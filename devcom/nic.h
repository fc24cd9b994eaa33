/*
 * What goes by messages: to ranks of other hosts, and into memory that a process cannot write by itself. The thread of
 * the network adapter (ground/adapter.h) receives straight into the segment, gives the signal, and acknowledges.
 * Threads that wait do its work meanwhile. Why messages and not MPI_Put: doc/xtq.md.
 *
 * A queue to a rank is a stream of descriptors (struct wire, with a tag of its own), each followed by its data: in the
 * same message if it is small, else in one of its own on a second communicator, where data of a stream keep the order
 * of their descriptors. What comes back (acknowledgements, and the data of gets) is one more stream, so that the
 * acknowledgement of a get comes after its data. Acknowledgements leave when there is nothing to receive, or with a put
 * the other way, whichever is first: none is in the way of an answer.
 *
 *     nic.c           opening and closing, and what queues have under way
 *     nic_send.c      puts and gets as messages
 *     nic_receive.c   what is done with messages that come
 *     nic_place.c     puts that repeat a place: data without a descriptor
 *     nic_chain.c     chains: tables of puts that are kept by the target
 *     nic_ask.c       questions and their answers, and passive messages
 *     nic_eager.c     what travels with its descriptor
 */
#ifndef DEVCOM_NIC_H
#define DEVCOM_NIC_H

#include "devcom/internal.h"
#include "ground/adapter.h"

#define BACK_TAG 0     /* queue q's descriptors have tag 1 + q */
#define PLACE_TAG 4096 /* and above */
#define MOST_EAGER ((size_t)65536)

enum wire_kind {
    WIRE_PUT = 1,
    WIRE_GET,
    WIRE_ASK,
    WIRE_LETTER,
    WIRE_ACK,
    WIRE_REPLY,
    WIRE_ANSWER,
    WIRE_READ,
    WIRE_TABLE,
    WIRE_CHAIN,
    WIRE_FORGET,
    WIRE_PROBE
};
enum { WIRE_LAST = 1, WIRE_BULK = 2, WIRE_ACKS = 4, WIRE_PLACE = 8 };

/* A descriptor, 64 bytes. Of an acknowledgement: count[0]: the queue; offset: how many operations; bytes: refusals;
 * value: the last one's error. With WIRE_ACKS, question of a put: how many operations of its queue have been done the
 * other way, the low 32 bits. With WIRE_PLACE, of a put of one block: place: the number of its place from now on;
 * stride[0]: by how much the value grows. Of questions and answers: bytes: the question's number. Of chains: question:
 * the table's number; bytes: how many places, or all data's. Of a probe that nobody waits for, question: 1. */
struct wire {
    uint8_t kind, flags, op, queue;
    uint16_t segment, place;
    uint64_t offset, bytes;
    uint32_t count[2];
    uint64_t stride[2];
    uint32_t signal, question;
    int64_t value;
};
_Static_assert(sizeof(struct wire) == 64, "a descriptor is 64 bytes");

/* A message that has yet to leave, and what is kept for it. */
struct leaving {
    struct pending_send pending_send;
    struct segment *segment; /* NULL or where the data are */
    struct lane *lane;       /* NULL or what counts it */
    void *packed;
    uint8_t copy[];
};

/* This rank's end of a stream to another. */
struct lane {
    pthread_mutex_t lock;
    _Atomic uint64_t sent, arrived, refused;
    uint64_t refusals_told;
    _Atomic int last_refusal;
    _Atomic uint32_t leaving;
    struct places *places; /* under the lock; NULL: none yet */
};

/* The other end of another's. */
struct arrival {
    _Atomic uint64_t done, told,
        refused; /* the others' operations, how many of them they know of; refused by this one */
    int last_refusal;
    bool failed, broken;     /* failed: a piece of this operation was refused */
    pthread_mutex_t telling; /* of what is told */
    uint64_t acked;          /* what the last acknowledgement said; under that lock */
    struct places *places;   /* the other's; NULL: none yet */
};

/* left: its thread's time was over before the answer came. If it changes something, who asks the same again gets that
 * answer, as it will be done once, or has been. */
struct asking {
    struct asking *next;
    int rank;
    struct wire wire; /* without the number */
    bool sent, left;
    uint64_t number;
    int64_t answer[2];
    int error;
    _Atomic bool done;
};

struct table;

/* What is being received of a rank, and what is to be done then. */
struct incoming {
    uint8_t *buffer;         /* of descriptors; NULL: to be had anew */
    uint8_t *memory;         /* where it goes, from malloc(), or NULL: */
    struct segment *segment; /* straight into this */
    void (*then)(struct nic *nic, int rank, struct incoming *in, int error);
    /* what it is for, of those that need it */
    struct wire wire;
    int tag;
    size_t length;
    int refused;
    struct segment *target; /* to be released */
    struct table *table;
    unsigned first, part; /* of its places */
    void (*ended)(struct nic *nic, int rank, int tag, const struct wire *wire, int error);
};

struct nic {
    struct devcom *d;
    MPI_Comm wire, bulk;
    struct adapter adapter;
    bool owes;                 /* acknowledgements; under the lock of what is received */
    MPI_Message *matched;      /* what is to be received, if MPI has told of it already; likewise */
    struct incoming *incoming; /* by rank; likewise */
    bool places;               /* MPI has tags enough for them */
    pthread_mutex_t lock;      /* of askings */
    struct asking *askings;
    unsigned left; /* of them */
    uint64_t questions;
    unsigned streams;
    struct lane *lanes;         /* by rank and queue */
    struct arrival *arrivals;   /* likewise */
    _Atomic bool *letters;      /* by rank: one has not been read yet */
    _Atomic size_t eager_bytes; /* 0: to be measured */
    _Atomic size_t train_car;   /* at most eager_bytes; 0: no trains */
    _Atomic bool eager_measured;
    struct table *tables; /* of others; under the lock of what is received */
    _Atomic uint64_t tables_made;
    size_t buffer_bytes;
};

static inline struct lane *nic_lane(const struct nic *nic, int rank, unsigned queue)
{
    return &nic->lanes[(size_t)rank * nic->streams + queue];
}

static inline struct arrival *nic_arrival(const struct nic *nic, int rank, unsigned queue)
{
    return &nic->arrivals[(size_t)rank * nic->streams + queue];
}

static inline struct incoming *nic_incoming(const struct nic *nic, int rank)
{
    return &nic->incoming[rank];
}

static inline struct layout layout_of_wire(const struct wire *wire)
{
    return (struct layout){
        .bytes = wire->bytes, .count = {wire->count[0], wire->count[1]}, .stride = {wire->stride[0], wire->stride[1]}};
}

/* ---- nic_send.c ---- */

/* Blocks as MPI knows them; to be freed. */
MPI_Datatype nic_type(const struct layout *layout);
/* The descriptor and what else there is, as one message; lane: NULL, or what counts it until it has left. */
int nic_send_message(struct nic *nic, int rank, int tag, struct lane *lane, const struct wire *wire, const void *more,
                     size_t more_bytes);
/* A descriptor with data of a segment of this rank. */
int nic_send_data(struct nic *nic, int rank, int tag, struct lane *lane, struct wire *wire, struct segment *segment,
                  size_t offset, const struct layout *layout);
/* Data of a descriptor that has been sent: packed, and freed when they have left, or on an error; or where they are. */
int nic_send_packed(struct nic *nic, int rank, int tag, struct lane *lane, uint8_t *packed, size_t bytes);
int nic_send_in_place(struct nic *nic, int rank, int tag, struct lane *lane, struct segment *segment, size_t offset,
                      size_t bytes);
/* Data that are packed, and then freed, or of a segment, in either communicator. */
int nic_send_bulk(struct nic *nic, MPI_Comm comm, int rank, int tag, struct lane *lane, struct segment *segment,
                  size_t offset, const struct layout *layout, uint8_t *packed);
/* The remote side of a transfer. */
struct wire nic_wire(const struct transfer *t, enum wire_kind kind);
/* A message of a lost rank that is being received: keeps its segment, or memory that is freed then, until it has come.
 */
void nic_leave_behind(struct nic *nic, MPI_Request request, struct segment *segment, void *memory);

/* ---- nic_receive.c; under the lock of what is received ---- */

/* struct adapter_kind's. Told is each stream of which something more is done. */
void nic_take(void *nic, int rank, int tag, MPI_Message *message, int length);
void nic_give_up(void *nic, int rank, MPI_Request *request);
int nic_tell(void *nic, int received);
/* Receive, and go on with then(), at once or later. Packed: into in->memory, which then() takes and frees; or NULL, and
 * the error is -EPROTO if there is none. MPI may go on writing to what a lost rank had half sent (-ECONNRESET): such
 * memory, and segments, are kept until that is over. */
typedef void nic_then(struct nic *nic, int rank, struct incoming *in, int error);
void nic_receive_packed(struct nic *nic, int rank, int tag, size_t bytes, nic_then *then);
void nic_receive_in_place(struct nic *nic, int rank, int tag, struct segment *segment, size_t offset,
                          const struct layout *layout, nic_then *then);
/* An operation has been done, or refused. */
void nic_operation_end(struct nic *nic, int rank, int tag, const struct wire *wire, int error);
/* With a put the other way, on any thread: what is owed of the same queue. */
void nic_carry_ack(struct nic *nic, int rank, unsigned queue, struct wire *wire);

/* ---- nic_place.c ---- */

void nic_place_open(struct nic *nic);
void nic_place_close(struct nic *nic);
/* A put of a segment's data whose descriptor is complete, under the lane's lock: 1: sent without it; 0: to be sent, and
 * the descriptor may say that its place is kept; or an error. After any, and if that was not sent: forget, under the
 * same lock. */
int nic_place_send(struct nic *nic, const struct transfer *t, struct wire *wire);
void nic_place_forget(struct lane *lane);
/* Under the lock of what is received: a place that a descriptor names; -EPROTO. */
int nic_place_keep(struct nic *nic, int rank, unsigned queue, const struct wire *wire);
/* So many bytes of data came with a place's tag: what their descriptor would have said; the stream is broken if there
 * is no such place. False: no such queue. */
bool nic_place_take(struct nic *nic, int rank, int tag, size_t length, unsigned *queue, struct wire *wire);

/* ---- nic_chain.c: likewise ---- */
void nic_take_table(struct nic *nic, int rank, int tag, const struct wire *wire);
void nic_take_chain(struct nic *nic, int rank, int tag, const struct wire *wire);
void nic_take_forget(struct nic *nic, int rank, const struct wire *wire);
void nic_tables_close(struct nic *nic);

/* ---- nic_ask.c ---- */
void nic_take_question(struct nic *nic, int rank, const struct wire *wire);
void nic_take_answer(struct nic *nic, const struct wire *wire);
void nic_askings_close(struct nic *nic);
void nic_take_letter(struct nic *nic, int rank, const uint8_t *more, size_t more_bytes);

/* Send so many messages of so many bytes, with the descriptor or by themselves, and wait until the last has arrived.
 * Errors as of nic_ask(). */
int nic_probe(struct nic *nic, int rank, unsigned count, size_t bytes, bool bulk, long timeout_us);
/* Another's: the answer, and the data are forgotten. */
void nic_take_probe(struct nic *nic, int rank, int tag, const struct wire *wire);

/* ---- nic_eager.c ---- */

/* given: what the program wants; 0: nothing. */
void nic_eager_open(struct nic *nic, size_t given);
size_t nic_eager_bytes(const struct nic *nic);
/* Of a put of so many bytes in one block: of how many each message of its train is; 0: it is no train. */
size_t nic_train_car(const struct nic *nic, size_t bytes);
/* Before a put of so many bytes, with no lock: measure, if it matters and nobody has. */
void nic_eager_find(struct nic *nic, int rank, size_t bytes);

#endif
