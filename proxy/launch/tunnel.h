/*
 * Connections between members of a session through another connection: that of the process which starts a worker on
 * another host (ssh), and which then carries nothing else. At each end of a connection is a socket pair, of which the
 * member has the other half. The members use TLS, so nobody here can read or change their data. A member that does not
 * read delays only its own connections, and at most as many bytes as were promised to its peers are buffered. Both ends
 * send heartbeats, so that a dead connection is noticed even while a member is stopped.
 */
#ifndef VOCL_PROXY_LAUNCH_TUNNEL_H
#define VOCL_PROXY_LAUNCH_TUNNEL_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tunnel;

/* Called when the other end of tunnel number `from` connects to the member `to`. fd leads to the caller, and is closed
 * here afterwards. Returns false if the member cannot be reached. */
typedef bool tunnel_called(void *owner, unsigned from, unsigned to, int fd);

/* Opens a tunnel over these two descriptors, which may be the same, and which it then owns. near: true at exactly one
 * of the two ends. most: how many connections each side may begin. Returns NULL if memory is exhausted. */
struct tunnel *tunnel_open(int in, int out, bool near, unsigned most, tunnel_called *called, void *owner,
                           unsigned from);
/* Connects to the member of this number. Takes ownership of fd. Returns false if there are too many connections. */
bool tunnel_call(struct tunnel *tunnel, unsigned to, int fd);
/* Takes bytes that arrived before the tunnel was opened. Returns 0 or a negative errno. */
int tunnel_feed(struct tunnel *tunnel, const uint8_t *bytes, size_t length);
/* tunnel_width(): how many descriptors to poll at most. tunnel_poll(): fills fds, and returns how many. */
unsigned tunnel_width(const struct tunnel *tunnel);
unsigned tunnel_poll(struct tunnel *tunnel, struct pollfd *fds);
/* Returns how many milliseconds to wait at most, or -1. */
int tunnel_nap(void);
/* Handles what poll() found. Returns 0, or a negative errno: the tunnel has ended; -ETIMEDOUT: the other end does not
 * answer. */
int tunnel_turn(struct tunnel *tunnel, const struct pollfd *fds, unsigned count);
/* Whether nothing is to be sent, and no connection is open. */
bool tunnel_is_idle(const struct tunnel *tunnel);
/* Ends all its connections, and frees it. */
void tunnel_close(struct tunnel *tunnel);

/* Hands a connection to a member. Returns false if the member has gone, or is not reading. */
bool tunnel_hand(int member, int fd);

#endif
