/*
 * Requests to a running session from its user: the agreement between the process that asks (tools/sessions.c) and the
 * one that started the session's processes (proxy/launch/requests.c). The latter has a pipe, under this number, which
 * the kernel lets only the same user open, in /proc; nothing listens, and there is no name that anybody could occupy
 * before. A request is one line, written at once: the PID of the process that asks, the number of its descriptor for
 * answers (the end of a pipe, which is opened in the same way), and words. Answers are lines, too, and the last begins
 * with "done" or "failed".
 */
#ifndef VOCL_BASE_REQUESTS_H
#define VOCL_BASE_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

#define REQUESTS_FD 4
#define REQUESTS_MOST 1024 /* bytes of a request, or of a line of its answer, with the newline */

/* The only request that is answered without the program:
 * "done PID<tab>PROGRAM<tab>NETWORK<tab>NODES<tab>SESSION<tab>STATE". SESSION is empty where there is no pool. STATE is
 * one of the four below; older versions do not send it. */
#define REQUEST_SESSION "session"
#define REQUEST_STARTING "starting"
#define REQUEST_RUNNING "running" /* the program can be asked */
#define REQUEST_SUSPENDED "suspended"
#define REQUEST_ENDING "ending"
#define REQUEST_PROGRESS "progress "
#define REQUEST_DONE "done "
#define REQUEST_FAILED "failed "
/* A progress line: "phase NAME BYTES TOTAL", how far the work has come. TOTAL is how many bytes there are, as far as is
 * known: it changes while the program writes. Older versions do not send it. */
#define REQUEST_PHASE "phase "
struct request_phase {
    char name[32];
    uint64_t bytes, total; /* total 0: unknown */
};
/* Reads such a line. Numbers that are invalid, or a total that is less than the bytes, count as unknown. Returns false
 * if the line is of another kind. */
bool request_read_phase(const char *words, struct request_phase *phase);
/* A progress line of a pool's move: the old worker ends now, before the new one has everything. The program waits for
 * the confirmation that this is on record. */
#define REQUEST_LEAVES "leaves"
/* A progress line of a pool's move, "unfit DEVICE": the move fails since that device of the new worker, from 1 (0:
 * any), is not like the old one's. */
#define REQUEST_UNFIT "unfit"

/* The names, in /proc/PID/comm, of the processes that have such a pipe. */
#define REQUESTS_LAUNCHER "vocl-launcher"
#define REQUESTS_JOIN "vocl-join"

#endif
