/* See device.h. */
#include <string.h>

#include "ground/device.h"

bool device_is_shown(cl_device_id device)
{
    cl_platform_id platform = NULL;
    char name[64] = "";

    clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL);
    clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(name), name, NULL);
    return strstr(name, "VOCL");
}

bool device_takes_addresses(cl_device_id device)
{
    cl_device_svm_capabilities svm = 0;
    cl_device_type type = 0;

    if (device_is_shown(device))
        return false;
    clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof(type), &type, NULL);
    clGetDeviceInfo(device, CL_DEVICE_SVM_CAPABILITIES, sizeof(svm), &svm, NULL);
    return (type & CL_DEVICE_TYPE_CPU) || (svm & CL_DEVICE_SVM_FINE_GRAIN_SYSTEM);
}
