/*
 * Queries about kernels and their arguments, and arguments of every type, whose values must arrive. Also cloned
 * kernels, and arguments that are set again, not set again, or set late.
 */
#include "parity.h"

static const char *source =
    "struct pair {\n"
    "    int left;\n"
    "    double right;\n"
    "};\n"
    "typedef float real;\n"
    "\n"
    "kernel void scalars(char a, uchar b, short c, ushort d, int e, uint f, long g, ulong h, float i, double j,\n"
    "                    global double *to)\n"
    "{\n"
    "    to[0] = a; to[1] = b; to[2] = c; to[3] = d; to[4] = e;\n"
    "    to[5] = f; to[6] = g; to[7] = h; to[8] = i; to[9] = j;\n"
    "}\n"
    "\n"
    "kernel void vectors(char2 a, float3 b, int4 c, ushort8 d, int16 e, double2 f, uchar3 g, global double *to)\n"
    "{\n"
    "    to[0] = a.x; to[1] = a.y; to[2] = b.x; to[3] = b.z; to[4] = c.x; to[5] = c.w;\n"
    "    to[6] = d.s0; to[7] = d.s7; to[8] = e.s0; to[9] = e.sf; to[10] = f.x; to[11] = f.y;\n"
    "    to[12] = g.x; to[13] = g.z;\n"
    "}\n"
    "\n"
    "kernel void structs(struct pair pair, real more, global const struct pair *pairs, constant int *fixed,\n"
    "                    global double *to)\n"
    "{\n"
    "    to[0] = pair.left; to[1] = pair.right; to[2] = more; to[3] = pairs[1].left; to[4] = pairs[1].right;\n"
    "    to[5] = fixed[2];\n"
    "}\n"
    "\n"
    "kernel void locals(local int *one, local double *two, global int *to)\n"
    "{\n"
    "    size_t i = get_local_id(0);\n"
    "    one[i] = i;\n"
    "    two[i] = i * 10;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    size_t other = get_local_size(0) - 1 - i;\n"
    "    to[get_global_id(0)] = one[other] + (int)two[other];\n"
    "}\n"
    "\n"
    "kernel void nothing(global int *restrict maybe, global const volatile int *from, global int *to)\n"
    "{\n"
    "    to[0] = maybe ? 1 : 2;\n"
    "    to[1] = from ? 1 : 2;\n"
    "}\n"
    "\n"
    "kernel void pictures(read_only image2d_t from, write_only image3d_t to, sampler_t sampler, global int *data)\n"
    "{\n"
    "    data[0] = get_image_width(from) + 100 * get_image_height(from);\n"
    "}\n"
    "\n"
    "kernel __attribute__((reqd_work_group_size(8, 4, 2))) void fixed_size(global int *to)\n"
    "{\n"
    "    local int shared[64];\n"
    "    shared[get_local_id(0)] = 1;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    to[get_global_id(0)] = shared[get_local_id(0)];\n"
    "}\n"
    "\n"
    "kernel __attribute__((work_group_size_hint(32, 1, 1))) __attribute__((vec_type_hint(float4)))\n"
    "void hinted(global float4 *to)\n"
    "{\n"
    "    to[get_global_id(0)] = 1;\n"
    "}\n"
    "\n"
    "kernel void no_arguments()\n"
    "{\n"
    "}\n";

static const char *const names[] = {"scalars",  "vectors",    "structs", "locals",      "nothing",
                                    "pictures", "fixed_size", "hinted",  "no_arguments"};

struct pair {
    cl_int left;
    cl_double right;
};

static struct parity p;
static cl_program program;

