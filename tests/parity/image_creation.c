/* Which images can be created: shapes, pitches, memory and flags in all combinations; their queries, and their
 * contents. */
#include "parity.h"

enum { WIDTH = 8, HEIGHT = 4, COUNT = 3, SIZE = 1 << 16 };

static const cl_image_format formats[] = {{CL_RGBA, CL_UNSIGNED_INT8}, {CL_R, CL_FLOAT}, {CL_RGBA, CL_FLOAT}};

static struct parity p;
static unsigned char source[SIZE] __attribute__((aligned(4096)));

static const struct {
    const char *name;
    cl_image_desc desc;
} shapes[] = {
    {"1D", {.image_type = CL_MEM_OBJECT_IMAGE1D, .image_width = WIDTH}},
    {"1D array", {.image_type = CL_MEM_OBJECT_IMAGE1D_ARRAY, .image_width = WIDTH, .image_array_size = COUNT}},
    {"2D", {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = WIDTH, .image_height = HEIGHT}},
    {"2D array",
     {.image_type = CL_MEM_OBJECT_IMAGE2D_ARRAY,
      .image_width = WIDTH,
      .image_height = HEIGHT,
      .image_array_size = COUNT}},
    {"3D", {.image_type = CL_MEM_OBJECT_IMAGE3D, .image_width = WIDTH, .image_height = HEIGHT, .image_depth = COUNT}},
};

/* Queries include sizes of dimensions that the image does not have, which must not be the program's own values. */
static const struct {
    const char *name;
    cl_image_info param;
    size_t size;
} infos[] = {{"element size", CL_IMAGE_ELEMENT_SIZE, sizeof(size_t)},
             {"row pitch", CL_IMAGE_ROW_PITCH, sizeof(size_t)},
             {"slice pitch", CL_IMAGE_SLICE_PITCH, sizeof(size_t)},
             {"width", CL_IMAGE_WIDTH, sizeof(size_t)},
             {"height", CL_IMAGE_HEIGHT, sizeof(size_t)},
             {"depth", CL_IMAGE_DEPTH, sizeof(size_t)},
             {"array size", CL_IMAGE_ARRAY_SIZE, sizeof(size_t)},
             {"mip levels", CL_IMAGE_NUM_MIP_LEVELS, sizeof(cl_uint)},
             {"samples", CL_IMAGE_NUM_SAMPLES, sizeof(cl_uint)},
             {"format", CL_IMAGE_FORMAT, sizeof(cl_image_format)},
             {"no such name", 0x7777, sizeof(size_t)}};

static void infos_show(const char *name, cl_mem image)
{
    cl_mem from;
    for (size_t i = 0; i < PARITY_COUNT(infos); i++) {
        cl_uint value[8] = {77, 77, 77, 77, 77, 77, 77, 77};
        size_t size = 99;
        cl_int error = clGetImageInfo(image, infos[i].param, sizeof(value), value, &size);
        printf("%s: %s = %s, %zu bytes, %u %u, too small %s\n", name, infos[i].name, parity_error_name(error), size,
               value[0], value[1],
               parity_error_name(clGetImageInfo(image, infos[i].param, infos[i].size - 1, value, NULL)));
    }
    CHECK(clGetImageInfo(image, CL_IMAGE_BUFFER, sizeof(from), &from, NULL));
    printf("%s: %s a buffer\n", name, from ? "of" : "not of");
}

static void contents_show(const char *name, cl_mem image, const cl_image_desc *d)
{
    static unsigned char read[SIZE];
    const size_t zero[3] = {0};
    size_t region[3] = {d->image_width, d->image_height ? d->image_height : 1, 1};
    if (d->image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY)
        region[1] = d->image_array_size;
    else if (d->image_type == CL_MEM_OBJECT_IMAGE2D_ARRAY)
        region[2] = d->image_array_size;
    else if (d->image_type == CL_MEM_OBJECT_IMAGE3D)
        region[2] = d->image_depth;
    memset(read, 0, sizeof(read));
    CHECK(clEnqueueReadImage(p.queue, image, CL_TRUE, zero, region, 0, 0, read, 0, NULL, NULL));
    parity_hash_print(name, read, sizeof(read));
}

