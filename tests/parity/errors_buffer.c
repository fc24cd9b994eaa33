/* Error codes of the calls about buffers, and of the commands on them, for wrong arguments. Wait lists:
 * errors_event.c. */
#include "parity.h"

enum { SIZE = 4096 };

static struct parity p, other;
static cl_mem buffer, second, foreign, image;
static char data[2 * SIZE];

static void CL_CALLBACK destroyed(cl_mem memory, void *user)
{
    (void)memory;
    (void)user;
}

static void create_ask(void)
{
    static const struct {
        const char *name;
        cl_mem_flags flags;
        size_t size;
        void *host;
    } cases[] = {
        {"size 0", 0, 0, NULL},
        {"larger than the device", 0, (size_t)1 << 50, NULL},
        {"largest size", 0, SIZE_MAX, NULL},
        {"unknown flag", 1 << 20, SIZE, NULL},
        {"read-only and write-only", CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, SIZE, NULL},
        {"read-write and read-only", CL_MEM_READ_WRITE | CL_MEM_READ_ONLY, SIZE, NULL},
        {"use and allocate", CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR, SIZE, data},
        {"use and copy", CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR, SIZE, data},
        {"host write-only and read-only", CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY, SIZE, NULL},
        {"host read-only and none", CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS, SIZE, NULL},
        {"kernel read and write", CL_MEM_KERNEL_READ_AND_WRITE, SIZE, NULL},
        {"fine-grain SVM", CL_MEM_SVM_FINE_GRAIN_BUFFER, SIZE, NULL},
        {"use nothing", CL_MEM_USE_HOST_PTR, SIZE, NULL},
        {"copy nothing", CL_MEM_COPY_HOST_PTR, SIZE, NULL},
        {"memory without a flag", CL_MEM_READ_WRITE, SIZE, data},
        {"memory, to allocate", CL_MEM_ALLOC_HOST_PTR, SIZE, data},
    };
    static const cl_mem_properties empty[] = {0}, unknown[] = {0x7777, 1, 0};
    char name[128];
    SHOW_NEW("clCreateBuffer(NULL context)", clCreateBuffer(NULL, 0, SIZE, NULL, &status));
    for (size_t i = 0; i < PARITY_COUNT(cases); i++) {
        snprintf(name, sizeof(name), "clCreateBuffer(%s)", cases[i].name);
        SHOW_NEW(name, clCreateBuffer(p.context, cases[i].flags, cases[i].size, cases[i].host, &status));
    }
    printf("clCreateBuffer(no code wanted) = %s\n",
           clCreateBuffer(p.context, 0, 0, NULL, NULL) ? "something" : "nothing");
    if (parity_version(&p) < 300)
        return;
    SHOW_NEW("clCreateBufferWithProperties(NULL context)",
             clCreateBufferWithProperties(NULL, NULL, 0, SIZE, NULL, &status));
    SHOW_NEW("clCreateBufferWithProperties(none)",
             clCreateBufferWithProperties(p.context, empty, 0, SIZE, NULL, &status));
    SHOW_NEW("clCreateBufferWithProperties(unknown)",
             clCreateBufferWithProperties(p.context, unknown, 0, SIZE, NULL, &status));
}

