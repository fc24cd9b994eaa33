/*
 * Connections between members of a session through another one: what starts a worker on another host (ssh) carries them
 * beside nothing else. At each end of a connection is a socket pair, of which the member has the other half; what goes
 * through is TLS between the members, of which nobody here can read or change anything. A member that does not take
 * what comes for it holds up its own connections alone, and there are never more bytes of it here than it was promised
 * room for. Both ends say that they are there, so that a dead connection is noticed also where a member is stopped.
 */
#ifndef VOCL_PROXY_LAUNCH_TUNNEL_H
#define VOCL_PROXY_LAUNCH_TUNNEL_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tunnel;

/* From the other end of tunnel number `from` somebody calls the member `to`: fd is the way to him, and is closed here
 * afterwards. False: it cannot be reached. */
typedef bool tunnel_called(void *owner, unsigned from, unsigned to, int fd);

/* Over these two descriptors, which may be the same, and are the tunnel's. near: exactly one of the ends is that. most:
 * connections that each side may begin. NULL: no memory. */
struct tunnel *tunnel_open(int in, int out, bool near, unsigned most, tunnel_called *called, void *owner,
                           unsigned from);
/* A connection to the member of that number: fd is the tunnel's. False: there can be no more. */
bool tunnel_call(struct tunnel *tunnel, unsigned to, int fd);
/* What has come before the tunnel was opened; 0 or negative errno. */
int tunnel_feed(struct tunnel *tunnel, const uint8_t *bytes, size_t length);
/* How many descriptors it waits for at most; and these: as many as it returns. */
unsigned tunnel_width(const struct tunnel *tunnel);
unsigned tunnel_poll(struct tunnel *tunnel, struct pollfd *fds);
/* How long to wait at most, in milliseconds, or -1. */
int tunnel_nap(void);
/* What poll() found. 0, or negative errno: the tunnel has ended; -ETIMEDOUT: the other end does not answer. */
int tunnel_turn(struct tunnel *tunnel, const struct pollfd *fds, unsigned count);
/* Whether nothing is under way. */
bool tunnel_is_idle(const struct tunnel *tunnel);
/* All its connections end. */
void tunnel_close(struct tunnel *tunnel);

/* Hand a connection to a member, who may not be there any more, or have no time: false. */
bool tunnel_hand(int member, int fd);

#endif
