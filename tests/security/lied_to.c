/*
 * A program that queries nearly everything of an OpenCL platform, and believes all answers, as programs do: texts end,
 * sizes are those of the previous answer. It ignores errors. It ends with 0 unless it crashes; a wait that never ends
 * is no crash either, so with lies the program waits only some seconds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>

#define MOST 64
#define SECONDS 8

static const char source[] = "kernel __attribute__((reqd_work_group_size(4, 1, 1)))\n"
                             "void touch(global int *data, int value, local int *part)\n"
                             "{\n"
                             "    data[get_global_id(0)] = value;\n"
                             "}\n"
                             "kernel void other(global float4 *data, sampler_t s, read_only image2d_t image) { }\n";
static size_t read_so_far;

/* Uses a text as programs do. */
static void use_text(const char *text)
{
    read_so_far += strlen(text);
}

static cl_int device_info(void *object, void *second, cl_uint param, size_t size, void *value, size_t *size_ret)
{
    (void)second;
    return clGetDeviceInfo(object, param, size, value, size_ret);
}

static cl_int platform_info(void *object, void *second, cl_uint param, size_t size, void *value, size_t *size_ret)
{
    (void)second;
    return clGetPlatformInfo(object, param, size, value, size_ret);
}

static cl_int program_info(void *object, void *second, cl_uint param, size_t size, void *value, size_t *size_ret)
{
    (void)second;
    return clGetProgramInfo(object, param, size, value, size_ret);
}

static cl_int build_info(void *object, void *second, cl_uint param, size_t size, void *value, size_t *size_ret)
{
    return clGetProgramBuildInfo(object, second, param, size, value, size_ret);
}

static cl_int kernel_info(void *object, void *second, cl_uint param, size_t size, void *value, size_t *size_ret)
{
    (void)second;
    return clGetKernelInfo(object, param, size, value, size_ret);
}

static cl_int argument_info(void *object, void *second, cl_uint param, size_t size, void *value, size_t *size_ret)
{
    return clGetKernelArgInfo(object, *(cl_uint *)second, param, size, value, size_ret);
}

static cl_int group_info(void *object, void *second, cl_uint param, size_t size, void *value, size_t *size_ret)
{
    return clGetKernelWorkGroupInfo(object, second, param, size, value, size_ret);
}

static cl_int memory_info(void *object, void *second, cl_uint param, size_t size, void *value, size_t *size_ret)
{
    (void)second;
    return clGetMemObjectInfo(object, param, size, value, size_ret);
}

typedef cl_int query(void *, void *, cl_uint, size_t, void *, size_t *);

/* Queries the size, and then the value with that size. */
static void ask(query *info, void *object, void *second, cl_uint param, int is_text)
{
    size_t size = 0;
    char *value;

    if (info(object, second, param, 0, NULL, &size) || !size)
        return;
    value = malloc(size);
    memset(value, 0, size);
    if (!info(object, second, param, size, value, NULL) && is_text)
        use_text(value);
    free(value);
}

static void ask_texts(query *info, void *object, void *second, const cl_uint *params, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ask(info, object, second, params[i], 1);
}

#define TEXTS(info, object, second, ...)                                                                               \
    do {                                                                                                               \
        const cl_uint params[] = {__VA_ARGS__};                                                                        \
        ask_texts(info, object, second, params, sizeof(params) / sizeof(*params));                                     \
    } while (0)

static void ask_device(cl_device_id device)
{
    cl_name_version *list;
    size_t size = 0;

    TEXTS(device_info, device, NULL, CL_DEVICE_NAME, CL_DEVICE_VENDOR, CL_DRIVER_VERSION, CL_DEVICE_PROFILE,
          CL_DEVICE_VERSION, CL_DEVICE_OPENCL_C_VERSION, CL_DEVICE_EXTENSIONS, CL_DEVICE_BUILT_IN_KERNELS,
          CL_DEVICE_IL_VERSION);
    for (cl_uint param = CL_DEVICE_TYPE; param < CL_DEVICE_TYPE + 0x80; param++)
        ask(device_info, device, NULL, param, 0);
    if (clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS_WITH_VERSION, 0, NULL, &size) || !size)
        return;
    list = calloc(1, size);
    if (!clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS_WITH_VERSION, size, list, NULL)) {
        for (size_t i = 0; i < size / sizeof(*list); i++)
            use_text(list[i].name);
    }
    free(list);
}

