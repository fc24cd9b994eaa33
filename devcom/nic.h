/*
 * Operations by messages: to ranks of other hosts, and into memory that a process cannot write by itself. The thread of
 * the network adapter (ground/adapter.h) receives data directly into the segment, changes the signal, and acknowledges.
 * Waiting threads do its work meanwhile. doc/xtq.md says why devcom uses messages and not MPI_Put.
 *
 * A queue to a rank is a stream of descriptors (struct wire, with a tag of its own). Each is followed by its data: in
 * the same message if they are small, otherwise in a message on a second communicator, where the data of a stream have
 * the order of their descriptors. Acknowledgements and the data of gets are one more stream, so that the
 * acknowledgement of a get follows its data. Acknowledgements are sent when there is nothing to receive, or with a put
 * in the other direction, whichever is first, so that they delay no answer.
 *
 *     nic.c           opening and closing; the pending operations of queues
 *     nic_send.c      puts and gets as messages
 *     nic_receive.c   handling received messages
 *     nic_place.c     puts that repeat a place: data without a descriptor
 *     nic_chain.c     chains: tables of puts that the target keeps
 *     nic_ask.c       questions and their answers
 *     nic_eager.c     up to which size data travel with their descriptor
 */
#ifndef DEVCOM_NIC_H
#define DEVCOM_NIC_H

#include "devcom/internal.h"
#include "ground/adapter.h"

#define BACK_TAG 0     /* queue q's descriptors have tag 1 + q */
#define PLACE_TAG 4096 /* and above: data of a put that repeats a place */
#define MOST_EAGER ((size_t)65536)

enum wire_kind {
    WIRE_PUT = 1,
    WIRE_GET,
    WIRE_ASK,
    WIRE_ACK,
    WIRE_REPLY,
    WIRE_ANSWER,
    WIRE_TABLE,
    WIRE_CHAIN,
    WIRE_FORGET,
    WIRE_PROBE
};
enum { WIRE_LAST = 1, WIRE_BULK = 2, WIRE_ACKS = 4, WIRE_PLACE = 8 };

/* A descriptor, 64 bytes. Members with a special meaning:
 * - acknowledgement: queue; offset: the number of completed operations; bytes: refusals; value: the last refusal's
 * error;
 * - put with WIRE_ACKS: question: the number of completed operations of this queue in the other direction, low 32 bits;
 * - put of one block with WIRE_PLACE: place: the number of its place from now on; stride[0]: the growth of its value;
 * - question: stride[0]: its number; answer: bytes: the question's number;
 * - chain: question: the table's number; bytes: the number of places, or the size of all data;
 * - probe: question: 1 if it needs no answer. */
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

/* A message that has not been sent completely, and the objects that are kept for it. */
struct leaving {
    struct pending_send pending_send;
    struct segment *segment; /* NULL, or the segment of the data */
    struct lane *lane;       /* NULL, or the lane that counts the message */
    void *packed;
    uint8_t copy[];
};

/* This rank's end of a stream to another. */
struct lane {
    pthread_mutex_t lock;
    _Atomic uint64_t sent, arrived, refused;
    _Atomic uint64_t got; /* the value of sent after the last get */
    uint64_t refusals_told;
    _Atomic int last_refusal;
    _Atomic uint32_t leaving;
    struct places *places; /* under the lock; NULL: none yet */
};

/* The other end of a stream of another rank. */
struct arrival {
    _Atomic uint64_t done, told,
        refused; /* operations of the other rank that are done; how many of these it knows of; how many were refused */
    int last_refusal;
    bool failed, broken;     /* failed: a piece of the present operation was refused; broken: the stream is invalid */
    pthread_mutex_t telling; /* held while told changes, and its value is sent */
    struct places *places;   /* of the other rank's puts; NULL: none yet */
};

/* A question that has not been answered. left: the time-out of its thread expired. If the question changes memory, a
 * thread that repeats it gets this answer, so that the change is made only once. */
struct asking {
    struct asking *next;
    int rank;
    struct wire wire; /* the question, without its number */
    bool sent, left;
    uint64_t number;
    int64_t answer[2];
    int error;
    _Atomic bool done;
};

struct table;

/* The receive from a rank that is in progress, and what follows it. */
struct incoming {
    uint8_t *buffer;         /* for descriptors; NULL: to be allocated */
    uint8_t *memory;         /* receives the data, from malloc(); or NULL: */
    struct segment *segment; /* the segment that receives them directly */
    void (*then)(struct nic *nic, int rank, struct incoming *in, int error);
    /* for then(), as needed: */
    struct wire wire;
    int tag;
    size_t length;
    int refused;
    struct segment *target; /* to be released at the end */
    struct table *table;
    unsigned first, part; /* of the table's places */
    void (*ended)(struct nic *nic, int rank, int tag, const struct wire *wire, int error);
};

