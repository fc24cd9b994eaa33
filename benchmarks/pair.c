#include "pair.h"

size_t pair_largest(const struct pair *p)
{
    return p->quick ? 1 << 20 : PAIR_MOST;
}

size_t pair_next(const struct pair *p, size_t bytes)
{
    static const size_t sizes[] = {8, 64, 512, 4 << 10, 32 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, PAIR_MOST};
    unsigned i = 0;

    while (sizes[i] <= bytes || sizes[i] < p->least)
        i++;
    return sizes[i];
}

int pair_rounds(const struct pair *p, size_t bytes)
{
    int rounds = bytes <= 4096 ? 2000 : bytes <= 65536 ? 500 : bytes <= 1 << 20 ? 100 : 12;

    return p->quick ? rounds / 10 + 2 : rounds;
}

void pair_report(const struct pair *p, struct series *series, const char *what, size_t bytes, const char *unit)
{
    char name[96];

    snprintf(name, sizeof(name), bytes ? "%s_%zuB" : "%s", what, bytes);
    if (p->rank == 0)
        series_report(series, name, unit);
    else
        free(series->samples);
}

void pair_half_round_trips(const struct pair *p, const struct pair_way *way)
{
    static int64_t times;

    for (size_t bytes = 0; bytes < pair_largest(p);) {
        struct series series = {0};

        bytes = pair_next(p, bytes);
        way->barrier();
        EACH_ROUND (round, 0, pair_rounds(p, bytes)) {
            double start = bench_now();

            times++;
            if (p->rank == 0)
                way->ping(bytes, times);
            way->pong(times);
            if (p->rank != 0)
                way->ping(bytes, times);
            round_add(&round, &series, (bench_now() - start) / 2000);
        }
        pair_report(p, &series, way->name, bytes, "us");
    }
}

void pair_bandwidth(const struct pair *p, const struct pair_way *way)
{
    for (size_t bytes = 64; bytes < pair_largest(p);) {
        struct series series = {0};
        char name[64];
        int rounds;

        bytes = pair_next(p, bytes);
        rounds = bytes <= 65536 ? 100 : 6;
        EACH_ROUND (round, 0, 5) {
            double start;

            way->barrier();
            start = bench_now();
            for (int j = 0; j < rounds && p->rank == 0; j++)
                way->write(bytes);
            if (p->rank == 0)
                way->written();
            else if (way->accept)
                way->accept();
            round_add(&round, &series, (double)bytes * rounds / (bench_now() - start) * 1000);
            way->barrier();
        }
        snprintf(name, sizeof(name), "%s_bandwidth", way->name);
        pair_report(p, &series, name, bytes, "MB/s");
    }
}

void pair_barrier(const struct pair *p, const struct pair_way *way)
{
    struct series series = {0};
    char name[64];

    EACH_ROUND (round, 0, p->quick ? 200 : 2000) {
        double start = bench_now();

        way->barrier();
        round_add(&round, &series, (bench_now() - start) / 1000);
    }
    snprintf(name, sizeof(name), "%s_barrier", way->name);
    pair_report(p, &series, name, 0, "us");
}