static void divide(cl_device_id device)
{
    const cl_device_partition_property equally[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
    cl_uint count = 0;
    cl_device_id *parts;

    if (clCreateSubDevices(device, equally, 0, NULL, &count) || count > 4096)
        return;
    parts = calloc(count + 1, sizeof(*parts));
    if (!clCreateSubDevices(device, equally, count, parts, NULL)) {
        for (cl_uint i = 0; i < count; i++)
            clReleaseDevice(parts[i]);
    }
    free(parts);
}

static void ask_binaries(cl_program program)
{
    size_t sizes[MOST] = {0}, length = 0;
    unsigned char *binaries[MOST] = {0};
    const unsigned char *list[1];

    if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(sizes), sizes, &length))
        return;
    for (size_t i = 0; i < length / sizeof(*sizes); i++)
        binaries[i] = sizes[i] < 1 << 24 ? malloc(sizes[i] + 1) : NULL;
    if (!clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(binaries), binaries, NULL) && binaries[0] && sizes[0]) {
        cl_context context = NULL;
        cl_device_id device = NULL;
        cl_program again;

        list[0] = binaries[0];
        clGetProgramInfo(program, CL_PROGRAM_CONTEXT, sizeof(context), &context, NULL);
        clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof(device), &device, NULL);
        again = clCreateProgramWithBinary(context, 1, &device, sizes, list, NULL, NULL);
        if (again)
            clReleaseProgram(again);
    }
    for (size_t i = 0; i < MOST; i++)
        free(binaries[i]);
}

static void ask_kernels(cl_program program, cl_device_id device)
{
    cl_kernel kernels[MOST] = {0};
    cl_uint count = 0, arguments;

    if (clCreateKernelsInProgram(program, MOST, kernels, &count))
        return;
    for (cl_uint i = 0; i < count && i < MOST; i++) {
        TEXTS(kernel_info, kernels[i], NULL, CL_KERNEL_FUNCTION_NAME, CL_KERNEL_ATTRIBUTES);
        arguments = 0;
        clGetKernelInfo(kernels[i], CL_KERNEL_NUM_ARGS, sizeof(arguments), &arguments, NULL);
        for (cl_uint at = 0; at < arguments && at < MOST; at++) {
            TEXTS(argument_info, kernels[i], &at, CL_KERNEL_ARG_TYPE_NAME, CL_KERNEL_ARG_NAME);
            clSetKernelArg(kernels[i], at, 4, &at);
        }
        for (cl_uint param = CL_KERNEL_WORK_GROUP_SIZE; param < CL_KERNEL_WORK_GROUP_SIZE + 6; param++)
            ask(group_info, kernels[i], device, param, 0);
        clReleaseKernel(kernels[i]);
    }
}

static cl_program build(cl_context context, cl_device_id device)
{
    const char *text = source;
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, NULL);

    if (!program)
        return NULL;
    clBuildProgram(program, 1, &device, "-cl-kernel-arg-info", NULL, NULL);
    TEXTS(build_info, program, device, CL_PROGRAM_BUILD_OPTIONS, CL_PROGRAM_BUILD_LOG);
    TEXTS(program_info, program, NULL, CL_PROGRAM_KERNEL_NAMES, CL_PROGRAM_SOURCE);
    ask_binaries(program);
    ask_kernels(program, device);
    return program;
}

static void CL_CALLBACK reached(cl_event event, cl_int status, void *data)
{
    (void)event, (void)status, (void)data;
    read_so_far++;
}

static void CL_CALLBACK gone(cl_mem memory, void *data)
{
    (void)memory, (void)data;
    read_so_far++;
}

