/*
 * One context with all devices, and programs that only the last device has: linked for it alone, from its binary,
 * released at once. The output is the same for any number of devices.
 */
#include "parity.h"

enum { COUNT = 64, MOST = 64 };

static const char *source = "int more(int a)\n"
                            "{\n"
                            "    return a + 3;\n"
                            "}\n"
                            "kernel void add(global int *data, int to)\n"
                            "{\n"
                            "    data[get_global_id(0)] = more(to);\n"
                            "}\n";

static cl_device_id devices[MOST], last;
static cl_uint device_count;
static cl_context context;
static cl_program program;

static void launch(const char *name, cl_kernel kernel, cl_int to)
{
    const size_t global = COUNT;
    cl_int status, result[COUNT];
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(result), NULL, &status);
    CHECK(status);
    cl_command_queue queue = clCreateCommandQueue(context, last, 0, &status);
    CHECK(status);
    parity_args(kernel, 2, sizeof(buffer), &buffer, sizeof(to), &to);
    CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
    parity_read(queue, buffer, 0, sizeof(result), result);
    printf("%s: %d, %d\n", name, result[0], result[COUNT - 1]);
    CHECK(clReleaseCommandQueue(queue));
    CHECK(clReleaseMemObject(buffer));
}

/* Runs a command on each device, which shows that its node answers. */
static void all_answer(const char *name)
{
    for (cl_uint i = 0; i < device_count; i++) {
        cl_int status, value = 0;
        cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(value), NULL, &status);
        CHECK(status);
        cl_command_queue queue = clCreateCommandQueue(context, devices[i], 0, &status);
        CHECK(status);
        parity_write(queue, buffer, 0, sizeof(value), &value);
        CHECK(clFinish(queue));
        CHECK(clReleaseCommandQueue(queue));
        CHECK(clReleaseMemObject(buffer));
    }
    printf("%s: all answer\n", name);
}

static void kernels_use(const char *name, cl_program of)
{
    cl_kernel kernel = parity_kernel(of, "add"), clone, all[2];
    cl_int status;
    cl_uint count;
    size_t size;
    CHECK(clGetKernelWorkGroupInfo(kernel, last, CL_KERNEL_WORK_GROUP_SIZE, sizeof(size), &size, NULL));
    CHECK(clGetProgramInfo(of, CL_PROGRAM_NUM_KERNELS, sizeof(size), &size, NULL));
    printf("%s: %zu kernel\n", name, size);
    launch(name, kernel, 1);
    clone = clCloneKernel(kernel, &status);
    CHECK(status);
    launch("clone", clone, 2);
    parity_rich();
    CHECK(clReleaseKernel(clone));
    CHECK(clReleaseKernel(kernel));
    CHECK(clCreateKernelsInProgram(of, 2, all, &count));
    EXPECT(count == 1);
    launch("of all", all[0], 3);
    CHECK(clReleaseKernel(all[0]));
    all_answer(name);
}

static cl_program linked_new(void)
{
    cl_int status;
    CHECK(clCompileProgram(program, 1, &last, "", 0, NULL, NULL, NULL, NULL));
    cl_program linked = clLinkProgram(context, 1, &last, "", 1, &program, NULL, NULL, &status);
    CHECK(status);
    return linked;
}

static cl_program binary_new(cl_program of)
{
    unsigned char *binary;
    cl_int status, one;
    cl_uint count;
    size_t size;
    CHECK(clGetProgramInfo(of, CL_PROGRAM_NUM_DEVICES, sizeof(count), &count, NULL));
    CHECK(clGetProgramInfo(of, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL));
    EXPECT(count == 1 && size);
    binary = malloc(size);
    CHECK(clGetProgramInfo(of, CL_PROGRAM_BINARIES, sizeof(binary), &binary, NULL));
    cl_program made =
        clCreateProgramWithBinary(context, 1, &last, &size, (const unsigned char **)&binary, &one, &status);
    CHECK(status);
    CHECK(one);
    free(binary);
    return made;
}

/* Devices that do not have the program refuse it; PoCL 3.1 ends the process. */
static void others_refuse(cl_program linked, cl_program binary)
{
    cl_int status;
    if (device_count == 1)
        return;
    EXPECT(!clLinkProgram(context, 0, NULL, "", 1, &binary, NULL, NULL, &status) && status == CL_INVALID_OPERATION);
    EXPECT(!clLinkProgram(context, 0, NULL, "", 1, &program, NULL, NULL, &status) && status == CL_INVALID_OPERATION);
    EXPECT(!clLinkProgram(context, 1, devices, "", 1, &linked, NULL, NULL, &status) && status == CL_INVALID_OPERATION);
    EXPECT(clBuildProgram(binary, device_count, devices, NULL, NULL, NULL) == CL_BUILD_PROGRAM_FAILURE);
}

int main(void)
{
    cl_platform_id platform;
    cl_int status;
    CHECK(clGetPlatformIDs(1, &platform, NULL));
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MOST, devices, &device_count));
    last = devices[device_count - 1];
    context = clCreateContext(NULL, device_count, devices, NULL, NULL, &status);
    CHECK(status);
    program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    CHECK(status);
    cl_program linked = linked_new(), binary = binary_new(linked);
    CHECK(clReleaseProgram(binary_new(linked)));
    all_answer("released");
    kernels_use("linked", linked);
    others_refuse(linked, binary);
    CHECK(clBuildProgram(binary, 0, NULL, NULL, NULL, NULL));
    kernels_use("binary", binary);
    CHECK(clReleaseProgram(binary));
    CHECK(clReleaseProgram(linked));
    CHECK(clReleaseProgram(program));
    CHECK(clBuildProgram(program = clCreateProgramWithSource(context, 1, &source, NULL, &status), 1, &last, "", NULL,
                         NULL));
    kernels_use("built", program);
    CHECK(clReleaseProgram(program));
    CHECK(clReleaseContext(context));
    return 0;
}
