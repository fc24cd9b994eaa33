/*
 * Images of every kind: supported formats, queries, writes and reads with and without pitches, copies, fills, maps,
 * copies from and to buffers, and kernels that read them through samplers and write them.
 */
#include "parity.h"

enum { WIDTH = 40, HEIGHT = 24, DEPTH = 6, LAYERS = 5, LARGEST = 1 << 18 };

static const char *source =
    "constant sampler_t exact = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;\n"
    "\n"
    "kernel void turn(read_only image2d_t from, write_only image2d_t to)\n"
    "{\n"
    "    int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
    "    write_imagef(to, (int2)(at.x, get_image_height(from) - 1 - at.y), read_imagef(from, exact, at).zyxw);\n"
    "}\n"
    "\n"
    "kernel void sample(read_only image2d_t from, sampler_t sampler, float2 scale, global float4 *to)\n"
    "{\n"
    "    int x = get_global_id(0), y = get_global_id(1);\n"
    "    to[y * get_global_size(0) + x] = read_imagef(from, sampler, (float2)(x, y) * scale - 0.25f * scale);\n"
    "}\n"
    "\n"
    "kernel void deep(read_only image3d_t from, write_only image3d_t to)\n"
    "{\n"
    "    int4 at = (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0);\n"
    "    int4 other = (int4)(at.x, at.y, get_image_depth(from) - 1 - at.z, 0);\n"
    "    write_imageui(to, other, read_imageui(from, exact, at) + 1);\n"
    "}\n"
    "\n"
    "kernel void line(read_only image1d_t from, write_only image1d_t to)\n"
    "{\n"
    "    int x = get_global_id(0);\n"
    "    write_imagei(to, x, read_imagei(from, exact, x) * 2);\n"
    "}\n"
    "\n"
    "kernel void layers(read_only image2d_array_t from, write_only image2d_array_t to)\n"
    "{\n"
    "    int4 at = (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0);\n"
    "    write_imageui(to, at, read_imageui(from, exact, at) ^ (uint4)(at.z + 1));\n"
    "}\n"
    "\n"
    "kernel void texels(read_only image1d_buffer_t from, global uint4 *to)\n"
    "{\n"
    "    to[get_global_id(0)] = read_imageui(from, (int)get_global_id(0));\n"
    "}\n";

static struct parity p;
static cl_program program;
static unsigned char data[LARGEST], back[LARGEST], model[LARGEST];

/* A kind of image, with its size. */
struct kind {
    const char *name;
    cl_mem_object_type type;
    size_t size[3]; /* also the region of the whole image */
};

static const struct kind kinds[] = {
    {"1D", CL_MEM_OBJECT_IMAGE1D, {WIDTH, 1, 1}},
    {"2D", CL_MEM_OBJECT_IMAGE2D, {WIDTH, HEIGHT, 1}},
    {"3D", CL_MEM_OBJECT_IMAGE3D, {WIDTH, HEIGHT, DEPTH}},
    {"1D array", CL_MEM_OBJECT_IMAGE1D_ARRAY, {WIDTH, LAYERS, 1}},
    {"2D array", CL_MEM_OBJECT_IMAGE2D_ARRAY, {WIDTH, HEIGHT, LAYERS}},
};

static const cl_image_format rgba8 = {CL_RGBA, CL_UNORM_INT8}, rgba32 = {CL_RGBA, CL_UNSIGNED_INT32},
                             rgba16 = {CL_RGBA, CL_SIGNED_INT16}, rgbaf = {CL_RGBA, CL_FLOAT};

static cl_image_desc kind_desc(const struct kind *kind)
{
    cl_image_desc desc = {.image_type = kind->type, .image_width = kind->size[0], .image_height = kind->size[1]};
    if (kind->type == CL_MEM_OBJECT_IMAGE3D)
        desc.image_depth = kind->size[2];
    if (kind->type == CL_MEM_OBJECT_IMAGE1D_ARRAY)
        desc.image_array_size = kind->size[1];
    if (kind->type == CL_MEM_OBJECT_IMAGE2D_ARRAY)
        desc.image_array_size = kind->size[2];
    return desc;
}

