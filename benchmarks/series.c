#include <stdio.h>
#include <stdlib.h>

#include "series.h"

void series_add(struct series *s, double sample)
{
    if (s->count == s->space) {
        s->space = s->space ? 2 * s->space : 64;
        s->samples = realloc(s->samples, s->space * sizeof(*s->samples));
        if (!s->samples) {
            fprintf(stderr, "no memory for %zu samples\n", s->space);
            exit(1);
        }
    }
    s->samples[s->count++] = sample;
}

bool rounds_once(void)
{
    return getenv("BENCH_ONCE");
}

struct round rounds_begin(int warm, int rounds)
{
    if (rounds_once())
        return (struct round){0, rounds < 1 ? rounds : 1};
    return (struct round){-warm, rounds};
}

void round_add(const struct round *round, struct series *s, double sample)
{
    if (round->number >= 0)
        series_add(s, sample);
}

static int compare(const void *first, const void *second)
{
    double a = *(const double *)first, b = *(const double *)second;
    return (a > b) - (a < b);
}

static void series_free(struct series *s)
{
    free(s->samples);
    *s = (struct series){0};
}

static void series_sort(struct series *s)
{
    if (!s->count) {
        fprintf(stderr, "no samples\n");
        exit(1);
    }
    qsort(s->samples, s->count, sizeof(*s->samples), compare);
}

double series_median(struct series *s)
{
    double median;

    series_sort(s);
    median = (s->samples[(s->count - 1) / 2] + s->samples[s->count / 2]) / 2;
    series_free(s);
    return median;
}

void series_report(struct series *s, const char *name, const char *unit)
{
    printf("%s %.6g %s\n", name, series_median(s), unit);
    fflush(stdout);
}

void series_spread(struct series *s, const char *name, const char *unit)
{
    series_sort(s);
    if (getenv("BENCH_SAMPLES")) {
        printf("samples %s %s", name, unit);
        for (size_t i = 0; i < s->count; i++)
            printf(" %.6g", s->samples[i]);
        printf("\n");
        fflush(stdout);
        series_free(s);
        return;
    }
    printf("# %zu samples: least %.6g, 90th in 100 %.6g, 99th %.6g %s\n", s->count, s->samples[0],
           s->samples[s->count * 90 / 100], s->samples[s->count * 99 / 100], unit);
    series_report(s, name, unit);
}