static void argument_show(cl_kernel kernel, cl_uint index)
{
    cl_kernel_arg_address_qualifier address = 0;
    cl_kernel_arg_access_qualifier access = 0;
    cl_kernel_arg_type_qualifier type = 0;
    char type_name[64] = "", name[64] = "";
    cl_int status = clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof(address), &address, NULL);
    if (status != CL_SUCCESS) {
        printf("    %u: %s\n", index, parity_error_name(status));
        return;
    }
    CHECK(clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_ACCESS_QUALIFIER, sizeof(access), &access, NULL));
    CHECK(clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof(type), &type, NULL));
    CHECK(clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_TYPE_NAME, sizeof(type_name), type_name, NULL));
    CHECK(clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_NAME, sizeof(name), name, NULL));
    printf("    %u: %s %s, address %#x, access %#x, type %u\n", index, type_name, name, address, access,
           (unsigned)type);
}

static void kernel_show(cl_program of, const char *wanted)
{
    char name[64], attributes[256];
    cl_uint arguments, references;
    cl_context context;
    cl_program parent;
    size_t size;
    cl_kernel kernel = parity_kernel(of, wanted);
    CHECK(clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof(name), name, &size));
    EXPECT(size == strlen(wanted) + 1 && strcmp(name, wanted) == 0);
    CHECK(clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof(arguments), &arguments, NULL));
    CHECK(clGetKernelInfo(kernel, CL_KERNEL_REFERENCE_COUNT, sizeof(references), &references, NULL));
    CHECK(clGetKernelInfo(kernel, CL_KERNEL_CONTEXT, sizeof(context), &context, NULL));
    CHECK(clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof(parent), &parent, NULL));
    CHECK(clGetKernelInfo(kernel, CL_KERNEL_ATTRIBUTES, sizeof(attributes), attributes, NULL));
    EXPECT(context == p.context && parent == of);
    printf("%s: %u arguments, %u reference, attributes '%s'\n", name, arguments, references, attributes);
    for (cl_uint i = 0; i < arguments; i++)
        argument_show(kernel, i);
    CHECK(clReleaseKernel(kernel));
}

/* The size of private memory depends on the compiler. */
static void group_show(const char *name)
{
    size_t largest, fixed[3], multiple, global[3];
    cl_ulong memory;
    cl_kernel kernel = parity_kernel(program, name);
    CHECK(clGetKernelWorkGroupInfo(kernel, p.device, CL_KERNEL_WORK_GROUP_SIZE, sizeof(largest), &largest, NULL));
    CHECK(clGetKernelWorkGroupInfo(kernel, p.device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof(fixed), fixed, NULL));
    CHECK(clGetKernelWorkGroupInfo(kernel, NULL, CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, sizeof(multiple),
                                   &multiple, NULL));
    CHECK(clGetKernelWorkGroupInfo(kernel, p.device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof(memory), &memory, NULL));
    printf("%s: up to %zu, fixed %zu %zu %zu, multiple of %zu, %llu bytes of local memory\n", name, largest, fixed[0],
           fixed[1], fixed[2], multiple, (unsigned long long)memory);
    CHECK(clGetKernelWorkGroupInfo(kernel, p.device, CL_KERNEL_PRIVATE_MEM_SIZE, sizeof(memory), &memory, NULL));
    SHOW("global work size",
         clGetKernelWorkGroupInfo(kernel, p.device, CL_KERNEL_GLOBAL_WORK_SIZE, sizeof(global), global, NULL));
    CHECK(clReleaseKernel(kernel));
}

/* The local memory size includes the arguments of this kernel object, not those of another one of the same name. */
static void local_memory_show(void)
{
    const size_t sizes[] = {64, 64, 4096, 8, 1 << 14};
    cl_kernel kernels[2] = {parity_kernel(program, "locals"), parity_kernel(program, "locals")};
    cl_kernel clone;
    cl_int status;
    for (size_t i = 0; i <= PARITY_COUNT(sizes); i++) {
        for (int k = 0; k < 2; k++) {
            cl_ulong memory[2] = {99, 99};
            for (int j = 0; j < 2; j++)
                CHECK(clGetKernelWorkGroupInfo(kernels[k], p.device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof(memory[j]),
                                               &memory[j], NULL));
            printf("local memory, kernel %d: %llu %llu\n", k, (unsigned long long)memory[0],
                   (unsigned long long)memory[1]);
        }
        if (i < PARITY_COUNT(sizes))
            CHECK(clSetKernelArg(kernels[0], i % 2, sizes[i], NULL));
    }
    if (parity_version(&p) >= 210) {
        clone = clCloneKernel(kernels[0], &status);
        CHECK(status);
        CHECK(clReleaseKernel(clone));
    }
    for (int k = 0; k < 2; k++)
        CHECK(clReleaseKernel(kernels[k]));
}

