/*
 * The control connection between a worker and its node's daemon: a socket (SOCK_SEQPACKET) in the daemon's state
 * directory. The daemon identifies the worker by the PID that the kernel reports for the socket.
 */
#ifndef VOCL_PROXY_CONTROL_H
#define VOCL_PROXY_CONTROL_H

#include <stdint.h>

enum control_kind {
    /* from worker to daemon */
    CONTROL_WANT = 1, /* it has launches for a device */
    /* None of its commands run on the device any more, and it will ask before the next launch; values[0]: it already
     * has launches waiting. */
    CONTROL_DONE,
    /* values: totals of launches, bytes received, bytes sent; bytes of device memory; and for how many microseconds
     * since the last report its commands ran on devices for which it need not ask. */
    CONTROL_USED,
    /* from daemon to worker */
    CONTROL_FREE,  /* it need not ask: it alone uses the device */
    CONTROL_ASK,   /* it has to ask from now on: others use the device, too */
    CONTROL_TURN,  /* it may launch; values[0]: for at most this many microseconds; 0: until it is recalled */
    CONTROL_RECALL /* it is to let its running commands finish, and then send CONTROL_DONE */
};

struct control_message {
    uint32_t kind, device; /* the device's ordinal in the worker's session */
    uint64_t values[6];
};

#endif
