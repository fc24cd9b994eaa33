/*
 * `vocl doctor`: a program of its own, vocl-doctor, which checks everything that a session needs and says what to do
 * about each problem. It also starts itself on other hosts.
 *
 *     doctor.c          the order of the checks, and the lines that are printed
 *     doctor_here.c     this machine: VOCL's files, drivers, limits, memory
 *     doctor_hosts.c    other hosts, reached as workers there are
 *     doctor_pool.c     a pool's daemons, and MUNGE
 *     doctor_session.c  a session, stage by stage
 *     doctor_try.c      runs programs for these checks
 */
#ifndef VOCL_TOOLS_DOCTOR_H
#define VOCL_TOOLS_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

/* ---- doctor.c ---- */

enum verdict { FINE, NOTE, WRONG };

/* Prints a line: what was checked, and the result; for a problem also what to do about it. */
__attribute__((format(printf, 3, 4))) void doctor_say(enum verdict verdict, const char *topic, const char *format, ...);

/* ---- doctor_here.c ---- */

void doctor_look_here(void);
/* Whether VOCL's files are complete, without which nothing else can be tried. */
bool doctor_is_whole(void);

/* ---- doctor_hosts.c ---- */

/* The first line from another host: version, protocol version, and the time there in ns since 1970. */
#define DOCTOR_GREETING "vocl-doctor %31s %u %lld"
/* The argument of a vocl-doctor on another host, perhaps followed by an endpoint that it is to connect to. Its
 * environment arrives on standard input, as strings with their terminating zeros. */
#define DOCTOR_NODE "--node"

void doctor_look_there(const char *hosts);
/* Runs on the other host. */
int doctor_be_node(const char *endpoint);

/* ---- doctor_pool.c ---- */

void doctor_look_at_pool(const char *where);

/* ---- doctor_session.c ---- */

#define DOCTOR_SESSION "--session"

/* Starts a session in a process of its own, which runs doctor_be_session(). */
void doctor_try_session(void);
int doctor_be_session(void);

/* ---- doctor_try.c ---- */

struct tried {
    int status;            /* as in shells: 128 plus a signal; 127 if it could not be executed; -1 if it took too
                            * long */
    double first_ms, ms;   /* until its first output, and until it ended */
    long long first_ns;    /* time of the first output, since 1970 */
    char *output, *errors; /* what it printed; never NULL */
};

/* Runs a program with this input, which may be NULL, for at most limit_ms. The caller keeps words. */
struct tried doctor_try(char *const *words, const char *input, size_t length, long limit_ms);
void tried_free(struct tried *tried);
/* Returns the last non-empty line, made visible, and cuts it off the text. */
const char *last_line(char *text);

#endif