static void sub_ask(void)
{
    static const struct {
        const char *name;
        cl_mem_flags flags;
        cl_buffer_region region;
    } cases[] = {
        {"misaligned", 0, {1, 10}},
        {"beyond the end", 0, {1024, SIZE}},
        {"origin beyond the end", 0, {2 * SIZE, 1}},
        {"size 0", 0, {0, 0}},
        {"unknown flag", 1 << 20, {0, 10}},
        {"use", CL_MEM_USE_HOST_PTR, {0, 10}},
        {"copy", CL_MEM_COPY_HOST_PTR, {0, 10}},
        {"allocate", CL_MEM_ALLOC_HOST_PTR, {0, 10}},
        {"read-only and write-only", CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, {0, 10}},
        {"host flags at odds", CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS, {0, 10}},
    };
    cl_buffer_region region = {0, 1024};
    char name[128];
    cl_int code;
    SHOW_NEW("clCreateSubBuffer(NULL buffer)",
             clCreateSubBuffer(NULL, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &status));
    SHOW_NEW("clCreateSubBuffer(unknown type)", clCreateSubBuffer(buffer, 0, 0x7777, &region, &status));
    SHOW_NEW("clCreateSubBuffer(no region)", clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, NULL, &status));
    for (size_t i = 0; i < PARITY_COUNT(cases); i++) {
        snprintf(name, sizeof(name), "clCreateSubBuffer(%s)", cases[i].name);
        SHOW_NEW(name,
                 clCreateSubBuffer(buffer, cases[i].flags, CL_BUFFER_CREATE_TYPE_REGION, &cases[i].region, &status));
    }
    cl_mem readable = parity_buffer(&p, CL_MEM_READ_ONLY, SIZE, NULL);
    SHOW_NEW("clCreateSubBuffer(more than the whole may)",
             clCreateSubBuffer(readable, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &status));
    cl_mem sub = clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    CHECK(code);
    SHOW_NEW("clCreateSubBuffer(of a sub-buffer)",
             clCreateSubBuffer(sub, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &status));
    SHOW_NEW("clCreateSubBuffer(of an image)",
             clCreateSubBuffer(image, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &status));
    CHECK(clReleaseMemObject(sub));
    CHECK(clReleaseMemObject(readable));
}

/* Some drivers take finer alignments than their devices state. */
static void alignments_ask(void)
{
    static const size_t places[] = {4, 64, 128, 256, 512, 640};
    cl_mem whole = parity_buffer(&p, CL_MEM_READ_WRITE, SIZE, NULL);
    char name[128];
    cl_int code, value = 5;
    CHECK(clEnqueueFillBuffer(p.queue, whole, &value, sizeof(value), 0, SIZE, 0, NULL, NULL));
    for (size_t i = 0; i < PARITY_COUNT(places); i++) {
        const cl_buffer_region region = {places[i], 64};
        cl_mem part = clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
        cl_int back[16] = {0};
        printf("a part at %zu: %s\n", places[i], parity_error_name(code));
        if (!part)
            continue;
        value = (cl_int)i + 10;
        snprintf(name, sizeof(name), "clEnqueueWriteBuffer(part at %zu)", places[i]);
        SHOW(name, clEnqueueWriteBuffer(p.queue, part, CL_TRUE, 4, sizeof(value), &value, 0, NULL, NULL));
        SHOW("clEnqueueReadBuffer(part)",
             clEnqueueReadBuffer(p.queue, part, CL_TRUE, 0, sizeof(back), back, 0, NULL, NULL));
        printf("%d %d\n", back[0], back[1]);
        CHECK(clReleaseMemObject(part));
    }
    CHECK(clReleaseMemObject(whole));
}

static void object_ask(void)
{
    size_t size;
    SHOW("clRetainMemObject(NULL)", clRetainMemObject(NULL));
    SHOW("clReleaseMemObject(NULL)", clReleaseMemObject(NULL));
    SHOW("clGetMemObjectInfo(NULL)", clGetMemObjectInfo(NULL, CL_MEM_SIZE, sizeof(size), &size, NULL));
    SHOW("clGetMemObjectInfo(no such question)", clGetMemObjectInfo(buffer, 0x7777, 0, NULL, NULL));
    SHOW("clGetMemObjectInfo(too small)", clGetMemObjectInfo(buffer, CL_MEM_SIZE, 1, &size, NULL));
    SHOW("clSetMemObjectDestructorCallback(NULL)", clSetMemObjectDestructorCallback(NULL, destroyed, NULL));
    SHOW("clSetMemObjectDestructorCallback(no function)", clSetMemObjectDestructorCallback(buffer, NULL, NULL));
}

