/* Endpoints, devices that communicate: declarations for endpoint.c and stream.c. */
#ifndef DEVCOM_ENDPOINT_H
#define DEVCOM_ENDPOINT_H

#include "devcom/internal.h"

/* The same structs as in vocl_dev.cl. */
struct device_place {
    uint64_t address, bytes;
};

struct device_rank {
    uint64_t signals, bell;
};

enum device_kind { KIND_PUT, KIND_GET, KIND_ADD, KIND_SWAP };

struct device_command {
    uint8_t kind, op, segment, remote_segment;
    uint16_t rank, signal;
    uint64_t offset, remote_offset, bytes;
    int64_t value;
};
_Static_assert(sizeof(struct device_command) == 40, "vocl_dev.cl has the same");

struct device_ring {
    _Atomic uint32_t lock;
    uint32_t unused;
    _Atomic uint64_t head, tail, left;
    uint64_t commands, posted, arrived, bell;
};
_Static_assert(sizeof(struct device_ring) == 64, "vocl_dev.cl has the same");

struct device_element {
    uint32_t segment, rank, remote_segment, signal, op, unused;
    uint64_t offset, remote_offset, bytes;
    int64_t value;
};
_Static_assert(sizeof(struct device_element) == 56, "vocl_dev.cl has the same");

struct device_words {
    uint32_t rank, size, segments, signals, queues, depth, words, epoch;
    uint64_t places, ranks, rings, unused_too, elements;
    uint32_t element_count, unused;
    _Atomic uint32_t stop;
    _Atomic int32_t error;
    uint32_t alone; /* polls before the first yield of the processor */
    uint32_t arrived;
    int32_t results[1024];
    int64_t values[1024];
};
_Static_assert(offsetof(struct device_words, values) == 96 + sizeof(int32_t[1024]), "vocl_dev.cl has the same");

/* A command queue with waits in it, which run one after the other. */
struct stream {
    cl_command_queue commands;
    unsigned pending;
};
enum { MOST_STREAMS = 64 };

/* A thread that empties each count-th of the kernels' queues, from the first on. */
struct server {
    struct devcom_endpoint *e;
    unsigned first;
    _Atomic uint32_t bell; /* a doze (ground/doze.h) */
    pthread_t thread;
};

struct devcom_endpoint {
    struct devcom *d;
    cl_context context;
    cl_device_id device;
    cl_uint units;
    bool rings_bells; /* its kernels can wake threads that sleep */
    struct device_words *words;
    struct device_place *places;
    struct device_rank *ranks;
    struct device_ring *rings;
    struct device_command *commands;
    _Atomic uint64_t *posted, *arrived; /* of the rings, by queue and rank */
    struct device_element *elements;
    struct server *servers;
    unsigned server_count;
    pthread_mutex_t lock; /* of the members that follow */
    size_t waiting;       /* number of work-groups and native kernels that may wait */
    struct stream streams[MOST_STREAMS];
    struct reservation *first_reservation, **last_reservation;
    unsigned reservations;
    _Atomic bool stop;
};

void endpoint_fail(struct devcom_endpoint *e, int error);

/* ---- stream.c ---- */

void reservations_open(struct devcom_endpoint *e);
void reservations_close(struct devcom_endpoint *e);
/* Drops the reservations of commands that have ended, and notes their errors. */
void reservations_look(struct devcom_endpoint *e);

#endif
