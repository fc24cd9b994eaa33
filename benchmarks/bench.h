/*
 * Shared by the benchmarks: plain OpenCL programs, which know nothing of VOCL. They print lines of the form `name value
 * unit`, where the value is a median over rounds; lines that begin with # are for people.
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

#include "series.h"

#define BENCH_COUNT(array) (sizeof(array) / sizeof(*(array)))

/*
 * Programs in single and in double precision are compiled twice. BENCH_REALS defines `real` and `vector` for kernels: a
 * vector fills a register of 512 bits.
 */
#ifdef BENCH_DOUBLE
typedef double real;
enum { LANES = 8 };
#define BENCH_REALS "-Dreal=double -Dvector=double8 -DLANES=8 -Dvector_load=vload8 -Dvector_store=vstore8"
#define BENCH_PRECISION(single, twice) twice
#else
typedef float real;
enum { LANES = 16 };
#define BENCH_REALS "-Dreal=float -Dvector=float16 -DLANES=16 -Dvector_load=vload16 -Dvector_store=vstore16"
#define BENCH_PRECISION(single, twice) single
#endif

/* Ends the program, naming the line, unless the call returns CL_SUCCESS. */
#define CHECK(call) bench_check((call), #call, __FILE__, __LINE__)

/* Ends the program, naming the line, unless the condition holds: the time of a wrong result is worth nothing. */
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

/* Returns full, or quick if the command line said --quick. */
int bench_rounds(const struct bench *b, int full, int quick);

/* Runs over sizes from least to most, doubling each time; with --quick only that size, and with BENCH_ONCE only the
 * least. */
#define EACH_SIZE(size, b, least, quick, most)                                                                         \
    for (int size = bench_size(b, least, quick, least); size <= bench_size(b, least, quick, most); size *= 2)
int bench_size(const struct bench *b, int once, int quick, int full);

cl_program bench_program(const struct bench *b, const char *source, const char *options);
cl_kernel bench_kernel(cl_program program, const char *name);
cl_mem bench_buffer(const struct bench *b, cl_mem_flags flags, size_t size);

/* Returns memory whose pages exist already, so that no round pays for them. */
void *bench_memory(size_t size);
/* Touches so much memory and frees it again. A virtual machine gets memory from its host when it first touches it, at a
 * third of a GB/s, and returns idle memory: after this, so much is there for the next allocations. */
void bench_touch(size_t size);

/* Returns the name of a figure: `name`, the problem's size, and what is measured. */
const char *bench_name(const char *name, int size, const char *what);

/* Fills numbers with pseudo-random values between 0 and 1, the same in every run. */
void bench_fill(real *numbers, size_t count, uint32_t seed);
uint32_t bench_random(uint32_t *state);

/* Returns nanoseconds on a monotonic clock. */
double bench_now(void);

#endif