static void read_write_ask(void)
{
    static const struct {
        const char *name;
        size_t offset, size;
    } places[] = {{"size 0", 0, 0},
                  {"beyond the end", 1, SIZE},
                  {"offset at the end", SIZE, 1},
                  {"offset beyond the end", SIZE_MAX, 1},
                  {"sum overflows", SIZE, SIZE_MAX}};
    char name[128];
    SHOW("clEnqueueReadBuffer(NULL queue)", clEnqueueReadBuffer(NULL, buffer, CL_TRUE, 0, SIZE, data, 0, NULL, NULL));
    SHOW("clEnqueueReadBuffer(NULL buffer)", clEnqueueReadBuffer(p.queue, NULL, CL_TRUE, 0, SIZE, data, 0, NULL, NULL));
    SHOW("clEnqueueReadBuffer(no memory)", clEnqueueReadBuffer(p.queue, buffer, CL_TRUE, 0, SIZE, NULL, 0, NULL, NULL));
    SHOW("clEnqueueReadBuffer(buffer of another context)",
         clEnqueueReadBuffer(p.queue, foreign, CL_TRUE, 0, SIZE, data, 0, NULL, NULL));
    SHOW("clEnqueueWriteBuffer(NULL queue)", clEnqueueWriteBuffer(NULL, buffer, CL_TRUE, 0, SIZE, data, 0, NULL, NULL));
    SHOW("clEnqueueWriteBuffer(NULL buffer)",
         clEnqueueWriteBuffer(p.queue, NULL, CL_TRUE, 0, SIZE, data, 0, NULL, NULL));
    SHOW("clEnqueueWriteBuffer(no memory)",
         clEnqueueWriteBuffer(p.queue, buffer, CL_TRUE, 0, SIZE, NULL, 0, NULL, NULL));
    SHOW("clEnqueueWriteBuffer(buffer of another context)",
         clEnqueueWriteBuffer(p.queue, foreign, CL_TRUE, 0, SIZE, data, 0, NULL, NULL));
    for (size_t i = parity_answers_as_before(&p) ? 0 : 1; i < PARITY_COUNT(places); i++) {
        snprintf(name, sizeof(name), "clEnqueueReadBuffer(%s)", places[i].name);
        SHOW(name,
             clEnqueueReadBuffer(p.queue, buffer, CL_TRUE, places[i].offset, places[i].size, data, 0, NULL, NULL));
        snprintf(name, sizeof(name), "clEnqueueWriteBuffer(%s)", places[i].name);
        SHOW(name,
             clEnqueueWriteBuffer(p.queue, buffer, CL_TRUE, places[i].offset, places[i].size, data, 0, NULL, NULL));
    }
}

static void copy_ask(void)
{
    SHOW("clEnqueueCopyBuffer(NULL queue)", clEnqueueCopyBuffer(NULL, buffer, second, 0, 0, SIZE, 0, NULL, NULL));
    SHOW("clEnqueueCopyBuffer(NULL source)", clEnqueueCopyBuffer(p.queue, NULL, second, 0, 0, SIZE, 0, NULL, NULL));
    SHOW("clEnqueueCopyBuffer(NULL target)", clEnqueueCopyBuffer(p.queue, buffer, NULL, 0, 0, SIZE, 0, NULL, NULL));
    SHOW("clEnqueueCopyBuffer(source of another context)",
         clEnqueueCopyBuffer(p.queue, foreign, second, 0, 0, SIZE, 0, NULL, NULL));
    SHOW("clEnqueueCopyBuffer(target of another context)",
         clEnqueueCopyBuffer(p.queue, buffer, foreign, 0, 0, SIZE, 0, NULL, NULL));
    SHOW("clEnqueueCopyBuffer(size 0)", clEnqueueCopyBuffer(p.queue, buffer, second, 0, 0, 0, 0, NULL, NULL));
    SHOW("clEnqueueCopyBuffer(source beyond the end)",
         clEnqueueCopyBuffer(p.queue, buffer, second, 1, 0, SIZE, 0, NULL, NULL));
    SHOW("clEnqueueCopyBuffer(target beyond the end)",
         clEnqueueCopyBuffer(p.queue, buffer, second, 0, 1, SIZE, 0, NULL, NULL));
    SHOW("clEnqueueCopyBuffer(overlap)", clEnqueueCopyBuffer(p.queue, buffer, buffer, 0, 10, 100, 0, NULL, NULL));
    SHOW("clEnqueueCopyBuffer(onto itself)", clEnqueueCopyBuffer(p.queue, buffer, buffer, 0, 0, 100, 0, NULL, NULL));
    SHOW("clEnqueueCopyBuffer(side by side)", clEnqueueCopyBuffer(p.queue, buffer, buffer, 0, 100, 100, 0, NULL, NULL));
}