static void sub_groups_show(void)
{
    if (parity_version(&p) < 210)
        return;
    cl_kernel kernel = parity_kernel(program, "locals");
    size_t local[] = {64, 1, 1}, value = 0;
    printf("-- sub-groups\n");
    SHOW("size", clGetKernelSubGroupInfo(kernel, p.device, CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, sizeof(local),
                                         local, sizeof(value), &value, NULL));
    SHOW("count", clGetKernelSubGroupInfo(kernel, p.device, CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE, sizeof(local), local,
                                          sizeof(value), &value, NULL));
    SHOW("most",
         clGetKernelSubGroupInfo(kernel, p.device, CL_KERNEL_MAX_NUM_SUB_GROUPS, 0, NULL, sizeof(value), &value, NULL));
    printf("%zu\n", value);
    for (size_t dims = 1; dims <= 3; dims++) {
        size_t count = 2, sizes[3] = {7, 7, 7}, size = 0;
        SHOW("sizes", clGetKernelSubGroupInfo(kernel, p.device, CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT, sizeof(count),
                                              &count, dims * sizeof(*sizes), sizes, &size));
        printf("%zu: %zu %zu %zu\n", size, sizes[0], sizes[1], sizes[2]);
    }
    CHECK(clReleaseKernel(kernel));
}

/* Where the driver suggests local sizes. */
static void suggestions_show(void)
{
    clGetKernelSuggestedLocalWorkSizeKHR_fn suggest =
        (clGetKernelSuggestedLocalWorkSizeKHR_fn)clGetExtensionFunctionAddressForPlatform(
            p.platform, "clGetKernelSuggestedLocalWorkSizeKHR");
    cl_kernel kernel = parity_kernel(program, "locals");
    size_t global[] = {96, 10, 7}, offset[] = {5, 0, 0}, local[3] = {0};
    cl_mem to = parity_buffer(&p, CL_MEM_READ_WRITE, 64, NULL);
    if (suggest) {
        SHOW("suggest(no arguments)", suggest(p.queue, kernel, 1, NULL, global, local));
        CHECK(clSetKernelArg(kernel, 0, 64, NULL));
        CHECK(clSetKernelArg(kernel, 1, 64, NULL));
        CHECK(clSetKernelArg(kernel, 2, sizeof(to), &to));
        for (cl_uint dims = 1; dims <= 3; dims++) {
            SHOW("suggest", suggest(p.queue, kernel, dims, dims == 2 ? offset : NULL, global, local));
            printf("%zu %zu %zu\n", local[0], local[1], local[2]);
        }
        SHOW("suggest(no queue)", suggest(NULL, kernel, 1, NULL, global, local));
        SHOW("suggest(no kernel)", suggest(p.queue, NULL, 1, NULL, global, local));
        SHOW("suggest(no dimensions)", suggest(p.queue, kernel, 0, NULL, global, local));
        SHOW("suggest(no size)", suggest(p.queue, kernel, 1, NULL, NULL, local));
        SHOW("suggest(no room)", suggest(p.queue, kernel, 1, NULL, global, NULL));
    }
    CHECK(clReleaseMemObject(to));
    CHECK(clReleaseKernel(kernel));
}

