/* Placement by each policy, in pools that are made up here. */
#include <stdio.h>
#include <stdlib.h>

#include "proxy/daemon/schedule/placement.h"
#include "tests/expect.h"

#define G (UINT64_C(1) << 30)

/* Three nodes: two GPUs with 16 GiB; four with 32 GiB; two CPUs. */
static struct placement_device devices[8];
static unsigned chosen[8];
static bool ever;

static void start_afresh(void)
{
    for (unsigned i = 0; i < 8; i++)
        devices[i] = (struct placement_device){.node = i < 2   ? 0
                                                       : i < 6 ? 1
                                                               : 2,
                                               .index = i < 2   ? i
                                                        : i < 6 ? i - 2
                                                                : i - 6,
                                               .name = i < 6 ? "Quick GPU" : "Some CPU",
                                               .type = i < 6 ? "gpu" : "cpu",
                                               .memory = i < 2 ? 16 * G : 32 * G,
                                               .whole = i < 2 ? 16 * G : 32 * G,
                                               .most = 2,
                                               .usable = true};
}

static bool try(unsigned count, const char *type, uint64_t memory, bool exclusive, enum policy policy)
{
    struct placement_wish wish = {.count = count, .memory = memory, .exclusive = exclusive};

    snprintf(wish.type, sizeof(wish.type), "%s", type);
    return placement_choose(devices, 8, &wish, policy, chosen, &ever);
}

static void take(unsigned device)
{
    devices[device].sessions++;
    for (unsigned i = 0; i < 8; i++)
        devices[i].node_sessions += devices[i].node == devices[device].node;
}

/* Two nodes with eight devices each in the paper's T2, and one whose PCIe tree is not known: the chosen devices share
 * few links. */
static void topology(void)
{
    struct placement_device all[24];
    struct placement_wish wish = {.count = 1};
    struct topology *tree;
    char why[256];

    EXPECT(!topology_open("T2", &tree, why, sizeof(why)));
    for (unsigned i = 0; i < 24; i++)
        all[i] = (struct placement_device){.node = i / 8,
                                           .index = i % 8,
                                           .name = "GPU",
                                           .type = "gpu",
                                           .memory = G,
                                           .whole = G,
                                           .most = 2,
                                           .usable = true,
                                           .tree = i < 16 ? tree : NULL,
                                           .leaf = i < 16 ? (int)i % 8 : -1};
    /* The second device is at the other port of the root complex; of four devices, two are at each port. */
    wish.count = 4;
    EXPECT(placement_choose(all, 8, &wish, POLICY_PACK, chosen, &ever));
    EXPECT(chosen[0] == 0 && chosen[1] == 4 && (chosen[2] < 4) != (chosen[3] < 4));
    EXPECT(placement_choose(all, 8, &wish, POLICY_ORDER, chosen, &ever) && chosen[1] == 1);
    EXPECT(placement_choose(all + 16, 8, &wish, POLICY_PACK, chosen, &ever) && chosen[1] == 1);
    /* Devices away from those that others use are preferred, but not against the policy. */
    wish.count = 1;
    all[5].sessions = all[5].node_sessions = 1;
    EXPECT(placement_choose(all, 8, &wish, POLICY_LEAST_LOADED, chosen, &ever) && chosen[0] == 0);
    all[0].sessions = all[2].sessions = 1;
    EXPECT(placement_choose(all, 8, &wish, POLICY_LEAST_LOADED, chosen, &ever) && chosen[0] > 3 && chosen[0] != 5);
    for (unsigned i = 0; i < 8; i++)
        all[i].node_sessions = 3;
    EXPECT(placement_choose(all, 16, &wish, POLICY_PACK, chosen, &ever) && chosen[0] > 3 && chosen[0] < 8 &&
           chosen[0] != 5);
    EXPECT(placement_choose(all, 24, &wish, POLICY_SPREAD, chosen, &ever) && chosen[0] == 8);
    /* Devices near the network interface are preferred, all else being equal. */
    EXPECT(!topology_add(tree, TOPOLOGY_INTERFACE, "nic", topology_find(tree, "K2")));
    for (unsigned i = 0; i < 8; i++)
        all[i].sessions = 0;
    EXPECT(placement_choose(all, 8, &wish, POLICY_PACK, chosen, &ever) && chosen[0] == 4);
    free(tree);
}

