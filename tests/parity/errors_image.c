/* Error codes of the calls about images, and of the commands on them, for wrong arguments. Wait lists:
 * errors_event.c. */
#include "parity.h"

enum { WIDTH = 16, HEIGHT = 8, SIZE = WIDTH * HEIGHT * 4 };

static const cl_image_format rgba8 = {CL_RGBA, CL_UNORM_INT8}, rgba32 = {CL_RGBA, CL_UNSIGNED_INT32};
static const size_t zero[3] = {0}, all[3] = {WIDTH, HEIGHT, 1};

static struct parity p, other;
static cl_mem image, second, deep, wide, foreign, buffer, foreign_buffer;
static char data[4 * SIZE];

static cl_image_desc flat_desc(void)
{
    return (cl_image_desc){.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = WIDTH, .image_height = HEIGHT};
}

static cl_mem flat_create(cl_context context, const cl_image_format *format)
{
    cl_int status;
    cl_image_desc desc = flat_desc();
    cl_mem created = clCreateImage(context, CL_MEM_READ_WRITE, format, &desc, NULL, &status);
    CHECK(status);
    return created;
}

static void format_ask(void)
{
    static const struct {
        const char *name;
        cl_image_format format;
    } formats[] = {{"no such order", {0x7777, CL_UNORM_INT8}},
                   {"no such type", {CL_RGBA, 0x7777}},
                   {"luminance of integers", {CL_LUMINANCE, CL_UNSIGNED_INT8}},
                   {"packed RGBA", {CL_RGBA, CL_UNORM_SHORT_565}},
                   {"packed RGB", {CL_RGB, CL_UNORM_SHORT_565}},
                   {"depth", {CL_DEPTH, CL_FLOAT}},
                   {"sRGB", {CL_sRGBA, CL_UNORM_INT8}},
                   {"ARGB of floats", {CL_ARGB, CL_FLOAT}},
                   {"half", {CL_RGBA, CL_HALF_FLOAT}}};
    cl_image_desc desc = flat_desc();
    char name[128];
    for (size_t i = 0; i < PARITY_COUNT(formats); i++) {
        snprintf(name, sizeof(name), "clCreateImage(%s)", formats[i].name);
        SHOW_NEW(name, clCreateImage(p.context, CL_MEM_READ_WRITE, &formats[i].format, &desc, NULL, &status));
    }
    SHOW_NEW("clCreateImage(no format)", clCreateImage(p.context, CL_MEM_READ_WRITE, NULL, &desc, NULL, &status));
}

/* Without mip levels and samples, for which PoCL 3.1 ends the program. */
static void desc_ask(void)
{
    const struct {
        const char *name;
        cl_image_desc desc;
        void *host;
    } descs[] = {
        {"type 0", {.image_width = 1, .image_height = 1}, NULL},
        {"type of a buffer", {.image_type = CL_MEM_OBJECT_BUFFER, .image_width = 1, .image_height = 1}, NULL},
        {"width 0", {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_height = 1}, NULL},
        {"height 0", {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 1}, NULL},
        {"depth 0", {.image_type = CL_MEM_OBJECT_IMAGE3D, .image_width = 1, .image_height = 1}, NULL},
        {"no layers", {.image_type = CL_MEM_OBJECT_IMAGE2D_ARRAY, .image_width = 1, .image_height = 1}, NULL},
        {"too wide", {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 1 << 20, .image_height = 1}, NULL},
        {"too high", {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 1, .image_height = 1 << 20}, NULL},
        {"too many layers",
         {.image_type = CL_MEM_OBJECT_IMAGE1D_ARRAY, .image_width = 1, .image_array_size = 1 << 20},
         NULL},
        {"row pitch without memory",
         {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 4, .image_height = 4, .image_row_pitch = 64},
         NULL},
        {"row pitch below the width",
         {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 4, .image_height = 4, .image_row_pitch = 8},
         data},
        {"row pitch no multiple",
         {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 4, .image_height = 4, .image_row_pitch = 17},
         data},
        {"slice pitch below a slice",
         {.image_type = CL_MEM_OBJECT_IMAGE3D,
          .image_width = 4,
          .image_height = 4,
          .image_depth = 2,
          .image_row_pitch = 16,
          .image_slice_pitch = 32},
         data},
        {"buffer image without a buffer", {.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER, .image_width = 4}, NULL},
        {"buffer image beyond the end",
         {.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER, .image_width = SIZE, .buffer = buffer},
         NULL},
        {"buffer for a 1D image", {.image_type = CL_MEM_OBJECT_IMAGE1D, .image_width = 4, .buffer = buffer}, NULL},
    };
    char name[128];
    for (size_t i = 0; i < PARITY_COUNT(descs); i++) {
        cl_mem_flags flags = CL_MEM_READ_WRITE | (descs[i].host ? CL_MEM_COPY_HOST_PTR : 0);
        snprintf(name, sizeof(name), "clCreateImage(%s)", descs[i].name);
        SHOW_NEW(name, clCreateImage(p.context, flags, &rgba8, &descs[i].desc, descs[i].host, &status));
    }
    SHOW_NEW("clCreateImage(no description)", clCreateImage(p.context, 0, &rgba8, NULL, NULL, &status));
}

