/*
 * Buffers created with each flag, written, read, copied and filled at many sizes and offsets, rectangles of them, and
 * sub-buffers. A model in this program's memory undergoes the same operations, and is compared.
 */
#include "parity.h"

enum { LARGEST = 32 << 20, SIZE = 1 << 16, SUB_ALIGN = 4096 };

static struct parity p;
static unsigned char *data, *back, *model;

static void contents_check(const char *name, cl_mem buffer, size_t size)
{
    parity_read(p.queue, buffer, 0, size, back);
    EXPECT(memcmp(back, model, size) == 0);
    parity_hash_print(name, back, size);
}

static void write_read(size_t size, size_t offset, bool wait)
{
    cl_event events[2];
    cl_mem buffer = parity_buffer(&p, CL_MEM_READ_WRITE, offset + size, NULL);
    parity_random_bytes(data, size, (uint32_t)size);
    memset(back, 0, size);
    CHECK(clEnqueueWriteBuffer(p.queue, buffer, wait, offset, size, data, 0, NULL, &events[0]));
    CHECK(clEnqueueReadBuffer(p.queue, buffer, wait, offset, size, back, 1, events, &events[1]));
    CHECK(clWaitForEvents(2, events));
    EXPECT(memcmp(data, back, size) == 0);
    printf("%zu bytes at %zu, %s: %016llx\n", size, offset, wait ? "blocking" : "not blocking",
           (unsigned long long)parity_hash(back, size));
    CHECK(clReleaseEvent(events[0]));
    CHECK(clReleaseEvent(events[1]));
    CHECK(clReleaseMemObject(buffer));
}

static void sizes_try(void)
{
    static const size_t sizes[] = {1,
                                   2,
                                   3,
                                   7,
                                   8,
                                   63,
                                   64,
                                   65,
                                   1000,
                                   4095,
                                   4096,
                                   4097,
                                   65535,
                                   65536,
                                   65537,
                                   1 << 20,
                                   (1 << 20) + 1,
                                   (4 << 20) - 3,
                                   8 << 20,
                                   LARGEST};
    for (size_t i = 0; i < PARITY_COUNT(sizes) - parity_modest(); i++) {
        write_read(sizes[i], 0, true);
        write_read(sizes[i], 0, false);
        if (sizes[i] < LARGEST) {
            write_read(sizes[i], 1, true);
            write_read(sizes[i], 4099, false);
        }
    }
}

/* A blocking write has copied the data when it returns, also from the stack. */
static void write_reuse(void)
{
    cl_mem buffer = parity_buffer(&p, CL_MEM_READ_WRITE, SIZE, NULL);
    for (int i = 0; i < SIZE; i += 256) {
        unsigned char bytes[256];
        memset(bytes, i / 256, sizeof(bytes));
        memset(model + i, i / 256, sizeof(bytes));
        parity_write(p.queue, buffer, (size_t)i, sizeof(bytes), bytes);
        memset(bytes, 0xee, sizeof(bytes));
    }
    contents_check("many small writes", buffer, SIZE);
    CHECK(clReleaseMemObject(buffer));
}

static void flags_try(void)
{
    static const cl_mem_flags access[] = {0, CL_MEM_READ_WRITE, CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY};
    static const cl_mem_flags host[] = {0, CL_MEM_USE_HOST_PTR, CL_MEM_ALLOC_HOST_PTR, CL_MEM_COPY_HOST_PTR,
                                        CL_MEM_COPY_HOST_PTR | CL_MEM_ALLOC_HOST_PTR};
    for (size_t i = 0; i < PARITY_COUNT(access) * PARITY_COUNT(host); i++) {
        cl_mem_flags flags = access[i % PARITY_COUNT(access)] | host[i / PARITY_COUNT(access)], kept;
        bool given = flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR);
        parity_random_bytes(data, SIZE, (uint32_t)flags);
        memcpy(model, data, SIZE);
        cl_mem buffer = parity_buffer(&p, flags, SIZE, given ? data : NULL);
        if (!given)
            parity_write(p.queue, buffer, 0, SIZE, model);
        CHECK(clGetMemObjectInfo(buffer, CL_MEM_FLAGS, sizeof(kept), &kept, NULL));
        printf("flags %u become %u\n", (unsigned)flags, (unsigned)kept);
        contents_check("contents", buffer, SIZE);
        CHECK(clReleaseMemObject(buffer));
    }
}