/* Driver versions differ in whether a kernel with a fixed work-group size needs a local size. */
static void fixed_run(void)
{
    cl_kernel kernel = parity_kernel(program, "fixed_size");
    cl_mem to = parity_buffer(&p, CL_MEM_READ_WRITE, 64 * sizeof(cl_int), NULL);
    parity_args(kernel, 1, sizeof(to), &to);
    SHOW("without a local size",
         clEnqueueNDRangeKernel(p.queue, kernel, 3, NULL, (size_t[]){8, 4, 2}, NULL, 0, NULL, NULL));
    CHECK(clFinish(p.queue));
    CHECK(clReleaseMemObject(to));
    CHECK(clReleaseKernel(kernel));
}

static void doubles_run(cl_kernel kernel, cl_mem to, int count)
{
    cl_double values[16];
    char name[32];
    CHECK(clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof(name), name, NULL));
    parity_launch(p.queue, kernel, 1, (size_t[]){1}, (size_t[]){1});
    parity_read(p.queue, to, 0, sizeof(values), values);
    printf("%s:", name);
    for (int i = 0; i < count; i++)
        printf(" %.17g", values[i]);
    printf("\n");
}

static void scalars_run(cl_mem to)
{
    cl_kernel kernel = parity_kernel(program, "scalars");
    cl_char a = -7;
    cl_uchar b = 200;
    cl_short c = -30000;
    cl_ushort d = 60000;
    cl_int e = -2000000000;
    cl_uint f = 4000000000u;
    cl_long g = -((cl_long)1 << 50);
    cl_ulong h = (cl_ulong)1 << 52;
    cl_float i = 0.1f;
    cl_double j = 1e-300;
    parity_args(kernel, 11, sizeof(a), &a, sizeof(b), &b, sizeof(c), &c, sizeof(d), &d, sizeof(e), &e, sizeof(f), &f,
                sizeof(g), &g, sizeof(h), &h, sizeof(i), &i, sizeof(j), &j, sizeof(to), &to);
    doubles_run(kernel, to, 10);
    f = 5;
    CHECK(clSetKernelArg(kernel, 5, sizeof(f), &f));
    f = 6;
    doubles_run(kernel, to, 10);
    CHECK(clReleaseKernel(kernel));
}

static void vectors_run(cl_mem to)
{
    cl_kernel kernel = parity_kernel(program, "vectors");
    cl_char2 a = {{-1, 2}};
    cl_float3 b = {{1.5f, 2.5f, 3.5f}};
    cl_int4 c = {{4, 5, 6, -7}};
    cl_ushort8 d = {{8, 0, 0, 0, 0, 0, 0, 65535}};
    cl_int16 e = {{9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -10}};
    cl_double2 f = {{0.25, -1e100}};
    cl_uchar3 g = {{11, 12, 255}};
    parity_args(kernel, 8, sizeof(a), &a, sizeof(b), &b, sizeof(c), &c, sizeof(d), &d, sizeof(e), &e, sizeof(f), &f,
                sizeof(g), &g, sizeof(to), &to);
    doubles_run(kernel, to, 14);
    CHECK(clReleaseKernel(kernel));
}

static void structs_run(cl_mem to)
{
    cl_kernel kernel = parity_kernel(program, "structs");
    struct pair pairs[] = {{1, 2.5}, {3, 4.5}};
    cl_int fixed[] = {5, 6, 7};
    cl_float more = 8.5f;
    cl_mem buffer = parity_buffer(&p, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof(pairs), pairs);
    cl_mem constants = parity_buffer(&p, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof(fixed), fixed);
    parity_args(kernel, 5, sizeof(pairs[0]), &pairs[0], sizeof(more), &more, sizeof(buffer), &buffer, sizeof(constants),
                &constants, sizeof(to), &to);
    doubles_run(kernel, to, 6);
    CHECK(clReleaseMemObject(constants));
    CHECK(clReleaseMemObject(buffer));
    CHECK(clReleaseKernel(kernel));
}

