/*
 * vocl-join's part in a move: it gets the new place, as it got the first ones, has that node's daemon start the worker
 * for which the program asks, and gives the old place back. The program does the rest (client/move.c).
 */
#ifndef VOCL_PROXY_LAUNCH_MOVES_H
#define VOCL_PROXY_LAUNCH_MOVES_H

#include "proxy/launch/attend.h"

#define MOVES_WIDTH 3

/* refusal: why this session cannot move, or NULL; start: the message that starts a worker of that number there. */
struct moves_session {
    struct attended *nodes;
    unsigned *count;
    const struct poolfile *pool;
    const char *refusal;
    json_t *(*start)(const char *part, const char *endpoint, unsigned number);
    void (*moved)(void); /* the nodes are others now */
};

void moves_open(const struct moves_session *session);
/* A daemon's message about its node: that it is to move, or not any more. */
void moves_hear_daemon(struct attended *node, const json_t *message);
/* What the program wants to have done: requests_heard. */
void moves_hear_program(void *owner, const struct channel_message *message, int fd);
/* A node has nothing of the session any more. */
void moves_lose(struct attended *node);
void moves_poll(struct pollfd *fds);
void moves_turn(const struct pollfd *fds);

#endif
