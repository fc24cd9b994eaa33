/*
 * Initial contents of objects: the program's memory is reused or freed as soon as the call returns, and the object is
 * read on the last device of its context. Some objects are released before they are read.
 */
#include "parity.h"

/* The contents repeat after an odd number of bytes. */
enum { MOST = (65 << 20) + 4096, MODEST = (17 << 20) + 4096, PERIOD = (1 << 20) + 7, DEVICES = 8 };

static const cl_image_format rgba8 = {CL_RGBA, CL_UNSIGNED_INT8};
static size_t sizes[] = {1, 100, 4096, 65537, 3 << 20, MOST};

static cl_context context;
static cl_command_queue queue;
static unsigned char *source, *result;

static void context_open(void)
{
    cl_platform_id platform;
    cl_device_id devices[DEVICES];
    cl_uint count;
    cl_int status;
    CHECK(clGetPlatformIDs(1, &platform, NULL));
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, DEVICES, devices, &count));
    count = count < DEVICES ? count : DEVICES;
    context = clCreateContext(NULL, count, devices, NULL, NULL, &status);
    CHECK(status);
    queue = clCreateCommandQueueWithProperties(context, devices[count - 1], NULL, &status);
    CHECK(status);
}

static cl_mem object_new(size_t size, size_t height, cl_mem_flags flags, void *memory)
{
    cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = size / 4 / (height ? height : 1)};
    cl_int status;
    cl_mem object;
    desc.image_height = height;
    object = height ? clCreateImage(context, flags, &rgba8, &desc, memory, &status)
                    : clCreateBuffer(context, flags, size, memory, &status);
    CHECK(status);
    return object;
}

static void object_read(cl_mem object, size_t size, size_t height)
{
    const size_t zero[3] = {0}, region[3] = {size / 4 / (height ? height : 1), height, 1};
    memset(result, 0, size);
    if (height)
        CHECK(clEnqueueReadImage(queue, object, CL_TRUE, zero, region, 0, 0, result, 0, NULL, NULL));
    else
        CHECK(clEnqueueReadBuffer(queue, object, CL_TRUE, 0, size, result, 0, NULL, NULL));
}

static void contents_try(const char *name, size_t size, size_t height, cl_mem_flags flags)
{
    const size_t count = size > 4 << 20 ? 2 : 6;
    cl_mem objects[6];
    char line[128];
    for (size_t i = 0; i < count; i++) {
        void *memory = malloc(size);
        EXPECT(memory);
        memcpy(memory, source + i, size);
        objects[i] = object_new(size, height, flags | CL_MEM_COPY_HOST_PTR, memory);
        memset(memory, 0xee, size);
        free(memory);
        if (i % 3 == 1)
            CHECK(clReleaseMemObject(objects[i]));
    }
    parity_rich();
    for (size_t i = 0; i < count; i++) {
        if (i % 3 == 1)
            continue;
        object_read(objects[i], size, height);
        snprintf(line, sizeof(line), "%s, %zu bytes, %zu", name, size, i);
        parity_hash_print(line, result, size);
        CHECK(clReleaseMemObject(objects[i]));
    }
}

/* The program may free the memory when the object has been destroyed. */
static void used_try(size_t size, size_t height)
{
    char line[128];
    for (int i = 0; i < (size > 4 << 20 ? 2 : 3); i++) {
        void *memory = NULL;
        cl_mem object;
        EXPECT(!posix_memalign(&memory, 4096, size));
        memcpy(memory, source + i, size);
        object = object_new(size, height, CL_MEM_USE_HOST_PTR, memory);
        if (i % 3 != 1) {
            object_read(object, size, height);
            snprintf(line, sizeof(line), "%s used, %zu bytes, %d", height ? "image" : "buffer", size, i);
            parity_hash_print(line, result, size);
        }
        CHECK(clReleaseMemObject(object));
        CHECK(clFinish(queue));
        free(memory);
    }
}

int main(void)
{
    context_open();
    if (parity_modest())
        sizes[PARITY_COUNT(sizes) - 1] = MODEST;
    source = malloc(MOST + 16);
    result = malloc(MOST);
    EXPECT(source && result);
    parity_random_bytes(source, PERIOD, 7);
    for (size_t i = PERIOD; i < MOST + 16; i += PERIOD)
        memcpy(source + i, source, PERIOD < MOST + 16 - i ? PERIOD : MOST + 16 - i);
    for (size_t i = 0; i < PARITY_COUNT(sizes); i++) {
        contents_try("buffer", sizes[i], 0, CL_MEM_READ_WRITE);
        contents_try("buffer of the host's", sizes[i], 0, CL_MEM_ALLOC_HOST_PTR);
        used_try(sizes[i], 0);
    }
    for (size_t i = 1; i < PARITY_COUNT(sizes); i++) {
        size_t height = sizes[i] > 1 << 14 ? 4096 : 1, size = sizes[i] / 4 / height * height * 4;
        contents_try("image", size, height, CL_MEM_READ_ONLY);
        used_try(size, height);
    }
    CHECK(clReleaseCommandQueue(queue));
    CHECK(clReleaseContext(context));
    free(source);
    free(result);
    return 0;
}