static void create_ask(void)
{
    static const cl_mem_properties unknown[] = {0x7777, 1, 0};
    cl_image_desc desc = flat_desc();
    SHOW_NEW("clCreateImage(NULL context)", clCreateImage(NULL, 0, &rgba8, &desc, NULL, &status));
    SHOW_NEW("clCreateImage(unknown flag)", clCreateImage(p.context, 1 << 20, &rgba8, &desc, NULL, &status));
    SHOW_NEW("clCreateImage(flags at odds)",
             clCreateImage(p.context, CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, &rgba8, &desc, NULL, &status));
    SHOW_NEW("clCreateImage(use nothing)", clCreateImage(p.context, CL_MEM_USE_HOST_PTR, &rgba8, &desc, NULL, &status));
    SHOW_NEW("clCreateImage(copy nothing)",
             clCreateImage(p.context, CL_MEM_COPY_HOST_PTR, &rgba8, &desc, NULL, &status));
    SHOW_NEW("clCreateImage(memory without a flag)", clCreateImage(p.context, 0, &rgba8, &desc, data, &status));
    if (parity_version(&p) >= 300) {
        SHOW_NEW("clCreateImageWithProperties(NULL context)",
                 clCreateImageWithProperties(NULL, NULL, 0, &rgba8, &desc, NULL, &status));
        SHOW_NEW("clCreateImageWithProperties(unknown)",
                 clCreateImageWithProperties(p.context, unknown, 0, &rgba8, &desc, NULL, &status));
    }
    SHOW_NEW("clCreateImage2D(NULL context)", clCreateImage2D(NULL, 0, &rgba8, 4, 4, 0, NULL, &status));
    SHOW_NEW("clCreateImage2D(width 0)", clCreateImage2D(p.context, 0, &rgba8, 0, 4, 0, NULL, &status));
    SHOW_NEW("clCreateImage2D(no format)", clCreateImage2D(p.context, 0, NULL, 4, 4, 0, NULL, &status));
    SHOW_NEW("clCreateImage3D(NULL context)", clCreateImage3D(NULL, 0, &rgba8, 4, 4, 4, 0, 0, NULL, &status));
    SHOW_NEW("clCreateImage3D(depth 0)", clCreateImage3D(p.context, 0, &rgba8, 4, 4, 0, 0, 0, NULL, &status));
    SHOW_NEW("clCreateImage3D(depth 1)", clCreateImage3D(p.context, 0, &rgba8, 4, 4, 1, 0, 0, NULL, &status));
}