static void host_access_try(void)
{
    static const cl_mem_flags access[] = {CL_MEM_HOST_READ_ONLY, CL_MEM_HOST_WRITE_ONLY, CL_MEM_HOST_NO_ACCESS};
    memset(data, 9, SIZE);
    for (size_t i = 0; i < PARITY_COUNT(access); i++) {
        cl_mem buffer = parity_buffer(&p, access[i] | CL_MEM_COPY_HOST_PTR, SIZE, data);
        cl_int status;
        printf("host access %u\n", (unsigned)access[i]);
        SHOW("read", clEnqueueReadBuffer(p.queue, buffer, CL_TRUE, 0, SIZE, back, 0, NULL, NULL));
        SHOW("write", clEnqueueWriteBuffer(p.queue, buffer, CL_TRUE, 0, SIZE, data, 0, NULL, NULL));
        void *mapped = clEnqueueMapBuffer(p.queue, buffer, CL_TRUE, CL_MAP_READ, 0, SIZE, 0, NULL, NULL, &status);
        SHOW("map for reading", status);
        if (mapped)
            CHECK(clEnqueueUnmapMemObject(p.queue, buffer, mapped, 0, NULL, NULL));
        mapped = clEnqueueMapBuffer(p.queue, buffer, CL_TRUE, CL_MAP_WRITE, 0, SIZE, 0, NULL, NULL, &status);
        SHOW("map for writing", status);
        if (mapped)
            CHECK(clEnqueueUnmapMemObject(p.queue, buffer, mapped, 0, NULL, NULL));
        CHECK(clFinish(p.queue));
        CHECK(clReleaseMemObject(buffer));
    }
}

static void copies_try(void)
{
    static const size_t places[][3] = {
        {0, 0, SIZE}, {1, 0, SIZE - 1}, {0, 4097, 1}, {33, 777, 31111}, {SIZE - 5, 2, 5}};
    cl_mem from = parity_buffer(&p, CL_MEM_READ_WRITE, SIZE, NULL), to = parity_buffer(&p, 0, SIZE, NULL);
    parity_random_bytes(data, SIZE, 1);
    parity_write(p.queue, from, 0, SIZE, data);
    memset(model, 0, SIZE);
    parity_write(p.queue, to, 0, SIZE, model);
    for (size_t i = 0; i < PARITY_COUNT(places); i++) {
        const size_t *place = places[i];
        CHECK(clEnqueueCopyBuffer(p.queue, from, to, place[0], place[1], place[2], 0, NULL, NULL));
        memcpy(model + place[1], data + place[0], place[2]);
        contents_check("copied", to, SIZE);
    }
    CHECK(clEnqueueCopyBuffer(p.queue, to, to, 0, SIZE / 2, SIZE / 2, 0, NULL, NULL));
    memcpy(model + SIZE / 2, model, SIZE / 2);
    contents_check("copied within", to, SIZE);
    CHECK(clReleaseMemObject(from));
    CHECK(clReleaseMemObject(to));
}

static void fills_try(void)
{
    cl_mem buffer = parity_buffer(&p, CL_MEM_READ_WRITE, SIZE, NULL);
    memset(model, 0, SIZE);
    parity_write(p.queue, buffer, 0, SIZE, model);
    for (size_t pattern = 1; pattern <= 128; pattern *= 2) {
        size_t offset = pattern * 3, size = (SIZE / 2) / pattern * pattern;
        parity_random_bytes(data, pattern, (uint32_t)pattern);
        CHECK(clEnqueueFillBuffer(p.queue, buffer, data, pattern, offset, size, 0, NULL, NULL));
        for (size_t i = 0; i < size; i++)
            model[offset + i] = data[i % pattern];
        memset(data, 0, pattern);
        contents_check("filled", buffer, SIZE);
    }
    CHECK(clReleaseMemObject(buffer));
}

/* Offsets and pitches of a box within a buffer. */
struct box {
    size_t origin[3], row, slice;
};

static size_t box_place(const struct box *box, size_t y, size_t z)
{
    return (box->origin[2] + z) * box->slice + (box->origin[1] + y) * box->row + box->origin[0];
}

