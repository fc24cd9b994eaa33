/*
 * identity [FILE]: prints a line for each device of each platform: the platform's number, and what tells devices apart.
 * Prints "ready", and the lines again when FILE exists. Sub-devices follow their device.
 * identity match: counts the devices of all platforms, as programs do that want each of them once: by UUID, by the PCI
 * address, and by the address without its domain, between platforms only, as hashcat does.
 */
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cl_ext.h"

enum { MOST = 64 };

struct seen {
    unsigned platform;
    cl_device_type type;
    cl_uchar uuid[CL_UUID_SIZE_KHR];
    cl_device_pci_bus_info_khr address;
    cl_uint bus, slot; /* by the vendor's own query */
};

static void bytes_show(cl_device_id device, cl_device_info param, size_t size)
{
    unsigned char bytes[32];

    if (clGetDeviceInfo(device, param, sizeof(bytes), bytes, NULL)) {
        printf(" -");
        return;
    }
    printf(" ");
    for (size_t i = 0; i < size; i++)
        printf("%02x", bytes[i]);
}

static void number_show(cl_device_id device, cl_device_info param)
{
    cl_uint number;

    if (clGetDeviceInfo(device, param, sizeof(number), &number, NULL))
        printf(" -");
    else
        printf(" %x", number);
}

static void address_show(cl_device_id device)
{
    cl_device_pci_bus_info_khr address;
    cl_device_topology_amd amd;

    if (clGetDeviceInfo(device, CL_DEVICE_PCI_BUS_INFO_KHR, sizeof(address), &address, NULL))
        printf(" pci -");
    else
        printf(" pci %04x:%02x:%02x.%x", address.pci_domain, address.pci_bus, address.pci_device, address.pci_function);
    printf(" nv");
    number_show(device, CL_DEVICE_PCI_DOMAIN_ID_NV);
    number_show(device, CL_DEVICE_PCI_BUS_ID_NV);
    number_show(device, CL_DEVICE_PCI_SLOT_ID_NV);
    if (clGetDeviceInfo(device, CL_DEVICE_TOPOLOGY_AMD, sizeof(amd), &amd, NULL))
        printf(" amd -");
    else
        printf(" amd %u %02x:%02x.%x", amd.raw.type, (cl_uchar)amd.pcie.bus, (cl_uchar)amd.pcie.device,
               (cl_uchar)amd.pcie.function);
}

static void device_show(unsigned platform, cl_device_id device, const char *what)
{
    printf("%u %s uuid", platform, what);
    bytes_show(device, CL_DEVICE_UUID_KHR, CL_UUID_SIZE_KHR);
    printf(" driver");
    bytes_show(device, CL_DRIVER_UUID_KHR, CL_UUID_SIZE_KHR);
    address_show(device);
    printf(" luid");
    number_show(device, CL_DEVICE_LUID_VALID_KHR);
    bytes_show(device, CL_DEVICE_LUID_KHR, CL_LUID_SIZE_KHR);
    number_show(device, CL_DEVICE_NODE_MASK_KHR);
    printf("\n");
}

static void parts_show(unsigned platform, cl_device_id device)
{
    const cl_device_partition_property by_one[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
    cl_device_id parts[MOST];
    cl_uint count = 0;

    if (clCreateSubDevices(device, by_one, MOST, parts, &count))
        return;
    device_show(platform, parts[0], "part");
    for (cl_uint i = 0; i < count && i < MOST; i++)
        clReleaseDevice(parts[i]);
}

/* What hashcat takes for the address. */
static void slot_find(struct seen *seen, cl_device_id device)
{
    cl_device_topology_amd amd;

    if (!clGetDeviceInfo(device, CL_DEVICE_PCI_BUS_ID_NV, sizeof(cl_uint), &seen->bus, NULL)) {
        clGetDeviceInfo(device, CL_DEVICE_PCI_SLOT_ID_NV, sizeof(cl_uint), &seen->slot, NULL);
    } else if (!clGetDeviceInfo(device, CL_DEVICE_TOPOLOGY_AMD, sizeof(amd), &amd, NULL)) {
        seen->bus = (cl_uchar)amd.pcie.bus;
        seen->slot = (cl_uint)((cl_uchar)amd.pcie.device << 3 | (cl_uchar)amd.pcie.function);
    }
}

static unsigned each(struct seen seen[MOST], bool show)
{
    cl_platform_id platforms[8];
    cl_device_id devices[MOST];
    cl_uint platform_count = 0, device_count;
    unsigned count = 0;

    clGetPlatformIDs(8, platforms, &platform_count);
    for (unsigned i = 0; i < platform_count; i++) {
        device_count = 0;
        clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, MOST, devices, &device_count);
        for (unsigned j = 0; j < device_count && count < MOST; j++, count++) {
            memset(&seen[count], 0, sizeof(seen[count]));
            seen[count].platform = i;
            clGetDeviceInfo(devices[j], CL_DEVICE_TYPE, sizeof(cl_device_type), &seen[count].type, NULL);
            clGetDeviceInfo(devices[j], CL_DEVICE_UUID_KHR, CL_UUID_SIZE_KHR, seen[count].uuid, NULL);
            clGetDeviceInfo(devices[j], CL_DEVICE_PCI_BUS_INFO_KHR, sizeof(seen->address), &seen[count].address, NULL);
            slot_find(&seen[count], devices[j]);
            if (!show)
                continue;
            device_show(i, devices[j], "device");
            parts_show(i, devices[j]);
        }
    }
    return count;
}

static bool same_uuid(const struct seen *one, const struct seen *other)
{
    return !memcmp(one->uuid, other->uuid, sizeof(one->uuid));
}

static bool same_address(const struct seen *one, const struct seen *other)
{
    return !memcmp(&one->address, &other->address, sizeof(one->address));
}

static bool same_slot(const struct seen *one, const struct seen *other)
{
    return one->bus == other->bus && one->slot == other->slot && one->type == other->type &&
           one->platform != other->platform;
}

static unsigned distinct(const struct seen *seen, unsigned count,
                         bool (*same)(const struct seen *, const struct seen *))
{
    unsigned found = 0;

    for (unsigned i = 0; i < count; i++) {
        bool earlier = false;

        for (unsigned j = 0; j < i; j++)
            earlier |= same(&seen[j], &seen[i]);
        found += !earlier;
    }
    return found;
}

int main(int count, char **arguments)
{
    const struct timespec moment = {0, 20000000};
    struct seen seen[MOST];
    unsigned found;

    if (count > 1 && !strcmp(arguments[1], "match")) {
        found = each(seen, false);
        printf("%u listed, by UUID %u, by address %u, as hashcat %u\n", found, distinct(seen, found, same_uuid),
               distinct(seen, found, same_address), distinct(seen, found, same_slot));
        return !found;
    }
    found = each(seen, true);
    if (count > 1) {
        printf("ready\n");
        fflush(stdout);
        while (access(arguments[1], F_OK))
            nanosleep(&moment, NULL);
        each(seen, true);
    }
    return !found;
}
