/*
 * The PCIe tree of this machine, or of another by its hwloc XML. Host bridges are root complexes; only bridges and
 * leaves that lead to a device or a network interface are kept. Several host bridges get a common root, for whatever
 * joins them: transfers from one to another cross it.
 */
#include <errno.h>
#include <hwloc.h>
#include <stdlib.h>
#include <string.h>

#include "topology/topology.h"

struct building {
    hwloc_topology_t machine;
    struct topology *t;
    const char *wrong;
};

/* Whether it is the display adapter of a management controller or a virtual machine: it has the class of GPUs, but
 * cannot compute. */
static bool is_mere_screen(const struct hwloc_pcidev_attr_s *pci)
{
    /* ASPEED, Matrox, Huawei, Silicon Motion, Cirrus, QEMU, QXL, VMware, virtio */
    static const unsigned short vendors[] = {0x1a03, 0x102b, 0x19e5, 0x126f, 0x1013, 0x1234, 0x1b36, 0x15ad, 0x1af4};

    for (unsigned i = 0; i < sizeof(vendors) / sizeof(*vendors); i++) {
        if (pci->vendor_id == vendors[i])
            return pci->class_id >> 8 == 0x03;
    }
    return false;
}

/* Whether it is a display adapter, a co-processor, or anything that OpenCL or another library has found to compute. */
static bool is_device(hwloc_obj_t object)
{
    unsigned class = object->attr->pcidev.class_id >> 8;

    if ((class == 0x03 && !is_mere_screen(&object->attr->pcidev)) || class == 0x12 ||
        object->attr->pcidev.class_id == 0x0b40)
        return true;
    for (hwloc_obj_t child = object->io_first_child; child; child = child->next_sibling) {
        if (child->type == HWLOC_OBJ_OS_DEVICE && child->attr->osdev.type == HWLOC_OBJ_OSDEV_COPROC)
            return true;
    }
    return false;
}

static bool is_interface(hwloc_obj_t object)
{
    return object->attr->pcidev.class_id >> 8 == 0x02;
}

static bool leads_somewhere(hwloc_obj_t object)
{
    if (object->type == HWLOC_OBJ_PCI_DEVICE)
        return is_device(object) || is_interface(object);
    if (object->type != HWLOC_OBJ_BRIDGE)
        return false;
    for (hwloc_obj_t child = object->io_first_child; child; child = child->next_sibling) {
        if (leads_somewhere(child))
            return true;
    }
    return false;
}

static void name_object(hwloc_obj_t object, char *name, size_t size)
{
    const struct hwloc_pcidev_attr_s *pci = &object->attr->pcidev;

    if (object->type == HWLOC_OBJ_BRIDGE && object->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_HOST) {
        snprintf(name, size, "host%04x:%02x", (unsigned)object->attr->bridge.downstream.pci.domain,
                 object->attr->bridge.downstream.pci.secondary_bus);
        return;
    }
    if (object->type == HWLOC_OBJ_BRIDGE)
        pci = &object->attr->bridge.upstream.pci;
    snprintf(name, size, "%04x:%02x:%02x.%x", (unsigned)pci->domain, pci->bus, pci->dev, pci->func);
}

static int add(struct building *b, enum topology_kind kind, const char *name, int parent)
{
    b->wrong = b->wrong ? b->wrong : topology_add(b->t, kind, name, parent);
    return (int)b->t->node_count - 1;
}

/* Returns the NUMA node that a bridge or device is attached to, or -1 if there are several. */
static int numa_of(hwloc_topology_t machine, hwloc_obj_t object)
{
    hwloc_obj_t above = hwloc_get_non_io_ancestor_obj(machine, object);

    return above && above->nodeset && hwloc_bitmap_weight(above->nodeset) == 1 ? hwloc_bitmap_first(above->nodeset)
                                                                               : -1;
}

static void add_object(struct building *b, hwloc_obj_t object, int parent)
{
    enum topology_kind kind = TOPOLOGY_SWITCH;
    char name[32];
    int node;

    if (b->wrong || !leads_somewhere(object))
        return;
    if (object->type == HWLOC_OBJ_PCI_DEVICE)
        kind = is_device(object) ? TOPOLOGY_DEVICE : TOPOLOGY_INTERFACE;
    else if (parent < 0)
        kind = TOPOLOGY_ROOT;
    name_object(object, name, sizeof(name));
    node = add(b, kind, name, parent);
    if (node >= 0 && !b->wrong)
        b->t->nodes[node].numa = numa_of(b->machine, object);
    for (hwloc_obj_t child = object->io_first_child; child && kind != TOPOLOGY_DEVICE; child = child->next_sibling)
        add_object(b, child, node);
}

