/*
 * Requests of the program when memory is exhausted: this program's malloc() fails when libvocl calls it.
 *
 *   no_memory each     each allocation of each creation fails in turn: the creation returns an error and leaves nothing
 *                      behind that would end the session, or it succeeds
 *   no_memory batch    commands are gathered for sending, and there is no memory to gather more: they are sent
 *   no_memory send K   the K-th allocation fails while a long program is sent and built; prints the result on one line
 */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call) check((call), #call, __LINE__)

enum { ONES = 1000, LONG_SOURCE = 300 << 10, LARGE = 4096 /* for a table of objects */ };

struct large {
    cl_uint words[64];
};

static const char *const source = "struct large { uint words[64]; };\n"
                                  "kernel void last(global uint *to, struct large from)\n"
                                  "{\n"
                                  "    *to = from.words[63];\n"
                                  "}\n";

static cl_device_id device;
static cl_context context;
static cl_command_queue queue;
static cl_program program;
static cl_kernel kernel;
static cl_mem buffer;
static uintptr_t start, end;           /* of the library's code */
static _Thread_local unsigned long at; /* the allocation that fails, from 1 on; 0: none fails */
static _Thread_local unsigned long seen;
static _Thread_local bool growing_fails;

/* ---- the allocator ---- */

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);

#define EXPORTED __attribute__((visibility("default")))

static bool fails(const void *caller)
{
    if (!at || (uintptr_t)caller < start || (uintptr_t)caller >= end || ++seen != at)
        return false;
    errno = ENOMEM;
    return true;
}

EXPORTED void *malloc(size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

EXPORTED void *calloc(size_t number, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(number, size);
}

EXPORTED void *realloc(void *memory, size_t size)
{
    if (growing_fails && size >= LARGE)
        return NULL;
    return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(memory, size);
}

/* Finds the code of the library that has the OpenCL functions. */
static int find(struct dl_phdr_info *info, size_t size, void *name)
{
    (void)size;
    if (strcmp(info->dlpi_name, name))
        return 0;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        const uintptr_t address = info->dlpi_addr + part->p_vaddr;

        if (part->p_type == PT_LOAD && part->p_flags & PF_X) {
            start = address;
            end = address + part->p_memsz;
        }
    }
    return 1;
}

/* ---- the session ---- */

static void check(cl_int status, const char *call, int line)
{
    if (status == CL_SUCCESS)
        return;
    fprintf(stderr, "no_memory.c:%d: error %d from %s\n", line, status, call);
    exit(1);
}

static cl_uint run(cl_kernel of)
{
    const size_t one = 1;
    cl_uint value = 0;

    CHECK(clEnqueueNDRangeKernel(queue, of, 1, NULL, &one, NULL, 0, NULL, NULL));
    CHECK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(value), &value, 0, NULL, NULL));
    return value;
}

static void set_value(cl_kernel of, cl_uint value)
{
    const struct large from = {.words[63] = value};

    CHECK(clSetKernelArg(of, 1, sizeof(from), &from));
}

/* Checks that the session still works; exits if not. */
static void expect_session(void)
{
    static cl_uint value = 77;

    set_value(kernel, ++value);
    if (run(kernel) == value)
        return;
    fprintf(stderr, "the kernel does not write what it is given\n");
    exit(1);
}

static void open_session(void)
{
    cl_platform_id platform;
    Dl_info library;
    cl_int error;

    if (!dladdr((void *)(uintptr_t)clCreateBuffer, &library))
        exit(1);
    dl_iterate_phdr(find, (void *)(uintptr_t)library.dli_fname);
    CHECK(clGetPlatformIDs(1, &platform, NULL));
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    CHECK(error);
    queue = clCreateCommandQueueWithProperties(context, device, NULL, &error);
    CHECK(error);
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, NULL, &error);
    CHECK(error);
    program = clCreateProgramWithSource(context, 1, (const char **)(uintptr_t)&source, NULL, &error);
    CHECK(error);
    CHECK(clBuildProgram(program, 1, &device, NULL, NULL, NULL));
    kernel = clCreateKernel(program, "last", &error);
    CHECK(error);
    CHECK(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer));
    expect_session();
}

/* ---- each ---- */

static cl_int make_buffer(void)
{
    const cl_uint value = 1;
    cl_int error;
    cl_mem made = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof(value),
                                 (void *)(uintptr_t)&value, &error);

    if (made)
        CHECK(clReleaseMemObject(made));
    return error;
}

static cl_int make_part(void)
{
    const cl_buffer_region region = {0, 64};
    cl_int error;
    cl_mem made = clCreateSubBuffer(buffer, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);

    if (made)
        CHECK(clReleaseMemObject(made));
    return error;
}

