/*
 * A worker that the program wants again, of which it says no more than the number that the last one had: the pool is
 * asked for such a place, and the worker is started there. There is one at a time.
 */
#ifndef VOCL_PROXY_LAUNCH_WANTED_H
#define VOCL_PROXY_LAUNCH_WANTED_H

#include "proxy/launch/newcomers.h"

void wanted_open(const struct pool_session *session);
/* The program's message; lost: the number of the worker whose place is wanted. False: it is not of this kind. */
bool wanted_read(const struct channel_message *message, unsigned *lost);
/* request: how the place is asked for, kept here. daemon: the address of one to ask, another than the last one if that
 * was lost; NULL: there is none just now. */
void wanted_begin(const struct channel_message *message, json_t *request, const char *(*daemon)(bool lost));
/* CHANNEL_UNFIT: a worker that was started so has devices that are not like those before it. It ends, and who is wanted
 * there next gets others. */
void wanted_hear_unfit(const struct channel_message *message);
/* It does not come: why. */
void wanted_refuse(const struct channel_message *message, const char *why);
/* The program waits for that one no more; false: it did not. */
bool wanted_drop(unsigned number);
/* wanted_turn() is to be called every second. */
bool wanted_now(void);
struct pollfd wanted_poll(void);
void wanted_turn(const struct pollfd *fd);

#endif
