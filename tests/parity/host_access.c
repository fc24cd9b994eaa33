/* What CL_MEM_HOST_READ_ONLY, WRITE_ONLY and NO_ACCESS forbid: for each object, by each command of the host. */
#include "parity.h"

enum { WIDTH = 8, HEIGHT = 4, DEPTH = 2, LAYER = WIDTH * HEIGHT * 4, SIZE = 4096 };

static const cl_image_format rgba8 = {CL_RGBA, CL_UNSIGNED_INT8};

static const struct host {
    const char *name;
    cl_mem_flags flags;
} hosts[] = {{"none", 0},
             {"read only", CL_MEM_HOST_READ_ONLY},
             {"write only", CL_MEM_HOST_WRITE_ONLY},
             {"no access", CL_MEM_HOST_NO_ACCESS}};

static const struct {
    const char *name;
    cl_map_flags flags;
} maps[] = {{"nothing", 0},
            {"read", CL_MAP_READ},
            {"write", CL_MAP_WRITE},
            {"read and write", CL_MAP_READ | CL_MAP_WRITE},
            {"invalidate", CL_MAP_WRITE_INVALIDATE_REGION}};

static struct parity p;
static unsigned char data[SIZE], memory[SIZE] __attribute__((aligned(4096)));

static void answer(const char *object, const char *call, cl_int status)
{
    printf("%s: %s = %s\n", object, call, parity_error_name(status));
}

static void flags_show(const char *name, cl_mem object)
{
    cl_mem_flags flags = 0;
    CHECK(clGetMemObjectInfo(object, CL_MEM_FLAGS, sizeof(flags), &flags, NULL));
    printf("%s: flags %llx\n", name, (unsigned long long)flags);
}

static void unmap(const char *name, const char *what, cl_mem object, void *at)
{
    char call[64];
    cl_mem_flags flags = 0;
    CHECK(clGetMemObjectInfo(object, CL_MEM_FLAGS, sizeof(flags), &flags, NULL));
    if (!at || flags & CL_MEM_HOST_NO_ACCESS) /* PoCL 3.1 maps it all the same, and refuses to unmap it */
        return;
    snprintf(call, sizeof(call), "unmap %s", what);
    answer(name, call, clEnqueueUnmapMemObject(p.queue, object, at, 0, NULL, NULL));
    CHECK(clFinish(p.queue));
    printf("%s: %s, maps %u\n", name, call, parity_map_count(object, 0));
}

static void buffer_ask(const char *name, cl_mem object)
{
    const size_t zero[3] = {0}, region[3] = {16, 2, 1};
    char call[64];
    cl_int status;
    void *at;
    flags_show(name, object);
    answer(name, "read", clEnqueueReadBuffer(p.queue, object, CL_TRUE, 0, 64, data, 0, NULL, NULL));
    answer(name, "write", clEnqueueWriteBuffer(p.queue, object, CL_TRUE, 0, 64, data, 0, NULL, NULL));
    if (parity_answers_as_before(&p))
        answer(name, "read of nothing", clEnqueueReadBuffer(p.queue, object, CL_TRUE, 0, 0, data, 0, NULL, NULL));
    answer(name, "write, not blocking", clEnqueueWriteBuffer(p.queue, object, CL_FALSE, 0, 64, data, 0, NULL, NULL));
    answer(name, "read rect",
           clEnqueueReadBufferRect(p.queue, object, CL_TRUE, zero, zero, region, 0, 0, 0, 0, data, 0, NULL, NULL));
    answer(name, "write rect",
           clEnqueueWriteBufferRect(p.queue, object, CL_TRUE, zero, zero, region, 0, 0, 0, 0, data, 0, NULL, NULL));
    answer(name, "fill", clEnqueueFillBuffer(p.queue, object, "x", 1, 0, 64, 0, NULL, NULL));
    answer(name, "copy", clEnqueueCopyBuffer(p.queue, object, object, 0, 64, 64, 0, NULL, NULL));
    answer(name, "migrate", clEnqueueMigrateMemObjects(p.queue, 1, &object, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL, NULL));
    for (size_t i = 0; i < PARITY_COUNT(maps); i++) {
        status = parity_untouched;
        at = clEnqueueMapBuffer(p.queue, object, CL_TRUE, maps[i].flags, 0, 64, 0, NULL, NULL, &status);
        snprintf(call, sizeof(call), "map for %s", maps[i].name);
        answer(name, call, status);
        unmap(name, call, object, at);
    }
    CHECK(clFinish(p.queue));
}