struct nic {
    struct devcom *d;
    MPI_Comm wire, bulk;
    struct adapter adapter;
    bool owes;                 /* acknowledgements are due; under the lock of receives */
    MPI_Message *matched;      /* the message to be received, if MPI has matched it already; likewise */
    struct incoming *incoming; /* by rank; likewise */
    bool places;               /* MPI has enough tags for places */
    pthread_mutex_t lock;      /* of askings */
    struct asking *askings;
    unsigned left; /* number of askings that are left */
    uint64_t questions;
    unsigned streams;
    struct lane *lanes;         /* by rank and queue */
    struct arrival *arrivals;   /* likewise */
    _Atomic size_t eager_bytes; /* 0: not measured yet */
    /* The size of the messages into which data are split (a "train"), at most eager_bytes; 0: no trains. */
    _Atomic size_t train_car;
    _Atomic bool eager_measured;
    struct table *tables; /* of other ranks; under the lock of receives */
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

/* Returns a datatype for a layout, which the caller frees. */
MPI_Datatype nic_type(const struct layout *layout);
/* Sends a descriptor and more bytes as one message. lane: NULL, or counts the message until it has been sent. */
int nic_send_message(struct nic *nic, int rank, int tag, struct lane *lane, const struct wire *wire, const void *more,
                     size_t more_bytes);
/* Sends a descriptor with data of a segment of this rank. */
int nic_send_data(struct nic *nic, int rank, int tag, struct lane *lane, struct wire *wire, struct segment *segment,
                  size_t offset, const struct layout *layout);
/* Send the data of a descriptor that has been sent: packed data, which are freed when they have been sent or on an
 * error; or data in a segment. */
int nic_send_packed(struct nic *nic, int rank, int tag, struct lane *lane, uint8_t *packed, size_t bytes);
int nic_send_in_place(struct nic *nic, int rank, int tag, struct lane *lane, struct segment *segment, size_t offset,
                      size_t bytes);
/* Sends packed data, which are then freed, or data of a segment, in either communicator. */
int nic_send_bulk(struct nic *nic, MPI_Comm comm, int rank, int tag, struct lane *lane, struct segment *segment,
                  size_t offset, const struct layout *layout, uint8_t *packed);
/* Returns a descriptor of the remote side of a transfer. */
struct wire nic_wire(const struct transfer *t, enum wire_kind kind);
/* Keeps the segment or memory of a receive from a lost rank until the message has arrived. Then memory is freed. */
void nic_leave_behind(struct nic *nic, MPI_Request request, struct segment *segment, void *memory);

/* ---- nic_receive.c; under the lock of receives ---- */

/* Functions of struct adapter_kind. nic_tell() acknowledges each stream of which more operations are done. */
void nic_take(void *nic, int rank, int tag, MPI_Message *message, int length);
void nic_give_up(void *nic, int rank, MPI_Request *request);
int nic_tell(void *nic, int received);
/* Receive data, and call then(), at once or later. nic_receive_packed() receives into in->memory, which then() takes
 * over and frees; if there is no memory, in->memory is NULL and the error -EPROTO. After -ECONNRESET MPI may still
 * write data of a lost rank: such memory and segments are kept until that is over. */
typedef void nic_then(struct nic *nic, int rank, struct incoming *in, int error);
void nic_receive_packed(struct nic *nic, int rank, int tag, size_t bytes, nic_then *then);
void nic_receive_in_place(struct nic *nic, int rank, int tag, struct segment *segment, size_t offset,
                          const struct layout *layout, nic_then *then);
/* Ends an operation that has been done, or refused. */
void nic_operation_end(struct nic *nic, int rank, int tag, const struct wire *wire, int error);
/* Adds the due acknowledgement of a queue to a put in the other direction. On any thread. */
void nic_carry_ack(struct nic *nic, int rank, unsigned queue, struct wire *wire);

/* ---- nic_place.c ---- */

void nic_place_open(struct nic *nic);
void nic_place_close(struct nic *nic);
/* Sends the data of a put without its descriptor, if the put repeats a place. Called under the lane's lock, with the
 * complete descriptor. Returns 1: sent; 0: the caller must send the put, and the descriptor may now name its place; or
 * an error. After an error, or if the caller's sending fails, nic_place_forget() must be called under the same lock. */
int nic_place_send(struct nic *nic, const struct transfer *t, struct wire *wire);
void nic_place_forget(struct lane *lane);
/* Stores the place that a descriptor names. Called under the lock of receives. Returns 0; -EPROTO. */
int nic_place_keep(struct nic *nic, int rank, unsigned queue, const struct wire *wire);
/* Returns the descriptor for length bytes of data that came with a place's tag. Marks the stream as broken if there is
 * no such place. False: no such queue. */
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

/* Sends count messages of that many bytes each, with the descriptor or, if bulk, separately, and waits until the last
 * has arrived. Returns 0 or an error as nic_ask(). */
int nic_probe(struct nic *nic, int rank, unsigned count, size_t bytes, bool bulk, long timeout_us);
/* Answers a probe of another rank, and discards its data. */
void nic_take_probe(struct nic *nic, int rank, int tag, const struct wire *wire);

/* ---- nic_eager.c ---- */

/* given: the value of the options; 0: none. */
void nic_eager_open(struct nic *nic, size_t given);
size_t nic_eager_bytes(const struct nic *nic);
/* Returns the size of the messages into which a put of one block of that many bytes is split; 0: it is not split. */
size_t nic_train_car(const struct nic *nic, size_t bytes);
/* Measures the eager size, if it matters for a put of that many bytes and is not known. Called without a lock. */
void nic_eager_find(struct nic *nic, int rank, size_t bytes);

#endif
