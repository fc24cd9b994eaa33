/* Error codes of the calls about kernels, their arguments and their launches, for wrong arguments. */
#include "parity.h"

static const char *source = "kernel void k(global int *a, local int *l, int i, read_only image2d_t m, sampler_t s)\n"
                            "{\n"
                            "    a[get_global_id(0)] = i + l[0] + (int)read_imagef(m, s, (int2)(0, 0)).x;\n"
                            "}\n"
                            "kernel void plain(global int *a)\n"
                            "{\n"
                            "    if (get_global_id(0) < 16) /* also where the offset overflows */\n"
                            "        a[get_global_id(0)] = 1;\n"
                            "}\n"
                            "kernel __attribute__((reqd_work_group_size(8, 1, 1))) void fixed(global int *a)\n"
                            "{\n"
                            "    a[get_global_id(0)] = 1;\n"
                            "}\n";

static struct parity p, other;
static cl_program program, unbuilt;
static cl_kernel kernel, plain, fixed, foreign;
static cl_mem buffer, image, foreign_buffer;
static cl_sampler sampler;

static void create_ask(void)
{
    cl_kernel kernels[8];
    cl_uint count = 0;
    SHOW_NEW("clCreateKernel(NULL program)", clCreateKernel(NULL, "k", &status));
    SHOW_NEW("clCreateKernel(no name)", clCreateKernel(program, NULL, &status));
    SHOW_NEW("clCreateKernel(unknown)", clCreateKernel(program, "unknown", &status));
    SHOW_NEW("clCreateKernel(empty)", clCreateKernel(program, "", &status));
    SHOW_NEW("clCreateKernel(not built)", clCreateKernel(unbuilt, "k", &status));
    SHOW("clCreateKernelsInProgram(NULL)", clCreateKernelsInProgram(NULL, 8, kernels, &count));
    SHOW("clCreateKernelsInProgram(too few)", clCreateKernelsInProgram(program, 1, kernels, &count));
    SHOW("clCreateKernelsInProgram(not built)", clCreateKernelsInProgram(unbuilt, 8, kernels, &count));
    SHOW("clCreateKernelsInProgram(nothing)", clCreateKernelsInProgram(program, 0, NULL, NULL));
    SHOW_NEW("clCloneKernel(NULL)", clCloneKernel(NULL, &status));
    SHOW("clRetainKernel(NULL)", clRetainKernel(NULL));
    SHOW("clReleaseKernel(NULL)", clReleaseKernel(NULL));
}

static void argument_ask(void)
{
    cl_int number = 3;
    cl_mem none = NULL;
    cl_sampler no_sampler = NULL;
    SHOW("clSetKernelArg(NULL kernel)", clSetKernelArg(NULL, 0, sizeof(buffer), &buffer));
    SHOW("clSetKernelArg(index)", clSetKernelArg(kernel, 5, sizeof(buffer), &buffer));
    SHOW("clSetKernelArg(buffer, size 4)", clSetKernelArg(kernel, 0, 4, &buffer));
    SHOW("clSetKernelArg(buffer, size 0)", clSetKernelArg(kernel, 0, 0, &buffer));
    SHOW("clSetKernelArg(buffer, no value)", clSetKernelArg(kernel, 0, sizeof(buffer), NULL));
    SHOW("clSetKernelArg(NULL buffer)", clSetKernelArg(kernel, 0, sizeof(none), &none));
    SHOW("clSetKernelArg(local, with a value)", clSetKernelArg(kernel, 1, 16, &number));
    SHOW("clSetKernelArg(local, size 0)", clSetKernelArg(kernel, 1, 0, NULL));
    SHOW("clSetKernelArg(local)", clSetKernelArg(kernel, 1, 16, NULL));
    SHOW("clSetKernelArg(int, size 8)", clSetKernelArg(kernel, 2, 8, &number));
    SHOW("clSetKernelArg(int, size 2)", clSetKernelArg(kernel, 2, 2, &number));
    SHOW("clSetKernelArg(int, no value)", clSetKernelArg(kernel, 2, sizeof(number), NULL));
    SHOW("clSetKernelArg(int)", clSetKernelArg(kernel, 2, sizeof(number), &number));
    SHOW("clSetKernelArg(image, size 4)", clSetKernelArg(kernel, 3, 4, &image));
    SHOW("clSetKernelArg(image, no value)", clSetKernelArg(kernel, 3, sizeof(image), NULL));
    SHOW("clSetKernelArg(image)", clSetKernelArg(kernel, 3, sizeof(image), &image));
    SHOW("clSetKernelArg(sampler, size 4)", clSetKernelArg(kernel, 4, 4, &sampler));
    SHOW("clSetKernelArg(sampler, no value)", clSetKernelArg(kernel, 4, sizeof(sampler), NULL));
    SHOW("clSetKernelArg(NULL sampler)", clSetKernelArg(kernel, 4, sizeof(no_sampler), &no_sampler));
    SHOW("clSetKernelArg(sampler)", clSetKernelArg(kernel, 4, sizeof(sampler), &sampler));
}

