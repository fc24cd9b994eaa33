/*
 * Buffers mapped and unmapped: for reading, writing and invalidating, whole and in part, blocking and not, several maps
 * at a time, and with each kind of host memory. Kernels between the maps show that both sides see the same contents.
 */
#include "parity.h"

enum { SIZE = 1 << 20 };

static const char *source = "kernel void next(global uchar *data)\n"
                            "{\n"
                            "    data[get_global_id(0)] += 1;\n"
                            "}\n";

static unsigned char model[SIZE], seen[SIZE];
static struct parity p;
static cl_kernel kernel;

static void *map(cl_mem buffer, cl_map_flags flags, size_t offset, size_t size)
{
    cl_int status;
    void *data = clEnqueueMapBuffer(p.queue, buffer, CL_TRUE, flags, offset, size, 0, NULL, NULL, &status);
    CHECK(status);
    EXPECT(data != NULL);
    return data;
}

static void unmap(cl_mem buffer, void *data)
{
    CHECK(clEnqueueUnmapMemObject(p.queue, buffer, data, 0, NULL, NULL));
}

/* Adds one to every byte, on the device and in the model. */
static void advance(cl_mem buffer)
{
    CHECK(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer));
    CHECK(clEnqueueNDRangeKernel(p.queue, kernel, 1, NULL, (size_t[]){SIZE}, (size_t[]){64}, 0, NULL, NULL));
    for (size_t i = 0; i < SIZE; i++)
        model[i]++;
}

static void contents_check(const char *name, cl_mem buffer)
{
    parity_read(p.queue, buffer, 0, SIZE, seen);
    EXPECT(memcmp(seen, model, SIZE) == 0);
    parity_hash_print(name, seen, SIZE);
}

static void part_read(cl_mem buffer, size_t offset, size_t size)
{
    const unsigned char *data = map(buffer, CL_MAP_READ, offset, size);
    EXPECT(memcmp(data, model + offset, size) == 0);
    printf("read %zu bytes at %zu, %u mapped\n", size, offset, parity_map_count(buffer, 1));
    unmap(buffer, (void *)data);
}

static void part_write(cl_mem buffer, cl_map_flags flags, size_t offset, size_t size, uint32_t seed)
{
    unsigned char *data = map(buffer, flags, offset, size);
    if (!(flags & CL_MAP_WRITE_INVALIDATE_REGION))
        EXPECT(memcmp(data, model + offset, size) == 0);
    parity_random_bytes(data, size, seed);
    parity_random_bytes(model + offset, size, seed);
    unmap(buffer, data);
    printf("wrote %zu bytes at %zu, flags %u\n", size, offset, (unsigned)flags);
}

static void parts_use(cl_mem buffer)
{
    static const size_t places[][2] = {{0, SIZE}, {0, 1}, {SIZE - 1, 1}, {4097, 12345}, {777, 3}, {65536, 262144}};
    for (size_t i = 0; i < PARITY_COUNT(places); i++) {
        size_t offset = places[i][0], size = places[i][1];
        part_read(buffer, offset, size);
        part_write(buffer, CL_MAP_READ | CL_MAP_WRITE, offset, size, (uint32_t)i);
        advance(buffer);
        part_write(buffer, CL_MAP_WRITE_INVALIDATE_REGION, offset, size, (uint32_t)i + 100);
        contents_check("after parts", buffer);
    }
}

/* Maps two different parts at the same time, and one part twice for reading. */
static void twice_map(cl_mem buffer)
{
    unsigned char *low = map(buffer, CL_MAP_WRITE, 0, 1000);
    unsigned char *high = map(buffer, CL_MAP_READ | CL_MAP_WRITE, 5000, 1000);
    printf("two parts, %u mapped\n", parity_map_count(buffer, 2));
    memset(low, 1, 1000);
    memset(high, 2, 1000);
    memset(model, 1, 1000);
    memset(model + 5000, 2, 1000);
    parity_rich();
    unmap(buffer, low);
    unmap(buffer, high);
    CHECK(clFinish(p.queue));
    printf("unmapped, %u mapped\n", parity_map_count(buffer, 0));
    contents_check("two parts", buffer);

    unsigned char *first = map(buffer, CL_MAP_READ, 256, 4096), *second = map(buffer, CL_MAP_READ, 256, 4096);
    EXPECT(memcmp(first, second, 4096) == 0);
    printf("the same part twice, %u mapped\n", parity_map_count(buffer, 2));
    unmap(buffer, first);
    unmap(buffer, second);
    CHECK(clFinish(p.queue));
    printf("unmapped, %u mapped\n", parity_map_count(buffer, 0));
}

