/* The transfers of a session that are under way, of which there may be thousands: in the order in which they began, by
 * tag, and by the memory that data come to. Under the session's lock. */
#ifndef VOCL_CLIENT_CORE_TRANSFERS_H
#define VOCL_CLIENT_CORE_TRANSFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct arrival;
struct node;

/* The first member of a struct transfer. */
struct open_transfer {
    struct node *node;
    uint32_t tag;
    const uint8_t *from, *to; /* the program's memory that data come to; NULL: none */
    bool open, is_beside;     /* open: it is in struct transfers */
    bool started, held;       /* started: it moves; held: it will, when others that use its memory are over */
    struct arrival *own;      /* its part of the command's arrival, or NULL */
    TAILQ_ENTRY(open_transfer) in;
    LIST_ENTRY(open_transfer) of_tag, beside;
};

LIST_HEAD(open_transfers, open_transfer);

#define TRANSFERS_TAGS 4096

struct transfers {
    TAILQ_HEAD(, open_transfer) all;
    struct open_transfers by_tag[TRANSFERS_TAGS]; /* by the tag's last bits */
    /* a tree (tsearch(3)) of transfers whose memory does not overlap */
    void *coming;
    struct open_transfers beside; /* transfers whose memory overlaps one in the tree */
};

void transfers_init(struct transfers *all);
void transfers_add(struct transfers *all, struct open_transfer *transfer);
/* Removes the transfer, if it is open. */
void transfers_remove(struct transfers *all, struct open_transfer *transfer);
/* Returns the transfer with that tag, or NULL. */
struct open_transfer *transfers_find(const struct transfers *all, uint32_t tag);
/* Returns an arrival for all transfers that move, or will without anything else happening; NULL: none. */
struct arrival *transfers_moving(const struct transfers *all);
/* Whether data come to any part of that memory. */
bool transfers_come_to(const struct transfers *all, const uint8_t *from, const uint8_t *to);

#endif
