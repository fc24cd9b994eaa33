/*
 * What a program and its workers did, and when, for `vocl run --trace` and `--report`: records in files that are mapped
 * into the program, so that they survive if it is killed. tools/trace_*.c makes one Trace Event JSON file of them
 * (doc/internals/tracing.md). Each thread writes into a chunk of its own, without a lock. While timeline_on is false,
 * only a load and a branch remain.
 *
 * A file is a number of chunks of TIMELINE_CHUNK bytes; a chunk is its header and records, each with its head and
 * rounded up to 8 bytes. Times are nanoseconds of CLOCK_MONOTONIC on the program's host, except in what workers send.
 */
#ifndef VOCL_BASE_TIMELINE_H
#define VOCL_BASE_TIMELINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"

#define TIMELINE_MAGIC UINT64_C(0x32656e696c6c6f56)
#define TIMELINE_CHUNK (256u << 10)
#define TIMELINE_SUFFIX ".timeline"

/* Identifies the CLOCK_MONOTONIC of the times: by the boot of a host, and a time namespace. */
struct timeline_clock {
    uint64_t of[3];
    int64_t wall; /* CLOCK_REALTIME when that clock was 0 */
};

struct timeline_chunk {
    uint64_t magic;
    uint32_t process, thread;
    _Atomic uint64_t used; /* bytes of complete records */
    uint64_t dropped;      /* records that found no room, before this chunk */
    struct timeline_clock clock;
    char host[64], program[64], name[16];
};

/* Records that the program writes. */
enum timeline_kind {
    TIMELINE_CALL = 1, /* which: the OpenCL function, in the order of opencl.def, and its caller; struct timeline_call,
                          or nothing */
    TIMELINE_SENT,     /* commands that no call sent; struct timeline_call */
    TIMELINE_TRIP,     /* which: the member; the command's name */
    TIMELINE_WAIT,     /* which: the member; struct timeline_wait */
    TIMELINE_DATA,     /* which: the member; struct timeline_bytes: data of the program's, in or out */
    TIMELINE_FRAME,    /* the same: bytes that a link carries */
    TIMELINE_BULK,     /* the same */
    TIMELINE_CIPHER,   /* the same: bytes that TLS has encrypted or decrypted */
    TIMELINE_PACK,     /* the same: bytes of bulk data before they were packed, or after they were unpacked */
    TIMELINE_CLOCK,    /* which: the member; from: it was asked, to: its answer came; u64: its time */
    TIMELINE_MEMBER,   /* which: the member; its host's name */
    TIMELINE_SPAN,     /* which: the member; a text: a move, or another long operation */
    TIMELINE_WORKER,   /* which: the member; records of the kinds below, as it sent them */
    /* Calls for which the clock was not read, with only the first 8 bytes of a head: they fall between the thread's
     * last record with times and its next one. */
    TIMELINE_QUICK,      /* which: as of TIMELINE_CALL */
    TIMELINE_QUICK_NEXT, /* the same; it sent one command, the next one to the member of the thread's last command */
    /* Records of a rank of XTQ: struct timeline_message. */
    TIMELINE_PUT,    /* which: the target */
    TIMELINE_TASK,   /* which: the initiator; to: it has ended, visibly to a waiter for its signal */
    TIMELINE_SIGNAL, /* which: its own number; it waited for that signal */
    TIMELINE_FENCE,  /* which: its own number; it waited for its puts */
    /* Call sites. */
    TIMELINE_SITE, /* which: its number; u64: the return address, as an offset in its file; the file's name */
    TIMELINE_KINDS
};

/* Bits of a call's which that hold the function; above is the number of a TIMELINE_SITE, 0: unknown. */
#define TIMELINE_FUNCTION_BITS 10

struct timeline_call {
    uint64_t first; /* number of the first command to that member */
    uint32_t count, member;
};

enum timeline_reason { TIMELINE_FOR_EVENT, TIMELINE_FOR_DATA, TIMELINE_FOR_ROOM };

struct timeline_wait {
    uint32_t reason, event;
};

struct timeline_bytes {
    uint64_t bytes;
    uint32_t out, direct; /* direct: in memory shared with the worker, without a message */
};

/* A message is identified by its ring and its position there, which both sides know. */
struct timeline_message {
    uint64_t context, end, signal; /* signal: its address at the target, 0: none */
    uint64_t bytes;
    uint32_t initiator, target, queue, index; /* index: the function's or the kernel's */
    uint32_t kernel;
    int32_t error;
};

/* Records that a worker sends. Times are from the worker's own clock. */
enum timeline_worker_kind {
    TIMELINE_NAME = 1, /* which: a number for the text that follows */
    TIMELINE_DEVICE,   /* which: its number; the name */
    TIMELINE_COMMAND,  /* struct timeline_command */
    TIMELINE_TURN,     /* which: the device; from, to: the stream waited for its time slice there */
    TIMELINE_STAGED,   /* which: the device; struct timeline_bytes: bulk data between host memory and device memory */
    TIMELINE_LIKE,     /* struct timeline_like; from: native OpenCL's time when it was queued */
};

struct timeline_command {
    uint64_t number;           /* in the count of queue commands from the application */
    uint64_t before, after;    /* native OpenCL received it in between; the record's to: its end was noticed */
    uint64_t times[4];         /* native: queued, submitted, started, ended; 0: unknown */
    uint64_t bytes, global[3]; /* 0: none */
    uint32_t queue, device, event, name, kernel; /* names: numbers of TIMELINE_NAME, 0: none */
    int32_t status;
    uint32_t out_of_order, launch;
};

/* A command like the one before it in the same note, with the next number; the time when native OpenCL received it was
 * not read. */
struct timeline_like {
    uint32_t submitted, started, ended; /* each since the one before, the first since it was queued */
    uint32_t event;
};

struct timeline_record {
    uint16_t kind, length; /* length: of the whole record, in units of 8 bytes */
    uint32_t which;
    uint64_t from, to;
};

#define TIMELINE_MOST (TIMELINE_CHUNK / 4) /* most bytes of a record */

extern bool timeline_on;

/* Whether anything is to be recorded; the branch is predicted not to be taken. */
static inline bool timeline_wanted(void)
{
    return __builtin_expect(__atomic_load_n(&timeline_on, __ATOMIC_RELAXED), false);
}

/* Starts recording into files of this folder, which must exist. Returns 0 or a negative errno. */
int timeline_start(const char *folder);
void timeline_stop(void);
const char *timeline_folder(void);
/* Writes a record. On failure only the record is lost. Preserves errno. */
void timeline_put(enum timeline_kind kind, uint32_t which, uint64_t from, uint64_t to, const void *more, size_t length);
/* Writes only the first 8 bytes of a record. Returns false, and writes nothing, if the chunk has no room. */
bool timeline_put_short(enum timeline_kind kind, uint32_t which);
void timeline_after_fork(void);

static inline void timeline_text(enum timeline_kind kind, uint32_t which, uint64_t from, const char *text)
{
    timeline_put(kind, which, from, (uint64_t)clock_ns(), text, __builtin_strlen(text) + 1);
}

static inline void timeline_count(enum timeline_kind kind, uint32_t member, bool out, uint64_t from, uint64_t bytes)
{
    const struct timeline_bytes more = {bytes, out, 0};

    timeline_put(kind, member, from, (uint64_t)clock_ns(), &more, sizeof(more));
}

#endif
