/*
 * A buffer that only maps have written may be mapped without its contents being read. So each other way to write one
 * comes between two maps, and the second shows what it wrote: commands on the whole, on a part and on an image of the
 * buffer, kernels whose argument it became before or after, and recorded commands.
 */
#include "parity.h"

enum { WIDTH = 64, ROWS = 16, SIZE = WIDTH * ROWS * 4, HALF = SIZE / 2 };

static const char *source = "kernel void next(global uint *data)\n"
                            "{\n"
                            "    data[get_global_id(0)] += 7;\n"
                            "}\n"
                            "kernel void sum(global const uint *data, global uint *out)\n"
                            "{\n"
                            "    out[get_global_id(0)] = data[get_global_id(0)] * 3;\n"
                            "}\n";

static struct parity p;
static cl_program program;
static unsigned char model[SIZE], other[SIZE];
static cl_mem filled;

static void *map(cl_mem buffer, cl_map_flags flags, size_t offset, size_t size)
{
    cl_int status;
    void *data = clEnqueueMapBuffer(p.queue, buffer, CL_TRUE, flags, offset, size, 0, NULL, NULL, &status);
    CHECK(status);
    return data;
}

static cl_mem buffer_new(cl_mem_flags flags, void *contents)
{
    cl_int status;
    cl_mem buffer = clCreateBuffer(p.context, flags, SIZE, contents, &status);
    CHECK(status);
    return buffer;
}

static void program_write(cl_mem buffer, cl_map_flags flags, uint32_t seed)
{
    unsigned char *data = map(buffer, flags, 0, SIZE);
    parity_random_bytes(data, SIZE, seed);
    parity_random_bytes(model, SIZE, seed);
    CHECK(clEnqueueUnmapMemObject(p.queue, buffer, data, 0, NULL, NULL));
}

static void contents_check(const char *name, cl_mem buffer)
{
    unsigned char *data = map(buffer, CL_MAP_READ, 0, SIZE);
    EXPECT(memcmp(data, model, SIZE) == 0);
    parity_hash_print(name, data, SIZE);
    CHECK(clEnqueueUnmapMemObject(p.queue, buffer, data, 0, NULL, NULL));
}

static cl_kernel kernel_for(const char *name, cl_mem first)
{
    cl_int status;
    cl_kernel kernel = clCreateKernel(program, name, &status);
    CHECK(status);
    CHECK(clSetKernelArg(kernel, 0, sizeof(first), &first));
    return kernel;
}

static void launch(cl_kernel kernel)
{
    CHECK(clEnqueueNDRangeKernel(p.queue, kernel, 1, NULL, (size_t[]){SIZE / 4}, NULL, 0, NULL, NULL));
}

static void model_next(void)
{
    for (size_t i = 0; i < SIZE; i += 4) {
        uint32_t word;
        memcpy(&word, model + i, 4);
        word += 7;
        memcpy(model + i, &word, 4);
    }
}

/* ---- the ways to write ---- */

static void by_write(cl_mem buffer)
{
    CHECK(clEnqueueWriteBuffer(p.queue, buffer, CL_FALSE, 100, 1000, other, 0, NULL, NULL));
    memcpy(model + 100, other, 1000);
    CHECK(clFinish(p.queue));
}

static void by_rect(cl_mem buffer)
{
    const size_t to[3] = {16, 2, 0}, from[3] = {0}, region[3] = {100, 5, 1};
    CHECK(clEnqueueWriteBufferRect(p.queue, buffer, CL_TRUE, to, from, region, WIDTH * 4, 0, WIDTH * 4, 0, other, 0,
                                   NULL, NULL));
    for (size_t row = 0; row < 5; row++)
        memcpy(model + (row + 2) * WIDTH * 4 + 16, other + row * WIDTH * 4, 100);
}

static void by_fill(cl_mem buffer)
{
    const uint32_t pattern = 0x01020304;
    CHECK(clEnqueueFillBuffer(p.queue, buffer, &pattern, 4, 256, 512, 0, NULL, NULL));
    for (size_t i = 256; i < 768; i += 4)
        memcpy(model + i, &pattern, 4);
}

