/*
 * What the applications of devcom share: one program in several forms of communication, each of which is timed and has
 * to come to the result of a serial one.
 *
 *     mpi       MPI and OpenCL by hand: buffers read, MPI, buffers written: what people write today
 *     hybrid    the host starts kernels, puts between segments, and waits for signals (chapter 4 of the dissertation)
 *     stream    puts and waits are commands of one in-order queue; the host waits at the end only (section 5.8.2)
 *     control   a list of kernels, puts and waits runs by itself until its end; the host has started it (section 5.8.3)
 *     kernel    one work-group computes all steps, puts, and waits itself (section 5.8.1)
 *     ggas      kernels store into the memory of others (chapter 6); where all ranks share memory
 *
 * Figures are lines `name value unit`, by the first rank: LABEL_FORM_step, the time of a step in us; _cpu, the
 * processor time of all processes in s; _client, that of the threads that called, in s; all of one run, medians over
 * rounds.
 */
#ifndef DEVCOM_APP_H
#define DEVCOM_APP_H

#include <CL/cl.h>
#include <devcom.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A function that kernels and the serial program both have: C, and its text for OpenCL C as NAME. */
#define APP_BOTH(NAME, ...) __VA_ARGS__ static const char NAME[] = #__VA_ARGS__ "\n";

enum { APP_SEGMENT };

struct app_option {
    const char *name; /* "--rows" */
    unsigned *value;  /* at least 1 */
};

struct app_form {
    const char *name;
    void (*run)(void);
    bool shared; /* only where all ranks share memory */
};

struct app_problem {
    const char *name;
    unsigned signals;         /* from 0 on: 0 before each run */
    unsigned long operations; /* updates, ... of all ranks in a step; 0: of no interest */
    void (*fill)(void);       /* the same start for all */
    uint64_t (*sum)(void);    /* app_mix() of this rank's part of the result */
    uint64_t (*serial)(void); /* of the whole result, by the first rank; NULL: the first form's holds */
};

/* What app_open() finds, and the options that all have. */
extern struct app {
    struct devcom *d;
    int rank, size;
    bool shared; /* memory, by all ranks */
    unsigned steps;
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    struct devcom_endpoint *endpoint;
    cl_program program;
} app;

/* Ends all ranks unless error is 0. */
void app_check(int error, const char *what);

/*
 * MPI, devcom and a device. words: --form NAME (all), --steps N (so many as app.steps says before), --rounds N (1),
 * --label NAME (the problem's) and the options, whose names end with NULL.
 */
void app_open(int count, char **words, const struct app_option *options);
/* The kernels, once there are segments. Several texts, which end with NULL. */
void app_program(const char *const *texts);
cl_kernel app_kernel(const char *name);
void app_argument(cl_kernel kernel, unsigned index, size_t bytes, const void *value);
/* The application's segment: device memory, as global address space where all ranks share memory. */
cl_mem app_segment(size_t bytes, void **at);
cl_mem app_buffer(size_t bytes, const void *content);
/* Put a kernel of so many work-items into the queue. */
void app_launch(cl_kernel kernel, unsigned dimensions, const size_t *global);
/* A kernel whose first argument is the endpoint, and the others. */
cl_kernel app_device_kernel(const char *name, const struct devcom_argument *arguments, unsigned count);
/* Such a one as one work-group of one work-item, which may wait for others, until its end. */
void app_run_group(const char *name, const struct devcom_argument *arguments, unsigned count);
void app_finish(void);

/*
 * Control programs. one_step writes down a step by the calls that follow, in order; it is asked for the steps 0 and 1,
 * which are repeated: signals are waited for, and given, with values that grow by 2. Written in the first run, and
 * kept.
 */
void app_run_control(void (*one_step)(unsigned step));
/* arguments that others are than they were set, in this step; 8 bytes each. */
void app_do_launch(cl_kernel kernel, unsigned dimensions, const size_t *global, const struct devcom_argument *arguments,
                   unsigned count);
void app_do_finish(void);
void app_do_puts(const struct devcom_put *puts, unsigned count);
/* Until a signal is at least so much. */
void app_do_wait(unsigned signal, unsigned value);

/* Run the forms in turns, and check and print what came of it. */
void app_run(const struct app_problem *problem, const struct app_form *forms, unsigned count);
void app_close(void);

/* A word of a result, and where it is in the whole: the sum of all says whether two results are the same bits. */
static inline uint64_t app_mix(uint64_t index, uint64_t word)
{
    uint64_t x = (word ^ (word >> 31)) * 0x9e3779b97f4a7c15u + index * 0xbf58476d1ce4e5b9u + 1;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

#endif