static void fill_ask(void)
{
    static const struct {
        const char *name;
        size_t pattern, offset, size;
    } cases[] = {{"pattern of 0", 0, 0, 64},       {"pattern of 3", 3, 0, 63},
                 {"pattern of 256", 256, 0, 1024}, {"offset no multiple", 8, 4, 64},
                 {"size no multiple", 8, 0, 60},   {"size 0", 8, 0, 0},
                 {"beyond the end", 8, SIZE, 8},   {"larger than the buffer", 8, 0, 2 * SIZE}};
    char name[128];
    SHOW("clEnqueueFillBuffer(NULL queue)", clEnqueueFillBuffer(NULL, buffer, data, 4, 0, 64, 0, NULL, NULL));
    SHOW("clEnqueueFillBuffer(NULL buffer)", clEnqueueFillBuffer(p.queue, NULL, data, 4, 0, 64, 0, NULL, NULL));
    SHOW("clEnqueueFillBuffer(no pattern)", clEnqueueFillBuffer(p.queue, buffer, NULL, 4, 0, 64, 0, NULL, NULL));
    SHOW("clEnqueueFillBuffer(buffer of another context)",
         clEnqueueFillBuffer(p.queue, foreign, data, 4, 0, 64, 0, NULL, NULL));
    for (size_t i = 0; i < PARITY_COUNT(cases); i++) {
        snprintf(name, sizeof(name), "clEnqueueFillBuffer(%s)", cases[i].name);
        SHOW(name, clEnqueueFillBuffer(p.queue, buffer, data, cases[i].pattern, cases[i].offset, cases[i].size, 0, NULL,
                                       NULL));
    }
}

/* A rectangle within the buffer, with its pitches. */
struct rectangle {
    const char *name;
    size_t origin[3], region[3], row, slice;
};

/* Drivers that take the last two read and write beyond the buffer. */
static const struct rectangle rectangles[] = {{"width 0", {0}, {0, 1, 1}, 0, 0},
                                              {"height 0", {0}, {1, 0, 1}, 0, 0},
                                              {"depth 0", {0}, {1, 1, 0}, 0, 0},
                                              {"row pitch below the width", {0}, {16, 2, 1}, 8, 0},
                                              {"slice pitch below a slice", {0}, {16, 4, 2}, 16, 32},
                                              {"slice pitch no multiple", {0}, {16, 4, 2}, 16, 70},
                                              {"beyond the end", {0, 0, 15}, {16, 16, 2}, 16, 256},
                                              {"origin beyond the end", {SIZE, 0, 0}, {1, 1, 1}, 0, 0}};

