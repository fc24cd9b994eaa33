/*
 * The identity of devices: queries by which programs tell devices apart, or find a device again in another platform or
 * API. Drivers answer them for one host: some make the UUID from the model of the device, and the GPUs of equal hosts
 * have the same PCI addresses. So the answers of a device on another host are mixed with the name of its node. Those of
 * a device on the program's own host stay, since the program may look for it in its native platform, in Vulkan or CUDA.
 *
 * The answers are mixed once, when the program learns of the device, so they stay the same wherever the session moves.
 */
#include <ctype.h>
#include <stdio.h>
#include <strings.h>
#include <unistd.h>

#include "base/uuid.h"
#include "libvocl/internal.h"

_Static_assert(UUID_BYTES == CL_UUID_SIZE_KHR && sizeof(((struct identity *)0)->node) == UUID_BYTES, "UUIDs");

bool identity_has(cl_device_info param)
{
    switch (param) {
    case CL_DEVICE_UUID_KHR:
    case CL_DRIVER_UUID_KHR:
    case CL_DEVICE_LUID_KHR:
    case CL_DEVICE_LUID_VALID_KHR:
    case CL_DEVICE_NODE_MASK_KHR:
    case CL_DEVICE_PCI_BUS_INFO_KHR:
    case CL_DEVICE_TOPOLOGY_AMD:
    case CL_DEVICE_PCI_BUS_ID_NV:
    case CL_DEVICE_PCI_SLOT_ID_NV:
    case CL_DEVICE_PCI_DOMAIN_ID_NV:
    case WIRE_INFO_TWIN:
        return true;
    }
    return false;
}

/* ---- which device ---- */

static void identity_find(cl_device_id device)
{
    struct identity *identity = &device->identity;
    char own[65] = "", name[sizeof(device->node->host)];
    size_t length = 0;

    gethostname(own, sizeof(own) - 1);
    identity->away = !device->node->in_process && strcasecmp(own, device->node->host) != 0;
    for (; device->node->host[length]; length++)
        name[length] = (char)tolower((unsigned char)device->node->host[length]);
    uuid_of_name(uuid_dns, name, length, identity->node);
    device_number(device, WIRE_INFO_TWIN, &identity->twin, sizeof(identity->twin));
}

/* ---- its answers ---- */

/* Returns the answer, which may be changed, or NULL if the device has none of that size. */
static void *answer_of(cl_device_id device, cl_device_info param, size_t size)
{
    uint32_t length;
    const void *found = info_find(&device->infos, param, &length);

    return found && length == size ? device->infos.bytes + ((const uint8_t *)found - device->infos.bytes) : NULL;
}

/* The name, in the space of the node's UUID, is the driver's UUID, followed by the number of a twin. */
static void mix_uuid(cl_device_id device)
{
    uint8_t *uuid = answer_of(device, CL_DEVICE_UUID_KHR, CL_UUID_SIZE_KHR), name[CL_UUID_SIZE_KHR + 16];
    size_t length = CL_UUID_SIZE_KHR;

    if (!uuid)
        return;
    memcpy(name, uuid, length);
    if (device->identity.twin)
        length += (size_t)snprintf((char *)name + length, sizeof(name) - length, "%u", device->identity.twin);
    uuid_of_name(device->identity.node, name, length, uuid);
}

/* What the node's addresses are combined with by exclusive or, so that they stay apart. Linux has no domain with the
 * highest bit. Queries without the domain need a difference in other bits: the bus stays, by which an administrator
 * knows the card, and the function, which is 0 for nearly all cards, becomes another. */
struct mask {
    cl_uint domain;
    uint8_t slot; /* device and function */
};

static struct mask mask_of(const uint8_t node[UUID_BYTES])
{
    struct mask mask;

    memcpy(&mask.domain, node, sizeof(mask.domain));
    mask.domain |= 0x80000000;
    mask.slot = node[UUID_BYTES - 1];
    if (!(mask.slot & 7))
        mask.slot |= 1;
    return mask;
}

static void mix_addresses(cl_device_id device)
{
    const struct mask mask = mask_of(device->identity.node);
    cl_device_pci_bus_info_khr *khronos = answer_of(device, CL_DEVICE_PCI_BUS_INFO_KHR, sizeof(*khronos)), address;
    cl_device_topology_amd *amd = answer_of(device, CL_DEVICE_TOPOLOGY_AMD, sizeof(*amd)), topology;
    void *slot = answer_of(device, CL_DEVICE_PCI_SLOT_ID_NV, sizeof(cl_uint)),
         *domain = answer_of(device, CL_DEVICE_PCI_DOMAIN_ID_NV, sizeof(cl_uint));
    cl_uint number;

    if (khronos) {
        memcpy(&address, khronos, sizeof(address));
        address.pci_domain ^= mask.domain;
        address.pci_device ^= mask.slot >> 3;
        address.pci_function ^= mask.slot & 7;
        memcpy(khronos, &address, sizeof(address));
    }
    if (amd) {
        memcpy(&topology, amd, sizeof(topology));
        topology.pcie.device = (cl_char)(topology.pcie.device ^ mask.slot >> 3);
        topology.pcie.function = (cl_char)(topology.pcie.function ^ (mask.slot & 7));
        if (topology.raw.type == CL_DEVICE_TOPOLOGY_TYPE_PCIE_AMD)
            memcpy(amd, &topology, sizeof(topology));
    }
    if (slot) {
        memcpy(&number, slot, sizeof(number));
        number ^= mask.slot;
        memcpy(slot, &number, sizeof(number));
    }
    if (domain) {
        memcpy(&number, domain, sizeof(number));
        number ^= mask.domain;
        memcpy(domain, &number, sizeof(number));
    }
}

static void clear(cl_device_id device, cl_device_info param, size_t size)
{
    void *answer = answer_of(device, param, size);

    if (answer)
        memset(answer, 0, size);
}

/* A LUID is of one running system, so the program's has no such device. */
static void clear_luid(cl_device_id device)
{
    clear(device, CL_DEVICE_LUID_VALID_KHR, sizeof(cl_bool));
    clear(device, CL_DEVICE_LUID_KHR, CL_LUID_SIZE_KHR);
    clear(device, CL_DEVICE_NODE_MASK_KHR, sizeof(cl_uint));
}

/* A part is where its device is, or was before the session moved. */
static void take_addresses(cl_device_id part)
{
    static const cl_device_info params[] = {CL_DEVICE_PCI_BUS_INFO_KHR, CL_DEVICE_TOPOLOGY_AMD, CL_DEVICE_PCI_BUS_ID_NV,
                                            CL_DEVICE_PCI_SLOT_ID_NV, CL_DEVICE_PCI_DOMAIN_ID_NV};

    for (size_t i = 0; i < sizeof(params) / sizeof(*params); i++) {
        uint32_t length;
        const void *from = info_find(&part->parent->infos, params[i], &length);
        void *to = from ? answer_of(part, params[i], length) : NULL;

        if (to)
            memcpy(to, from, length);
    }
}

void identity_set(cl_device_id device)
{
    if (device->parent)
        device->identity = device->parent->identity;
    else
        identity_find(device);
    if (device->identity.away) {
        mix_uuid(device);
        clear_luid(device);
    }
    if (device->parent)
        take_addresses(device);
    else if (device->identity.away)
        mix_addresses(device);
}
