/* The place of a worker's devices in the node's PCIe tree. See affinity.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"
#include "proxy/worker/affinity.h"
#include "topology/bus.h"
#include "topology/opencl.h"

#define MOST_ORDINALS 64 /* the most devices of a session */

struct affinity {
    struct topology *tree;
    struct bus *bus;
    bool tried;
    int devices[MOST_ORDINALS];
    unsigned known; /* ordinals below this one are known */
    unsigned placed;
    int numa; /* the NUMA node that threads are bound to, or -1 */
};

struct asked {
    struct bus_transfer transfer;
    struct arbitration *move;
};

struct affinity *affinity_new(void)
{
    struct affinity *affinity = calloc(1, sizeof(*affinity));

    if (affinity)
        affinity->numa = -1;
    return affinity;
}

/* Reads this machine's tree if it could contain the device. */
static void open_tree(struct affinity *affinity, bool has_address)
{
    const char *name = settings_string(SETTING_TOPOLOGY);
    char why[256] = "";

    if (affinity->tried || (!has_address && !strcmp(name, "machine")))
        return;
    affinity->tried = true;
    if (topology_open(name, &affinity->tree, why, sizeof(why))) {
        vocl_log(strcmp(name, "machine") ? LOG_ERROR : LOG_INFO, "the PCIe tree is not known: %s", why);
        affinity->tree = NULL;
        return;
    }
    affinity->bus = bus_new(affinity->tree, settings_number(SETTING_TRANSFER_ORDER) ? BUS_MODEL : BUS_FIRST_COME);
}

void affinity_device(struct affinity *affinity, unsigned ordinal, unsigned number, void *device)
{
    char address[TOPOLOGY_ADDRESS];
    bool has_address;

    if (ordinal >= MOST_ORDINALS || ordinal < affinity->known)
        return;
    has_address = topology_pci_address(device, address);
    open_tree(affinity, has_address);
    while (affinity->known <= ordinal)
        affinity->devices[affinity->known++] = -1;
    if (!affinity->tree)
        return;
    affinity->devices[ordinal] = topology_device_of(affinity->tree, has_address ? address : NULL, number);
    affinity->placed += affinity->devices[ordinal] >= 0;
    if (affinity->devices[ordinal] >= 0)
        vocl_log(LOG_INFO, "device %u is %s", number,
                 affinity->tree->nodes[affinity->tree->devices[affinity->devices[ordinal]]].name);
}

const struct topology *affinity_tree(const struct affinity *affinity)
{
    return affinity->tree;
}

int affinity_device_at(const struct affinity *affinity, unsigned ordinal)
{
    return ordinal < affinity->known ? affinity->devices[ordinal] : -1;
}

/* Returns the NUMA node that all devices are near, or -1. */
static int common_numa(const struct affinity *affinity)
{
    int numa = -1;

    for (unsigned ordinal = 0; ordinal < affinity->known; ordinal++) {
        const int device = affinity->devices[ordinal];
        const int own = device < 0 ? -1 : affinity->tree->nodes[affinity->tree->devices[device]].numa;

        if (own < 0 || (ordinal && own != numa))
            return -1;
        numa = own;
    }
    return numa;
}

static void bind_threads(struct affinity *affinity)
{
    int numa = affinity->tree ? common_numa(affinity) : -1, error;

    if (numa == affinity->numa)
        return;
    error = topology_bind(numa);
    if (error)
        vocl_log(LOG_WARN, "this worker does not run near its devices, at NUMA node %d: %s", numa, strerror(-error));
    else
        vocl_log(LOG_INFO, "this worker runs %s", numa < 0 ? "anywhere" : "near its devices");
    affinity->numa = numa;
}

bool affinity_devices_known(struct affinity *affinity)
{
    bind_threads(affinity);
    return affinity->bus && affinity->placed > 1;
}

static unsigned end_of(const struct affinity *affinity, unsigned ordinal)
{
    if (ordinal == EXECUTOR_HOST)
        return TOPOLOGY_HOST;
    return ordinal < affinity->known ? (unsigned)affinity->devices[ordinal] : (unsigned)-2;
}

bool affinity_moves(const struct affinity *affinity, unsigned source, unsigned target)
{
    const unsigned from = end_of(affinity, source), to = end_of(affinity, target);

    return affinity->bus && from != to && (source == EXECUTOR_HOST || (int)from >= 0) &&
           (target == EXECUTOR_HOST || (int)to >= 0);
}

static void say(const char *what, const struct bus_transfer *transfer)
{
    vocl_log(LOG_DEBUG, "%s: %d > %d, %.0f bytes", what, (int)transfer->source, (int)transfer->target, transfer->bytes);
}

static void go(struct bus_transfer *transfer)
{
    struct arbitration *move = ((struct asked *)transfer)->move;

    say("moves", transfer);
    move->go(move);
}

int affinity_move(struct affinity *affinity, struct arbitration *move)
{
    struct asked *asked = malloc(sizeof(*asked));
    int error;

    if (!asked)
        return -ENOMEM;
    *asked = (struct asked){.transfer = {.source = end_of(affinity, move->source),
                                         .target = end_of(affinity, move->target),
                                         .bytes = (double)move->bytes,
                                         .go = go},
                            .move = move};
    say("waits to move", &asked->transfer);
    error = bus_ask(affinity->bus, &asked->transfer);
    if (error)
        free(asked);
    move->host = error ? NULL : asked;
    return error;
}

void affinity_moved(struct affinity *affinity, struct arbitration *move)
{
    struct asked *asked = move->host;

    bus_over(affinity->bus, &asked->transfer);
    free(asked);
}

bool affinity_decide(struct affinity *affinity)
{
    return affinity->bus && bus_decide(affinity->bus, (double)clock_us() * 1e-6);
}