static void by_copy(cl_mem buffer)
{
    CHECK(clEnqueueCopyBuffer(p.queue, filled, buffer, 8, 16, 500, 0, NULL, NULL));
    memcpy(model + 16, other + 8, 500);
}

static void by_rect_copy(cl_mem buffer)
{
    const size_t from[3] = {0}, to[3] = {0, 3, 0}, region[3] = {64, 4, 1};
    CHECK(
        clEnqueueCopyBufferRect(p.queue, filled, buffer, from, to, region, WIDTH * 4, 0, WIDTH * 4, 0, 0, NULL, NULL));
    for (size_t row = 0; row < 4; row++)
        memcpy(model + (row + 3) * WIDTH * 4, other + row * WIDTH * 4, 64);
}

static cl_mem image_new(cl_mem buffer)
{
    const cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
    const cl_image_desc desc = {.image_type = buffer ? CL_MEM_OBJECT_IMAGE1D_BUFFER : CL_MEM_OBJECT_IMAGE2D,
                                .image_width = WIDTH,
                                .image_height = buffer ? 0 : ROWS,
                                .buffer = buffer};
    cl_int status;
    cl_mem image = clCreateImage(p.context, CL_MEM_READ_WRITE, &format, &desc, NULL, &status);
    CHECK(status);
    return image;
}

static void by_image_copy(cl_mem buffer)
{
    const size_t origin[3] = {0}, region[3] = {WIDTH, 4, 1};
    cl_mem image = image_new(NULL);
    CHECK(clEnqueueWriteImage(p.queue, image, CL_TRUE, origin, region, 0, 0, other, 0, NULL, NULL));
    CHECK(clEnqueueCopyImageToBuffer(p.queue, image, buffer, origin, region, 1024, 0, NULL, NULL));
    memcpy(model + 1024, other, WIDTH * 16);
    CHECK(clReleaseMemObject(image));
}

static void by_image_write(cl_mem buffer)
{
    const size_t origin[3] = {4, 0, 0}, region[3] = {20, 1, 1};
    cl_mem image = image_new(buffer);
    CHECK(clEnqueueWriteImage(p.queue, image, CL_TRUE, origin, region, 0, 0, other, 0, NULL, NULL));
    memcpy(model + 16, other, 80);
    CHECK(clReleaseMemObject(image));
}

static void by_image_map(cl_mem buffer)
{
    const size_t origin[3] = {0}, region[3] = {30, 1, 1};
    cl_mem image = image_new(buffer);
    cl_int status;
    size_t pitch;
    void *data = clEnqueueMapImage(p.queue, image, CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION, origin, region, &pitch,
                                   NULL, 0, NULL, NULL, &status);
    CHECK(status);
    memcpy(data, other, 120);
    memcpy(model, other, 120);
    CHECK(clEnqueueUnmapMemObject(p.queue, image, data, 0, NULL, NULL));
    CHECK(clFinish(p.queue));
    CHECK(clReleaseMemObject(image));
}

static cl_mem part_new(cl_mem buffer)
{
    const cl_buffer_region region = {HALF, HALF};
    cl_int status;
    cl_mem part = clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    CHECK(status);
    return part;
}

static void by_part(cl_mem buffer)
{
    cl_mem part = part_new(buffer);
    CHECK(clEnqueueWriteBuffer(p.queue, part, CL_TRUE, 0, 64, other, 0, NULL, NULL));
    memcpy(model + HALF, other, 64);
    CHECK(clReleaseMemObject(part));
}

static void by_map_of_part(cl_mem buffer)
{
    cl_mem part = part_new(buffer);
    unsigned char *data = map(part, CL_MAP_WRITE, 32, 100);
    memcpy(data, other, 100);
    memcpy(model + HALF + 32, other, 100);
    CHECK(clEnqueueUnmapMemObject(p.queue, part, data, 0, NULL, NULL));
    CHECK(clFinish(p.queue));
    CHECK(clReleaseMemObject(part));
}

