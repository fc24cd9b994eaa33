/*
 * Control programs: lists of commands, each run by a thread of its own, which sleeps while there is nothing to do. The
 * progress thread does not run them, since a program waits for kernels and signals, for which messages and other
 * programs must not wait; and there may be no progress thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/thread.h"
#include "devcom/internal.h"

#define DEEPEST 8
#define SLICE_US 20000    /* the longest part of a wait: then the thread checks whether the program must end */
#define MOST_LAUNCHED 256 /* kernels that may be pending before the thread waits for them */

/* A command, with copies of everything that it points to. */
struct step {
    struct devcom_command command;
    struct transfer *transfers; /* of puts */
    void **values;              /* of arguments */
    unsigned partner;           /* of a loop's end: its beginning */
    int64_t times;              /* how often it has run */
    unsigned round;
};

enum state { STATE_IDLE, STATE_RUNNING, STATE_OFFERED };

struct devcom_control {
    struct devcom *d;
    cl_command_queue commands;
    long wait_us;
    unsigned count, launched;
    uint64_t queues; /* a bit for each queue that it uses for puts and gets */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum state state;
    bool quit;
    _Atomic bool cancelled;
    unsigned start, done;
    int done_rank;
    int error;
    unsigned at;
    struct step steps[];
};

/* ---- copying a list ---- */

static void *copy_of(const void *data, size_t bytes)
{
    void *copy = malloc(bytes ? bytes : 1);

    if (copy && bytes)
        memcpy(copy, data, bytes);
    return copy;
}

static bool argument_valid(const struct devcom_argument *argument)
{
    return argument->bytes && (!argument->step || (argument->value && (argument->bytes == 4 || argument->bytes == 8)));
}

static int copy_launch(struct devcom_control *c, struct step *step)
{
    struct devcom_command *command = &step->command;
    const struct devcom_argument *arguments = command->arguments;

    if (!c->commands || !command->kernel || command->dimensions < 1 || command->dimensions > 3 ||
        (command->count && !arguments)) {
        command->kernel = NULL; /* so that the unretained kernel is not released */
        return -EINVAL;
    }
    clRetainKernel(command->kernel);
    command->arguments = copy_of(arguments, command->count * sizeof(*arguments));
    step->values = calloc(command->count + 1, sizeof(*step->values));
    if (!command->arguments || !step->values)
        return -ENOMEM;
    for (unsigned i = 0; i < command->count; i++) {
        if (!argument_valid(&arguments[i]))
            return -EINVAL;
        if (arguments[i].value && !(step->values[i] = copy_of(arguments[i].value, arguments[i].bytes)))
            return -ENOMEM;
    }
    return 0;
}

static int copy_puts(struct devcom_control *c, struct step *step)
{
    struct devcom_command *command = &step->command;
    const struct devcom_put *puts = command->puts;
    int error = 0;

    command->puts = NULL;
    if (!command->count || !puts || command->queue >= c->d->o.queues)
        return -EINVAL;
    command->puts = copy_of(puts, command->count * sizeof(*puts));
    step->transfers = calloc(command->count, sizeof(*step->transfers));
    if (!command->puts || !step->transfers)
        return -ENOMEM;
    for (unsigned i = 0; i < command->count && !error; i++)
        error = transfer_check(c->d, &puts[i], command->queue, &step->transfers[i]);
    c->queues |= (uint64_t)1 << command->queue;
    return error;
}

static int copy_step(struct devcom_control *c, struct step *step, const struct devcom_command *command)
{
    step->command = *command;
    switch (command->kind) {
    case DEVCOM_DO_LAUNCH:
        return copy_launch(c, step);
    case DEVCOM_DO_PUT:
    case DEVCOM_DO_GET:
        return copy_puts(c, step);
    case DEVCOM_DO_QUIET:
        return command->queue < c->d->o.queues ? 0 : -EINVAL;
    case DEVCOM_DO_WAIT:
    case DEVCOM_DO_UNTIL:
        return command->signal < c->d->o.signals && condition_valid(command->condition) ? 0 : -EINVAL;
    case DEVCOM_DO_FINISH:
    case DEVCOM_DO_REPEAT:
    case DEVCOM_DO_END:
        return 0;
    }
    return -EINVAL;
}

