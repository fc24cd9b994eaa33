/*
 * Users' requests to a running session (base/requests.h). The process that started the session's processes receives
 * them, and passes them on to the program through their packet socket (transport/starter.h). It answers by itself which
 * session this is, even while the program is stopped.
 */
#ifndef VOCL_PROXY_LAUNCH_REQUESTS_H
#define VOCL_PROXY_LAUNCH_REQUESTS_H

#include <poll.h>
#include <stdbool.h>

#include "transport/starter.h"

/* How many descriptors to poll. */
#define REQUESTS_WIDTH 36

/* From now on this process accepts requests. Call it before anything else is opened. */
void requests_open(int control);
/* Describes the session: the names of its nodes, separated by commas, its network, and in a pool its name there (or
 * NULL); the first name given stays. */
void requests_describe(const char *nodes, const char *network, const char *name);
/* The program has sent its end of the packet socket. */
void requests_connect(int fd);
/* Fills REQUESTS_WIDTH entries. */
void requests_poll(struct pollfd *fds);
/* Called for a message of the program. fd: the descriptor that came with it, which the callee then owns, or -1. */
typedef void requests_heard(void *owner, const struct starter_message *message, int fd);
/* Handles what poll() found. Calls hear(), which may be NULL, for messages of the program that are not answers. */
void requests_turn(const struct pollfd *fds, requests_heard *hear, void *owner);
/* Whether there is a program to send messages to. */
bool requests_has_program(void);
/* Sends a message to the program, with a descriptor, or -1. Returns false if that is not possible now. */
bool requests_tell(const struct starter_message *message, int fd);
/* Sends the program a message about this worker. */
void tell_program(enum starter_kind kind, unsigned number, const char *text);
/* Sends the program a request of this process. Returns the descriptor on which it answers, or -1 with the reason in
 * *why. requests_turn() calls hear() with the answers; any but ANSWER_PROGRESS is the last. */
enum request_answer { ANSWER_PROGRESS, ANSWER_DONE, ANSWER_FAILED, ANSWER_GONE };
typedef void requests_answered(void *owner, enum request_answer answer, const char *text);
int requests_ask(const char *words, requests_answered *hear, void *owner, const char **why);
/* Writes a line of an answer, whole or not at all, to the pipe of the process that asked. */
__attribute__((format(printf, 2, 3))) void requests_answer(int out, const char *format, ...);
/* Requests that this process answers by itself: asked() then returns true, and owns `out`. */
void requests_on(bool (*asked)(const char *words, int out));
void requests_close(void);

#endif
