/* Frames of one host's session through memory: lane.c. */
#ifndef VOCL_TRANSPORT_LANE_H
#define VOCL_TRANSPORT_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LANE_NONCE 16
#define LANE_FRAME 2032 /* bytes that a slot has for a frame */

struct lane_memory;

struct lane {
    int fd;
    struct lane_memory *memory;
    uint8_t *copy; /* of the frame that has been received last */
    int out;       /* which direction is this side's */
    bool open;     /* the other side has it, too */
};

/* What the application says to a worker. */
struct lane_offer {
    uint32_t process, descriptor;
    uint8_t nonce[LANE_NONCE];
};

/* 0 or a negative errno: no lane then. */
int lane_offer(struct lane *lane, struct lane_offer *offer);
int lane_accept(struct lane *lane, const struct lane_offer *offer);
/* The other side has accepted it. */
void lane_confirm(struct lane *lane);
void lane_close(struct lane *lane);
/* The frame of that number, counted from 0, as all that are sent. False: it has to go another way. */
bool lane_send(struct lane *lane, uint32_t number, uint32_t kind, uint32_t acked, const void *bytes, size_t length);
/* Whether the frame of that number is there. */
bool lane_waits(const struct lane *lane, uint32_t number);
/* It: a copy, which the next call overwrites. */
const uint8_t *lane_receive(const struct lane *lane, uint32_t number, uint32_t *kind, uint32_t *acked, size_t *length);

#endif