static void take_distances(hwloc_topology_t machine, struct topology *t)
{
    struct hwloc_distances_s *found[1];
    unsigned count = 1;

    if (hwloc_distances_get_by_name(machine, "NUMALatency", &count, found, 0) || !count)
        return;
    for (unsigned i = 0; i < found[0]->nbobjs; i++) {
        for (unsigned k = 0; k < found[0]->nbobjs; k++) {
            const unsigned a = found[0]->objs[i]->os_index, b = found[0]->objs[k]->os_index;
            const hwloc_uint64_t value = found[0]->values[i * found[0]->nbobjs + k];

            if (a < TOPOLOGY_MOST_NUMA && b < TOPOLOGY_MOST_NUMA && value < 256)
                t->numa_distances[a][b] = (unsigned char)value;
        }
    }
    hwloc_distances_release(machine, found[0]);
}

static const char *build(hwloc_topology_t machine, struct topology *t)
{
    struct building b = {.machine = machine, .t = t};
    hwloc_obj_t bridge = NULL;
    unsigned hosts = 0;
    int top = -1;

    while ((bridge = hwloc_get_next_bridge(machine, bridge))) {
        if (bridge->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_HOST)
            hosts += leads_somewhere(bridge);
    }
    if (hosts > 1)
        top = add(&b, TOPOLOGY_ROOT, "machine", -1);
    while ((bridge = hwloc_get_next_bridge(machine, bridge))) {
        if (bridge->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_HOST)
            add_object(&b, bridge, top);
    }
    if (!b.wrong && !t->device_count)
        return "there is no PCI device that computes";
    return b.wrong;
}

int topology_import(const char *xml, struct topology **out, char *why, size_t why_size)
{
    const char *name = xml ? xml : "this machine", *wrong;
    hwloc_topology_t machine;
    struct topology *t;

    if (hwloc_topology_init(&machine))
        return -ENOMEM;
    if ((xml && hwloc_topology_set_xml(machine, xml)) ||
        hwloc_topology_set_io_types_filter(machine, HWLOC_TYPE_FILTER_KEEP_ALL) || hwloc_topology_load(machine)) {
        snprintf(why, why_size, "%s: hwloc does not understand it", name);
        hwloc_topology_destroy(machine);
        return -EINVAL;
    }
    t = topology_new(name);
    if (!t) {
        hwloc_topology_destroy(machine);
        return -ENOMEM;
    }
    t->here = !xml;
    wrong = build(machine, t);
    take_distances(machine, t);
    hwloc_topology_destroy(machine);
    if (wrong) {
        snprintf(why, why_size, "%s: %s", name, wrong);
        free(t);
        return -EINVAL;
    }
    *out = t;
    return 0;
}

static int bind_to(hwloc_topology_t machine, hwloc_obj_t where, hwloc_membind_policy_t policy)
{
    if (hwloc_set_cpubind(machine, where->cpuset, HWLOC_CPUBIND_THREAD) ||
        hwloc_set_membind(machine, where->nodeset, policy, HWLOC_MEMBIND_THREAD | HWLOC_MEMBIND_BYNODESET))
        return -errno;
    return 0;
}

int topology_bind(int numa)
{
    hwloc_topology_t machine;
    hwloc_obj_t node;
    int error;

    if (hwloc_topology_init(&machine))
        return -ENOMEM;
    if (hwloc_topology_load(machine)) {
        hwloc_topology_destroy(machine);
        return -EIO;
    }
    node = numa < 0 ? NULL : hwloc_get_numanode_obj_by_os_index(machine, (unsigned)numa);
    if (numa < 0)
        error = bind_to(machine, hwloc_get_root_obj(machine), HWLOC_MEMBIND_DEFAULT);
    else
        error = node ? bind_to(machine, node, HWLOC_MEMBIND_BIND) : -ENOENT;
    hwloc_topology_destroy(machine);
    return error;
}
