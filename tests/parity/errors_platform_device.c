/* Error codes of the calls about platforms and devices for wrong arguments. */
#include "parity.h"

static struct parity p;

static void platforms_ask(void)
{
    cl_platform_id platforms[4];
    cl_uint count = 77;
    char text[256];
    SHOW("clGetPlatformIDs(nothing asked for)", clGetPlatformIDs(0, NULL, NULL));
    SHOW("clGetPlatformIDs(no entries)", clGetPlatformIDs(0, platforms, &count));
    SHOW("clGetPlatformIDs(entries, no room)", clGetPlatformIDs(4, NULL, NULL));
    SHOW("clGetPlatformIDs(count only)", clGetPlatformIDs(0, NULL, &count));
    SHOW("clGetPlatformIDs(platforms only)", clGetPlatformIDs(1, platforms, NULL));
    SHOW("clGetPlatformInfo(no such question)", clGetPlatformInfo(p.platform, 0x1234, 0, NULL, NULL));
    SHOW("clGetPlatformInfo(too small)", clGetPlatformInfo(p.platform, CL_PLATFORM_NAME, 1, text, NULL));
    SHOW("clGetPlatformInfo(size 0)", clGetPlatformInfo(p.platform, CL_PLATFORM_NAME, 0, text, NULL));
}

static void devices_ask(void)
{
    cl_device_id devices[4];
    cl_uint count = 77;
    SHOW("clGetDeviceIDs(no type)", clGetDeviceIDs(p.platform, 0, 1, devices, NULL));
    SHOW("clGetDeviceIDs(unknown type)", clGetDeviceIDs(p.platform, 1 << 20, 1, devices, NULL));
    SHOW("clGetDeviceIDs(GPU)", clGetDeviceIDs(p.platform, CL_DEVICE_TYPE_GPU, 1, devices, &count));
    printf("%u devices\n", count);
    SHOW("clGetDeviceIDs(accelerator)", clGetDeviceIDs(p.platform, CL_DEVICE_TYPE_ACCELERATOR, 1, devices, NULL));
    SHOW("clGetDeviceIDs(custom)", clGetDeviceIDs(p.platform, CL_DEVICE_TYPE_CUSTOM, 1, devices, NULL));
    SHOW("clGetDeviceIDs(default)", clGetDeviceIDs(p.platform, CL_DEVICE_TYPE_DEFAULT, 1, devices, &count));
    printf("%u devices\n", count);
    SHOW("clGetDeviceIDs(CPU or GPU)",
         clGetDeviceIDs(p.platform, CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_GPU, 1, devices, NULL));
    SHOW("clGetDeviceIDs(no entries)", clGetDeviceIDs(p.platform, CL_DEVICE_TYPE_ALL, 0, devices, &count));
    SHOW("clGetDeviceIDs(entries, no room)", clGetDeviceIDs(p.platform, CL_DEVICE_TYPE_ALL, 4, NULL, &count));
    SHOW("clGetDeviceIDs(nothing asked for)", clGetDeviceIDs(p.platform, CL_DEVICE_TYPE_ALL, 0, NULL, NULL));
    SHOW("clGetDeviceIDs(count only)", clGetDeviceIDs(p.platform, CL_DEVICE_TYPE_ALL, 0, NULL, &count));
    SHOW("clGetDeviceInfo(NULL)", clGetDeviceInfo(NULL, CL_DEVICE_NAME, 0, NULL, NULL));
    SHOW("clRetainDevice(NULL)", clRetainDevice(NULL));
    SHOW("clReleaseDevice(NULL)", clReleaseDevice(NULL));
    SHOW("clRetainDevice(root device)", clRetainDevice(p.device));
    SHOW("clReleaseDevice(root device)", clReleaseDevice(p.device));
    SHOW("clReleaseDevice(root device again)", clReleaseDevice(p.device));
    SHOW("clRetainDeviceEXT(NULL)", clRetainDeviceEXT(NULL));
    SHOW("clReleaseDeviceEXT(NULL)", clReleaseDeviceEXT(NULL));
}

