/* The transfers of a session that are under way: in the order in which they began, by tag, and by where data come to.
 * There may be thousands. Under the session's lock. */
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
    const uint8_t *from, *to; /* memory of the program that data come to; NULL: none */
    bool open, is_beside;     /* open: it is among them */
    bool started, held;       /* it moves; or will, as soon as others are in its memory */
    struct arrival *own;      /* its part of the command's, or NULL */
    TAILQ_ENTRY(open_transfer) in;
    LIST_ENTRY(open_transfer) of_tag, beside;
};

LIST_HEAD(open_transfers, open_transfer);

#define TRANSFERS_TAGS 4096

struct transfers {
    TAILQ_HEAD(, open_transfer) all;
    struct open_transfers by_tag[TRANSFERS_TAGS]; /* by the tag's last bits */
    void *coming;                                 /* of those that data come to, which do not meet (tsearch(3)); */
    struct open_transfers beside;                 /* and those that meet one of them */
};

void transfers_init(struct transfers *all);
void transfers_add(struct transfers *all, struct open_transfer *transfer);
/* Nothing if it is not among them. */
void transfers_remove(struct transfers *all, struct open_transfer *transfer);
/* The one with that tag, or NULL. */
struct open_transfer *transfers_find(const struct transfers *all, uint32_t tag);
/* What is moving at the moment, or will be, which needs nobody to go on. */
struct arrival *transfers_moving(const struct transfers *all);
/* Whether data come to some of that memory. */
bool transfers_come_to(const struct transfers *all, const uint8_t *from, const uint8_t *to);

#endif