static cl_mem image_create(const struct kind *kind, const cl_image_format *format, cl_mem_flags flags, void *host)
{
    cl_int status;
    cl_image_desc desc = kind_desc(kind);
    cl_mem image = clCreateImage(p.context, flags, format, &desc, host, &status);
    CHECK(status);
    return image;
}

static void formats_show(const struct kind *kind, cl_mem_flags flags)
{
    cl_image_format formats[256];
    cl_uint count;
    CHECK(clGetSupportedImageFormats(p.context, flags, kind->type, PARITY_COUNT(formats), formats, &count));
    printf("%s, flags %u: %u formats, hash %016llx\n", kind->name, (unsigned)flags, count,
           (unsigned long long)parity_hash(formats, count * sizeof(*formats)));
    cl_uint again = 0;
    CHECK(clGetSupportedImageFormats(p.context, flags, kind->type, 0, NULL, &again));
    EXPECT(again == count);
    for (cl_uint i = 0; i < count && kind == kinds && flags == CL_MEM_READ_WRITE; i++)
        printf("    %#x %#x\n", formats[i].image_channel_order, formats[i].image_channel_data_type);
}

static void info_show(cl_mem image)
{
    static const struct {
        const char *name;
        cl_image_info info;
    } sizes[] = {{"element", CL_IMAGE_ELEMENT_SIZE}, {"row", CL_IMAGE_ROW_PITCH}, {"slice", CL_IMAGE_SLICE_PITCH},
                 {"width", CL_IMAGE_WIDTH},          {"height", CL_IMAGE_HEIGHT}, {"depth", CL_IMAGE_DEPTH},
                 {"layers", CL_IMAGE_ARRAY_SIZE}};
    cl_image_format format;
    cl_uint levels, samples;
    cl_mem_object_type type;
    cl_mem buffer;
    size_t size;
    for (size_t i = 0; i < PARITY_COUNT(sizes); i++) {
        CHECK(clGetImageInfo(image, sizes[i].info, sizeof(size), &size, NULL));
        printf("%s %zu, ", sizes[i].name, size);
    }
    CHECK(clGetImageInfo(image, CL_IMAGE_FORMAT, sizeof(format), &format, NULL));
    CHECK(clGetImageInfo(image, CL_IMAGE_NUM_MIP_LEVELS, sizeof(levels), &levels, NULL));
    CHECK(clGetImageInfo(image, CL_IMAGE_NUM_SAMPLES, sizeof(samples), &samples, NULL));
    CHECK(clGetImageInfo(image, CL_IMAGE_BUFFER, sizeof(buffer), &buffer, NULL));
    CHECK(clGetMemObjectInfo(image, CL_MEM_TYPE, sizeof(type), &type, NULL));
    CHECK(clGetMemObjectInfo(image, CL_MEM_SIZE, sizeof(size), &size, NULL));
    printf("format %#x %#x, %u levels, %u samples, type %#x, %s buffer, %zu bytes\n", format.image_channel_order,
           format.image_channel_data_type, levels, samples, type, buffer ? "a" : "no", size);
}

/* The layout of a box of an image in memory. */
struct layout {
    size_t element, row, slice;
};

static struct layout layout_of(const struct kind *kind, size_t element)
{
    return (struct layout){element, kind->size[0] * element, kind->size[0] * kind->size[1] * element};
}

static size_t layout_size(const struct layout *layout, const size_t region[3])
{
    return (region[2] - 1) * layout->slice + (region[1] - 1) * layout->row + region[0] * layout->element;
}