static void locals_run(cl_mem to)
{
    cl_kernel kernel = parity_kernel(program, "locals");
    for (size_t local = 4; local <= 16; local *= 2) {
        cl_int values[32];
        parity_args(kernel, 3, local * sizeof(cl_int), NULL, local * sizeof(cl_double), NULL, sizeof(to), &to);
        parity_launch(p.queue, kernel, 1, (size_t[]){32}, &local);
        parity_read(p.queue, to, 0, sizeof(values), values);
        for (size_t i = 0; i < 32; i++)
            EXPECT(values[i] == (cl_int)(local - 1 - i % local) * 11);
        parity_hash_print("locals", values, sizeof(values));
    }
    CHECK(clReleaseKernel(kernel));
}

/* A memory object argument may be a NULL pointer, or a pointer to NULL. */
static void nothing_run(cl_mem to)
{
    cl_kernel kernel = parity_kernel(program, "nothing");
    cl_mem none = NULL;
    cl_int values[2];
    parity_args(kernel, 3, sizeof(cl_mem), NULL, sizeof(none), &none, sizeof(to), &to);
    parity_launch(p.queue, kernel, 1, (size_t[]){1}, NULL);
    parity_read(p.queue, to, 0, sizeof(values), values);
    printf("nothing: %d %d\n", values[0], values[1]);
    parity_args(kernel, 2, sizeof(to), &to, sizeof(to), &to);
    parity_launch(p.queue, kernel, 1, (size_t[]){1}, NULL);
    parity_read(p.queue, to, 0, sizeof(values), values);
    printf("something: %d %d\n", values[0], values[1]);
    CHECK(clReleaseKernel(kernel));
}

static void pictures_run(cl_mem to)
{
    static const cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
    cl_image_desc flat = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 13, .image_height = 7};
    cl_image_desc deep = {.image_type = CL_MEM_OBJECT_IMAGE3D, .image_width = 4, .image_height = 4, .image_depth = 4};
    cl_int status, value;
    cl_kernel kernel = parity_kernel(program, "pictures");
    cl_mem from = clCreateImage(p.context, CL_MEM_READ_ONLY, &format, &flat, NULL, &status);
    CHECK(status);
    cl_mem other = clCreateImage(p.context, CL_MEM_WRITE_ONLY, &format, &deep, NULL, &status);
    CHECK(status);
    cl_sampler sampler = clCreateSampler(p.context, CL_FALSE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, &status);
    CHECK(status);
    parity_args(kernel, 4, sizeof(from), &from, sizeof(other), &other, sizeof(sampler), &sampler, sizeof(to), &to);
    parity_rich();
    parity_launch(p.queue, kernel, 1, (size_t[]){1}, NULL);
    parity_read(p.queue, to, 0, sizeof(value), &value);
    printf("pictures: %d\n", value);
    CHECK(clReleaseSampler(sampler));
    CHECK(clReleaseMemObject(other));
    CHECK(clReleaseMemObject(from));
    CHECK(clReleaseKernel(kernel));
}

static void no_arguments_run(void)
{
    cl_kernel kernel = parity_kernel(program, "no_arguments");
    parity_launch(p.queue, kernel, 3, (size_t[]){2, 3, 4}, NULL);
    printf("no_arguments\n");
    CHECK(clReleaseKernel(kernel));
}

/* A launch uses the arguments as of its enqueueing, even if it runs later. */
static void arguments_caught(cl_mem to)
{
    cl_int status;
    cl_kernel kernel = parity_kernel(program, "nothing");
    cl_event gate = clCreateUserEvent(p.context, &status), event;
    CHECK(status);
    cl_int values[2] = {0};
    cl_mem none = NULL, other = parity_buffer(&p, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof(values), values);
    parity_args(kernel, 3, sizeof(to), &to, sizeof(none), &none, sizeof(to), &to);
    CHECK(clEnqueueNDRangeKernel(p.queue, kernel, 1, NULL, (size_t[]){1}, NULL, 1, &gate, &event));
    parity_args(kernel, 3, sizeof(none), &none, sizeof(to), &to, sizeof(other), &other);
    CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
    CHECK(clWaitForEvents(1, &event));
    parity_read(p.queue, to, 0, sizeof(values), values);
    printf("arguments at the time: %d %d\n", values[0], values[1]);
    parity_read(p.queue, other, 0, sizeof(values), values);
    printf("not yet: %d %d\n", values[0], values[1]);
    CHECK(clReleaseEvent(event));
    CHECK(clReleaseEvent(gate));
    CHECK(clReleaseMemObject(other));
    CHECK(clReleaseKernel(kernel));
}