static void sub_devices_ask(void)
{
    const cl_device_partition_property none[] = {0}, unknown[] = {0x7777, 1, 0},
                                       zero[] = {CL_DEVICE_PARTITION_EQUALLY, 0, 0},
                                       many[] = {CL_DEVICE_PARTITION_EQUALLY, 100000, 0},
                                       more[] = {CL_DEVICE_PARTITION_BY_COUNTS, 100000, 0, 0},
                                       numa[] = {CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN, 0x10000, 0};
    cl_device_id devices[8];
    cl_uint count;
    SHOW("clCreateSubDevices(NULL)", clCreateSubDevices(NULL, zero, 8, devices, &count));
    SHOW("clCreateSubDevices(no properties)", clCreateSubDevices(p.device, none, 8, devices, &count));
    SHOW("clCreateSubDevices(NULL properties)", clCreateSubDevices(p.device, NULL, 8, devices, &count));
    SHOW("clCreateSubDevices(unknown properties)", clCreateSubDevices(p.device, unknown, 8, devices, &count));
    SHOW("clCreateSubDevices(equally 0)", clCreateSubDevices(p.device, zero, 8, devices, &count));
    SHOW("clCreateSubDevices(equally 100000)", clCreateSubDevices(p.device, many, 8, devices, &count));
    SHOW("clCreateSubDevices(counts of 100000)", clCreateSubDevices(p.device, more, 8, devices, &count));
    SHOW("clCreateSubDevices(unknown domain)", clCreateSubDevices(p.device, numa, 8, devices, &count));
    SHOW("clCreateSubDevicesEXT(NULL)", clCreateSubDevicesEXT(NULL, NULL, 8, devices, &count));
}

static void timers_ask(void)
{
    cl_ulong device_time, host_time;
    if (parity_version(&p) < 210)
        return;
    SHOW("clGetDeviceAndHostTimer(NULL)", clGetDeviceAndHostTimer(NULL, &device_time, &host_time));
    SHOW("clGetDeviceAndHostTimer(no device time)", clGetDeviceAndHostTimer(p.device, NULL, &host_time));
    SHOW("clGetDeviceAndHostTimer(no host time)", clGetDeviceAndHostTimer(p.device, &device_time, NULL));
    SHOW("clGetDeviceAndHostTimer", clGetDeviceAndHostTimer(p.device, &device_time, &host_time));
    SHOW("clGetHostTimer(NULL)", clGetHostTimer(NULL, &host_time));
    SHOW("clGetHostTimer(no time)", clGetHostTimer(p.device, NULL));
    SHOW("clGetHostTimer", clGetHostTimer(p.device, &host_time));
}

static void function_print(const char *name, const void *function)
{
    printf("%s = %s\n", name, function ? "something" : "nothing");
}

static void compilers_ask(void)
{
    SHOW("clUnloadCompiler", clUnloadCompiler());
    SHOW("clUnloadPlatformCompiler(NULL)", clUnloadPlatformCompiler(NULL));
    SHOW("clUnloadPlatformCompiler", clUnloadPlatformCompiler(p.platform));
    function_print("clGetExtensionFunctionAddress(unknown)", clGetExtensionFunctionAddress("clNoSuchFunction"));
    function_print("clGetExtensionFunctionAddressForPlatform(NULL platform)",
                   clGetExtensionFunctionAddressForPlatform(NULL, "clNoSuchFunction"));
    function_print("clGetExtensionFunctionAddressForPlatform(unknown)",
                   clGetExtensionFunctionAddressForPlatform(p.platform, "clNoSuchFunction"));
}

/* The ICD loader takes no platform to mean its first. */
static void no_platform_ask(void)
{
    char text[64] = "";
    cl_device_id device;
    SHOW("clGetPlatformInfo(NULL)", clGetPlatformInfo(NULL, CL_PLATFORM_PROFILE, sizeof(text), text, NULL));
    printf("%s\n", text);
    SHOW("clGetDeviceIDs(NULL)", clGetDeviceIDs(NULL, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    printf("%s device\n", device == p.device ? "the same" : "another");
}

int main(void)
{
    parity_open(&p, 0);
    platforms_ask();
    devices_ask();
    sub_devices_ask();
    parity_rich();
    timers_ask();
    no_platform_ask();
    compilers_ask();
    parity_close(&p);
    return 0;
}
