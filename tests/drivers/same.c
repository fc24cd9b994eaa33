/*
 * A driver whose devices are the same on all hosts, as far as their answers show: PoCL as the GPU of equal hosts, in
 * the same slot, with a UUID that is made from its name. Two of its devices on one host (POCL_DEVICES) differ in
 * nothing but the order. SAME_VENDOR is the vendor that it has: NVIDIA's and AMD's have queries of their own for the
 * PCI address.
 */
#include <CL/cl_ext.h>
#include <stdlib.h>
#include <string.h>

#include "base/cl_ext.h"
#include "pocl.h"

/* other queries that hashcat makes, without which it takes no device of these vendors */
enum {
    COMPUTE_CAPABILITY_MAJOR_NV = 0x4000,
    COMPUTE_CAPABILITY_MINOR_NV,
    REGISTERS_PER_BLOCK_NV,
    WARP_SIZE_NV,
    KERNEL_EXEC_TIMEOUT_NV = 0x4005
};

enum { DOMAIN = 1, BUS = 0x3b, SLOT = 2, FUNCTION = 0 };

static cl_int of_vendor(const char *vendor, cl_device_info param, size_t size, void *value, size_t *size_ret)
{
    const cl_uint none = 0, width = 32, bus = BUS, slot = SLOT << 3 | FUNCTION, domain = DOMAIN;
    cl_device_topology_amd amd = {.pcie = {CL_DEVICE_TOPOLOGY_TYPE_PCIE_AMD, {0}, BUS, SLOT, FUNCTION}};

    if (!strncmp(vendor, "NVIDIA", 6)) {
        switch (param) {
        case COMPUTE_CAPABILITY_MAJOR_NV:
        case COMPUTE_CAPABILITY_MINOR_NV:
        case KERNEL_EXEC_TIMEOUT_NV:
            return driver_return(&none, sizeof(none), size, value, size_ret);
        case REGISTERS_PER_BLOCK_NV:
        case WARP_SIZE_NV:
            return driver_return(&width, sizeof(width), size, value, size_ret);
        case CL_DEVICE_PCI_BUS_ID_NV:
            return driver_return(&bus, sizeof(bus), size, value, size_ret);
        case CL_DEVICE_PCI_SLOT_ID_NV:
            return driver_return(&slot, sizeof(slot), size, value, size_ret);
        case CL_DEVICE_PCI_DOMAIN_ID_NV:
            return driver_return(&domain, sizeof(domain), size, value, size_ret);
        }
    }
    if (!strncmp(vendor, "Advanced Micro", 14)) {
        switch (param) {
        case CL_DEVICE_TOPOLOGY_AMD:
            return driver_return(&amd, sizeof(amd), size, value, size_ret);
        case CL_DEVICE_BOARD_NAME_AMD:
            return driver_return("a board", sizeof("a board"), size, value, size_ret);
        case CL_DEVICE_WAVEFRONT_WIDTH_AMD:
            return driver_return(&width, sizeof(width), size, value, size_ret);
        }
    }
    return CL_INVALID_VALUE;
}

static cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info param, size_t size, void *value,
                                      size_t *size_ret)
{
    static const cl_uchar uuid[] = "a device's UUID", driver[] = "a driver's UUID", luid[CL_LUID_SIZE_KHR] = "a LUID.";
    static const cl_device_pci_bus_info_khr address = {DOMAIN, BUS, SLOT, FUNCTION};
    static const cl_device_type gpu = CL_DEVICE_TYPE_GPU;
    static const cl_bool yes = CL_TRUE;
    static const cl_uint mask = 1;
    const char *vendor = getenv("SAME_VENDOR");

    if (vendor && !of_vendor(vendor, param, size, value, size_ret))
        return CL_SUCCESS;
    switch (param) {
    case CL_DEVICE_TYPE:
        return driver_return(&gpu, sizeof(gpu), size, value, size_ret);
    case CL_DEVICE_VENDOR:
        if (vendor)
            return driver_return(vendor, strlen(vendor) + 1, size, value, size_ret);
        break;
    case CL_DEVICE_UUID_KHR:
        return driver_return(uuid, sizeof(uuid), size, value, size_ret);
    case CL_DRIVER_UUID_KHR:
        return driver_return(driver, sizeof(driver), size, value, size_ret);
    case CL_DEVICE_LUID_VALID_KHR:
        return driver_return(&yes, sizeof(yes), size, value, size_ret);
    case CL_DEVICE_LUID_KHR:
        return driver_return(luid, sizeof(luid), size, value, size_ret);
    case CL_DEVICE_NODE_MASK_KHR:
        return driver_return(&mask, sizeof(mask), size, value, size_ret);
    case CL_DEVICE_PCI_BUS_INFO_KHR:
        return driver_return(&address, sizeof(address), size, value, size_ret);
    }
    return pocl.clGetDeviceInfo(device, param, size, value, size_ret);
}

static cl_int CL_API_CALL platform_info(cl_platform_id platform, cl_platform_info param, size_t size, void *value,
                                        size_t *size_ret)
{
    const char *vendor = getenv("SAME_VENDOR");

    return param == CL_PLATFORM_VENDOR && vendor ? driver_return(vendor, strlen(vendor) + 1, size, value, size_ret)
                                                 : pocl.clGetPlatformInfo(platform, param, size, value, size_ret);
}

int driver_change(struct _cl_icd_dispatch *table)
{
    table->clGetPlatformInfo = platform_info;
    table->clGetDeviceInfo = device_info;
    return 1;
}
