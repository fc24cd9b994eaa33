/*
 * Looks for data that others left in memory: creates buffers and images without contents, and reads them. It fills its
 * objects with a pattern before it releases them, so that there is something to find. Prints how many bytes were not 0.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#define ROUNDS 6
#define MOST (3 << 20)

static unsigned char bytes[MOST];

static size_t not_zero(size_t size)
{
    size_t count = 0;

    for (size_t i = 0; i < size; i++)
        count += bytes[i] != 0;
    return count;
}

static size_t look_at_buffer(cl_context context, cl_command_queue queue, size_t size)
{
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, NULL);
    size_t found;

    if (!buffer || clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, size, bytes, 0, NULL, NULL))
        exit(1);
    found = not_zero(size);
    memset(bytes, 0xa5, size);
    clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, size, bytes, 0, NULL, NULL);
    clReleaseMemObject(buffer);
    clFinish(queue);
    return found;
}

static size_t look_at_image(cl_context context, cl_command_queue queue)
{
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 201, .image_height = 100};
    const size_t origin[3] = {0, 0, 0}, region[3] = {201, 100, 1}, size = 201 * 100 * 4;
    cl_mem image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, NULL);
    size_t found;

    if (!image || clEnqueueReadImage(queue, image, CL_TRUE, origin, region, 0, 0, bytes, 0, NULL, NULL))
        exit(1);
    found = not_zero(size);
    memset(bytes, 0xa5, size);
    clEnqueueWriteImage(queue, image, CL_TRUE, origin, region, 0, 0, bytes, 0, NULL, NULL);
    clReleaseMemObject(image);
    clFinish(queue);
    return found;
}

static size_t look_at_svm(cl_context context, cl_command_queue queue, size_t size)
{
    unsigned char *memory = clSVMAlloc(context, CL_MEM_READ_WRITE, size, 0);
    size_t found;

    if (!memory)
        return 0;
    clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, memory, size, 0, NULL, NULL);
    memcpy(bytes, memory, size);
    found = not_zero(size);
    memset(memory, 0xa5, size);
    clEnqueueSVMUnmap(queue, memory, 0, NULL, NULL);
    clFinish(queue);
    clSVMFree(context, memory);
    return found;
}

int main(void)
{
    static const size_t sizes[] = {1, 77, 4096, 100001, 1 << 20, MOST};
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    size_t found = 0;

    if (clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return 1;
    context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    queue = clCreateCommandQueue(context, device, 0, NULL);
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
            found += look_at_buffer(context, queue, sizes[i]) + look_at_svm(context, queue, sizes[i]);
        found += look_at_image(context, queue);
    }
    printf("%zu bytes were not 0\n", found);
    return 0;
}