int main(void)
{
    struct placement_wish wish = {.count = 1, .name = "quick*"};

    start_afresh();
    EXPECT(try(1, "", 0, false, POLICY_ORDER) && chosen[0] == 0);
    EXPECT(try(1, "cpu", 0, false, POLICY_ORDER) && chosen[0] == 6);
    EXPECT(try(1, "", 20 * G, false, POLICY_ORDER) && chosen[0] == 2);
    EXPECT(try(8, "", 0, false, POLICY_ORDER) && chosen[7] == 7);
    EXPECT(!try(9, "", 0, false, POLICY_ORDER) && !ever);
    EXPECT(!try(1, "gpu", 64 * G, false, POLICY_ORDER) && !ever);
    EXPECT(!try(3, "cpu", 0, false, POLICY_PACK) && !ever);
    EXPECT(!try(0, "", 0, false, POLICY_PACK) && !ever);
    EXPECT(placement_choose(devices, 8, &wish, POLICY_ORDER, chosen, &ever));

    /* pack: a node that has all devices; among such nodes, the fuller one */
    EXPECT(try(3, "gpu", 0, false, POLICY_PACK) && chosen[0] == 2 && chosen[1] == 3 && chosen[2] == 4);
    EXPECT(try(2, "gpu", 0, false, POLICY_PACK) && chosen[0] == 0 && chosen[1] == 1);
    take(3);
    EXPECT(try(1, "gpu", 0, false, POLICY_PACK) && devices[chosen[0]].node == 1);

    /* spread: one device on each node, idle nodes first */
    start_afresh();
    EXPECT(try(3, "", 0, false, POLICY_SPREAD) && chosen[0] == 0 && chosen[1] == 2 && chosen[2] == 6);
    take(0);
    EXPECT(try(1, "", 0, false, POLICY_SPREAD) && chosen[0] == 2);

    /* least-loaded: fewest sessions, then the lowest load */
    start_afresh();
    take(0);
    devices[1].load = 0.9;
    devices[2].load = 0.1;
    EXPECT(try(1, "gpu", 0, false, POLICY_LEAST_LOADED) && chosen[0] == 3);
    for (unsigned i = 2; i < 6; i++)
        take(i);
    EXPECT(try(1, "gpu", 0, false, POLICY_LEAST_LOADED) && chosen[0] == 1);

    /* exclusive: a device without sessions; a device that is taken is not free now, but will be */
    devices[0].taken = true;
    EXPECT(try(1, "gpu", 0, false, POLICY_ORDER) && chosen[0] == 1);
    devices[0].taken = false;
    EXPECT(try(1, "gpu", 0, true, POLICY_ORDER) && chosen[0] == 1);
    take(1);
    EXPECT(!try(1, "gpu", 0, true, POLICY_ORDER) && ever);
    for (unsigned i = 0; i < 6; i++)
        take(i);
    EXPECT(!try(1, "gpu", 0, false, POLICY_ORDER) && ever);
    EXPECT(try(2, "", 0, false, POLICY_PACK) && chosen[0] == 6);

    /* a node that takes no sessions, and memory that others use */
    start_afresh();
    devices[0].usable = devices[1].usable = false;
    EXPECT(try(1, "", 0, false, POLICY_ORDER) && chosen[0] == 2);
    EXPECT(!try(7, "", 0, false, POLICY_ORDER) && ever);
    devices[2].memory = 4 * G;
    EXPECT(try(1, "gpu", 20 * G, false, POLICY_ORDER) && chosen[0] == 3);
    topology();
    return 0;
}
