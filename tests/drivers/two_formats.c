/* Images of formats that only one of two devices has (formats.c), in one context of both: which the context names,
 * and what the devices' commands say. See newer.sh. */
#include "tests/parity/parity.h"

static cl_context context;
static cl_command_queue queues[2];
static cl_kernel kernel;

static const char source[] = "kernel void copy(read_only image2d_t from, global float4 *to) {\n"
                             "    int2 at = (int2)(get_global_id(0), 0);\n"
                             "    to[get_global_id(0)] = read_imagef(from, at);\n"
                             "}\n";

static bool is_named(const cl_image_format *format)
{
    cl_image_format list[256];
    cl_uint count = 0, times = 0;

    CHECK(clGetSupportedImageFormats(context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, 256, list, &count));
    for (cl_uint i = 0; i < count; i++)
        times += !memcmp(&list[i], format, sizeof(*format));
    return times == 1;
}

static void show(const char *name, cl_channel_type type, cl_mem to)
{
    const cl_image_format format = {CL_RGBA, type};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 4, .image_height = 4};
    const size_t origin[3] = {0}, region[3] = {4, 4, 1}, wide = 4;
    cl_float contents[64], back[64];
    cl_int status;
    cl_mem image;

    for (int i = 0; i < 64; i++)
        contents[i] = (cl_float)i;
    image = clCreateImage(context, CL_MEM_COPY_HOST_PTR, &format, &desc, contents, &status);
    printf("%s: %s, created: %d\n", name, is_named(&format) ? "named" : "not named", status);
    CHECK(clSetKernelArg(kernel, 0, sizeof(image), &image));
    CHECK(clSetKernelArg(kernel, 1, sizeof(to), &to));
    for (int i = 0; i < 2; i++) {
        const size_t bytes = type == CL_FLOAT ? sizeof(back) : sizeof(back) / 4;

        memset(back, 0, sizeof(back));
        status = clEnqueueReadImage(queues[i], image, CL_TRUE, origin, region, 0, 0, back, 0, NULL, NULL);
        printf("device %d: read: %d, %s", i, status, memcmp(contents, back, bytes) ? "no contents" : "the contents");
        if (type == CL_FLOAT) {
            status = clEnqueueNDRangeKernel(queues[i], kernel, 1, NULL, &wide, NULL, 0, NULL, NULL);
            printf(", launch: %d, %d", status, clFinish(queues[i]));
        }
        putchar('\n');
    }
    CHECK(clReleaseMemObject(image));
}

int main(void)
{
    cl_platform_id platform;
    cl_device_id devices[2];
    const char *text = source;
    cl_program program;
    cl_uint count = 0;
    cl_int status;
    cl_mem to;

    CHECK(clGetPlatformIDs(1, &platform, NULL));
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 2, devices, &count));
    context = clCreateContext(NULL, 2, devices, NULL, NULL, &status);
    CHECK(status);
    for (int i = 0; i < 2; i++) {
        queues[i] = clCreateCommandQueue(context, devices[i], 0, &status);
        CHECK(status);
    }
    program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    CHECK(status);
    CHECK(clBuildProgram(program, 0, NULL, "", NULL, NULL));
    kernel = clCreateKernel(program, "copy", &status);
    CHECK(status);
    to = clCreateBuffer(context, CL_MEM_READ_WRITE, 256, NULL, &status);
    CHECK(status);
    show("CL_FLOAT", CL_FLOAT, to);
    show("CL_UNSIGNED_INT8", CL_UNSIGNED_INT8, to);
    CHECK(clReleaseMemObject(to));
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseProgram(program));
    for (int i = 0; i < 2; i++)
        CHECK(clReleaseCommandQueue(queues[i]));
    CHECK(clReleaseContext(context));
    return 0;
}