static void rectangle_ask(void)
{
    static const size_t zero[3] = {0}, one[] = {16, 2, 1};
    const size_t count = PARITY_COUNT(rectangles) - (parity_tries("rectangle-beyond") ? 0 : 2);
    char name[128];
    for (size_t i = 0; i < count; i++) {
        const struct rectangle *r = &rectangles[i];
        snprintf(name, sizeof(name), "clEnqueueReadBufferRect(%s)", r->name);
        SHOW(name, clEnqueueReadBufferRect(p.queue, buffer, CL_TRUE, r->origin, zero, r->region, r->row, r->slice, 0, 0,
                                           data, 0, NULL, NULL));
        snprintf(name, sizeof(name), "clEnqueueWriteBufferRect(%s)", r->name);
        SHOW(name, clEnqueueWriteBufferRect(p.queue, buffer, CL_TRUE, r->origin, zero, r->region, r->row, r->slice, 0,
                                            0, data, 0, NULL, NULL));
        snprintf(name, sizeof(name), "clEnqueueCopyBufferRect(source %s)", r->name);
        SHOW(name, clEnqueueCopyBufferRect(p.queue, buffer, second, r->origin, zero, r->region, r->row, r->slice, 0, 0,
                                           0, NULL, NULL));
        snprintf(name, sizeof(name), "clEnqueueCopyBufferRect(target %s)", r->name);
        SHOW(name, clEnqueueCopyBufferRect(p.queue, buffer, second, zero, r->origin, r->region, 0, 0, r->row, r->slice,
                                           0, NULL, NULL));
    }
    SHOW("clEnqueueReadBufferRect(NULL queue)",
         clEnqueueReadBufferRect(NULL, buffer, CL_TRUE, zero, zero, one, 0, 0, 0, 0, data, 0, NULL, NULL));
    SHOW("clEnqueueReadBufferRect(NULL buffer)",
         clEnqueueReadBufferRect(p.queue, NULL, CL_TRUE, zero, zero, one, 0, 0, 0, 0, data, 0, NULL, NULL));
    SHOW("clEnqueueReadBufferRect(no memory)",
         clEnqueueReadBufferRect(p.queue, buffer, CL_TRUE, zero, zero, one, 0, 0, 0, 0, NULL, 0, NULL, NULL));
    SHOW("clEnqueueReadBufferRect(buffer of another context)",
         clEnqueueReadBufferRect(p.queue, foreign, CL_TRUE, zero, zero, one, 0, 0, 0, 0, data, 0, NULL, NULL));
    SHOW("clEnqueueReadBufferRect(host row pitch below the width)",
         clEnqueueReadBufferRect(p.queue, buffer, CL_TRUE, zero, zero, one, 0, 0, 8, 0, data, 0, NULL, NULL));
}