static void by_kernel(cl_mem buffer)
{
    cl_kernel kernel = kernel_for("next", buffer);
    launch(kernel);
    model_next();
    CHECK(clReleaseKernel(kernel));
}

static void by_reader(cl_mem buffer)
{
    cl_mem out = buffer_new(CL_MEM_READ_WRITE, NULL);
    cl_kernel kernel = kernel_for("sum", buffer);
    CHECK(clSetKernelArg(kernel, 1, sizeof(out), &out));
    launch(kernel);
    parity_read(p.queue, out, 0, SIZE, other);
    parity_hash_print("read", other, SIZE);
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseMemObject(out));
}

static void way_try(const char *name, void (*way)(cl_mem))
{
    for (unsigned made = 0; made < 3; made++) {
        static const cl_mem_flags flags[] = {CL_MEM_READ_WRITE, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                                             CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR};
        cl_mem buffer;
        parity_random_bytes(other, SIZE, 99);
        parity_random_bytes(model, SIZE, 98);
        buffer = buffer_new(flags[made], made == 2 ? model : NULL);
        if (made == 2)
            contents_check("its first contents", buffer);
        program_write(buffer, made ? CL_MAP_WRITE : CL_MAP_WRITE_INVALIDATE_REGION, made);
        contents_check("mapped", buffer);
        way(buffer);
        contents_check(name, buffer);
        program_write(buffer, CL_MAP_READ | CL_MAP_WRITE, made + 10);
        contents_check("mapped again", buffer);
        way(buffer);
        contents_check(name, buffer);
        parity_read(p.queue, buffer, 0, SIZE, other);
        EXPECT(memcmp(other, model, SIZE) == 0);
        CHECK(clReleaseMemObject(buffer));
    }
}

/* The kernel has its argument before the first map. */
static void earlier_argument(void)
{
    cl_mem buffer = buffer_new(CL_MEM_READ_WRITE, NULL);
    cl_kernel kernel = kernel_for("next", buffer);
    program_write(buffer, CL_MAP_WRITE, 5);
    contents_check("mapped", buffer);
    parity_rich();
    contents_check("mapped before", buffer);
    launch(kernel);
    model_next();
    contents_check("a kernel that had it before", buffer);
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseMemObject(buffer));
}

/* A part of a map that was never written shows what was written beside it. */
static void in_pieces(void)
{
    cl_mem buffer = buffer_new(CL_MEM_READ_WRITE, NULL);
    parity_random_bytes(model, SIZE, 11);
    for (size_t at = 0; at < SIZE; at += SIZE / 4) {
        unsigned char *data = map(buffer, CL_MAP_WRITE, at, SIZE / 4);
        memcpy(data, model + at, SIZE / 4);
        CHECK(clEnqueueUnmapMemObject(p.queue, buffer, data, 0, NULL, NULL));
    }
    contents_check("in pieces", buffer);
    CHECK(clReleaseMemObject(buffer));
}

int main(void)
{
    parity_open(&p, 0);
    program = parity_program(&p, source, NULL);
    parity_random_bytes(other, SIZE, 99);
    filled = buffer_new(CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, other);
    way_try("a write", by_write);
    way_try("a rect", by_rect);
    way_try("a fill", by_fill);
    way_try("a copy", by_copy);
    way_try("a copied rect", by_rect_copy);
    way_try("a copied image", by_image_copy);
    way_try("an image of it, written", by_image_write);
    way_try("an image of it, mapped", by_image_map);
    way_try("a part", by_part);
    way_try("a map of a part", by_map_of_part);
    way_try("a kernel", by_kernel);
    way_try("a kernel that only reads", by_reader);
    earlier_argument();
    in_pieces();
    CHECK(clReleaseMemObject(filled));
    CHECK(clReleaseProgram(program));
    parity_close(&p);
    return 0;
}
