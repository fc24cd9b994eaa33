/* The samples of a figure, one for each round. For all benchmarks, whether they use OpenCL or not. */
#ifndef SERIES_H
#define SERIES_H

#include <stdbool.h>
#include <stddef.h>

/* Starts as {0}; reporting frees it. */
struct series {
    double *samples;
    size_t count, space;
};

void series_add(struct series *s, double sample);

/*
 * The rounds whose median a figure is, after warm-up rounds, whose samples are not counted:
 *
 *     EACH_ROUND (round, 1, bench_rounds(b, 21, 5)) {
 *         double start = bench_now();
 *         ...
 *         round_add(&round, &series, bench_now() - start);
 *     }
 *
 * Things that are compared are measured one after the other in each round, so that other load on the machine affects
 * all of them. With BENCH_ONCE set there is one round without a warm-up, and the computation is small where it takes
 * most of the time: this shows that the program works, and nothing about times.
 */
struct round {
    int number, count; /* below 0: a warm-up round */
};
#define EACH_ROUND(name, warm, rounds)                                                                                 \
    for (struct round name = rounds_begin(warm, rounds); name.number < name.count; name.number++)
bool rounds_once(void);
struct round rounds_begin(int warm, int rounds);
void round_add(const struct round *round, struct series *s, double sample);

double series_median(struct series *s);

/* Prints `name value unit`, where the value is the median. */
void series_report(struct series *s, const char *name, const char *unit);

/* Prints the median, and the spread on a line for people; or, if BENCH_SAMPLES is set, `samples name unit value...`. */
void series_spread(struct series *s, const char *name, const char *unit);

#endif