/* The map waits for a kernel, and a later command for the map's event; then the unmapping and another kernel. */
static void later_map(cl_mem buffer)
{
    cl_int status;
    cl_event mapped, unmapped;
    cl_command_type type;
    advance(buffer);
    unsigned char *data =
        clEnqueueMapBuffer(p.queue, buffer, CL_FALSE, CL_MAP_READ | CL_MAP_WRITE, 0, SIZE, 0, NULL, &mapped, &status);
    CHECK(status);
    CHECK(clWaitForEvents(1, &mapped));
    CHECK(clGetEventInfo(mapped, CL_EVENT_COMMAND_TYPE, sizeof(type), &type, NULL));
    EXPECT(type == CL_COMMAND_MAP_BUFFER);
    EXPECT(memcmp(data, model, SIZE) == 0);
    for (size_t i = 0; i < SIZE; i++)
        model[i] = data[i] ^= 0x55;
    CHECK(clEnqueueUnmapMemObject(p.queue, buffer, data, 1, &mapped, &unmapped));
    CHECK(clGetEventInfo(unmapped, CL_EVENT_COMMAND_TYPE, sizeof(type), &type, NULL));
    EXPECT(type == CL_COMMAND_UNMAP_MEM_OBJECT);
    CHECK(clWaitForEvents(1, &unmapped));
    advance(buffer);
    contents_check("mapped without waiting", buffer);
    CHECK(clReleaseEvent(mapped));
    CHECK(clReleaseEvent(unmapped));
}

/* With CL_MEM_USE_HOST_PTR the map is the program's own memory. */
static void place_check(cl_mem buffer, cl_mem_flags flags, const unsigned char *host)
{
    cl_mem_flags known;
    void *kept;
    CHECK(clGetMemObjectInfo(buffer, CL_MEM_FLAGS, sizeof(known), &known, NULL));
    CHECK(clGetMemObjectInfo(buffer, CL_MEM_HOST_PTR, sizeof(kept), &kept, NULL));
    EXPECT(kept == (flags & CL_MEM_USE_HOST_PTR ? host : NULL));
    unsigned char *data = map(buffer, CL_MAP_READ, 100, 10);
    if (flags & CL_MEM_USE_HOST_PTR)
        EXPECT(data == host + 100);
    printf("flags %u\n", (unsigned)known);
    unmap(buffer, data);
}

static void kind_use(const char *name, cl_mem_flags flags, uint32_t seed)
{
    static _Alignas(4096) unsigned char host[SIZE];
    bool given = flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR);
    printf("-- %s\n", name);
    parity_random_bytes(host, SIZE, seed);
    cl_mem buffer = parity_buffer(&p, flags, SIZE, given ? host : NULL);
    parity_random_bytes(model, SIZE, seed);
    if (!given)
        parity_write(p.queue, buffer, 0, SIZE, model);
    place_check(buffer, flags, host);
    parts_use(buffer);
    twice_map(buffer);
    later_map(buffer);

    unsigned char *data = map(buffer, CL_MAP_READ, 0, SIZE);
    if (flags & CL_MEM_USE_HOST_PTR)
        EXPECT(memcmp(host, model, SIZE) == 0);
    unmap(buffer, data);
    CHECK(clReleaseMemObject(buffer));
    CHECK(clFinish(p.queue));
}

int main(void)
{
    parity_open(&p, 0);
    cl_program program = parity_program(&p, source, NULL);
    kernel = parity_kernel(program, "next");
    kind_use("plain", CL_MEM_READ_WRITE, 1);
    kind_use("no flags", 0, 2);
    kind_use("use host memory", CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, 3);
    kind_use("allocate host memory", CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, 4);
    kind_use("copy host memory", CL_MEM_COPY_HOST_PTR, 5);
    kind_use("allocate and copy host memory", CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR, 6);
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseProgram(program));
    parity_close(&p);
    return 0;
}
