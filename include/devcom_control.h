/* Part of devcom.h: control programs. */
#ifndef VOCL_DEVCOM_CONTROL_H
#define VOCL_DEVCOM_CONTROL_H

#include <devcom_signal.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* ---- control programs (section 5.8.3: one block of a kernel that launches the others and communicates) ---- */

/*
 * A control program: a list of commands that a rank prepares once, and that a thread of the library runs. The thread
 * that starts it, on this rank or on another, is free meanwhile. It replaces the thesis' control kernel, since no
 * OpenCL lets kernels launch kernels on every device.
 */
struct devcom_control;

/* The kinds of commands. */
enum devcom_command_kind {
    DEVCOM_DO_LAUNCH = 1, /* enqueue a kernel; the next command does not wait for it */
    DEVCOM_DO_FINISH,     /* wait until all kernels so far have ended (cudaDeviceSynchronize() in the thesis) */
    DEVCOM_DO_PUT,        /* as devcom_put() */
    DEVCOM_DO_GET,        /* as devcom_get(); the data have arrived after a DEVCOM_DO_QUIET */
    DEVCOM_DO_QUIET,      /* as devcom_quiet() */
    DEVCOM_DO_WAIT,       /* as devcom_signal_wait() */
    DEVCOM_DO_REPEAT,     /* run the commands up to the matching DEVCOM_DO_END count times; 0: until cancelled */
    DEVCOM_DO_UNTIL,      /* likewise, but end after the first round at whose end the signal's condition holds */
    DEVCOM_DO_END,        /* the end of a loop */
};

/* A kernel's argument that is set before each launch. If step is not 0, the argument is an integer of 4 or 8 bytes, to
 * which step is added each time the command runs again. If step is 0, it is any argument of clSetKernelArg(). */
struct devcom_argument {
    unsigned index;
    size_t bytes;
    const void *value; /* NULL: local memory of that many bytes */
    int64_t step;
};

/* A command of a control program. */
struct devcom_command {
    enum devcom_command_kind kind;
    /* DEVCOM_DO_LAUNCH */
    cl_kernel kernel; /* retained. Its other arguments must be set before, and not be changed while the program runs */
    unsigned dimensions;
    size_t offset[3], global[3], local[3]; /* local[0] 0: the device chooses */
    const struct devcom_argument *arguments;
    /* number of arguments, puts or rounds */
    unsigned count;
    /* DEVCOM_DO_PUT, DEVCOM_DO_GET, DEVCOM_DO_QUIET */
    const struct devcom_put *puts;
    unsigned queue;
    /* DEVCOM_DO_WAIT, DEVCOM_DO_UNTIL */
    unsigned signal;
    enum devcom_condition condition;
    int64_t value;
    int64_t step; /* added to value, or to the puts' values, each time the command runs again; not DEVCOM_DO_UNTIL */
};

/*
 * Prepares a control program. The list and everything it points to are checked and copied. Its kernels must not wait
 * for signals or other kernels.
 *
 * commands     the in-order command queue of its kernels (retained); NULL if there are none
 * list, count  the commands; loops nest up to 8 deep
 * wait_us      how long one command may wait, in microseconds; DEVCOM_BLOCK: without limit
 * out          receives the program
 *
 * Returns 0; -EINVAL: the list is invalid (a loop without an end, kernels without a command queue, ...), or as
 * devcom_put(); -ENOMEM; -EAGAIN: no thread.
 */
int devcom_control_create(struct devcom *d, cl_command_queue commands, const struct devcom_command *list,
                          unsigned count, long wait_us, struct devcom_control **out);
/*
 * Starts a control program, and returns at once. The program has ended when its kernels have ended and its puts have
 * taken effect. The queues that it uses for puts must not be used otherwise meanwhile.
 *
 * Returns 0; -EBUSY: the program runs, or is offered.
 */
int devcom_control_start(struct devcom_control *c);
/*
 * Lets other ranks start a control program by devcom_signal_op(): from now on it runs whenever the signal start of this
 * rank is not 0. The signal is set to 0 first. At the end of each run the signal done of a rank is SET to the number of
 * runs that have succeeded, or to the negative errno of this run. The offer ends with the loss of a rank,
 * devcom_control_cancel() or devcom_control_destroy().
 *
 * start       a signal of this rank
 * rank, done  a rank, and a signal of that rank
 *
 * Returns 0; -EINVAL: no such rank or signal; -EBUSY: the program runs, or is offered.
 */
int devcom_control_offer(struct devcom_control *c, unsigned start, int rank, unsigned done);
/*
 * Waits until a control program neither runs nor is offered.
 *
 * timeout_us  the time-out of this call
 * at          receives the index of the command that failed, or the number of commands; may be NULL
 *
 * Returns 0 or the error that ended the program; -ECANCELED: the program was cancelled; -ECONNRESET: a rank is lost;
 * -EIO: OpenCL failed; -ETIME: a command waited longer than wait_us; -ETIMEDOUT: this call's time-out; or an error as
 * devcom_put() or devcom_quiet().
 */
int devcom_control_wait(struct devcom_control *c, long timeout_us, unsigned *at);
/* Ends a control program before its next command, or during a wait, but not during a kernel. Returns at once. */
void devcom_control_cancel(struct devcom_control *c);
/* Cancels a control program, waits for its end, and frees it. Must be called before devcom_finalize(). */
void devcom_control_destroy(struct devcom_control *c);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
