/*
 * The executor runs the commands of one session on the native OpenCL. It has no transport of its own: its notes and
 * replies, and the bulk data that it moves, go through its host (struct executor_host).
 */
#ifndef VOCL_EXECUTOR_EXECUTOR_H
#define VOCL_EXECUTOR_EXECUTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct executor;

/* Notes about the session's time slice on a device that it shares. A device is given by its ordinal among the
 * session's. */
enum slice_note {
    SLICE_WANTED,  /* from the executor: launches are waiting */
    SLICE_OVER,    /* nothing of the session runs there any more; SLICE_WANTED comes before its next launch */
    SLICE_YIELDED, /* the same, and launches are already waiting */
    SLICE_FREE,    /* to the executor: it need not ask */
    SLICE_ASK,     /* it has to ask */
    SLICE_YOURS,
    SLICE_RECALLED
};

/* Stands for the host's memory in the place of a device's ordinal. */
#define EXECUTOR_HOST (~0u)

/* Data that move between two devices, given by their ordinals among the session's, or from one to the host. */
struct arbitration {
    unsigned source, target;
    uint64_t bytes;
    void (*go)(struct arbitration *move); /* called when they may move */
    void *host;                           /* for the host's use */
};

/* Which new memory is filled with zeros: none, that of devices with memory of their own, or all. */
enum executor_scrub { EXECUTOR_SCRUB_NONE, EXECUTOR_SCRUB_OWN, EXECUTOR_SCRUB_ALL };

struct executor_host {
    void *owner;
    /* Sends one note or reply, which is copied. */
    void (*send)(void *owner, const void *command, size_t length);
    /* Sends one command, which is copied, to another worker. Returns a negative errno if that worker is gone. */
    int (*send_peer)(void *owner, unsigned peer, const void *command, size_t length);
    /* As transport_give() and transport_take(); peer 0 is the application. */
    int (*give)(void *owner, unsigned peer, uint32_t tag, const void *memory, size_t length, void (*done)(void *, int),
                void *argument);
    int (*take)(void *owner, unsigned peer, uint32_t tag, void *memory, size_t length, void (*done)(void *, int),
                void *argument);
    /* Called when commands have finished, before the application is told: sends what they printed. */
    void (*collect)(void *owner);
    /* There is work for executor_poll(). Called from any thread. */
    void (*wake)(void *owner);
    /* Sends a note about a time slice: see executor_slice(). NULL if launches are not counted and devices not
     * shared. */
    void (*slice)(void *owner, unsigned ordinal, enum slice_note note);
    /* The session has this device (a cl_device_id), with this ordinal and this number on the node. NULL, as are the
     * next four, if it does not matter where devices are. */
    void (*device)(void *owner, unsigned ordinal, unsigned number, void *device);
    /* devices_known: those were all for now; returns whether it may matter when data move between them or to the
     * host. moves: whether it does from source to target. */
    bool (*devices_known)(void *owner);
    bool (*moves)(void *owner, unsigned source, unsigned target);
    /* Data are ready to move; go() is called later, when they may. Returns nonzero if they need not wait. */
    int (*move)(void *owner, struct arbitration *move);
    /* The data have been moved, or will not be. */
    void (*moved)(void *owner, struct arbitration *move);
    unsigned members, own; /* members of the session, the application included; this one's number */
    bool same_process;     /* the application is in this process and has the same memory */
    bool may_come_again;   /* the application replaces lost workers, and the new ones send what those were to send */
    bool zero_copy;        /* map buffers rather than stage, where device and host share memory */
    uint64_t devices;      /* which of the node's devices the session has, a bit each; 0: all */
    uint64_t memory;       /* bytes of memory objects that the session may have; 0: no limit */
    enum executor_scrub scrub;
    unsigned pipeline; /* how many chunks of one transfer are staged at a time */
};

/* Loads this machine's drivers without calling them, for processes that are copied before they use one. */
void executor_load_drivers(void);
/* Returns 0 or a negative errno. */
int executor_open(const struct executor_host *host, struct executor **out);
/*
 * Runs a frame of commands, which is copied if it has to wait. Returns -EBADMSG if it is malformed or breaks a rule (an
 * object that does not exist, a number in use): the session is then to be ended.
 */
int executor_run(struct executor *executor, const void *frame, size_t length);
/* The same for a frame of another worker, to which the connection is then to be given up. */
int executor_run_peer(struct executor *executor, unsigned peer, const void *frame, size_t length);
/* Another worker has joined, perhaps with the number of a lost one. */
void executor_meet(struct executor *executor, unsigned peer);
/* Another worker is gone. */
void executor_lose(struct executor *executor, unsigned peer);
/* Continues with what native callbacks and the helper thread have finished. Returns the number of jobs done,
 * -EBADMSG, or -ENOMEM. */
int executor_poll(struct executor *executor);
/* Takes a note about a time slice from the host. */
void executor_slice(struct executor *executor, unsigned ordinal, enum slice_note note);
/* Gives idle time slices back. Call it when there is nothing else to do, and again after the microseconds that it
 * returns. */
long executor_slices(struct executor *executor);
struct executor_usage {
    uint64_t launches, memory; /* all launches; bytes of memory objects now */
    uint64_t busy_us;          /* microseconds since the last call with launches on devices that need no asking */
};
void executor_usage(struct executor *executor, struct executor_usage *usage);
/* Looks for commands that failed, or ended, without a callback so far. Call it when there is nothing else to do.
 * Returns how many it found. */
int executor_check(struct executor *executor);
/* Whether the callbacks of some pending commands may come late. */
bool executor_told_late(const struct executor *executor);
/* The process ends, and native OpenCL with it: waits some seconds for running commands. */
void executor_stop(struct executor *executor);
/* Returns after how many microseconds executor_check() is due if nothing has happened for idle_us; 0: not at all. */
long executor_look_us(const struct executor *executor, long idle_us);

#endif
