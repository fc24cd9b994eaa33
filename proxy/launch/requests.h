/*
 * What users ask of a running session (base/requests.h): who started its processes hears it and passes it on to the
 * program, by their socket of packets (transport/starter.h). It answers by itself what session this is, also while the
 * program is stopped.
 */
#ifndef VOCL_PROXY_LAUNCH_REQUESTS_H
#define VOCL_PROXY_LAUNCH_REQUESTS_H

#include <poll.h>
#include <stdbool.h>

#include "transport/starter.h"

/* What poll() is to look at for it. */
#define REQUESTS_WIDTH 36

/* Before this process has opened anything: from now on it can be asked. */
void requests_open(int control);
/* What session it is: its nodes' names, with commas between them, what carries it, and in a pool its name there, which
 * stays the first one that is told, or NULL. */
void requests_describe(const char *nodes, const char *network, const char *name);
/* The program has handed over its end of that. */
void requests_connect(int fd);
/* Fills so many as REQUESTS_WIDTH. */
void requests_poll(struct pollfd *fds);
/* A message of the program's; fd: what came with it, the called one's own, or -1. */
typedef void requests_heard(void *owner, const struct starter_message *message, int fd);
/* What was found. A message of the program's that is no answer goes to hear(), which may be NULL. */
void requests_turn(const struct pollfd *fds, requests_heard *hear, void *owner);
/* Whether there is a program to tell. */
bool requests_has_program(void);
/* To the program, with a descriptor, or -1: false if it cannot be told now. */
bool requests_tell(const struct starter_message *message, int fd);
/* It is told of that worker. */
void tell_program(enum starter_kind kind, unsigned number, const char *text);
/* The program is asked by this process: the descriptor on which it answers, or -1 and why not. What it answers comes
 * with turns; the last is anything but progress. */
enum request_answer { ANSWER_PROGRESS, ANSWER_DONE, ANSWER_FAILED, ANSWER_GONE };
typedef void requests_answered(void *owner, enum request_answer answer, const char *text);
int requests_ask(const char *words, requests_answered *hear, void *owner, const char **why);
/* A line of an answer, whole or not at all: to the end of who asked. */
__attribute__((format(printf, 2, 3))) void requests_answer(int out, const char *format, ...);
/* What this process answers by itself: true, and the asker's end is its own now. */
void requests_on(bool (*asked)(const char *words, int out));
void requests_close(void);

#endif
