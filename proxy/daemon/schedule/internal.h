/* A request for devices: what broker.c, choose.c and going_on.c share. */
#ifndef VOCL_PROXY_DAEMON_SCHEDULE_INTERNAL_H
#define VOCL_PROXY_DAEMON_SCHEDULE_INTERNAL_H

#include "proxy/daemon/schedule/placement.h"
#include "proxy/daemon/schedule/schedule.h"

#define MOST_WISHED 256 /* of a request */

struct part {
    char id[SESSION_ID]; /* its name at the node: the first one has the session's */
    char node[64], address[128];
    unsigned devices[MOST_DEVICES], count;
    char name[128], type[16]; /* its devices', as in a wish; "": they are not the same */
    enum { PART_ASKED, PART_GOOD, PART_REFUSED, PART_SILENT } state; /* silent: it may be reserved, or will be */
};

struct request {
    struct request *next;
    struct daemon *daemon;
    struct connection *client;
    struct placement_wish wish;
    enum policy policy;
    unsigned share;
    char id[SESSION_ID], program[64], job[64], why[512];
    char ticket[SESSION_ID];
    long since_ms, until_ms, yields_ms; /* yields: since then an older one could have what it wants, or 0 */
    char within[SESSION_ID];            /* the hold of which it has its devices, or "" */
    char of[SESSION_ID];                /* it is for that session, or "": for a new one */
    bool one_node;                      /* that is to have all of it */
    bool limited;                       /* its user has as much as he may */
    struct {
        char part[SESSION_ID];                 /* or "" */
        char from[64];                         /* where the program runs */
        char node[64];                         /* where that part is now */
        unsigned devices[MOST_DEVICES], count; /* and what it has there */
        long long device;                      /* the only one that it is to have, or -1 */
    } move;                                    /* a part of a session goes to another place */
    unsigned position_sent;                    /* the place in the queue, from 1 */
    struct part *parts;
    unsigned part_count, tries;
    bool outdated;  /* a node was otherwise than it had told */
    json_t *barred; /* by node: why it will never have this user; and */
    json_t *unfit;  /* its devices that the session cannot have in the place of others: proxy/launch/session.h */
    struct timer timer;
};

enum outcome { OUTCOME_WAIT, OUTCOME_TRYING, OUTCOME_NEVER };

/* Whether it can have its devices now; then r->parts are what it is to have, otherwise r->why says why not. */
enum outcome request_place(struct request *r);

/* ---- broker.c ---- */
/* Why that node does not come into question for it, whoever has devices there. */
void request_bar(struct request *r, const char *node, const char *why);

/* ---- queue.c ---- */
/* Gives those who have waited longer what they could have of these devices, whose nodes have these names. False: one of
 * them is not to be passed. */
bool queue_serve_older(const struct daemon *d, const char *ticket, long age_ms, const char *const *names,
                       struct placement_device *devices, unsigned count);
unsigned queue_position(const struct daemon *d, const char *ticket);
/* How long he has waited already at a daemon that is lost, in ms. */
long queue_age(const struct daemon *d, const char *ticket, const char *user);

/* ---- choose.c ---- */
/* The part of a session that has that name, and the node where it is; NULL: there is none. */
const struct told_session *request_find_part(const struct pool_view *view, const char *part,
                                             const struct told_node **where);
/* A device's name as a pattern of fnmatch(3) that nothing else matches. */
void request_make_pattern(const char *name, char *pattern, size_t size);

/* ---- refusal.c ---- */
/* r->why: why these devices, of the pool's nodes, are not what it wishes. ever: they may be once. */
void request_explain(struct request *r, const struct pool_view *view, const struct placement_device *devices,
                     unsigned count, bool ever);

/* ---- going_on.c ---- */
/* It is for a part of a running session of the same user that is to go elsewhere: what it has to have follows from what
 * it has. False, and r->why. */
bool request_take_move(struct request *r, const json_t *message);
/* It is for a session of the same user that is suspended, and goes on. False, and r->why. */
bool request_take_suspended(struct request *r, const json_t *message);
/* What a request says of devices that do not fit; NULL: nothing. */
json_t *request_take_unfit(const json_t *message);
/* Whether a device is on a node that is barred, or is one that does not fit: maps of the names of nodes, or NULL. */
bool is_out_of_question(const json_t *barred, const json_t *unfit, const char *node, unsigned device);
/* A worker of a session was lost, and this is for another in its place. */
bool request_take_loss(struct request *r, const json_t *message);

#endif
