/* A worker's devices in the node's PCIe tree. See near.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"
#include "proxy/worker/near.h"
#include "topology/bus.h"
#include "topology/opencl.h"

#define MOST_PLACES 64 /* as many as a session's devices may be told apart by */

struct near {
    struct topology *tree;
    struct bus *bus;
    bool tried;
    int devices[MOST_PLACES];
    unsigned known; /* places below this one */
    unsigned placed;
    int numa; /* what threads are bound to */
};

struct asked {
    struct bus_transfer transfer;
    struct executor_move *move;
};

struct near *near_new(void)
{
    struct near *near = calloc(1, sizeof(*near));

    if (near)
        near->numa = -1;
    return near;
}

/* This machine's tree is looked at if there is something in it to be found. */
static void open_tree(struct near *near, bool has_address)
{
    const char *name = settings_string(SETTING_TOPOLOGY);
    char why[256] = "";

    if (near->tried || (!has_address && !strcmp(name, "machine")))
        return;
    near->tried = true;
    if (topology_open(name, &near->tree, why, sizeof(why))) {
        vocl_log(strcmp(name, "machine") ? LOG_ERROR : LOG_INFO, "the PCIe tree is not known: %s", why);
        near->tree = NULL;
        return;
    }
    near->bus = bus_new(near->tree, settings_number(SETTING_TRANSFER_ORDER) ? BUS_MODEL : BUS_FIRST_COME);
}

void near_device(struct near *near, unsigned place, unsigned number, void *device)
{
    char address[TOPOLOGY_ADDRESS];
    bool has_address;

    if (place >= MOST_PLACES || place < near->known)
        return;
    has_address = topology_pci_address(device, address);
    open_tree(near, has_address);
    while (near->known <= place)
        near->devices[near->known++] = -1;
    if (!near->tree)
        return;
    near->devices[place] = topology_device_of(near->tree, has_address ? address : NULL, number);
    near->placed += near->devices[place] >= 0;
    if (near->devices[place] >= 0)
        vocl_log(LOG_INFO, "device %u is %s", number,
                 near->tree->nodes[near->tree->devices[near->devices[place]]].name);
}

const struct topology *near_tree(const struct near *near)
{
    return near->tree;
}

int near_device_at(const struct near *near, unsigned place)
{
    return place < near->known ? near->devices[place] : -1;
}

/* The one NUMA node that all devices are near, or -1. */
static int common_numa(const struct near *near)
{
    int numa = -1;

    for (unsigned place = 0; place < near->known; place++) {
        const int device = near->devices[place];
        const int own = device < 0 ? -1 : near->tree->nodes[near->tree->devices[device]].numa;

        if (own < 0 || (place && own != numa))
            return -1;
        numa = own;
    }
    return numa;
}

static void bind_threads(struct near *near)
{
    int numa = near->tree ? common_numa(near) : -1, error;

    if (numa == near->numa)
        return;
    error = topology_bind(numa);
    if (error)
        vocl_log(LOG_WARN, "this worker does not run near its devices, at NUMA node %d: %s", numa, strerror(-error));
    else
        vocl_log(LOG_INFO, "this worker runs %s", numa < 0 ? "anywhere" : "near its devices");
    near->numa = numa;
}

bool near_devices_known(struct near *near)
{
    bind_threads(near);
    return near->bus && near->placed > 1;
}

static unsigned end_of(const struct near *near, unsigned place)
{
    if (place == EXECUTOR_HOST)
        return TOPOLOGY_HOST;
    return place < near->known ? (unsigned)near->devices[place] : (unsigned)-2;
}

bool near_moves(const struct near *near, unsigned source, unsigned target)
{
    const unsigned from = end_of(near, source), to = end_of(near, target);

    return near->bus && from != to && (source == EXECUTOR_HOST || (int)from >= 0) &&
           (target == EXECUTOR_HOST || (int)to >= 0);
}

static void say(const char *what, const struct bus_transfer *transfer)
{
    vocl_log(LOG_DEBUG, "%s: %d > %d, %.0f bytes", what, (int)transfer->source, (int)transfer->target, transfer->bytes);
}

static void go(struct bus_transfer *transfer)
{
    struct executor_move *move = ((struct asked *)transfer)->move;

    say("moves", transfer);
    move->go(move);
}

int near_move(struct near *near, struct executor_move *move)
{
    struct asked *asked = malloc(sizeof(*asked));
    int error;

    if (!asked)
        return -ENOMEM;
    *asked = (struct asked){.transfer = {.source = end_of(near, move->source),
                                         .target = end_of(near, move->target),
                                         .bytes = (double)move->bytes,
                                         .go = go},
                            .move = move};
    say("waits to move", &asked->transfer);
    error = bus_ask(near->bus, &asked->transfer);
    if (error)
        free(asked);
    move->host = error ? NULL : asked;
    return error;
}

void near_moved(struct near *near, struct executor_move *move)
{
    struct asked *asked = move->host;

    bus_over(near->bus, &asked->transfer);
    free(asked);
}

bool near_decide(struct near *near)
{
    return near->bus && bus_decide(near->bus, (double)clock_us() * 1e-6);
}