static bool begins_loop(const struct step *step)
{
    return step->command.kind == DEVCOM_DO_REPEAT || step->command.kind == DEVCOM_DO_UNTIL;
}

static int match_loops(struct devcom_control *c)
{
    unsigned open[DEEPEST], depth = 0;

    for (unsigned i = 0; i < c->count; i++) {
        if (begins_loop(&c->steps[i])) {
            if (depth == DEEPEST)
                return -EINVAL;
            open[depth++] = i;
        } else if (c->steps[i].command.kind == DEVCOM_DO_END) {
            if (!depth)
                return -EINVAL;
            c->steps[i].partner = open[--depth];
        }
    }
    return depth ? -EINVAL : 0;
}

static void step_free(struct step *step)
{
    struct devcom_command *command = &step->command;

    if (command->kind == DEVCOM_DO_LAUNCH && command->kernel) {
        for (unsigned i = 0; i < command->count && step->values; i++)
            free(step->values[i]);
        clReleaseKernel(command->kernel);
        free((void *)command->arguments);
    } else if (command->kind == DEVCOM_DO_PUT || command->kind == DEVCOM_DO_GET) {
        free((void *)command->puts);
    }
    free(step->values);
    free(step->transfers);
}

/* ---- running ---- */

/* Waits for the completion of puts, or for a signal. Returns -ETIME after wait_us. */
static int wait_for(struct devcom_control *c, const struct devcom_command *command, int64_t value)
{
    long since = clock_us();

    for (;;) {
        long waited = clock_us() - since, left = c->wait_us < 0 ? SLICE_US : c->wait_us - waited;
        long slice = left < 0 ? 0 : left < SLICE_US ? left : SLICE_US;
        int error = command->kind == DEVCOM_DO_QUIET
                        ? devcom_quiet(c->d, command->queue, slice)
                        : signal_wait_any(c->d, &c->d->waits, command->signal, command->condition, value, slice, NULL);

        if (error != -ETIMEDOUT)
            return error;
        if (atomic_load(&c->cancelled))
            return -ECANCELED;
        if (board_any_lost(c->d))
            return -ECONNRESET;
        if (left <= 0)
            return -ETIME;
    }
}

static int quiet(struct devcom_control *c, unsigned queue)
{
    struct devcom_command command = {.kind = DEVCOM_DO_QUIET, .queue = queue};

    return wait_for(c, &command, 0);
}

static int finish(struct devcom_control *c)
{
    c->launched = 0;
    return c->commands && clFinish(c->commands) ? -EIO : 0;
}

static int set_argument(cl_kernel kernel, const struct devcom_argument *argument, const void *value, int64_t times)
{
    int64_t number = 0;

    if (argument->step) {
        if (argument->bytes == 4)
            number = *(const int32_t *)value;
        else
            memcpy(&number, value, sizeof(number));
        number += times * argument->step; /* its low half is the integer of 4 bytes */
        value = &number;
    }
    return clSetKernelArg(kernel, argument->index, argument->bytes, value) ? -EIO : 0;
}

static int launch(struct devcom_control *c, struct step *step)
{
    const struct devcom_command *command = &step->command;
    int error = 0;

    for (unsigned i = 0; i < command->count && !error; i++)
        error = set_argument(command->kernel, &command->arguments[i], step->values[i], step->times);
    if (error)
        return error;
    if (clEnqueueNDRangeKernel(c->commands, command->kernel, command->dimensions, command->offset, command->global,
                               command->local[0] ? command->local : NULL, 0, NULL, NULL) ||
        clFlush(c->commands))
        return -EIO;
    return ++c->launched < MOST_LAUNCHED ? 0 : finish(c);
}

/* Starts puts or gets. If the queue is full, it waits for its completion, and starts the others. */
static int put_all(struct devcom_control *c, struct step *step)
{
    const struct devcom_command *command = &step->command;
    unsigned done = 0;
    int error = 0;

    for (unsigned i = 0; i < command->count; i++)
        step->transfers[i].value = command->puts[i].value + step->times * command->step;
    while (done < command->count && !error) {
        unsigned more = 0;

        if (command->kind == DEVCOM_DO_PUT)
            error = put_checked(c->d, step->transfers + done, command->count - done, &more);
        else
            error = devcom_get(c->d, command->puts + done, command->count - done, command->queue, &more);
        done += more;
        if (error == -EAGAIN)
            error = quiet(c, command->queue);
    }
    return error;
}

