/* PCI addresses of OpenCL's devices. See opencl.h. */
#include <CL/cl_ext.h>
#include <stdio.h>
#include <string.h>

#include "base/cl_ext.h"
#include "topology/opencl.h"

static void print(char *address, unsigned domain, unsigned bus, unsigned device, unsigned function)
{
    snprintf(address, TOPOLOGY_ADDRESS, "%04x:%02x:%02x.%x", domain & 0xffff, bus & 0xff, device & 0x1f, function & 7);
}

bool topology_pci_address(cl_device_id device, char address[TOPOLOGY_ADDRESS])
{
    cl_device_pci_bus_info_khr khronos;
    cl_device_topology_amd amd;
    cl_uint bus, slot, domain = 0;

    if (!clGetDeviceInfo(device, CL_DEVICE_PCI_BUS_INFO_KHR, sizeof(khronos), &khronos, NULL)) {
        print(address, khronos.pci_domain, khronos.pci_bus, khronos.pci_device, khronos.pci_function);
        return true;
    }
    if (!clGetDeviceInfo(device, CL_DEVICE_TOPOLOGY_AMD, sizeof(amd), &amd, NULL) &&
        amd.raw.type == CL_DEVICE_TOPOLOGY_TYPE_PCIE_AMD) {
        print(address, 0, (cl_uchar)amd.pcie.bus, (cl_uchar)amd.pcie.device, (cl_uchar)amd.pcie.function);
        return true;
    }
    if (clGetDeviceInfo(device, CL_DEVICE_PCI_BUS_ID_NV, sizeof(bus), &bus, NULL) ||
        clGetDeviceInfo(device, CL_DEVICE_PCI_SLOT_ID_NV, sizeof(slot), &slot, NULL))
        return false;
    clGetDeviceInfo(device, CL_DEVICE_PCI_DOMAIN_ID_NV, sizeof(domain), &domain, NULL);
    print(address, domain, bus, slot >> 3, slot);
    return true;
}

int topology_device_of(const struct topology *t, const char *address, unsigned number)
{
    int node = address ? topology_find(t, address) : -1;

    if (node >= 0)
        return t->nodes[node].device;
    return !t->here && number < t->device_count ? (int)number : -1;
}