/* Copies a region between two boxes in memory. */
static void box_copy(unsigned char *to, const struct layout *to_layout, const size_t to_origin[3],
                     const unsigned char *from, const struct layout *from_layout, const size_t from_origin[3],
                     const size_t region[3])
{
    for (size_t z = 0; z < region[2]; z++) {
        for (size_t y = 0; y < region[1]; y++)
            memcpy(to + (to_origin[2] + z) * to_layout->slice + (to_origin[1] + y) * to_layout->row +
                       to_origin[0] * to_layout->element,
                   from + (from_origin[2] + z) * from_layout->slice + (from_origin[1] + y) * from_layout->row +
                       from_origin[0] * from_layout->element,
                   region[0] * to_layout->element);
    }
}

static const size_t zero[3] = {0, 0, 0};

static void contents_check(const char *name, cl_mem image, const struct kind *kind, size_t element)
{
    size_t size = kind->size[0] * kind->size[1] * kind->size[2] * element;
    memset(back, 0, size);
    CHECK(clEnqueueReadImage(p.queue, image, CL_TRUE, zero, kind->size, 0, 0, back, 0, NULL, NULL));
    EXPECT(memcmp(back, model, size) == 0);
    parity_hash_print(name, back, size);
}

/* Sets a region in the middle of the image. */
static void part_of(const struct kind *kind, size_t origin[3], size_t region[3])
{
    for (int i = 0; i < 3; i++) {
        origin[i] = kind->size[i] > 3 ? 2 : 0;
        region[i] = kind->size[i] > 3 ? kind->size[i] - 3 : kind->size[i];
    }
}

static void write_read(cl_mem image, const struct kind *kind, size_t element)
{
    struct layout whole = layout_of(kind, element);
    size_t origin[3], region[3];
    part_of(kind, origin, region);
    parity_random_bytes(model, layout_size(&whole, kind->size), 1);
    CHECK(clEnqueueWriteImage(p.queue, image, CL_TRUE, zero, kind->size, 0, 0, model, 0, NULL, NULL));
    contents_check("written", image, kind, element);

    struct layout loose = {element, (region[0] + 3) * element, (region[0] + 3) * (region[1] + 2) * element};
    bool flat = region[2] == 1;
    parity_random_bytes(data, layout_size(&loose, region), 2);
    CHECK(clEnqueueWriteImage(p.queue, image, CL_FALSE, origin, region, loose.row, flat ? 0 : loose.slice, data, 0,
                              NULL, NULL));
    box_copy(model, &whole, origin, data, &loose, zero, region);
    contents_check("part written with pitches", image, kind, element);

    size_t size = layout_size(&loose, region);
    static unsigned char wanted[LARGEST];
    memset(wanted, 0, size);
    memset(back, 0, size);
    CHECK(clEnqueueReadImage(p.queue, image, CL_TRUE, origin, region, loose.row, flat ? 0 : loose.slice, back, 0, NULL,
                             NULL));
    box_copy(wanted, &loose, zero, model, &whole, origin, region);
    EXPECT(memcmp(back, wanted, size) == 0);
}

static void copy_try(cl_mem image, cl_mem other, const struct kind *kind, size_t element)
{
    struct layout whole = layout_of(kind, element);
    size_t origin[3], region[3], size = layout_size(&whole, kind->size);
    part_of(kind, origin, region);
    memcpy(data, model, size);
    memset(model, 0x5a, size);
    CHECK(clEnqueueWriteImage(p.queue, other, CL_TRUE, zero, kind->size, 0, 0, model, 0, NULL, NULL));
    CHECK(clEnqueueCopyImage(p.queue, image, other, origin, zero, region, 0, NULL, NULL));
    box_copy(model, &whole, zero, data, &whole, origin, region);
    contents_check("copied", other, kind, element);
}

static void fill_try(cl_mem image, const struct kind *kind, size_t element, const void *color, const void *pattern)
{
    struct layout whole = layout_of(kind, element), texel = {element, 0, 0};
    size_t origin[3], region[3];
    part_of(kind, origin, region);
    CHECK(clEnqueueFillImage(p.queue, image, color, origin, region, 0, NULL, NULL));
    for (size_t x = 0; x < region[0]; x++) {
        size_t at[3] = {origin[0] + x, origin[1], origin[2]}, column[3] = {1, region[1], region[2]};
        box_copy(model, &whole, at, pattern, &texel, zero, column);
    }
    contents_check("filled", image, kind, element);
}