static void query_ask(void)
{
    cl_image_format formats[4];
    cl_uint count;
    size_t size;
    SHOW("clGetSupportedImageFormats(NULL context)",
         clGetSupportedImageFormats(NULL, 0, CL_MEM_OBJECT_IMAGE2D, 4, formats, &count));
    SHOW("clGetSupportedImageFormats(flags at odds)",
         clGetSupportedImageFormats(p.context, CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, CL_MEM_OBJECT_IMAGE2D, 4, formats,
                                    &count));
    SHOW("clGetSupportedImageFormats(unknown flag)",
         clGetSupportedImageFormats(p.context, 1 << 20, CL_MEM_OBJECT_IMAGE2D, 4, formats, &count));
    SHOW("clGetSupportedImageFormats(no flags)",
         clGetSupportedImageFormats(p.context, 0, CL_MEM_OBJECT_IMAGE2D, 4, formats, &count));
    SHOW("clGetSupportedImageFormats(buffer)",
         clGetSupportedImageFormats(p.context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_BUFFER, 4, formats, &count));
    SHOW("clGetSupportedImageFormats(no such type)",
         clGetSupportedImageFormats(p.context, CL_MEM_READ_WRITE, 0x7777, 4, formats, &count));
    SHOW("clGetSupportedImageFormats(no room)",
         clGetSupportedImageFormats(p.context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, 4, NULL, &count));
    SHOW("clGetSupportedImageFormats(no entries)",
         clGetSupportedImageFormats(p.context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, 0, formats, &count));
    SHOW("clGetSupportedImageFormats(no count)",
         clGetSupportedImageFormats(p.context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, 4, formats, NULL));
    SHOW("clGetSupportedImageFormats(nothing asked for)",
         clGetSupportedImageFormats(p.context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, 0, NULL, NULL));
    SHOW("clGetImageInfo(NULL)", clGetImageInfo(NULL, CL_IMAGE_WIDTH, sizeof(size), &size, NULL));
    SHOW("clGetImageInfo(no such question)", clGetImageInfo(image, 0x7777, 0, NULL, NULL));
    SHOW("clGetImageInfo(too small)", clGetImageInfo(image, CL_IMAGE_WIDTH, 1, &size, NULL));
}

/* A part of an image, wrong in one way. */
static const struct {
    const char *name;
    size_t origin[3], region[3], row, slice;
    bool unchecked; /* PoCL 3.1 copies it unchecked */
} parts[] = {{"width 0", {0}, {0, 1, 1}, 0, 0, false},
             {"height 0", {0}, {1, 0, 1}, 0, 0, false},
             {"depth 0", {0}, {1, 1, 0}, 0, 0, false},
             {"depth 2", {0}, {1, 1, 2}, 0, 0, true},
             {"too wide", {1, 0, 0}, {WIDTH, 1, 1}, 0, 0, true},
             {"too high", {0, 1, 0}, {1, HEIGHT, 1}, 0, 0, false},
             {"origin in depth", {0, 0, 1}, {1, 1, 1}, 0, 0, false},
             {"origin outside", {WIDTH, 0, 0}, {1, 1, 1}, 0, 0, true},
             {"row pitch below the width", {0}, {WIDTH, 1, 1}, 4, 0, false},
             {"slice pitch", {0}, {WIDTH, 1, 1}, 0, 4, false}};

static void parts_copy_ask(size_t i)
{
    const size_t *origin = parts[i].origin, *region = parts[i].region;
    char name[128];
    snprintf(name, sizeof(name), "clEnqueueCopyImage(source %s)", parts[i].name);
    SHOW(name, clEnqueueCopyImage(p.queue, image, second, origin, zero, region, 0, NULL, NULL));
    snprintf(name, sizeof(name), "clEnqueueCopyImage(target %s)", parts[i].name);
    SHOW(name, clEnqueueCopyImage(p.queue, image, second, zero, origin, region, 0, NULL, NULL));
    snprintf(name, sizeof(name), "clEnqueueCopyImageToBuffer(%s)", parts[i].name);
    SHOW(name, clEnqueueCopyImageToBuffer(p.queue, image, buffer, origin, region, 0, 0, NULL, NULL));
    snprintf(name, sizeof(name), "clEnqueueCopyBufferToImage(%s)", parts[i].name);
    SHOW(name, clEnqueueCopyBufferToImage(p.queue, buffer, image, 0, origin, region, 0, NULL, NULL));
}