#define RUN(queue, kernel, dims, offset, global, local)                                                                \
    clEnqueueNDRangeKernel(queue, kernel, dims, offset, global, local, 0, NULL, NULL)

/* PoCL 6 ends the process with SIGFPE instead of returning an error. */
static bool divides_by_none(void)
{
    char version[128];

    CHECK(clGetDeviceInfo(p.device, CL_DRIVER_VERSION, sizeof(version), version, NULL));
    return strncmp(version, "6.", 2);
}

static void launch_ask(void)
{
    const size_t one[] = {16, 1, 1}, zero[] = {0, 1, 1}, middle[] = {16, 0, 1}, five[] = {5, 1, 1},
                 huge[] = {1 << 20, 1, 1};
    const size_t far[] = {SIZE_MAX - 4, 0, 0}, eight[] = {8, 1, 1}, four[] = {4, 1, 1}, none[] = {0, 0, 0};
    SHOW("clEnqueueNDRangeKernel(argument not set)", RUN(p.queue, plain, 1, NULL, one, NULL));
    CHECK(clSetKernelArg(plain, 0, sizeof(buffer), &buffer));
    CHECK(clSetKernelArg(fixed, 0, sizeof(buffer), &buffer));
    SHOW("clEnqueueNDRangeKernel(NULL queue)", RUN(NULL, plain, 1, NULL, one, NULL));
    SHOW("clEnqueueNDRangeKernel(kernel of another context)", RUN(p.queue, foreign, 1, NULL, one, NULL));
    SHOW("clEnqueueNDRangeKernel(0 dimensions)", RUN(p.queue, plain, 0, NULL, one, NULL));
    SHOW("clEnqueueNDRangeKernel(4 dimensions)", RUN(p.queue, plain, 4, NULL, one, NULL));
    SHOW("clEnqueueNDRangeKernel(group does not divide)", RUN(p.queue, plain, 1, NULL, one, five));
    SHOW("clEnqueueNDRangeKernel(group too large)", RUN(p.queue, plain, 1, NULL, huge, huge));
    if (divides_by_none())
        SHOW("clEnqueueNDRangeKernel(group of 0)", RUN(p.queue, plain, 1, NULL, one, none));
    if (parity_tries("offset-overflow"))
        SHOW("clEnqueueNDRangeKernel(offset overflows)", RUN(p.queue, plain, 1, far, one, NULL));
    SHOW("clEnqueueNDRangeKernel(no global size)", RUN(p.queue, plain, 1, NULL, NULL, NULL));
    SHOW("clEnqueueNDRangeKernel(global size 0)", RUN(p.queue, plain, 1, NULL, zero, NULL));
    SHOW("clEnqueueNDRangeKernel(global size 16 by 0)", RUN(p.queue, plain, 2, NULL, middle, NULL));
    SHOW("clEnqueueNDRangeKernel(required group, none)", RUN(p.queue, fixed, 1, NULL, one, NULL));
    SHOW("clEnqueueNDRangeKernel(required group, other)", RUN(p.queue, fixed, 1, NULL, one, four));
    SHOW("clEnqueueNDRangeKernel(required group)", RUN(p.queue, fixed, 1, NULL, one, eight));
    SHOW("clEnqueueTask(NULL queue)", clEnqueueTask(NULL, plain, 0, NULL, NULL));
    SHOW("clEnqueueTask(kernel of another context)", clEnqueueTask(p.queue, foreign, 0, NULL, NULL));
    SHOW("clEnqueueTask", clEnqueueTask(p.queue, plain, 0, NULL, NULL));
    CHECK(clFinish(p.queue));
}

