/* The samples of one figure: of many rounds there is one of each. For benchmarks that use OpenCL, and others. */
#ifndef SERIES_H
#define SERIES_H

#include <stddef.h>

/* Starts as {0}; reporting frees it. */
struct series {
    double *samples;
    size_t count, space;
};

void series_add(struct series *s, double sample);
double series_median(struct series *s);

/* `name value unit`, where the value is the median. */
void series_report(struct series *s, const char *name, const char *unit);

/* The median, and on a line for people what else there is; or, if BENCH_SAMPLES is set, `samples name unit value...`.
 */
void series_spread(struct series *s, const char *name, const char *unit);

#endif
