/*
 * Performs small writes of every kind, and counts how often libvocl allocates memory meanwhile: this program's malloc()
 * counts. What the library allocates in the first writes it reuses. Checks the contents written last.
 */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call) check((call), #call, __LINE__)

enum { SIZE = 64 << 10, SMALL = 64, LARGEST = 16 << 10, AT_ONCE = 2, ROUNDS = 100, TRIES = 10 };

static cl_command_queue queue;
static cl_mem buffer, image;
static unsigned char data[SIZE], result[SIZE];
static uintptr_t start, end; /* of the library's code */
static _Thread_local unsigned counting, counted;

/* ---- the allocator ---- */

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);

#define EXPORTED __attribute__((visibility("default")))

static void count(const void *caller)
{
    counted += counting && (uintptr_t)caller >= start && (uintptr_t)caller < end;
}

EXPORTED void *malloc(size_t size)
{
    count(__builtin_return_address(0));
    return __libc_malloc(size);
}

EXPORTED void *calloc(size_t number, size_t size)
{
    count(__builtin_return_address(0));
    return __libc_calloc(number, size);
}

EXPORTED void *realloc(void *memory, size_t size)
{
    count(__builtin_return_address(0));
    return __libc_realloc(memory, size);
}

/* Finds the code of the library that has the OpenCL functions. */
static int find(struct dl_phdr_info *info, size_t size, void *name)
{
    (void)size;
    if (strcmp(info->dlpi_name, name))
        return 0;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        const uintptr_t at = info->dlpi_addr + part->p_vaddr;

        if (part->p_type == PT_LOAD && part->p_flags & PF_X) {
            start = at;
            end = at + part->p_memsz;
        }
    }
    return 1;
}

/* ---- the writes ---- */

static void check(cl_int status, const char *call, int line)
{
    if (status == CL_SUCCESS)
        return;
    fprintf(stderr, "small_writes.c:%d: error %d from %s\n", line, status, call);
    exit(1);
}

static void write_piece(cl_bool blocking, size_t size)
{
    CHECK(clEnqueueWriteBuffer(queue, buffer, blocking, 0, size, data, 0, NULL, NULL));
}

static void write_few(void)
{
    write_piece(CL_FALSE, SMALL);
}

static void write_many(void)
{
    write_piece(CL_FALSE, LARGEST);
}

static void write_and_wait(void)
{
    write_piece(CL_TRUE, SMALL);
}

static void write_rect(void)
{
    const size_t origin[3] = {0, 1, 0}, region[3] = {16, 8, 2};

    CHECK(clEnqueueWriteBufferRect(queue, buffer, CL_FALSE, origin, origin, region, 32, 512, 64, 1024, data, 0, NULL,
                                   NULL));
}

static void write_image(void)
{
    const size_t origin[3] = {0}, region[3] = {8, 8, 1};

    CHECK(clEnqueueWriteImage(queue, image, CL_FALSE, origin, region, 128, 0, data, 0, NULL, NULL));
}

/* Makes few enough writes at once that none waits for the node. */
static unsigned count_once(void (*write)(void))
{
    counted = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        counting = 1;
        for (unsigned i = 0; i < AT_ONCE; i++)
            write();
        counting = 0;
        CHECK(clFinish(queue));
    }
    return counted;
}

/* Counts again until no write allocates: at any time, a thread that is late to return a sent message makes one more of
 * them necessary than ever before, but not again and again. */
static unsigned count_in(void (*write)(void))
{
    unsigned found = count_once(write);

    for (unsigned try = 0; found && try < TRIES; try++)
        found = count_once(write);
    return found;
}

int main(void)
{
    static const struct {
        const char *name;
        void (*write)(void);
    } kinds[] = {{"few bytes", write_few},
                 {"as many as go in a command", write_many},
                 {"few bytes, blocking", write_and_wait},
                 {"a rect", write_rect},
                 {"a region of an image", write_image}};
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 32, .image_height = 32};
    cl_platform_id platform;
    cl_context context;
    cl_device_id device;
    Dl_info library;
    cl_int status;
    unsigned all = 0;

    CHECK(clGetPlatformIDs(1, &platform, NULL));
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    CHECK(status);
    queue = clCreateCommandQueueWithProperties(context, device, NULL, &status);
    CHECK(status);
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, SIZE, NULL, &status);
    CHECK(status);
    image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, &status);
    CHECK(status);
    if (!dladdr(dlsym(RTLD_DEFAULT, "clEnqueueWriteBuffer"), &library) ||
        !dl_iterate_phdr(find, (void *)(uintptr_t)library.dli_fname) || !start)
        return 99;
    for (unsigned i = 0; i < SIZE; i++)
        data[i] = (unsigned char)(i * 7 + i / 256);
    for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        const unsigned found = count_in(kinds[i].write);

        printf("%s: %u\n", kinds[i].name, found);
        all += found;
    }
    write_piece(CL_FALSE, LARGEST);
    CHECK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, LARGEST, result, 0, NULL, NULL));
    if (memcmp(result, data, LARGEST))
        exit((fprintf(stderr, "something else was written\n"), 1));
    counting = 1; /* checks that the counter works */
    counted = 0;
    CHECK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, SMALL, result, 0, NULL, NULL));
    counting = 0;
    if (!counted)
        exit((fprintf(stderr, "a read is not seen to ask for memory\n"), 1));
    CHECK(clReleaseMemObject(image));
    CHECK(clReleaseMemObject(buffer));
    CHECK(clReleaseCommandQueue(queue));
    CHECK(clReleaseContext(context));
    return all != 0;
}