static void map_try(cl_mem image, const struct kind *kind, size_t element)
{
    struct layout whole = layout_of(kind, element), mapped = {element, 0, 0};
    size_t origin[3], region[3];
    cl_int status;
    part_of(kind, origin, region);
    unsigned char *memory = clEnqueueMapImage(p.queue, image, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, origin, region,
                                              &mapped.row, &mapped.slice, 0, NULL, NULL, &status);
    CHECK(status);
    printf("mapped: row %zu, slice %zu\n", mapped.row, mapped.slice);
    if (kind->type == CL_MEM_OBJECT_IMAGE1D_ARRAY)
        mapped.row = mapped.slice;
    for (size_t z = 0; z < region[2]; z++) {
        for (size_t y = 0; y < region[1]; y++) {
            for (size_t x = 0; x < region[0] * element; x++)
                memory[z * mapped.slice + y * mapped.row + x] ^= 0xff;
        }
    }
    box_copy(model, &whole, origin, memory, &mapped, zero, region);
    CHECK(clEnqueueUnmapMemObject(p.queue, image, memory, 0, NULL, NULL));
    contents_check("mapped", image, kind, element);
}

static void buffer_try(cl_mem image, const struct kind *kind, size_t element)
{
    struct layout whole = layout_of(kind, element);
    size_t origin[3], region[3], offset = 128;
    part_of(kind, origin, region);
    struct layout tight = {element, region[0] * element, region[0] * region[1] * element};
    size_t size = layout_size(&tight, region);
    cl_mem buffer = parity_buffer(&p, CL_MEM_READ_WRITE, LARGEST, NULL);
    parity_random_bytes(data, size, 8);
    parity_write(p.queue, buffer, offset, size, data);
    CHECK(clEnqueueCopyBufferToImage(p.queue, buffer, image, offset, origin, region, 0, NULL, NULL));
    box_copy(model, &whole, origin, data, &tight, zero, region);
    contents_check("copied from a buffer", image, kind, element);
    CHECK(clEnqueueCopyImageToBuffer(p.queue, image, buffer, zero, region, 2 * offset, 0, NULL, NULL));
    parity_read(p.queue, buffer, 2 * offset, size, back);
    box_copy(data, &tight, zero, model, &whole, zero, region);
    EXPECT(memcmp(back, data, size) == 0);
    CHECK(clReleaseMemObject(buffer));
}

static void kind_try(const struct kind *kind, const cl_image_format *format, size_t element, const void *color,
                     const void *pattern)
{
    printf("-- %s, format %#x %#x\n", kind->name, format->image_channel_order, format->image_channel_data_type);
    cl_mem image = image_create(kind, format, CL_MEM_READ_WRITE, NULL);
    cl_mem other = image_create(kind, format, CL_MEM_READ_WRITE, NULL);
    info_show(image);
    write_read(image, kind, element);
    copy_try(image, other, kind, element);
    fill_try(other, kind, element, color, pattern);
    map_try(other, kind, element);
    buffer_try(other, kind, element);
    CHECK(clReleaseMemObject(other));
    CHECK(clReleaseMemObject(image));
}

static void kinds_try(void)
{
    static const cl_float part[] = {0.0f, 1.0f, 0.2f, 0.6f};
    static const unsigned char part_pattern[] = {0, 255, 51, 153};
    static const cl_uint whole[] = {1, 0x12345678, 3, 0xffffffff};
    static const cl_int small[] = {-1, 300, 32767, -32768};
    static const cl_short small_pattern[] = {-1, 300, 32767, -32768};
    static const cl_float plain[] = {-1.5f, 0.0f, 1e10f, 3.25f};
    for (size_t i = 0; i < PARITY_COUNT(kinds); i++) {
        kind_try(&kinds[i], &rgba8, 4, part, part_pattern);
        kind_try(&kinds[i], &rgba32, 16, whole, whole);
        kind_try(&kinds[i], &rgba16, 8, small, small_pattern);
        kind_try(&kinds[i], &rgbaf, 16, plain, plain);
    }
}