static void info_ask(void)
{
    cl_uint number;
    size_t size;
    SHOW("clGetKernelInfo(NULL)", clGetKernelInfo(NULL, CL_KERNEL_NUM_ARGS, 4, &number, NULL));
    SHOW("clGetKernelInfo(too small)", clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, 1, &number, NULL));
    SHOW("clGetKernelInfo(no such question)", clGetKernelInfo(kernel, 0x7777, 0, NULL, NULL));
    SHOW("clGetKernelArgInfo(NULL)", clGetKernelArgInfo(NULL, 0, CL_KERNEL_ARG_NAME, 0, NULL, NULL));
    SHOW("clGetKernelArgInfo(index)", clGetKernelArgInfo(kernel, 9, CL_KERNEL_ARG_NAME, 0, NULL, NULL));
    SHOW("clGetKernelArgInfo(no such question)", clGetKernelArgInfo(kernel, 0, 0x7777, 0, NULL, NULL));
    SHOW("clGetKernelArgInfo(too small)",
         clGetKernelArgInfo(kernel, 0, CL_KERNEL_ARG_ADDRESS_QUALIFIER, 1, &number, NULL));
    SHOW("clGetKernelWorkGroupInfo(NULL)",
         clGetKernelWorkGroupInfo(NULL, p.device, CL_KERNEL_WORK_GROUP_SIZE, sizeof(size), &size, NULL));
    SHOW("clGetKernelWorkGroupInfo(NULL device)",
         clGetKernelWorkGroupInfo(kernel, NULL, CL_KERNEL_WORK_GROUP_SIZE, sizeof(size), &size, NULL));
    SHOW("clGetKernelWorkGroupInfo(no such question)",
         clGetKernelWorkGroupInfo(kernel, p.device, 0x7777, sizeof(size), &size, NULL));
    SHOW("clGetKernelWorkGroupInfo(too small)",
         clGetKernelWorkGroupInfo(kernel, p.device, CL_KERNEL_WORK_GROUP_SIZE, 1, &size, NULL));
    SHOW("clGetKernelWorkGroupInfo(global size)", clGetKernelWorkGroupInfo(kernel, p.device, CL_KERNEL_GLOBAL_WORK_SIZE,
                                                                           sizeof(size) * 3, (size_t[3]){0}, NULL));
    SHOW("clGetKernelSubGroupInfo(NULL)",
         clGetKernelSubGroupInfo(NULL, p.device, CL_KERNEL_MAX_NUM_SUB_GROUPS, 0, NULL, sizeof(size), &size, NULL));
    SHOW("clSetKernelExecInfo(NULL)", clSetKernelExecInfo(NULL, CL_KERNEL_EXEC_INFO_SVM_PTRS, 8, &size));
    SHOW("clSetKernelArgSVMPointer(NULL)", clSetKernelArgSVMPointer(NULL, 0, &size));
}

int main(void)
{
    static const cl_image_format format = {CL_RGBA, CL_FLOAT};
    cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 8, .image_height = 8};
    cl_int status;
    parity_open(&p, 0);
    parity_open(&other, 0);
    program = parity_program(&p, source, NULL);
    unbuilt = clCreateProgramWithSource(p.context, 1, &source, NULL, &status);
    kernel = parity_kernel(program, "k");
    plain = parity_kernel(program, "plain");
    fixed = parity_kernel(program, "fixed");
    foreign = parity_kernel(parity_program(&other, source, NULL), "plain");
    buffer = parity_buffer(&p, CL_MEM_READ_WRITE, 4096, NULL);
    foreign_buffer = parity_buffer(&other, CL_MEM_READ_WRITE, 4096, NULL);
    CHECK(clSetKernelArg(foreign, 0, sizeof(foreign_buffer), &foreign_buffer));
    image = clCreateImage(p.context, CL_MEM_READ_ONLY, &format, &desc, NULL, &status);
    CHECK(status);
    sampler = clCreateSampler(p.context, CL_FALSE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, &status);
    CHECK(status);
    create_ask();
    argument_ask();
    launch_ask();
    parity_rich();
    info_ask();
    return 0;
}
