/*
 * Shared by the applications of devcom: one program in several forms of communication, each of which is timed and must
 * give the result of a serial program.
 *
 *     mpi       MPI and OpenCL by hand: buffers read, MPI, buffers written: the usual way today
 *     hybrid    the host starts kernels, puts between segments, and waits for signals (chapter 4 of the dissertation)
 *     stream    puts and waits are commands of one in-order queue; the host waits at the end only (section 5.8.2)
 *     control   a list of kernels, puts and waits, started by the host, runs by itself until its end (section 5.8.3)
 *     kernel    one work-group computes all steps, puts, and waits itself (section 5.8.1)
 *     ggas      kernels store into the memory of others (chapter 6); where all ranks share memory
 *
 * Rank 0 prints figures as lines `name value unit`: LABEL_FORM_step, the time of a step in us; _cpu, the processor time
 * of all processes in s; _client, that of the calling threads, in s; all of one run, medians over rounds.
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

/* A function for both kernels and the serial program: as C, and as text for OpenCL C with the name NAME. */
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
    unsigned signals;         /* how many signals, from 0 on, are set to 0 before each run */
    unsigned long operations; /* updates, ... of all ranks in a step; 0: not reported */
    void (*fill)(void);       /* the same start for all forms */
    uint64_t (*sum)(void);    /* app_mix() of this rank's part of the result */
    uint64_t (*serial)(void); /* of the whole result, by rank 0; NULL: the first form's result is taken */
};

/* Set by app_open(): devcom, the device, and the options common to all. */
extern struct app {
    struct devcom *d;
    int rank, size;
    bool shared; /* whether all ranks share memory */
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
 * Starts MPI and devcom, and opens a device. words: --form NAME (all), --steps N (default: app.steps as set before),
 * --rounds N (1), --label NAME (the problem's) and the given options, whose list ends with a NULL name.
 */
void app_open(int count, char **words, const struct app_option *options);
/* Compiles the kernels, once the segments exist, from several texts, which end with NULL. */
void app_program(const char *const *texts);
cl_kernel app_kernel(const char *name);
void app_argument(cl_kernel kernel, unsigned index, size_t bytes, const void *value);
/* Creates the application's segment in device memory, as a global address space where all ranks share memory. */
cl_mem app_segment(size_t bytes, void **at);
cl_mem app_buffer(size_t bytes, const void *content);
/* Enqueues a kernel with so many work-items. */
void app_launch(cl_kernel kernel, unsigned dimensions, const size_t *global);
/* Returns a kernel whose first argument is the endpoint, with the other arguments. */
cl_kernel app_device_kernel(const char *name, const struct devcom_argument *arguments, unsigned count);
/* Runs such a kernel as one work-group of one work-item, which may wait for other ranks, until its end. */
void app_run_group(const char *name, const struct devcom_argument *arguments, unsigned count);
void app_finish(void);

/*
 * Runs a control program. one_step writes a step by calling the functions below, in order; it is called for the steps 0
 * and 1, which are repeated, with the values of signals growing by 2. Written in the first run, and kept.
 */
void app_run_control(void (*one_step)(unsigned step));
/* arguments: those with other values in this step; at most 8 bytes each. */
void app_do_launch(cl_kernel kernel, unsigned dimensions, const size_t *global, const struct devcom_argument *arguments,
                   unsigned count);
void app_do_finish(void);
void app_do_puts(const struct devcom_put *puts, unsigned count);
/* Waits until a signal is at least value. */
void app_do_wait(unsigned signal, unsigned value);

/* Runs the forms alternately, checks their results, and prints their times. */
void app_run(const struct app_problem *problem, const struct app_form *forms, unsigned count);
void app_close(void);

/* Mixes a word of a result with its index in the whole: the sum over all words tells whether two results are equal bit
 * by bit. */
static inline uint64_t app_mix(uint64_t index, uint64_t word)
{
    uint64_t x = (word ^ (word >> 31)) * 0x9e3779b97f4a7c15u + index * 0xbf58476d1ce4e5b9u + 1;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

#endif