/* The program overwrites the memory of a copied image as soon as the call returns. */
static void image_try(const char *name, cl_mem_flags flags, const cl_image_format *format, const cl_image_desc *desc)
{
    void *memory = NULL;
    cl_int status;
    cl_mem image;
    if (flags & (CL_MEM_COPY_HOST_PTR | CL_MEM_USE_HOST_PTR)) {
        EXPECT(!posix_memalign(&memory, 4096, SIZE));
        memcpy(memory, source, SIZE);
    }
    image = clCreateImage(p.context, flags, format, desc, memory, &status);
    printf("%s = %s\n", name, parity_error_name(status));
    if (flags & CL_MEM_COPY_HOST_PTR)
        memset(memory, 0xee, SIZE);
    if (image) {
        infos_show(name, image);
        /* PoCL 3.1 reads the layers of a 1D array one row pitch apart, whatever the slice pitch is. */
        if (memory &&
            !(desc->image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY && desc->image_slice_pitch > desc->image_row_pitch))
            contents_show(name, image, desc);
        CHECK(clReleaseMemObject(image));
        CHECK(clFinish(p.queue));
    }
    free(memory);
}

static void shapes_try(void)
{
    static const struct {
        const char *name;
        cl_mem_flags flags;
    } memories[] = {{"no memory", 0}, {"copied", CL_MEM_COPY_HOST_PTR}, {"used", CL_MEM_USE_HOST_PTR}};
    static const struct {
        const char *name;
        size_t rows, slices; /* in halves of a tight pitch; 0: not given */
    } pitches[] = {{"tight", 0, 0},      {"told", 2, 2},        {"wide rows", 4, 0},
                   {"wide", 4, 12},      {"wide slices", 2, 6}, {"slices no multiple", 2, 5},
                   {"only slices", 0, 4}};
    char name[128];
    for (size_t f = 0; f < PARITY_COUNT(formats); f++) {
        for (size_t s = 0; s < PARITY_COUNT(shapes); s++) {
            for (size_t m = 0; m < PARITY_COUNT(memories); m++) {
                for (size_t i = 0; i < PARITY_COUNT(pitches); i++) {
                    cl_image_desc desc = shapes[s].desc;
                    size_t row = WIDTH * (f == 2 ? 16 : 4) * pitches[i].rows / 2;
                    size_t rows = s == 1 ? 1 : s < 3 ? 0 : HEIGHT;
                    desc.image_row_pitch = row;
                    desc.image_slice_pitch = (row ? row : WIDTH * (f == 2 ? 16 : 4)) * rows * pitches[i].slices / 2;
                    snprintf(name, sizeof(name), "%s, format %zu, %s, %s", shapes[s].name, f, memories[m].name,
                             pitches[i].name);
                    image_try(name, memories[m].flags, &formats[f], &desc);
                }
            }
        }
    }
}

/* An image of a buffer, of a part of one, of another image. */
static void sources_try(void)
{
    const cl_buffer_region region = {4096, 8192};
    cl_mem buffer = parity_buffer(&p, CL_MEM_COPY_HOST_PTR, SIZE, source);
    cl_int status;
    cl_mem part = clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    cl_image_desc flat = shapes[2].desc;
    cl_mem image;
    CHECK(status);
    image = clCreateImage(p.context, 0, &formats[0], &flat, NULL, &status);
    CHECK(status);
    const struct {
        const char *name;
        cl_mem memory;
    } sources[] = {{"buffer", buffer}, {"part", part}, {"image", image}};
    const size_t pitches[] = {0, WIDTH * 4, WIDTH * 8, 4096};
    char name[128];
    parity_rich();
    for (size_t i = 0; i < PARITY_COUNT(sources); i++) {
        cl_image_desc line = {.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER, .image_width = WIDTH};
        line.mem_object = sources[i].memory;
        if (i < 2) { /* PoCL 3.1 takes an image's memory for a buffer's */
            snprintf(name, sizeof(name), "line of a %s", sources[i].name);
            image_try(name, CL_MEM_READ_WRITE, &formats[0], &line);
            line.image_width = 1 << 20;
            snprintf(name, sizeof(name), "long line of a %s", sources[i].name);
            image_try(name, CL_MEM_READ_WRITE, &formats[0], &line);
        }
        for (size_t j = 0; j < PARITY_COUNT(pitches); j++) {
            for (size_t s = 0; s < PARITY_COUNT(shapes); s++) {
                cl_image_desc desc = shapes[s].desc;
                desc.mem_object = sources[i].memory;
                desc.image_row_pitch = pitches[j];
                snprintf(name, sizeof(name), "%s of a %s, pitch %zu", shapes[s].name, sources[i].name, pitches[j]);
                image_try(name, CL_MEM_READ_WRITE, &formats[0], &desc);
            }
        }
    }
    CHECK(clReleaseMemObject(image));
    CHECK(clReleaseMemObject(part));
    CHECK(clReleaseMemObject(buffer));
}

int main(void)
{
    parity_open(&p, 0);
    parity_random_bytes(source, sizeof(source), 1);
    shapes_try();
    sources_try();
    parity_close(&p);
    return 0;
}