/* A clone gets the arguments of that time, and is independent from then on. PoCL 3.1 crashes if one of them is NULL. */
static void clone_try(cl_mem to)
{
    if (parity_version(&p) < 210)
        return;
    cl_int status, values[2] = {0};
    cl_mem none = NULL;
    cl_kernel kernel = parity_kernel(program, "nothing");
    parity_args(kernel, 3, sizeof(to), &to, sizeof(to), &to, sizeof(to), &to);
    cl_kernel clone = clCloneKernel(kernel, &status);
    CHECK(status);
    CHECK(clSetKernelArg(kernel, 0, sizeof(none), &none));
    parity_launch(p.queue, clone, 1, (size_t[]){1}, NULL);
    parity_read(p.queue, to, 0, sizeof(values), values);
    printf("clone: %d %d\n", values[0], values[1]);
    CHECK(clSetKernelArg(clone, 1, sizeof(none), &none));
    parity_launch(p.queue, clone, 1, (size_t[]){1}, NULL);
    parity_read(p.queue, to, 0, sizeof(values), values);
    printf("clone changed: %d %d\n", values[0], values[1]);
    parity_launch(p.queue, kernel, 1, (size_t[]){1}, NULL);
    parity_read(p.queue, to, 0, sizeof(values), values);
    printf("original: %d %d\n", values[0], values[1]);
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseKernel(clone));
}

/* Without -cl-kernel-arg-info it depends on the options whether PoCL 3.1 knows the arguments. */
static void availability_show(void)
{
    static const char *const options[] = {NULL, "", " ", "-DUNUSED", "-cl-kernel-arg-info", "-w -cl-kernel-arg-info"};
    for (size_t i = 0; i < PARITY_COUNT(options); i++) {
        cl_program with = parity_program(&p, source, options[i]);
        cl_kernel kernel = parity_kernel(with, "structs");
        cl_kernel_arg_address_qualifier address;
        printf("'%s': ", options[i] ? options[i] : "NULL");
        SHOW("argument information",
             clGetKernelArgInfo(kernel, 0, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof(address), &address, NULL));
        CHECK(clReleaseKernel(kernel));
        CHECK(clReleaseProgram(with));
    }
}

int main(void)
{
    parity_open(&p, 0);
    cl_program plain = parity_program(&p, source, NULL);
    printf("-- without argument information asked for\n");
    for (size_t i = 0; i < PARITY_COUNT(names); i++)
        kernel_show(plain, names[i]);
    CHECK(clReleaseProgram(plain));
    printf("-- with argument information\n");
    program = parity_program(&p, source, "-cl-kernel-arg-info");
    for (size_t i = 0; i < PARITY_COUNT(names); i++)
        kernel_show(program, names[i]);
    availability_show();
    printf("-- work-groups\n");
    for (size_t i = 0; i < PARITY_COUNT(names); i++)
        group_show(names[i]);
    local_memory_show();
    sub_groups_show();
    suggestions_show();
    fixed_run();

    printf("-- values\n");
    cl_mem to = parity_buffer(&p, CL_MEM_READ_WRITE, 256, NULL);
    scalars_run(to);
    vectors_run(to);
    structs_run(to);
    locals_run(to);
    nothing_run(to);
    pictures_run(to);
    no_arguments_run();
    arguments_caught(to);
    clone_try(to);
    CHECK(clReleaseMemObject(to));
    CHECK(clReleaseProgram(program));
    parity_close(&p);
    return 0;
}