/* Starts reads that wait for each other: some are answered before others have data. */
static void use_buffer(cl_command_queue queue, cl_context context)
{
    static char small[2][512], large[1 << 20];
    const cl_buffer_region part = {128, 256};
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(large), NULL, NULL), piece;
    cl_event events[3] = {0};
    cl_ulong time;
    void *mapped;

    if (!buffer)
        return;
    clSetMemObjectDestructorCallback(buffer, gone, NULL);
    clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, sizeof(large), large, 0, NULL, &events[0]);
    clEnqueueReadBuffer(queue, buffer, CL_FALSE, 0, sizeof(large), large, 0, NULL, NULL);
    clEnqueueReadBuffer(queue, buffer, CL_FALSE, 100, 512, small[0], 0, NULL, &events[1]);
    clEnqueueReadBuffer(queue, buffer, CL_FALSE, 200, 512, large + 100, 0, NULL, &events[2]);
    for (int i = 0; i < 3; i++) {
        if (events[i])
            clSetEventCallback(events[i], CL_COMPLETE, reached, NULL);
    }
    clEnqueueReadBuffer(queue, buffer, CL_TRUE, 300, 512, small[1], 0, NULL, NULL);
    mapped = clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, 4096, 0, NULL, NULL, NULL);
    if (mapped)
        clEnqueueUnmapMemObject(queue, buffer, mapped, 0, NULL, NULL);
    piece = clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &part, NULL);
    if (piece)
        clReleaseMemObject(piece);
    clFinish(queue);
    for (int i = 0; i < 3; i++) {
        if (!events[i])
            continue;
        clGetEventProfilingInfo(events[i], CL_PROFILING_COMMAND_END, sizeof(time), &time, NULL);
        clReleaseEvent(events[i]);
    }
    for (cl_uint param = CL_MEM_TYPE; param < CL_MEM_TYPE + 12; param++)
        ask(memory_info, buffer, NULL, param, 0);
    clReleaseMemObject(buffer);
}

static void use_image(cl_command_queue queue, cl_context context)
{
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 100, .image_height = 50};
    const size_t origin[3] = {1, 1, 0}, region[3] = {64, 40, 1};
    cl_image_format formats[MOST];
    size_t row = 0;
    void *mapped;
    cl_mem image;

    clGetSupportedImageFormats(context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, MOST, formats, NULL);
    image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, NULL);
    if (!image)
        return;
    mapped = clEnqueueMapImage(queue, image, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, origin, region, &row, NULL, 0, NULL,
                               NULL, NULL);
    if (mapped)
        clEnqueueUnmapMemObject(queue, image, mapped, 0, NULL, NULL);
    clFinish(queue);
    clReleaseMemObject(image);
}

static void use_svm(cl_command_queue queue, cl_context context)
{
    void *memory = clSVMAlloc(context, CL_MEM_READ_WRITE, 10000, 0);

    if (!memory)
        return;
    if (!clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_WRITE, memory, 10000, 0, NULL, NULL)) {
        memset(memory, 1, 10000);
        clEnqueueSVMUnmap(queue, memory, 0, NULL, NULL);
    }
    clFinish(queue);
    clSVMFree(context, memory);
}

static void launch(cl_command_queue queue, cl_context context, cl_program program)
{
    const size_t global = 16, local = 4;
    cl_kernel kernel = program ? clCreateKernel(program, "touch", NULL) : NULL;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, NULL, NULL);
    cl_event event = NULL;
    cl_int value = 7;

    if (kernel && buffer) {
        clSetKernelArg(kernel, 0, sizeof(buffer), &buffer);
        clSetKernelArg(kernel, 1, sizeof(value), &value);
        clSetKernelArg(kernel, 2, 64, NULL);
        for (int i = 0; i < 8; i++)
            clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL);
        clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, &event);
        clFinish(queue);
    }
    if (event)
        clReleaseEvent(event);
    if (kernel)
        clReleaseKernel(kernel);
    if (buffer)
        clReleaseMemObject(buffer);
}

static void use_device(cl_device_id device)
{
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_ulong times[2];

    ask_device(device);
    divide(device);
    clGetDeviceAndHostTimer(device, &times[0], &times[1]);
    context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    queue = context ? clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, NULL) : NULL;
    if (!queue)
        return;
    program = build(context, device);
    launch(queue, context, program);
    use_buffer(queue, context);
    use_image(queue, context);
    use_svm(queue, context);
    clFinish(queue);
    if (program)
        clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
}

int main(void)
{
    cl_platform_id platform = NULL;
    cl_device_id devices[MOST] = {0};
    cl_uint count = 0;

    if (getenv("VOCL_LIE")) /* lies.sh accepts the signal */
        alarm(SECONDS);
    if (clGetPlatformIDs(1, &platform, NULL))
        return 0;
    TEXTS(platform_info, platform, NULL, CL_PLATFORM_NAME, CL_PLATFORM_VERSION, CL_PLATFORM_VENDOR,
          CL_PLATFORM_EXTENSIONS, CL_PLATFORM_PROFILE);
    clGetExtensionFunctionAddressForPlatform(platform, "clCreateCommandBufferKHR");
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MOST, devices, &count);
    for (cl_uint i = 0; i < count && i < 2; i++)
        use_device(devices[i]);
    printf("through\n");
    return 0;
}