static bool loop_ends(struct devcom_control *c, struct step *loop)
{
    const struct devcom_command *command = &loop->command;

    loop->round++;
    if (command->count && loop->round >= command->count)
        return true;
    return command->kind == DEVCOM_DO_UNTIL &&
           !signal_wait_any(c->d, &c->d->waits, command->signal, command->condition, command->value, DEVCOM_TEST, NULL);
}

/* Ends a round of a loop. Sets *next if there is another round. */
static int end_round(struct devcom_control *c, struct step *end, unsigned *next)
{
    if (!loop_ends(c, &c->steps[end->partner]))
        *next = end->partner + 1;
    return board_any_lost(c->d) ? -ECONNRESET : 0;
}

/* Runs a command. *next is the index of the next command, which loops change. */
static int run_step(struct devcom_control *c, struct step *step, unsigned *next)
{
    switch (step->command.kind) {
    case DEVCOM_DO_LAUNCH:
        return launch(c, step);
    case DEVCOM_DO_FINISH:
        return finish(c);
    case DEVCOM_DO_PUT:
    case DEVCOM_DO_GET:
        return put_all(c, step);
    case DEVCOM_DO_QUIET:
    case DEVCOM_DO_WAIT:
        return wait_for(c, &step->command, step->command.value + step->times * step->command.step);
    case DEVCOM_DO_REPEAT:
    case DEVCOM_DO_UNTIL:
        step->round = 0;
        return 0;
    case DEVCOM_DO_END:
        return end_round(c, step, next);
    }
    return -EINVAL;
}

/* Waits until everything that the program has put has taken effect. */
static int settle(struct devcom_control *c)
{
    int error = 0;

    for (unsigned queue = 0; queue < c->d->o.queues && !error; queue++) {
        if (c->queues >> queue & 1)
            error = quiet(c, queue);
    }
    return error;
}

static int run_program(struct devcom_control *c, unsigned *at)
{
    int error = 0, finished;
    unsigned i = 0;

    for (unsigned j = 0; j < c->count; j++)
        c->steps[j].times = 0;
    while (i < c->count && !error) {
        struct step *step = &c->steps[i];
        unsigned next = i + 1;

        error = atomic_load(&c->cancelled) ? -ECANCELED : run_step(c, step, &next);
        step->times++;
        i = error ? i : next;
    }
    finished = finish(c);
    error = error ? error : finished;
    error = error ? error : settle(c);
    *at = i;
    /* if a rank is lost, another rank that has ended because of that may have deleted its segments */
    return error == -ENOENT && neighbours_any_lost_now(&c->d->neighbours) ? -ECONNRESET : error;
}

/* Runs the program whenever its signal is set, until it is cancelled, or a rank is lost. */
static int serve(struct devcom_control *c, unsigned *at)
{
    struct devcom_command start = {
        .kind = DEVCOM_DO_WAIT, .signal = c->start, .condition = DEVCOM_NE}; /* waited for without limit */
    long wait_us = c->wait_us;
    int64_t runs = 0;

    for (;;) {
        int error;

        c->wait_us = DEVCOM_BLOCK;
        error = wait_for(c, &start, 0);
        c->wait_us = wait_us;
        if (error)
            return error;
        devcom_notify_reset(c->d, c->start, NULL);
        error = run_program(c, at);
        runs += !error;
        notify_own(c->d, c->done_rank, c->done, DEVCOM_SIGNAL_SET, error ? error : runs);
        if (error == -ECANCELED || error == -ECONNRESET)
            return error;
    }
}