static void parts_ask(void)
{
    char name[128];
    for (size_t i = 0; i < PARITY_COUNT(parts); i++) {
        const size_t *origin = parts[i].origin, *region = parts[i].region;
        size_t row = parts[i].row, slice = parts[i].slice;
        snprintf(name, sizeof(name), "clEnqueueReadImage(%s)", parts[i].name);
        SHOW(name, clEnqueueReadImage(p.queue, image, CL_TRUE, origin, region, row, slice, data, 0, NULL, NULL));
        snprintf(name, sizeof(name), "clEnqueueWriteImage(%s)", parts[i].name);
        SHOW(name, clEnqueueWriteImage(p.queue, image, CL_TRUE, origin, region, row, slice, data, 0, NULL, NULL));
        if (row || slice)
            continue;
        snprintf(name, sizeof(name), "clEnqueueFillImage(%s)", parts[i].name);
        SHOW(name, clEnqueueFillImage(p.queue, image, data, origin, region, 0, NULL, NULL));
        snprintf(name, sizeof(name), "clEnqueueMapImage(%s)", parts[i].name);
        SHOW_NEW(name, clEnqueueMapImage(p.queue, image, CL_TRUE, CL_MAP_READ, origin, region, &row, &slice, 0, NULL,
                                         NULL, &status));
        if (!parts[i].unchecked)
            parts_copy_ask(i);
    }
}

static void read_write_ask(void)
{
    SHOW("clEnqueueReadImage(NULL queue)",
         clEnqueueReadImage(NULL, image, CL_TRUE, zero, all, 0, 0, data, 0, NULL, NULL));
    SHOW("clEnqueueReadImage(NULL image)",
         clEnqueueReadImage(p.queue, NULL, CL_TRUE, zero, all, 0, 0, data, 0, NULL, NULL));
    SHOW("clEnqueueReadImage(a buffer)",
         clEnqueueReadImage(p.queue, buffer, CL_TRUE, zero, all, 0, 0, data, 0, NULL, NULL));
    SHOW("clEnqueueReadImage(image of another context)",
         clEnqueueReadImage(p.queue, foreign, CL_TRUE, zero, all, 0, 0, data, 0, NULL, NULL));
    SHOW("clEnqueueReadImage(no memory)",
         clEnqueueReadImage(p.queue, image, CL_TRUE, zero, all, 0, 0, NULL, 0, NULL, NULL));
    if (parity_tries("no-origin")) {
        SHOW("clEnqueueReadImage(no origin)",
             clEnqueueReadImage(p.queue, image, CL_TRUE, NULL, all, 0, 0, data, 0, NULL, NULL));
        SHOW("clEnqueueReadImage(no region)",
             clEnqueueReadImage(p.queue, image, CL_TRUE, zero, NULL, 0, 0, data, 0, NULL, NULL));
    }
    SHOW("clEnqueueWriteImage(NULL queue)",
         clEnqueueWriteImage(NULL, image, CL_TRUE, zero, all, 0, 0, data, 0, NULL, NULL));
    SHOW("clEnqueueWriteImage(NULL image)",
         clEnqueueWriteImage(p.queue, NULL, CL_TRUE, zero, all, 0, 0, data, 0, NULL, NULL));
    SHOW("clEnqueueWriteImage(a buffer)",
         clEnqueueWriteImage(p.queue, buffer, CL_TRUE, zero, all, 0, 0, data, 0, NULL, NULL));
    SHOW("clEnqueueWriteImage(image of another context)",
         clEnqueueWriteImage(p.queue, foreign, CL_TRUE, zero, all, 0, 0, data, 0, NULL, NULL));
    SHOW("clEnqueueWriteImage(no memory)",
         clEnqueueWriteImage(p.queue, image, CL_TRUE, zero, all, 0, 0, NULL, 0, NULL, NULL));
    if (parity_tries("no-origin"))
        SHOW("clEnqueueWriteImage(no region)",
             clEnqueueWriteImage(p.queue, image, CL_TRUE, zero, NULL, 0, 0, data, 0, NULL, NULL));
}

