/* The samples of one figure: of many rounds there is one of each. For benchmarks that use OpenCL, and others. */
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
 * The rounds that a figure is the median of, after some that warm up and whose samples do not count:
 *
 *     EACH_ROUND (round, 1, bench_rounds(b, 21, 5)) {
 *         double start = bench_now();
 *         ...
 *         round_add(&round, &series, bench_now() - start);
 *     }
 *
 * What is compared is measured in each round one after the other, so that whatever else the machine does falls on all.
 * With BENCH_ONCE set there is one round and none before it, and what is computed is small, where that is most of the
 * time: it says that the program works and nothing of time.
 */
struct round {
    int number, count; /* below 0: it warms up */
};
#define EACH_ROUND(name, warm, rounds)                                                                                 \
    for (struct round name = rounds_begin(warm, rounds); name.number < name.count; name.number++)
bool rounds_once(void);
struct round rounds_begin(int warm, int rounds);
void round_add(const struct round *round, struct series *s, double sample);

double series_median(struct series *s);

/* `name value unit`, where the value is the median. */
void series_report(struct series *s, const char *name, const char *unit);

/* The median, and on a line for people what else there is; or, if BENCH_SAMPLES is set, `samples name unit value...`.
 */
void series_spread(struct series *s, const char *name, const char *unit);

#endif
