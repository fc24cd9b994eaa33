/*
 * The executor runs the commands of one session on the native OpenCL. It owns no transport: what it has to say, and
 * the bulk data it moves, go through its host.
 */
#ifndef VOCL_EXECUTOR_EXECUTOR_H
#define VOCL_EXECUTOR_EXECUTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct executor;

/* About the session's turn on a device that it shares, by the device's ordinal among those of the session. */
enum slice_note {
    SLICE_WANTED,  /* from the executor: there are launches */
    SLICE_OVER,    /* nothing of it runs there any more, and it will say SLICE_WANTED before the next launch */
    SLICE_YIELDED, /* the same, and there are launches already */
    SLICE_FREE,    /* to it: it need not ask */
    SLICE_ASK,     /* it has to */
    SLICE_YOURS,
    SLICE_RECALLED
};

/* In a device's stead: the host's memory. */
#define EXECUTOR_HOST (~0u)

/* Data that move between two devices, by their ordinals among those of the session, or from one to the host. */
struct arbitration {
    unsigned source, target;
    uint64_t bytes;
    void (*go)(struct arbitration *move); /* they may move now */
    void *host;                           /* the host's own */
};

/* Whether new memory is filled with zeros: where devices have memory of their own, or everywhere. */
enum executor_scrub { EXECUTOR_SCRUB_NONE, EXECUTOR_SCRUB_OWN, EXECUTOR_SCRUB_ALL };

struct executor_host {
    void *owner;
    /* One note or reply; copied. */
    void (*send)(void *owner, const void *command, size_t length);
    /* One command to another worker; copied. Negative errno if it is gone. */
    int (*send_peer)(void *owner, unsigned peer, const void *command, size_t length);
    /* As transport_give() and transport_take(); peer 0 is the application. */
    int (*give)(void *owner, unsigned peer, uint32_t tag, const void *memory, size_t length, void (*done)(void *, int),
                void *argument);
    int (*take)(void *owner, unsigned peer, uint32_t tag, void *memory, size_t length, void (*done)(void *, int),
                void *argument);
    /* Commands have finished and are about to be told so: what they printed is there to be told first. */
    void (*collect)(void *owner);
    /* There is work for executor_poll(). From any thread. */
    void (*wake)(void *owner);
    /* See executor_turn(). NULL: nobody counts launches, or shares devices. */
    void (*slice)(void *owner, unsigned ordinal, enum slice_note note);
    /* The session has this device, of this ordinal and number on the node (a cl_device_id). NULL, as are the next four:
     * it does not matter where devices are. */
    void (*device)(void *owner, unsigned ordinal, unsigned number, void *device);
    /* That was all for now. Whether it may matter when data move between them, or to the host; and from here to there.
     */
    bool (*devices_known)(void *owner);
    bool (*moves)(void *owner, unsigned source, unsigned target);
    /* Data are ready to move: go() tells when, later. Not 0: they need not wait. */
    int (*move)(void *owner, struct arbitration *move);
    /* They have been moved, or will not be. */
    void (*moved)(void *owner, struct arbitration *move);
    unsigned members, own; /* of the session, the application included; which one this is */
    bool same_process;     /* as the application: its memory is this one */
    bool may_come_again;   /* the application replaces workers that are lost, and what these were to send comes then */
    bool zero_copy;        /* map buffers rather than stage, where device and host share memory */
    uint64_t devices;      /* which of the node's devices there are for the session, a bit each; 0: all */
    uint64_t memory;       /* bytes of each that it may use; 0: all */
    enum executor_scrub scrub;
    unsigned pipeline; /* how many chunks of one transfer are staged at a time */
};

/* Loads this machine's drivers and calls nothing in them: for processes that are copied before they use one. */
void executor_load_drivers(void);
/* 0 or negative errno. */
int executor_open(const struct executor_host *host, struct executor **out);
/*
 * Run a frame of commands. The frame is copied where it has to wait. -EBADMSG when it is malformed or breaks a rule
 * (an object that does not exist, a number in use): the session is then to be ended.
 */
int executor_run(struct executor *executor, const void *frame, size_t length);
/* The same for a frame of another worker, which is then to be given up. */
int executor_run_peer(struct executor *executor, unsigned peer, const void *frame, size_t length);
/* Another worker has come, perhaps with the number of one that was lost. */
void executor_meet(struct executor *executor, unsigned peer);
/* Another worker is gone. */
void executor_lose(struct executor *executor, unsigned peer);
/* Go on with what native callbacks and the helper thread have finished. The number of things done, or -EBADMSG. */
int executor_poll(struct executor *executor);
/* Whose turn it is has changed. */
void executor_slice(struct executor *executor, unsigned ordinal, enum slice_note note);
/* To be called when there is nothing else to do, and again after so many microseconds. */
long executor_slices(struct executor *executor);
struct executor_usage {
    uint64_t launches, memory; /* all launches; bytes of memory objects now */
    uint64_t busy_us;          /* since the last call: something ran on devices that need no asking */
};
void executor_usage(struct executor *executor, struct executor_usage *usage);
/* Look for commands that failed without a word, or are over and it has not been told yet; to be called when there is
 * nothing else to do. How many. */
int executor_check(struct executor *executor);
/* Whether some of them may be told of late. */
bool executor_told_late(const struct executor *executor);
/* The process ends, and native OpenCL with it: what runs is waited for, some seconds. */
void executor_stop(struct executor *executor);
/* When there has been nothing to do for idle_us microseconds, it is to be looked for after so many more. 0: there is
 * nothing to look for. */
long executor_look_us(const struct executor *executor, long idle_us);

#endif