/* Without clEnqueueCopyBufferRect of a NULL buffer: PoCL 3.1 crashes. */
static void rectangle_nothing_ask(void)
{
    static const size_t zero[3] = {0}, one[] = {16, 2, 1};
    SHOW("clEnqueueReadBufferRect(no buffer origin)",
         clEnqueueReadBufferRect(p.queue, buffer, CL_TRUE, NULL, zero, one, 0, 0, 0, 0, data, 0, NULL, NULL));
    SHOW("clEnqueueReadBufferRect(no host origin)",
         clEnqueueReadBufferRect(p.queue, buffer, CL_TRUE, zero, NULL, one, 0, 0, 0, 0, data, 0, NULL, NULL));
    SHOW("clEnqueueReadBufferRect(no region)",
         clEnqueueReadBufferRect(p.queue, buffer, CL_TRUE, zero, zero, NULL, 0, 0, 0, 0, data, 0, NULL, NULL));
    SHOW("clEnqueueWriteBufferRect(NULL queue)",
         clEnqueueWriteBufferRect(NULL, buffer, CL_TRUE, zero, zero, one, 0, 0, 0, 0, data, 0, NULL, NULL));
    SHOW("clEnqueueWriteBufferRect(NULL buffer)",
         clEnqueueWriteBufferRect(p.queue, NULL, CL_TRUE, zero, zero, one, 0, 0, 0, 0, data, 0, NULL, NULL));
    SHOW("clEnqueueWriteBufferRect(no memory)",
         clEnqueueWriteBufferRect(p.queue, buffer, CL_TRUE, zero, zero, one, 0, 0, 0, 0, NULL, 0, NULL, NULL));
    SHOW("clEnqueueWriteBufferRect(no region)",
         clEnqueueWriteBufferRect(p.queue, buffer, CL_TRUE, zero, zero, NULL, 0, 0, 0, 0, data, 0, NULL, NULL));
    SHOW("clEnqueueCopyBufferRect(NULL queue)",
         clEnqueueCopyBufferRect(NULL, buffer, second, zero, zero, one, 0, 0, 0, 0, 0, NULL, NULL));
    SHOW("clEnqueueCopyBufferRect(target of another context)",
         clEnqueueCopyBufferRect(p.queue, buffer, foreign, zero, zero, one, 0, 0, 0, 0, 0, NULL, NULL));
    SHOW("clEnqueueCopyBufferRect(no region)",
         clEnqueueCopyBufferRect(p.queue, buffer, second, zero, zero, NULL, 0, 0, 0, 0, 0, NULL, NULL));
    SHOW("clEnqueueCopyBufferRect(overlap)",
         clEnqueueCopyBufferRect(p.queue, buffer, buffer, zero, (size_t[]){8, 0, 0}, one, 64, 0, 64, 0, 0, NULL, NULL));
    SHOW(
        "clEnqueueCopyBufferRect(one buffer, other pitches)",
        clEnqueueCopyBufferRect(p.queue, buffer, buffer, zero, (size_t[]){0, 20, 0}, one, 64, 0, 32, 0, 0, NULL, NULL));
}

#define MAP(queue, memory, flags, offset, size)                                                                        \
    clEnqueueMapBuffer(queue, memory, CL_TRUE, flags, offset, size, 0, NULL, NULL, &status)

static void map_ask(void)
{
    SHOW_NEW("clEnqueueMapBuffer(NULL queue)", MAP(NULL, buffer, CL_MAP_READ, 0, SIZE));
    SHOW_NEW("clEnqueueMapBuffer(NULL buffer)", MAP(p.queue, NULL, CL_MAP_READ, 0, SIZE));
    SHOW_NEW("clEnqueueMapBuffer(buffer of another context)", MAP(p.queue, foreign, CL_MAP_READ, 0, SIZE));
    SHOW_NEW("clEnqueueMapBuffer(unknown flag)", MAP(p.queue, buffer, 1 << 10, 0, SIZE));
    SHOW_NEW("clEnqueueMapBuffer(read and invalidate)",
             MAP(p.queue, buffer, CL_MAP_READ | CL_MAP_WRITE_INVALIDATE_REGION, 0, SIZE));
    SHOW_NEW("clEnqueueMapBuffer(size 0)", MAP(p.queue, buffer, CL_MAP_READ, 0, 0));
    SHOW_NEW("clEnqueueMapBuffer(beyond the end)", MAP(p.queue, buffer, CL_MAP_READ, 1, SIZE));
    SHOW_NEW("clEnqueueMapBuffer(offset beyond the end)", MAP(p.queue, buffer, CL_MAP_READ, SIZE_MAX, 1));
    SHOW_NEW("clEnqueueMapBuffer(an image)", MAP(p.queue, image, CL_MAP_READ, 0, 16));
    SHOW("clEnqueueUnmapMemObject(NULL queue)", clEnqueueUnmapMemObject(NULL, buffer, data, 0, NULL, NULL));
    SHOW("clEnqueueUnmapMemObject(NULL buffer)", clEnqueueUnmapMemObject(p.queue, NULL, data, 0, NULL, NULL));
    SHOW("clEnqueueUnmapMemObject(not mapped)", clEnqueueUnmapMemObject(p.queue, buffer, data, 0, NULL, NULL));
    SHOW("clEnqueueUnmapMemObject(NULL)", clEnqueueUnmapMemObject(p.queue, buffer, NULL, 0, NULL, NULL));
}

