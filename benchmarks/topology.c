/* How often the congestion model can be asked in a second: the factors of 2, 4 and 8 transfers in the paper's T2, and
 * all orders of its 3D halo exchange. */
#include "bench.h"
#include "topology/topology.h"

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

        for (int round = 0; round < (quick ? 5 : 21); round++) {
            start = bench_now();
            for (int i = 0; i < 1000; i++)
                EXPECT(!topology_factors(t, 0.2, transfers, some, factors, NULL));
            series_add(&series, 1000 / ((bench_now() - start) / 1e9));
        }
        snprintf(name, sizeof(name), "topology_factors_of_%u", some);
        series_report(&series, name, "1/s");
    }
    start = bench_now();
    EXPECT(!topology_halo(t, 0.2, 3, &halo));
    printf("topology_halo_3d %.3g s\n", (bench_now() - start) / 1e9);
    free(t);
    return 0;
}
