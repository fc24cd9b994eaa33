/* The energy that the node's processors use: the kernel's counters of each package, which wrap around. */
#include <inttypes.h>
#include <stdio.h>

#include "proxy/daemon/node/internal.h"

#define PACKAGES (sizeof(((struct daemon *)0)->energy.last) / sizeof(uint64_t))

static bool read_counter(const struct daemon *d, unsigned package, const char *name, uint64_t *out)
{
    char path[4096];
    FILE *file;
    bool found;

    snprintf(path, sizeof(path), "%s/intel-rapl:%u/%s", d->config->powercap, package, name);
    file = fopen(path, "re");
    found = file && fscanf(file, "%" SCNu64, out) == 1;
    if (file)
        fclose(file);
    return found;
}

double energy_review(struct daemon *d)
{
    bool any = false;

    for (unsigned i = 0; i < PACKAGES; i++) {
        uint64_t now, most;

        if (!read_counter(d, i, "energy_uj", &now)) {
            d->energy.known[i] = false;
            continue;
        }
        if (d->energy.known[i] && now >= d->energy.last[i])
            d->energy.joules += (double)(now - d->energy.last[i]) / 1e6;
        else if (d->energy.known[i] && read_counter(d, i, "max_energy_range_uj", &most) && most >= d->energy.last[i])
            d->energy.joules += (double)(most - d->energy.last[i] + now) / 1e6;
        d->energy.last[i] = now;
        d->energy.known[i] = any = true;
    }
    return any ? d->energy.joules : -1;
}