static void box_copy(unsigned char *to, const struct box *to_box, const unsigned char *from, const struct box *from_box,
                     const size_t region[3])
{
    for (size_t z = 0; z < region[2]; z++) {
        for (size_t y = 0; y < region[1]; y++)
            memcpy(to + box_place(to_box, y, z), from + box_place(from_box, y, z), region[0]);
    }
}

static void rectangle_try(cl_mem buffer, cl_mem other, const struct box *box, const struct box *host,
                          const size_t region[3])
{
    parity_random_bytes(data, SIZE, (uint32_t)region[0]);
    CHECK(clEnqueueWriteBufferRect(p.queue, buffer, CL_FALSE, box->origin, host->origin, region, box->row, box->slice,
                                   host->row, host->slice, data, 0, NULL, NULL));
    box_copy(model, box, data, host, region);
    contents_check("rectangle written", buffer, SIZE);

    unsigned char *wanted = calloc(1, SIZE);
    memset(back, 0, SIZE);
    CHECK(clEnqueueReadBufferRect(p.queue, buffer, CL_TRUE, box->origin, host->origin, region, box->row, box->slice,
                                  host->row, host->slice, back, 0, NULL, NULL));
    box_copy(wanted, host, model, box, region);
    EXPECT(memcmp(back, wanted, SIZE) == 0);

    memset(wanted, 7, SIZE);
    CHECK(clEnqueueFillBuffer(p.queue, other, wanted, 1, 0, SIZE, 0, NULL, NULL));
    CHECK(clEnqueueCopyBufferRect(p.queue, buffer, other, box->origin, host->origin, region, box->row, box->slice,
                                  host->row, host->slice, 0, NULL, NULL));
    box_copy(wanted, host, model, box, region);
    parity_read(p.queue, other, 0, SIZE, back);
    EXPECT(memcmp(back, wanted, SIZE) == 0);
    parity_hash_print("rectangle copied", back, SIZE);
    free(wanted);
}

static void rectangles_try(void)
{
    cl_mem buffer = parity_buffer(&p, CL_MEM_READ_WRITE, SIZE, NULL), other = parity_buffer(&p, 0, SIZE, NULL);
    memset(model, 0, SIZE);
    parity_write(p.queue, buffer, 0, SIZE, model);
    struct box plain = {{0, 0, 0}, 64, 1024}, shifted = {{5, 3, 2}, 100, 2100}, odd = {{1, 1, 1}, 33, 33 * 17};
    rectangle_try(buffer, other, &plain, &plain, (size_t[]){64, 16, 4});
    rectangle_try(buffer, other, &plain, &shifted, (size_t[]){40, 9, 3});
    rectangle_try(buffer, other, &shifted, &odd, (size_t[]){31, 15, 7});
    rectangle_try(buffer, other, &odd, &plain, (size_t[]){1, 1, 1});
    struct box line = {{17, 0, 0}, 0, 0};
    printf("pitches left to OpenCL\n");
    CHECK(clEnqueueWriteBufferRect(p.queue, buffer, CL_TRUE, line.origin, line.origin, (size_t[]){50, 4, 2}, 0, 0, 0, 0,
                                   data, 0, NULL, NULL));
    struct box tight = {{17, 0, 0}, 50, 200};
    box_copy(model, &tight, data, &tight, (size_t[]){50, 4, 2});
    contents_check("rectangle written", buffer, SIZE);
    CHECK(clReleaseMemObject(other));
    CHECK(clReleaseMemObject(buffer));
}

static void sub_info_check(cl_mem sub, cl_mem whole, size_t origin, size_t size)
{
    cl_mem parent;
    size_t offset, length;
    cl_mem_flags flags;
    CHECK(clGetMemObjectInfo(sub, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof(parent), &parent, NULL));
    CHECK(clGetMemObjectInfo(sub, CL_MEM_OFFSET, sizeof(offset), &offset, NULL));
    CHECK(clGetMemObjectInfo(sub, CL_MEM_SIZE, sizeof(length), &length, NULL));
    CHECK(clGetMemObjectInfo(sub, CL_MEM_FLAGS, sizeof(flags), &flags, NULL));
    EXPECT(parent == whole && offset == origin && length == size);
    printf("sub-buffer of %zu bytes at %zu, flags %u\n", length, offset, (unsigned)flags);
}