/* Without fills of images of a buffer, which crash PoCL 3.1. */
static void image_ask(const char *name, cl_mem object, const size_t *region, bool of_buffer)
{
    const size_t zero[3] = {0};
    const cl_uint colour[4] = {1, 2, 3, 4};
    char call[64];
    cl_int status;
    size_t row, slice;
    void *at;
    flags_show(name, object);
    answer(name, "read", clEnqueueReadImage(p.queue, object, CL_TRUE, zero, region, 0, 0, data, 0, NULL, NULL));
    answer(name, "write", clEnqueueWriteImage(p.queue, object, CL_TRUE, zero, region, 0, 0, data, 0, NULL, NULL));
    if (!of_buffer)
        answer(name, "fill", clEnqueueFillImage(p.queue, object, colour, zero, region, 0, NULL, NULL));
    answer(name, "migrate", clEnqueueMigrateMemObjects(p.queue, 1, &object, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL, NULL));
    for (size_t i = 0; i < PARITY_COUNT(maps); i++) {
        status = parity_untouched;
        at = clEnqueueMapImage(p.queue, object, CL_TRUE, maps[i].flags, zero, region, &row, &slice, 0, NULL, NULL,
                               &status);
        snprintf(call, sizeof(call), "map for %s", maps[i].name);
        answer(name, call, status);
        unmap(name, call, object, at);
    }
    parity_rich();
    CHECK(clFinish(p.queue));
}

static void release(cl_mem object)
{
    if (object)
        CHECK(clReleaseMemObject(object));
}

static cl_mem image_new(cl_mem_flags flags, cl_image_desc desc)
{
    cl_int status;
    cl_mem image = clCreateImage(p.context, flags, &rgba8, &desc, flags & CL_MEM_USE_HOST_PTR ? memory : NULL, &status);
    CHECK(status);
    return image;
}

static void images_ask(const struct host *host, cl_mem_flags more, const char *kind)
{
    static const struct {
        const char *name;
        cl_image_desc desc;
        size_t region[3];
    } shapes[] = {
        {"1D image", {.image_type = CL_MEM_OBJECT_IMAGE1D, .image_width = WIDTH}, {WIDTH, 1, 1}},
        {"1D array",
         {.image_type = CL_MEM_OBJECT_IMAGE1D_ARRAY, .image_width = WIDTH, .image_array_size = 3},
         {WIDTH, 3, 1}},
        {"2D image",
         {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = WIDTH, .image_height = HEIGHT},
         {WIDTH, HEIGHT, 1}},
        {"2D array",
         {.image_type = CL_MEM_OBJECT_IMAGE2D_ARRAY,
          .image_width = WIDTH,
          .image_height = HEIGHT,
          .image_array_size = DEPTH},
         {WIDTH, HEIGHT, DEPTH}},
        {"3D image",
         {.image_type = CL_MEM_OBJECT_IMAGE3D, .image_width = WIDTH, .image_height = HEIGHT, .image_depth = DEPTH},
         {WIDTH, HEIGHT, DEPTH}},
    };
    char name[96];
    for (size_t i = 0; i < PARITY_COUNT(shapes); i++) {
        cl_mem image = image_new(host->flags | more, shapes[i].desc);
        snprintf(name, sizeof(name), "%s%s, %s", kind, shapes[i].name, host->name);
        image_ask(name, image, shapes[i].region, false);
        release(image);
    }
}

/* Sub-buffers and images of a buffer inherit its restrictions, unless they have their own. */
static void parts_ask(const struct host *whole_host)
{
    const cl_buffer_region half = {0, SIZE / 2};
    const size_t row[3] = {WIDTH, 1, 1};
    cl_mem whole = parity_buffer(&p, CL_MEM_READ_WRITE | whole_host->flags, SIZE, NULL);
    char name[96];
    cl_int status;
    for (size_t i = 0; i < PARITY_COUNT(hosts); i++) {
        cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER, .image_width = WIDTH, .buffer = whole};
        cl_mem part = clCreateSubBuffer(whole, hosts[i].flags, CL_BUFFER_CREATE_TYPE_REGION, &half, &status);
        snprintf(name, sizeof(name), "sub-buffer, %s, of a buffer, %s", hosts[i].name, whole_host->name);
        answer(name, "creation", status);
        if (part)
            buffer_ask(name, part);
        release(part);
        part = clCreateImage(p.context, hosts[i].flags, &rgba8, &desc, NULL, &status);
        snprintf(name, sizeof(name), "image, %s, of a buffer, %s", hosts[i].name, whole_host->name);
        answer(name, "creation", status);
        if (part)
            image_ask(name, part, row, true);
        release(part);
    }
    release(whole);
}

int main(void)
{
    char name[96];
    parity_open(&p, 0);
    for (size_t i = 0; i < PARITY_COUNT(hosts); i++) {
        cl_mem buffer = parity_buffer(&p, CL_MEM_READ_WRITE | hosts[i].flags, SIZE, NULL);
        snprintf(name, sizeof(name), "buffer, %s", hosts[i].name);
        buffer_ask(name, buffer);
        release(buffer);
        buffer = parity_buffer(&p, CL_MEM_USE_HOST_PTR | hosts[i].flags, SIZE, memory);
        snprintf(name, sizeof(name), "buffer of the program's memory, %s", hosts[i].name);
        buffer_ask(name, buffer);
        release(buffer);
        images_ask(&hosts[i], 0, "");
        images_ask(&hosts[i], CL_MEM_USE_HOST_PTR, "program's ");
        parts_ask(&hosts[i]);
    }
    parity_close(&p);
    return 0;
}