static cl_int make_image(void)
{
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 16, .image_height = 16};
    cl_int error;
    cl_mem made = clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, &error);

    if (made)
        CHECK(clReleaseMemObject(made));
    return error;
}

static cl_int make_queue(void)
{
    cl_int error;
    cl_command_queue made = clCreateCommandQueueWithProperties(context, device, NULL, &error);

    if (made)
        CHECK(clReleaseCommandQueue(made));
    return error;
}

static cl_int make_context(void)
{
    cl_int error;
    cl_context made = clCreateContext(NULL, 1, &device, NULL, NULL, &error);

    if (made)
        CHECK(clReleaseContext(made));
    return error;
}

static cl_int make_program(void)
{
    cl_int error;
    cl_program made = clCreateProgramWithSource(context, 1, (const char **)(uintptr_t)&source, NULL, &error);

    if (made)
        CHECK(clReleaseProgram(made));
    return error;
}

static cl_int make_kernel(void)
{
    cl_int error;
    cl_kernel made = clCreateKernel(program, "last", &error);

    if (made)
        CHECK(clReleaseKernel(made));
    return error;
}

/* Clones the kernel with all its arguments. */
static cl_int make_clone(void)
{
    cl_int error;
    cl_kernel made = clCloneKernel(kernel, &error);

    at = 0;
    if (!made)
        return error;
    set_value(kernel, 5); /* below, it was set to 4 */
    if (run(made) != 4) {
        fprintf(stderr, "the clone has not the arguments\n");
        exit(1);
    }
    CHECK(clReleaseKernel(made));
    return error;
}

static cl_int make_sampler(void)
{
    cl_int error;
    cl_sampler made = clCreateSampler(context, CL_FALSE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, &error);

    if (made)
        CHECK(clReleaseSampler(made));
    return error;
}

static cl_int make_event(void)
{
    cl_int error;
    cl_event made = clCreateUserEvent(context, &error);

    if (made) {
        CHECK(clSetUserEventStatus(made, CL_COMPLETE));
        CHECK(clReleaseEvent(made));
    }
    return error;
}

static cl_int set_argument(void)
{
    const struct large from = {{0}};

    return clSetKernelArg(kernel, 1, sizeof(from), &from);
}

static void try_each(const char *name, cl_int (*make)(void))
{
    cl_int error;

    for (unsigned long next = 1;; next++) {
        set_value(kernel, 4);
        seen = 0;
        at = next;
        error = make();
        at = 0;
        if (error && error != CL_OUT_OF_HOST_MEMORY) {
            fprintf(stderr, "%s, allocation %lu: error %d\n", name, next, error);
            exit(1);
        }
        expect_session();
        if (seen < next) {
            printf("%s: %lu\n", name, next - 1);
            CHECK(error);
            return;
        }
    }
}

static void each(void)
{
    try_each("a buffer", make_buffer);
    try_each("part of a buffer", make_part);
    try_each("an image", make_image);
    try_each("a queue", make_queue);
    try_each("a context", make_context);
    try_each("a program", make_program);
    try_each("a kernel", make_kernel);
    try_each("a clone", make_clone);
    try_each("a sampler", make_sampler);
    try_each("a user event", make_event);
    try_each("an argument", set_argument);
}

/* ---- batch ---- */

static void batch(void)
{
    static cl_sampler samplers[ONES];
    cl_int error = CL_SUCCESS;
    int made = 0;

    growing_fails = true;
    while (made < ONES) {
        samplers[made] = clCreateSampler(context, CL_FALSE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, &error);
        CHECK(error);
        made++;
    }
    for (int i = 0; i < made; i++)
        CHECK(clReleaseSampler(samplers[i]));
    growing_fails = false;
    printf("%d samplers\n", made);
    expect_session();
}

/* ---- send ---- */

static void send_long(unsigned long number)
{
    char *text = malloc(LONG_SOURCE);
    const char *texts[] = {source, text};
    cl_program made;
    cl_int error;

    if (!text)
        exit(1);
    memset(text, '\n', LONG_SOURCE - 1);
    text[LONG_SOURCE - 1] = '\0';
    at = number;
    made = clCreateProgramWithSource(context, 2, texts, NULL, &error);
    if (!error)
        error = clBuildProgram(made, 1, &device, NULL, NULL, NULL);
    at = 0;
    if (!error) /* waits for the build */
        clCreateKernel(made, "last", &error);
    printf("%s, error %d\n", seen < number ? "none failed" : "failed", error);
    fflush(stdout);
    _Exit(0);
}

int main(int count, char **words)
{
    const char *what = count > 1 ? words[1] : "";

    open_session();
    if (!strcmp(what, "each"))
        each();
    else if (!strcmp(what, "batch"))
        batch();
    else if (!strcmp(what, "send") && count > 2)
        send_long(strtoul(words[2], NULL, 10));
    else
        return 2;
    return 0;
}