static void unmap_twice_ask(void)
{
    cl_int code;
    cl_event event = NULL;
    cl_mem fresh = parity_buffer(&p, CL_MEM_READ_WRITE, SIZE, NULL);
    void *mapped = clEnqueueMapBuffer(p.queue, fresh, CL_TRUE, CL_MAP_READ, 0, SIZE, 0, NULL, NULL, &code);
    CHECK(code);
    SHOW("clEnqueueUnmapMemObject(not this buffer)", clEnqueueUnmapMemObject(p.queue, second, mapped, 0, NULL, NULL));
    SHOW("clEnqueueUnmapMemObject(another context's queue)",
         clEnqueueUnmapMemObject(other.queue, fresh, mapped, 0, NULL, NULL));
    SHOW("clEnqueueUnmapMemObject", clEnqueueUnmapMemObject(p.queue, fresh, mapped, 0, NULL, NULL));
    CHECK(clFinish(p.queue));
    SHOW("clEnqueueUnmapMemObject(again)", clEnqueueUnmapMemObject(p.queue, fresh, mapped, 0, NULL, NULL));
    SHOW("clEnqueueUnmapMemObject(again, with an event)",
         clEnqueueUnmapMemObject(p.queue, fresh, mapped, 0, NULL, &event));
    EXPECT(event == NULL);
    CHECK(clReleaseMemObject(fresh));
}

static void migrate_ask(void)
{
    cl_mem none = NULL, both[] = {buffer, foreign};
    SHOW("clEnqueueMigrateMemObjects(NULL queue)", clEnqueueMigrateMemObjects(NULL, 1, &buffer, 0, 0, NULL, NULL));
    SHOW("clEnqueueMigrateMemObjects(none)", clEnqueueMigrateMemObjects(p.queue, 0, &buffer, 0, 0, NULL, NULL));
    SHOW("clEnqueueMigrateMemObjects(no list)", clEnqueueMigrateMemObjects(p.queue, 1, NULL, 0, 0, NULL, NULL));
    SHOW("clEnqueueMigrateMemObjects(NULL object)", clEnqueueMigrateMemObjects(p.queue, 1, &none, 0, 0, NULL, NULL));
    SHOW("clEnqueueMigrateMemObjects(of another context)",
         clEnqueueMigrateMemObjects(p.queue, 2, both, 0, 0, NULL, NULL));
    SHOW("clEnqueueMigrateMemObjects(unknown flag)",
         clEnqueueMigrateMemObjects(p.queue, 1, &buffer, 1 << 10, 0, NULL, NULL));
    SHOW("clEnqueueMigrateMemObjects(to the host)",
         clEnqueueMigrateMemObjects(p.queue, 1, &buffer, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL, NULL));
    CHECK(clFinish(p.queue));
}

int main(void)
{
    static const cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
    cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 16, .image_height = 16};
    cl_int status;
    parity_open(&p, 0);
    parity_open(&other, 0);
    buffer = parity_buffer(&p, CL_MEM_READ_WRITE, SIZE, NULL);
    second = parity_buffer(&p, CL_MEM_READ_WRITE, SIZE, NULL);
    foreign = parity_buffer(&other, CL_MEM_READ_WRITE, SIZE, NULL);
    image = clCreateImage(p.context, CL_MEM_READ_WRITE, &format, &desc, NULL, &status);
    CHECK(status);
    create_ask();
    sub_ask();
    alignments_ask();
    object_ask();
    read_write_ask();
    copy_ask();
    fill_ask();
    rectangle_ask();
    rectangle_nothing_ask();
    map_ask();
    unmap_twice_ask();
    parity_rich();
    migrate_ask();
    CHECK(clFinish(p.queue));
    return 0;
}
