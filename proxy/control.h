/*
 * Between a worker and its node's daemon: a socket (SOCK_SEQPACKET) in the daemon's state directory. The daemon knows
 * the worker by the process number that the kernel vouches for.
 */
#ifndef VOCL_PROXY_CONTROL_H
#define VOCL_PROXY_CONTROL_H

#include <stdint.h>

enum control_kind {
    /* worker to daemon */
    CONTROL_WANT = 1, /* it has launches for a device */
    CONTROL_DONE,     /* nothing of it runs there any more, and it will ask before the next; values[0]: it has launches
                       already */
    CONTROL_USED, /* values: launches, bytes in, bytes out and of device memory, all of them so far; and, since the last
                   time, microseconds in which something of it ran on devices that it need not ask for */
    /* daemon to worker */
    CONTROL_FREE,  /* it need not ask: the device is its own */
    CONTROL_ASK,   /* it has to ask from now on: others use the device, too */
    CONTROL_TURN,  /* it may launch; values[0]: for so many microseconds at most, 0: until it is recalled */
    CONTROL_RECALL /* it is to let what runs come to its end, and to say CONTROL_DONE */
};

struct control_message {
    uint32_t kind, device; /* the device's ordinal among the worker's own */
    uint64_t values[6];
};

#endif