static void copy_ask(void)
{
    SHOW("clEnqueueCopyImage(NULL queue)", clEnqueueCopyImage(NULL, image, second, zero, zero, all, 0, NULL, NULL));
    if (parity_answers_as_before(&p)) { /* PoCL 6 crashes */
        SHOW("clEnqueueCopyImage(NULL source)",
             clEnqueueCopyImage(p.queue, NULL, second, zero, zero, all, 0, NULL, NULL));
        SHOW("clEnqueueCopyImage(NULL target)",
             clEnqueueCopyImage(p.queue, image, NULL, zero, zero, all, 0, NULL, NULL));
    }
    SHOW("clEnqueueCopyImage(source is a buffer)",
         clEnqueueCopyImage(p.queue, buffer, second, zero, zero, all, 0, NULL, NULL));
    SHOW("clEnqueueCopyImage(target of another context)",
         clEnqueueCopyImage(p.queue, image, foreign, zero, zero, all, 0, NULL, NULL));
    SHOW("clEnqueueCopyImage(other format)", clEnqueueCopyImage(p.queue, image, wide, zero, zero, all, 0, NULL, NULL));
    SHOW("clEnqueueCopyImage(2D to 3D)", clEnqueueCopyImage(p.queue, image, deep, zero, zero, all, 0, NULL, NULL));
    SHOW("clEnqueueCopyImage(overlap)",
         clEnqueueCopyImage(p.queue, image, image, zero, (size_t[]){1, 1, 0}, (size_t[]){4, 4, 1}, 0, NULL, NULL));
    SHOW("clEnqueueCopyImage(side by side)",
         clEnqueueCopyImage(p.queue, image, image, zero, (size_t[]){8, 0, 0}, (size_t[]){4, 4, 1}, 0, NULL, NULL));
    if (parity_tries("no-origin"))
        SHOW("clEnqueueCopyImage(no region)",
             clEnqueueCopyImage(p.queue, image, second, zero, zero, NULL, 0, NULL, NULL));
    SHOW("clEnqueueFillImage(NULL queue)", clEnqueueFillImage(NULL, image, data, zero, all, 0, NULL, NULL));
    SHOW("clEnqueueFillImage(NULL image)", clEnqueueFillImage(p.queue, NULL, data, zero, all, 0, NULL, NULL));
    SHOW("clEnqueueFillImage(a buffer)", clEnqueueFillImage(p.queue, buffer, data, zero, all, 0, NULL, NULL));
    if (parity_tries("no-color"))
        SHOW("clEnqueueFillImage(no color)", clEnqueueFillImage(p.queue, image, NULL, zero, all, 0, NULL, NULL));
    if (parity_tries("no-origin"))
        SHOW("clEnqueueFillImage(no region)", clEnqueueFillImage(p.queue, image, data, zero, NULL, 0, NULL, NULL));
    SHOW("clEnqueueFillImage(image of another context)",
         clEnqueueFillImage(p.queue, foreign, data, zero, all, 0, NULL, NULL));
}

/* Without clEnqueueCopyImageToBuffer to NULL: PoCL 3.1 crashes. */
static void buffer_ask(void)
{
    SHOW("clEnqueueCopyImageToBuffer(NULL queue)",
         clEnqueueCopyImageToBuffer(NULL, image, buffer, zero, all, 0, 0, NULL, NULL));
    SHOW("clEnqueueCopyImageToBuffer(NULL image)",
         clEnqueueCopyImageToBuffer(p.queue, NULL, buffer, zero, all, 0, 0, NULL, NULL));
    SHOW("clEnqueueCopyImageToBuffer(image for a buffer)",
         clEnqueueCopyImageToBuffer(p.queue, image, second, zero, all, 0, 0, NULL, NULL));
    SHOW("clEnqueueCopyImageToBuffer(buffer of another context)",
         clEnqueueCopyImageToBuffer(p.queue, image, foreign_buffer, zero, all, 0, 0, NULL, NULL));
    SHOW("clEnqueueCopyImageToBuffer(beyond the end)",
         clEnqueueCopyImageToBuffer(p.queue, image, buffer, zero, all, 1, 0, NULL, NULL));
    SHOW("clEnqueueCopyBufferToImage(NULL queue)",
         clEnqueueCopyBufferToImage(NULL, buffer, image, 0, zero, all, 0, NULL, NULL));
    SHOW("clEnqueueCopyBufferToImage(NULL buffer)",
         clEnqueueCopyBufferToImage(p.queue, NULL, image, 0, zero, all, 0, NULL, NULL));
    SHOW("clEnqueueCopyBufferToImage(NULL image)",
         clEnqueueCopyBufferToImage(p.queue, buffer, NULL, 0, zero, all, 0, NULL, NULL));
    SHOW("clEnqueueCopyBufferToImage(buffer for an image)",
         clEnqueueCopyBufferToImage(p.queue, buffer, buffer, 0, zero, all, 0, NULL, NULL));
    SHOW("clEnqueueCopyBufferToImage(buffer of another context)",
         clEnqueueCopyBufferToImage(p.queue, foreign_buffer, image, 0, zero, all, 0, NULL, NULL));
    SHOW("clEnqueueCopyBufferToImage(beyond the end)",
         clEnqueueCopyBufferToImage(p.queue, buffer, image, 1, zero, all, 0, NULL, NULL));
}