static void sub_buffer_try(cl_mem whole, cl_mem_flags flags, size_t origin, size_t size)
{
    cl_int status;
    cl_buffer_region region = {origin, size};
    cl_mem sub = clCreateSubBuffer(whole, flags, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    CHECK(status);
    sub_info_check(sub, whole, origin, size);
    parity_random_bytes(data, size, (uint32_t)origin);
    parity_write(p.queue, sub, 0, size, data);
    memcpy(model + origin, data, size);
    contents_check("whole after sub-buffer was written", whole, SIZE);

    memset(model + origin, 0xa5, size);
    CHECK(clEnqueueFillBuffer(p.queue, whole, model + origin, 1, origin, size, 0, NULL, NULL));
    parity_read(p.queue, sub, 1, size - 1, back);
    EXPECT(memcmp(back, model + origin, size - 1) == 0);

    unsigned char *mapped =
        clEnqueueMapBuffer(p.queue, sub, CL_TRUE, CL_MAP_WRITE, 10, size - 10, 0, NULL, NULL, &status);
    CHECK(status);
    memset(mapped, 0x11, size - 10);
    parity_rich();
    memset(model + origin + 10, 0x11, size - 10);
    CHECK(clEnqueueUnmapMemObject(p.queue, sub, mapped, 0, NULL, NULL));
    contents_check("whole after sub-buffer was mapped", whole, SIZE);
    CHECK(clReleaseMemObject(sub));
}

static void sub_buffers_try(void)
{
    cl_mem whole = parity_buffer(&p, CL_MEM_READ_WRITE, SIZE, NULL);
    memset(model, 0, SIZE);
    parity_write(p.queue, whole, 0, SIZE, model);
    sub_buffer_try(whole, CL_MEM_READ_WRITE, 0, SIZE);
    sub_buffer_try(whole, 0, SUB_ALIGN, 12345);
    sub_buffer_try(whole, CL_MEM_WRITE_ONLY, SUB_ALIGN * 3, SUB_ALIGN);
    sub_buffer_try(whole, CL_MEM_READ_ONLY, SIZE - SUB_ALIGN, SUB_ALIGN);
    CHECK(clReleaseMemObject(whole));
}

/* A sub-buffer keeps its buffer alive. */
static void sub_buffer_outlives(void)
{
    cl_int status;
    cl_buffer_region region = {SUB_ALIGN, SUB_ALIGN};
    cl_mem whole = parity_buffer(&p, CL_MEM_READ_WRITE, SIZE, NULL);
    cl_mem sub = clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    CHECK(status);
    CHECK(clReleaseMemObject(whole));
    parity_random_bytes(model, SUB_ALIGN, 77);
    parity_write(p.queue, sub, 0, SUB_ALIGN, model);
    contents_check("sub-buffer alone", sub, SUB_ALIGN);
    CHECK(clReleaseMemObject(sub));
}

/* Commands retain what they use: all objects are released while they may still be in use. */
static void released_early(void)
{
    cl_mem from = parity_buffer(&p, CL_MEM_READ_WRITE, LARGEST / 4, NULL), to = parity_buffer(&p, 0, LARGEST / 4, NULL);
    parity_random_bytes(data, LARGEST / 4, 3);
    CHECK(clEnqueueWriteBuffer(p.queue, from, CL_FALSE, 0, LARGEST / 4, data, 0, NULL, NULL));
    CHECK(clEnqueueCopyBuffer(p.queue, from, to, 0, 0, LARGEST / 4, 0, NULL, NULL));
    CHECK(clReleaseMemObject(from));
    CHECK(clEnqueueReadBuffer(p.queue, to, CL_FALSE, 0, LARGEST / 4, back, 0, NULL, NULL));
    CHECK(clReleaseMemObject(to));
    CHECK(clFinish(p.queue));
    EXPECT(memcmp(data, back, LARGEST / 4) == 0);
    parity_hash_print("released early", back, LARGEST / 4);
}

int main(void)
{
    parity_open(&p, 0);
    data = calloc(1, LARGEST);
    back = calloc(1, LARGEST);
    model = calloc(1, SIZE);
    sizes_try();
    write_reuse();
    flags_try();
    host_access_try();
    copies_try();
    fills_try();
    rectangles_try();
    sub_buffers_try();
    sub_buffer_outlives();
    released_early();
    free(model);
    free(back);
    free(data);
    parity_close(&p);
    return 0;
}
