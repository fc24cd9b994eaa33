/* Makes the kernel table (wire/tables.h). */
#include <stdio.h>

#include "executor/internal.h"

static uint32_t text_info(cl_kernel kernel, cl_uint index, cl_kernel_arg_info param, char *text, size_t size)
{
    size_t length = 0;

    if (clGetKernelArgInfo(kernel, index, param, size, text, &length) || !length)
        return 0;
    return (uint32_t)length - 1;
}

static const struct {
    const char *name;
    uint32_t size;
} scalars[] = {{"char", 1},         {"uchar", 1},        {"short", 2},     {"ushort", 2},        {"int", 4},
               {"uint", 4},         {"long", 8},         {"ulong", 8},     {"float", 4},         {"double", 8},
               {"half", 2},         {"size_t", 8},       {"ptrdiff_t", 8}, {"unsigned char", 1}, {"unsigned short", 2},
               {"unsigned int", 4}, {"unsigned long", 8}};

/* The size of a built-in scalar or vector type; 0 for others. */
static uint32_t type_size(const char *name, uint32_t length)
{
    for (size_t i = 0; i < sizeof(scalars) / sizeof(*scalars); i++) {
        size_t word = strlen(scalars[i].name);
        char digits[8] = "";

        if (length < word || strncmp(name, scalars[i].name, word) || length - word > 2)
            continue;
        memcpy(digits, name + word, length - word);
        if (!*digits)
            return scalars[i].size;
        for (const char *count = " 2 3 4 8 16 "; *count; count++) {
            char pattern[12];

            snprintf(pattern, sizeof(pattern), " %s ", digits);
            if (!strncmp(count, pattern, strlen(pattern)))
                return scalars[i].size * (uint32_t)(atoi(digits) == 3 ? 4 : atoi(digits));
        }
    }
    return 0;
}

static const uint8_t zeroes[1024];

/* Returns the one size that the native call takes; 0 if it takes several, and so does not check. */
static uint32_t probe_size(cl_kernel kernel, cl_uint index)
{
    uint32_t found = 0;

    for (uint32_t size = 1; size <= sizeof(zeroes); size++) {
        if (clSetKernelArg(kernel, index, size, zeroes))
            continue;
        if (found)
            return 0;
        found = size;
    }
    return found;
}

/* PoCL also takes three elements for a vector of three, and shows that only by accepting the size. */
static uint32_t probe_other_size(cl_kernel kernel, cl_uint index, uint32_t size)
{
    uint32_t other = size / 4 * 3;

    return other && size % 4 == 0 && !clSetKernelArg(kernel, index, other, zeroes) ? other : size;
}

/* For an argument of which nothing is known, returns the only usual size that is taken, or 0. Leaves out the size of
 * a pointer, whose value would be used. */
static uint32_t probe_usual_size(cl_kernel kernel, cl_uint index)
{
    static const uint32_t sizes[] = {1, 2, 4, 16, 32, 64, 128};
    uint32_t found = 0;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        if (clSetKernelArg(kernel, index, sizes[i], zeroes))
            continue;
        if (found)
            return 0;
        found = sizes[i];
    }
    return found;
}

static void describe_argument(cl_kernel kernel, cl_uint index, bool hidden, struct wire_buffer *table)
{
    char type[512] = "", name[512] = "";
    struct wire_kernel_argument a = {.address = CL_KERNEL_ARG_ADDRESS_PRIVATE, .type_name = type, .name = name};
    cl_kernel_arg_type_qualifier qualifier = 0;

    a.known = !clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof(a.address), &a.address, NULL);
    clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_ACCESS_QUALIFIER, sizeof(a.access), &a.access, NULL);
    clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof(qualifier), &qualifier, NULL);
    a.qualifier = (uint32_t)qualifier;
    a.type_name_length = text_info(kernel, index, CL_KERNEL_ARG_TYPE_NAME, type, sizeof(type));
    a.name_length = text_info(kernel, index, CL_KERNEL_ARG_NAME, name, sizeof(name));
    if (a.known && a.address == CL_KERNEL_ARG_ADDRESS_PRIVATE && strncmp(type, "image", 5) &&
        strcmp(type, "sampler_t") && strncmp(type, "pipe", 4)) {
        a.size = type_size(type, a.type_name_length);
        if (!a.size)
            a.size = probe_size(kernel, index);
        a.other_size = probe_other_size(kernel, index, a.size);
    } else if (!a.known && !driver_needs_argument_option(kernel)) {
        a.size = a.other_size = probe_usual_size(kernel, index);
    }
    a.known &= !hidden;
    wire_put_kernel_argument(table, &a);
}

static void describe_kernel(cl_kernel kernel, cl_device_id device, bool hidden, struct wire_buffer *table)
{
    char name[4096] = "", attributes[4096] = "";
    size_t group[3] = {0};
    cl_uint count = 0;

    clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof(name), name, NULL);
    clGetKernelInfo(kernel, CL_KERNEL_ATTRIBUTES, sizeof(attributes), attributes, NULL);
    clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof(count), &count, NULL);
    wire_put_blob(table, name, strlen(name));
    wire_put_u32(table, count);
    wire_put_blob(table, attributes, strlen(attributes));
    clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof(group), group, NULL);
    for (int i = 0; i < 3; i++)
        wire_put_u64(table, group[i]);
    for (cl_uint i = 0; i < count; i++)
        describe_argument(kernel, i, hidden, table);
}

void kernels_describe(cl_program program, cl_device_id device, bool hidden, struct wire_buffer *table)
{
    cl_kernel *kernels;
    cl_uint count = 0;

    if (clCreateKernelsInProgram(program, 0, NULL, &count) || !count)
        return;
    kernels = calloc(count, sizeof(*kernels));
    if (!kernels || clCreateKernelsInProgram(program, count, kernels, NULL)) {
        free(kernels);
        return;
    }
    context_hush(true);
    for (cl_uint i = 0; i < count; i++) {
        if (!kernels[i]) /* oclgrind: a kernel that calls an undefined function */
            continue;
        describe_kernel(kernels[i], device, hidden, table);
        clReleaseKernel(kernels[i]);
    }
    context_hush(false);
    free(kernels);
}