/* Images made from this program's memory, with a row pitch. */
static void host_try(cl_mem_flags flags)
{
    static _Alignas(4096) unsigned char host[HEIGHT * (WIDTH + 8) * 4];
    struct layout loose = {4, (WIDTH + 8) * 4, sizeof(host)}, tight = layout_of(&kinds[1], 4);
    cl_image_desc desc = kind_desc(&kinds[1]);
    cl_int status;
    parity_random_bytes(host, sizeof(host), 21);
    desc.image_row_pitch = loose.row;
    cl_mem image = clCreateImage(p.context, flags, &rgba8, &desc, host, &status);
    CHECK(status);
    printf("-- from host memory, flags %u\n", (unsigned)flags);
    info_show(image);
    box_copy(model, &tight, zero, host, &loose, zero, kinds[1].size);
    contents_check("contents", image, &kinds[1], 4);
    CHECK(clReleaseMemObject(image));
}

/* The calls of OpenCL 1.1, and OpenCL 3.0's call with properties. */
static void old_calls_try(void)
{
    cl_int status;
    cl_image_desc desc = kind_desc(&kinds[1]);
    printf("-- other ways to create\n");
    cl_mem image = clCreateImage2D(p.context, CL_MEM_READ_WRITE, &rgba8, WIDTH, HEIGHT, 0, NULL, &status);
    CHECK(status);
    info_show(image);
    CHECK(clReleaseMemObject(image));
    image = clCreateImage3D(p.context, CL_MEM_READ_WRITE, &rgba8, WIDTH, HEIGHT, DEPTH, 0, 0, NULL, &status);
    CHECK(status);
    info_show(image);
    CHECK(clReleaseMemObject(image));
    if (parity_version(&p) < 300)
        return;
    image = clCreateImageWithProperties(p.context, NULL, CL_MEM_READ_WRITE, &rgba8, &desc, NULL, &status);
    SHOW("clCreateImageWithProperties", status);
    if (image)
        CHECK(clReleaseMemObject(image));
}

static void pair_launch(const char *name, const struct kind *kind, const cl_image_format *format, cl_uint dimensions,
                        size_t element)
{
    size_t size = kind->size[0] * kind->size[1] * kind->size[2] * element;
    cl_kernel kernel = parity_kernel(program, name);
    parity_random_bytes(data, size, 31);
    cl_mem from = image_create(kind, format, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, data);
    cl_mem to = image_create(kind, format, CL_MEM_WRITE_ONLY, NULL);
    parity_args(kernel, 2, sizeof(from), &from, sizeof(to), &to);
    parity_launch(p.queue, kernel, dimensions, kind->size, NULL);
    CHECK(clEnqueueReadImage(p.queue, to, CL_TRUE, zero, kind->size, 0, 0, back, 0, NULL, NULL));
    parity_hash_print(name, back, size);
    CHECK(clReleaseMemObject(to));
    CHECK(clReleaseMemObject(from));
    CHECK(clReleaseKernel(kernel));
}

static void turned_check(void)
{
    for (int y = 0; y < HEIGHT; y++) {
        for (int x = 0; x < WIDTH; x++) {
            const unsigned char *was = data + (y * WIDTH + x) * 4, *is = back + ((HEIGHT - 1 - y) * WIDTH + x) * 4;
            EXPECT(is[0] == was[2] && is[1] == was[1] && is[2] == was[0] && is[3] == was[3]);
        }
    }
}

