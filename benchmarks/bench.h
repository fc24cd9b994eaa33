/*
 * Shared by the benchmarks: plain OpenCL programs, which know nothing of VOCL. Each prints lines of the form
 * `name value unit`, where the value is a median over rounds; lines that begin with # are for people.
 */
#ifndef BENCH_H
#define BENCH_H

#include <CL/cl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BENCH_COUNT(array) (sizeof(array) / sizeof(*(array)))

/* Ends the program, naming the line, unless the call gave CL_SUCCESS. */
#define CHECK(call) bench_check((call), #call, __FILE__, __LINE__)

/* Ends the program, naming the line, unless the condition holds: a fast wrong answer is no figure. */
#define EXPECT(condition) bench_expect((condition), #condition, __FILE__, __LINE__)

/* The first device of the first platform, with a context and a queue. */
struct bench {
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    bool quick; /* --quick: fewer rounds, the same work in each */
};

void bench_check(cl_int status, const char *call, const char *file, int line);
void bench_expect(bool holds, const char *condition, const char *file, int line);

void bench_open(struct bench *b, int count, char **words);
void bench_close(struct bench *b);

/* full, or quick if the command line said --quick. */
int bench_rounds(const struct bench *b, int full, int quick);

cl_program bench_program(const struct bench *b, const char *source, const char *options);
cl_kernel bench_kernel(cl_program program, const char *name);
cl_mem bench_buffer(const struct bench *b, cl_mem_flags flags, size_t size);

/* Memory whose pages are there, so that no round pays for them. */
void *bench_memory(size_t size);

/* Pseudo-random numbers between 0 and 1, the same in every run. */
void bench_floats_fill(float *floats, size_t count, uint32_t seed);
uint32_t bench_random(uint32_t *state);

/* Nanoseconds on a clock that only goes forward. */
double bench_now(void);

/* The samples of one figure. Starts as {0}; reporting frees it. */
struct series {
    double *samples;
    size_t count, space;
};

void series_add(struct series *s, double sample);
void series_report(struct series *s, const char *name, const char *unit);

#endif