static void *control_run(void *argument)
{
    struct devcom_control *c = argument;

    pthread_mutex_lock(&c->lock);
    while (!c->quit) {
        bool offered = c->state == STATE_OFFERED;
        unsigned at = 0;
        int error;

        if (c->state == STATE_IDLE) {
            pthread_cond_wait(&c->changed, &c->lock);
            continue;
        }
        pthread_mutex_unlock(&c->lock);
        error = offered ? serve(c, &at) : run_program(c, &at);
        pthread_mutex_lock(&c->lock);
        c->error = error;
        c->at = at;
        c->state = STATE_IDLE;
        pthread_cond_broadcast(&c->changed);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* ---- the calls ---- */

static void control_free(struct devcom_control *c)
{
    for (unsigned i = 0; i < c->count; i++)
        step_free(&c->steps[i]);
    if (c->commands)
        clReleaseCommandQueue(c->commands);
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

static void control_initialise(struct devcom_control *c)
{
    pthread_condattr_t attributes;

    pthread_mutex_init(&c->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&c->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    if (c->commands)
        clRetainCommandQueue(c->commands);
}

int devcom_control_create(struct devcom *d, cl_command_queue commands, const struct devcom_command *list,
                          unsigned count, long wait_us, struct devcom_control **out)
{
    struct devcom_control *c;
    int error = 0;

    if (!d || !count || !list || !out)
        return -EINVAL;
    c = calloc(1, sizeof(*c) + count * sizeof(*c->steps));
    if (!c)
        return -ENOMEM;
    *c = (struct devcom_control){.d = d, .commands = commands, .wait_us = wait_us};
    control_initialise(c);
    for (; c->count < count && !error; c->count++)
        error = copy_step(c, &c->steps[c->count], &list[c->count]);
    error = error ? error : match_loops(c);
    if (!error && thread_start(&c->thread, control_run, c))
        error = -EAGAIN;
    if (error) {
        control_free(c);
        return error;
    }
    *out = c;
    return 0;
}

static int begin(struct devcom_control *c, enum state state)
{
    if (c->state != STATE_IDLE)
        return -EBUSY;
    atomic_store(&c->cancelled, false);
    c->error = 0;
    c->state = state;
    pthread_cond_broadcast(&c->changed);
    return 0;
}

int devcom_control_start(struct devcom_control *c)
{
    int error;

    if (!c)
        return -EINVAL;
    pthread_mutex_lock(&c->lock);
    error = begin(c, STATE_RUNNING);
    pthread_mutex_unlock(&c->lock);
    return error;
}

int devcom_control_offer(struct devcom_control *c, unsigned start, int rank, unsigned done)
{
    int error;

    if (!c || !rank_valid(c->d, rank) || start >= c->d->o.signals || done >= c->d->o.signals)
        return -EINVAL;
    pthread_mutex_lock(&c->lock);
    error = begin(c, STATE_OFFERED);
    if (!error) {
        c->start = start;
        c->done = done;
        c->done_rank = rank;
    }
    pthread_mutex_unlock(&c->lock);
    return error;
}

int devcom_control_wait(struct devcom_control *c, long timeout_us, unsigned *at)
{
    struct timespec until;
    int error = 0;

    if (!c)
        return -EINVAL;
    clock_gettime(CLOCK_MONOTONIC, &until);
    if (timeout_us > 0) {
        until.tv_sec += timeout_us / 1000000 + (until.tv_nsec + timeout_us % 1000000 * 1000) / 1000000000;
        until.tv_nsec = (until.tv_nsec + timeout_us % 1000000 * 1000) % 1000000000;
    }
    pthread_mutex_lock(&c->lock);
    while (c->state != STATE_IDLE && !error)
        error = timeout_us < 0 ? pthread_cond_wait(&c->changed, &c->lock)
                               : pthread_cond_timedwait(&c->changed, &c->lock, &until);
    error = c->state == STATE_IDLE ? c->error : -ETIMEDOUT;
    if (at && c->state == STATE_IDLE)
        *at = c->at;
    pthread_mutex_unlock(&c->lock);
    return error;
}

void devcom_control_cancel(struct devcom_control *c)
{
    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    if (c->state != STATE_IDLE)
        atomic_store(&c->cancelled, true);
    pthread_mutex_unlock(&c->lock);
}

void devcom_control_destroy(struct devcom_control *c)
{
    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    c->quit = true;
    atomic_store(&c->cancelled, true);
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    pthread_join(c->thread, NULL);
    control_free(c);
}
