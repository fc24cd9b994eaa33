/* limits BYTES: prints how much of the device's memory the session may use, according to queries and to allocations. */
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **words)
{
    const size_t bytes = count > 1 ? strtoull(words[1], NULL, 10) : 1 << 20;
    cl_platform_id platform;
    cl_device_id device;
    cl_ulong all, most;
    cl_mem first, second;
    cl_int status, more;

    if (clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return 1;
    clGetDeviceInfo(device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(all), &all, NULL);
    clGetDeviceInfo(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(most), &most, NULL);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, NULL, &status);
    printf("%llu %llu\n", (unsigned long long)all, (unsigned long long)most);
    first = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &status);
    second = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &more);
    printf("%d %d\n", status, more);
    if (second)
        clReleaseMemObject(second);
    clReleaseMemObject(first);
    clFinish(queue);
    second = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &more);
    printf("%d\n", more);
    if (second)
        clReleaseMemObject(second);
    clFinish(queue);
    void *one = clSVMAlloc(context, CL_MEM_READ_WRITE, bytes, 0),
         *two = clSVMAlloc(context, CL_MEM_READ_WRITE, bytes, 0);
    printf("%d %d\n", one != NULL, two != NULL);
    clSVMFree(context, one);
    clSVMFree(context, two);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return 0;
}