#define MAP(queue, memory, flags, row, slice)                                                                          \
    clEnqueueMapImage(queue, memory, CL_TRUE, flags, zero, all, row, slice, 0, NULL, NULL, &status)

static void map_ask(void)
{
    size_t row, slice;
    cl_event event = NULL;
    SHOW_NEW("clEnqueueMapImage(NULL queue)", MAP(NULL, image, CL_MAP_READ, &row, &slice));
    SHOW_NEW("clEnqueueMapImage(NULL image)", MAP(p.queue, NULL, CL_MAP_READ, &row, &slice));
    SHOW_NEW("clEnqueueMapImage(a buffer)", MAP(p.queue, buffer, CL_MAP_READ, &row, &slice));
    SHOW_NEW("clEnqueueMapImage(image of another context)", MAP(p.queue, foreign, CL_MAP_READ, &row, &slice));
    SHOW_NEW("clEnqueueMapImage(unknown flag)", MAP(p.queue, image, 1 << 10, &row, &slice));
    SHOW_NEW("clEnqueueMapImage(no row pitch)", MAP(p.queue, image, CL_MAP_READ, NULL, &slice));
    SHOW_NEW("clEnqueueMapImage(2D, no slice pitch)", MAP(p.queue, image, CL_MAP_READ, &row, NULL));
    SHOW_NEW("clEnqueueMapImage(3D, no slice pitch)", MAP(p.queue, deep, CL_MAP_READ, &row, NULL));
    SHOW("clEnqueueUnmapMemObject(not mapped)", clEnqueueUnmapMemObject(p.queue, second, data, 0, NULL, NULL));
    SHOW("clEnqueueUnmapMemObject(not mapped, with an event)",
         clEnqueueUnmapMemObject(p.queue, second, data, 0, NULL, &event));
    EXPECT(event == NULL);
    SHOW("clEnqueueCopyBuffer(an image)", clEnqueueCopyBuffer(p.queue, image, buffer, 0, 0, 16, 0, NULL, NULL));
    SHOW("clEnqueueFillBuffer(an image)", clEnqueueFillBuffer(p.queue, image, data, 4, 0, 16, 0, NULL, NULL));
}

int main(void)
{
    cl_image_desc desc = flat_desc();
    cl_int status;
    parity_open(&p, 0);
    parity_open(&other, 0);
    image = flat_create(p.context, &rgba8);
    second = flat_create(p.context, &rgba8);
    wide = flat_create(p.context, &rgba32);
    foreign = flat_create(other.context, &rgba8);
    desc.image_type = CL_MEM_OBJECT_IMAGE3D;
    desc.image_depth = 4;
    deep = clCreateImage(p.context, CL_MEM_READ_WRITE, &rgba8, &desc, NULL, &status);
    CHECK(status);
    buffer = parity_buffer(&p, CL_MEM_READ_WRITE, SIZE, NULL);
    foreign_buffer = parity_buffer(&other, CL_MEM_READ_WRITE, SIZE, NULL);
    format_ask();
    desc_ask();
    create_ask();
    query_ask();
    parts_ask();
    read_write_ask();
    copy_ask();
    buffer_ask();
    parity_rich();
    map_ask();
    CHECK(clFinish(p.queue));
    return 0;
}
