/* A request for devices: what broker.c, choose.c and going_on.c share. */
#ifndef VOCL_PROXY_DAEMON_SCHEDULE_INTERNAL_H
#define VOCL_PROXY_DAEMON_SCHEDULE_INTERNAL_H

#include "base/settings.h"
#include "proxy/daemon/schedule/placement.h"
#include "proxy/daemon/schedule/schedule.h"

#define MOST_WISHED SETTINGS_MOST_COUNT /* devices of a request */

struct part {
    char id[SESSION_ID]; /* its name at the node; that of the first part is the session's */
    char node[64], address[128];
    unsigned devices[MOST_DEVICES], count;
    char name[128], type[16]; /* of its devices, as in a wish; "": they differ */
    /* PART_SILENT: no answer; it may be reserved, now or later. */
    enum { PART_ASKED, PART_GOOD, PART_REFUSED, PART_SILENT } state;
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
    /* yields_ms: since when an older request could have had what this one wants, or 0. */
    long since_ms, until_ms, yields_ms;
    char within[SESSION_ID]; /* the hold that its devices are of, by name or as "@JOB"; or "" */
    char of[SESSION_ID];     /* the existing session that it is for, or "" */
    bool one_node;           /* all devices have to be on one node */
    bool limited;            /* its user already has as much as allowed */
    struct {
        char name[64]; /* or "" */
        unsigned sessions, devices, together;
        int priority;
    } limit;         /* its user's, see struct limit */
    double ahead_ms; /* how much longer it counts as having waited */
    struct {
        char part[SESSION_ID];                 /* its name, or "" */
        char from[64];                         /* where the program runs */
        char node[64];                         /* where that part is now */
        unsigned devices[MOST_DEVICES], count; /* the devices of that part, there */
        long long device;                      /* the only device that it is to have, or -1 */
    } move;                                    /* a part of a session that moves */
    unsigned position_sent;                    /* the position in the queue, from 1, that the client was sent */
    struct part *parts;
    unsigned part_count, tries;
    bool outdated; /* a node's state was not what it had sent */
    bool granted;
    json_t *barred; /* by node: why it will never accept this user */
    json_t *unfit;  /* devices that cannot replace the session's others: proxy/launch/session.h */
    struct timer timer;
};

enum outcome { OUTCOME_WAIT, OUTCOME_TRYING, OUTCOME_NEVER };

/* Whether the request can have its devices now. If so, r->parts are those; otherwise r->why says why not. */
enum outcome request_place(struct request *r);

/* ---- broker.c ---- */
/* Excludes a node from the request, whatever is free there. */
void request_bar(struct request *r, const char *node, const char *why);

/* ---- queue.c ---- */
/* Gives the requests that have waited longer what they could have of these devices; names: of the nodes. Returns false
 * if one of them must not be passed. */
bool queue_serve_older(const struct daemon *d, const char *ticket, long age_ms, const char *const *names,
                       struct placement_device *devices, unsigned count);
unsigned queue_position(const struct daemon *d, const char *ticket);
/* Returns how long the user has already waited at a daemon that is lost, in ms. */
long queue_age(const struct daemon *d, const char *ticket, const char *user);

/* ---- choose.c ---- */
/* Returns the part of a session that has this name, and in *where its node; or NULL. */
const struct told_session *request_find_part(const struct pool_view *view, const char *part,
                                             const struct told_node **where);
/* Makes a pattern for fnmatch(3) that matches only this device name. */
void request_make_pattern(const char *name, char *pattern, size_t size);

/* ---- refusal.c ---- */
/* Sets r->why: why these devices of the pool's nodes are not suitable. ever: they may be later. */
void request_explain(struct request *r, const struct pool_view *view, const struct placement_device *devices,
                     unsigned count, bool ever);

/* ---- going_on.c ---- */
/* The request is for a part of a running session of the same user, which is to move: its wish is set from the part.
 * Returns false with the reason in r->why. */
bool request_take_move(struct request *r, const json_t *message);
/* The request is for a suspended session of the same user, which resumes. Returns false with the reason in r->why. */
bool request_take_suspended(struct request *r, const json_t *message);
/* Returns the devices that do not fit, from a request's message; NULL: none. */
json_t *request_take_unfit(const json_t *message);
/* Whether a device is on a barred node, or is one that does not fit. barred, unfit: objects by node name, or NULL. */
bool is_out_of_question(const json_t *barred, const json_t *unfit, const char *node, unsigned device);
/* The request is for a worker to replace one that a session has lost. */
bool request_take_loss(struct request *r, const json_t *message);

#endif
