/*
 * `vocl doctor`: a program of its own, vocl-doctor, which looks at everything that a session needs and says what to do
 * about what is wrong. It is also what it starts on other hosts.
 *
 *     doctor.c          what is asked of whom, and the lines that are printed
 *     doctor_here.c     this machine: what VOCL is made of, drivers, limits, memory
 *     doctor_hosts.c    other hosts, by what starts workers there
 *     doctor_pool.c     a pool's daemons, and MUNGE
 *     doctor_session.c  a session, stage by stage
 *     doctor_try.c      programs that are run for it
 */
#ifndef VOCL_TOOLS_DOCTOR_H
#define VOCL_TOOLS_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

/* ---- doctor.c ---- */

enum verdict { FINE, NOTE, WRONG };

/* A line: what was looked at, and what was found; of what is wrong, also what to do about it. */
__attribute__((format(printf, 3, 4))) void doctor_say(enum verdict verdict, const char *topic, const char *format, ...);

/* ---- doctor_here.c ---- */

void doctor_look_here(void);
/* Of this one the rest depends: whether there is a VOCL to try anything with. */
bool doctor_is_whole(void);

/* ---- doctor_hosts.c ---- */

/* The first line on another host: version, that of the protocol, and the time there in ns since 1970. */
#define DOCTOR_GREETING "vocl-doctor %31s %u %lld"
/* What such a one is called with, and then maybe an endpoint that it is to reach; its environment comes on standard
 * input, strings with their ends. */
#define DOCTOR_NODE "--node"

void doctor_look_there(const char *hosts);
/* On the other host. */
int doctor_be_node(const char *endpoint);

/* ---- doctor_pool.c ---- */

void doctor_look_at_pool(const char *where);

/* ---- doctor_session.c ---- */

#define DOCTOR_SESSION "--session"

/* Starts one in a process of its own, which is doctor_be_session(). */
void doctor_try_session(void);
int doctor_be_session(void);

/* ---- doctor_try.c ---- */

struct tried {
    int status;            /* as the shells have it: 128 and a signal; 127 if it could not be executed; -1: too long */
    double first_ms, ms;   /* until it said something, and until it ended */
    long long first_ns;    /* when that was, since 1970 */
    char *output, *errors; /* what it said; never NULL */
};

/* Runs a program with this input, maybe NULL, for so long at most. Its words stay the caller's. */
struct tried doctor_try(char *const *words, const char *input, size_t length, long limit_ms);
void tried_free(struct tried *tried);
/* The last line that is not empty, made visible; it is cut off the text. */
const char *last_line(char *text);

#endif
