/*
 * vocl-kubernetes, a device plugin for Kubernetes: it offers a pool's devices to the kubelet of its node. A
 * container gets a hold of the pool (proxy/daemon/node/hold.c), and an environment with the key of that hold.
 *
 *     main.c      options, and the loop: one thread for all but the pool's state
 *     offer.c    the kubelet's questions
 *     claim.c     the claims of containers, in a file that outlasts this process
 *     holder.c    the processes that hold it: vocl-join --keep
 *     watch.c     the pool's state, read by a thread of its own
 *     kubelet.c   questions to the kubelet: registration, and which containers there still are
 *     rpc.c       gRPC (rpc.h): calls to other processes
 *     serve.c     gRPC: calls that arrive
 *
 * deviceplugin.proto and podresources.proto are the kubelet's interfaces.
 */
#ifndef VOCL_PROXY_KUBERNETES_KUBERNETES_H
#define VOCL_PROXY_KUBERNETES_KUBERNETES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "base/settings.h"
#include "pool/poolfile.h"

#define MOST_PLACES 4096                 /* that are offered */
#define MOST_CLAIMED SETTINGS_MOST_COUNT /* devices of a claim: those of a request to the pool */
#define MOST_VARIABLES 32

/* ---- main.c ---- */
struct options {
    const char *pool, *user, *resource, *type, *name, *memory;
    unsigned devices; /* how many to offer; 0: as many as the pool has */
    unsigned places;  /* how many containers may have a device at a time; 1: each has it exclusively */
    unsigned keep_seconds, poll_seconds, grace_seconds, wait_seconds;
    char *bundle, *bundle_inside; /* VOCL's files on the host, and where containers find them; or NULL */
    const char *interpose;        /* preload, icd or none */
    /* further variables for containers */
    char *names[MOST_VARIABLES], *values[MOST_VARIABLES];
    unsigned variables;
    const char *plugins, *pod_resources, *state;
};

extern struct options options;
extern struct poolfile pool;

__attribute__((format(printf, 1, 2))) void say(const char *format, ...);

/* ---- watch.c ---- */
/* The places that the pool has for this plugin's containers, and how many of them are free. */
struct watched {
    bool known; /* a daemon answers */
    unsigned places, free;
};

void watch_begin(void);
struct watched watch_look(void);

/* ---- claim.c ---- */
enum claim_state {
    CLAIM_BEGINS, /* its devices are being held */
    CLAIM_HELD,
    CLAIM_LOST /* they are not; why says why */
};

struct holder;

struct claim {
    LIST_ENTRY(claim) in;
    char job[32]; /* by which the pool knows its hold */
    unsigned ids[MOST_CLAIMED], count;
    bool used[MOST_CLAIMED]; /* a pod had the place when the kubelet last listed them */
    bool doubtful;           /* another container has got a place of it */
    bool started;            /* one of its containers has been started */
    enum claim_state state;
    char why[256];
    char pod[128]; /* "" until the kubelet says it */
    struct holder *holder;
    char **hold; /* words for vocl-join --keep: the hold's name, then PART ADDRESS of each part, NULL; or NULL */
    bool again;  /* the hold is taken over before another one is asked for */
    long began_ms, lost_ms;
    unsigned missed; /* how many times in a row the kubelet did not name it */
};

/* Reads the claims that an earlier process has left, and has their devices held. Returns 0, or a negative errno with
 * the reason in why. */
int claims_open(char *why, size_t why_size);
/* Claims these places for a container. Claims that have any of them are over, except one of which no container has
 * started: that is for the same pod, and is shared. Returns NULL if memory is exhausted. */
struct claim *claims_take(const unsigned *ids, unsigned count);
/* Returns the claim that has this place, or NULL. */
struct claim *claims_find(unsigned id);
void claim_start(struct claim *claim);
/* Tries at once to hold the devices of a claim that has lost them. */
void claim_renew(struct claim *claim);
/* Returns the devices. */
void claim_end(struct claim *claim, const char *why);
/* The kubelet says which places containers have, and the pods ("NAMESPACE/NAME"), or NULL for the others. */
void claims_compare(const char *const pods[MOST_PLACES]);
/* Notes which claim has each place. */
void claims_mark(const struct claim *of[MOST_PLACES]);
void claims_turn(void);
/* Its holder says that it is held, or not. */
void claim_held(struct claim *claim, char **hold);
void claim_lost(struct claim *claim, const char *why);

/* ---- holder.c ---- */
/* Starts a process that holds the claim's devices. Returns NULL if that fails. */
struct holder *holder_start(struct claim *claim);
/* Ends it. returns: the devices are returned at once. */
void holder_end(struct holder *holder, bool returns);
void holders_turn(void);

/* ---- kubelet.c ---- */
/* Watches the kubelet's folder. Returns 0 or a negative errno. */
int kubelet_open(void);
void kubelet_turn(void);
/* Asks the kubelet at once which containers there are. */
void kubelet_list_soon(void);

/* ---- offer.c ---- */
/* Reads the keys and the addresses, which do not change. Returns 0, or a negative errno with the reason in why. */
int offer_open(char *why, size_t why_size);
/* Serves at this socket, in place of any before. Returns 0 or a negative errno. */
int offer_serve(const char *socket);
void offer_turn(void);
/* Reads the name of a place, "vocl-N". */
bool offer_read_place(const char *name, unsigned *id);
/* Whether the kubelet listens to the list of places. */
bool offer_is_heard(void);

#endif