static void sampler_try(cl_bool normalized, cl_addressing_mode addressing, cl_filter_mode filter)
{
    cl_int status;
    cl_kernel kernel = parity_kernel(program, "sample");
    cl_sampler sampler = clCreateSampler(p.context, normalized, addressing, filter, &status);
    CHECK(status);
    parity_random_bytes(data, WIDTH * HEIGHT * 4, 41);
    cl_mem image = image_create(&kinds[1], &rgba8, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, data);
    cl_mem to = parity_buffer(&p, CL_MEM_WRITE_ONLY, WIDTH * HEIGHT * 16, NULL);
    cl_float2 scale = {{normalized ? 1.5f / WIDTH : 1.5f, normalized ? 1.5f / HEIGHT : 1.5f}};
    parity_args(kernel, 4, sizeof(image), &image, sizeof(sampler), &sampler, sizeof(scale), &scale, sizeof(to), &to);
    parity_launch(p.queue, kernel, 2, (size_t[]){WIDTH, HEIGHT}, NULL);
    parity_read(p.queue, to, 0, WIDTH * HEIGHT * 16, back);
    printf("sampler %u %#x %#x: ", normalized, addressing, filter);
    parity_hash_print("sampled", back, WIDTH * HEIGHT * 16);
    CHECK(clReleaseMemObject(to));
    CHECK(clReleaseMemObject(image));
    CHECK(clReleaseSampler(sampler));
    CHECK(clReleaseKernel(kernel));
}

static void buffer_image_try(void)
{
    enum { TEXELS = 256 };
    cl_int status;
    cl_kernel kernel = parity_kernel(program, "texels");
    parity_random_bytes(data, TEXELS * 16, 51);
    cl_mem buffer = parity_buffer(&p, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, TEXELS * 16, data);
    cl_mem to = parity_buffer(&p, CL_MEM_READ_WRITE, TEXELS * 16, NULL);
    cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER, .image_width = TEXELS, .buffer = buffer};
    cl_mem image = clCreateImage(p.context, CL_MEM_READ_ONLY, &rgba32, &desc, NULL, &status);
    CHECK(status);
    printf("-- image of a buffer\n");
    info_show(image);
    parity_args(kernel, 2, sizeof(image), &image, sizeof(to), &to);
    parity_rich();
    parity_launch(p.queue, kernel, 1, (size_t[]){TEXELS}, NULL);
    parity_read(p.queue, to, 0, TEXELS * 16, back);
    EXPECT(memcmp(back, data, TEXELS * 16) == 0);
    parity_hash_print("texels", back, TEXELS * 16);
    CHECK(clReleaseMemObject(image));
    CHECK(clReleaseMemObject(to));
    CHECK(clReleaseMemObject(buffer));
    CHECK(clReleaseKernel(kernel));
}

static void kernels_try(void)
{
    printf("-- kernels\n");
    pair_launch("turn", &kinds[1], &rgba8, 2, 4);
    turned_check();
    pair_launch("deep", &kinds[2], &rgba32, 3, 16);
    pair_launch("line", &kinds[0], &rgba16, 1, 8);
    pair_launch("layers", &kinds[4], &rgba32, 3, 16);
    sampler_try(CL_FALSE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST);
    sampler_try(CL_FALSE, CL_ADDRESS_CLAMP_TO_EDGE, CL_FILTER_LINEAR);
    sampler_try(CL_TRUE, CL_ADDRESS_REPEAT, CL_FILTER_NEAREST);
    sampler_try(CL_TRUE, CL_ADDRESS_MIRRORED_REPEAT, CL_FILTER_LINEAR);
}

int main(void)
{
    parity_open(&p, 0);
    for (size_t i = 0; i < PARITY_COUNT(kinds); i++) {
        formats_show(&kinds[i], CL_MEM_READ_WRITE);
        formats_show(&kinds[i], CL_MEM_READ_ONLY);
        formats_show(&kinds[i], CL_MEM_WRITE_ONLY);
        formats_show(&kinds[i], CL_MEM_KERNEL_READ_AND_WRITE);
    }
    kinds_try();
    host_try(CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR);
    host_try(CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR);
    old_calls_try();
    program = parity_program(&p, source, NULL);
    kernels_try();
    buffer_image_try();
    CHECK(clReleaseProgram(program));
    parity_close(&p);
    return 0;
}
