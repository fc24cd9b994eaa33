/* How many queries of the congestion model are possible per second: the factors of 2, 4 and 8 transfers in the paper's
 * T2, and all orders of its 3D halo exchange. */
#include "bench.h"
#include "tools/topo/halo.h"
#include "topology/bus.h"

/* A 2D halo exchange of 64 MiB in a simulated node, neighbours in a random order: the time of first come first served
 * relative to that of the model's order. */
static void compare_orders(const struct topology *t)
{
    static const int steps[] = {-1, 1, 4};
    struct series series = {0};

    EACH_ROUND (round, 0, 21) {
        struct topology_transfer transfers[20];
        double ends[2][20], last[2] = {0, 0};
        unsigned count = 0;

        for (int device = 0; device < 8; device++) {
            for (int i = 0, first = rand() % 3; i < 3; i++) {
                int step = steps[(first + i) % 3], to = step == 4 ? device ^ 4 : device + step;

                if (step != 4 && (to < 0 || to > 7 || to / 4 != device / 4))
                    continue;
                transfers[count++] =
                    (struct topology_transfer){.source = (unsigned)device, .target = (unsigned)to, .bytes = 64 << 20};
            }
        }
        EXPECT(!bus_simulate(t, BUS_FIRST_COME, transfers, count, ends[0]));
        EXPECT(!bus_simulate(t, BUS_MODEL, transfers, count, ends[1]));
        for (unsigned i = 0; i < 2 * count; i++) {
            double end = ends[i / count][i % count];

            last[i / count] = end > last[i / count] ? end : last[i / count];
        }
        round_add(&round, &series, last[0] / last[1]);
    }
    series_report(&series, "topology_simulated_first_come_to_model", "");
}

int main(int count, char **words)
{
    static const unsigned targets[] = {2, 4, 6, 2, 1, 4, 4, 0};
    bool quick = count > 1 && !strcmp(words[1], "--quick");
    struct topology_transfer transfers[8];
    struct topology_halo halo;
    struct topology *t;
    char why[256], name[64];
    double factors[8], start;

    EXPECT(!topology_open("T2", &t, why, sizeof(why)));
    for (unsigned i = 0; i < 8; i++)
        transfers[i] = (struct topology_transfer){.source = i, .target = targets[i], .bytes = 1};
    for (unsigned some = 2; some <= 8; some *= 2) {
        struct series series = {0};

        EACH_ROUND (round, 0, quick ? 5 : 21) {
            start = bench_now();
            for (int i = 0; i < 1000; i++)
                EXPECT(!topology_factors(t, 0.2, transfers, some, factors, NULL));
            round_add(&round, &series, 1000 / ((bench_now() - start) / 1e9));
        }
        snprintf(name, sizeof(name), "topology_factors_of_%u", some);
        series_report(&series, name, "1/s");
    }
    start = bench_now();
    EXPECT(!topology_halo(t, 0.2, 3, &halo));
    printf("topology_halo_3d %.3g s\n", (bench_now() - start) / 1e9);
    compare_orders(t);
    free(t);
    return 0;
}
