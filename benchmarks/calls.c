/*
 * The calls that create and release each kind of object, and queries of objects, us each. A kind that the device does
 * not offer is left out, with a line that says so.
 */
#include "bench.h"

enum { MOST = 256 };

static const char *source = "kernel void set(global int *buffer, int number)\n"
                            "{\n"
                            "    buffer[get_global_id(0)] = number;\n"
                            "}\n";

static struct bench b;
static cl_mem parent;
static cl_program built;

struct kind {
    const char *name;
    int count; /* how many are created in a row, and then released in a row */
    void *(*create)(cl_int *status);
    cl_int (*release)(void *object);
};

static void *create_context(cl_int *status)
{
    return clCreateContext(NULL, 1, &b.device, NULL, NULL, status);
}

static void *create_queue(cl_int *status)
{
    return clCreateCommandQueueWithProperties(b.context, b.device, NULL, status);
}

static void *create_buffer(cl_int *status)
{
    return clCreateBuffer(b.context, CL_MEM_READ_WRITE, 64 << 10, NULL, status);
}

static char contents[64 << 10];

static void *create_buffer_copied(cl_int *status)
{
    return clCreateBuffer(b.context, CL_MEM_COPY_HOST_PTR, sizeof(contents), contents, status);
}

static void *create_buffer_used(cl_int *status)
{
    return clCreateBuffer(b.context, CL_MEM_USE_HOST_PTR, sizeof(contents), contents, status);
}

static void *create_sub_buffer(cl_int *status)
{
    cl_buffer_region region = {4096, 4096};
    return clCreateSubBuffer(parent, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, status);
}

static void *image_new(cl_mem_flags flags, void *memory, cl_int *status)
{
    cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
    cl_image_desc description = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 128, .image_height = 128};
    return clCreateImage(b.context, flags, &format, &description, memory, status);
}

static void *create_image(cl_int *status)
{
    return image_new(CL_MEM_READ_WRITE, NULL, status);
}

static void *create_image_copied(cl_int *status)
{
    return image_new(CL_MEM_COPY_HOST_PTR, contents, status);
}

static void *create_image_used(cl_int *status)
{
    return image_new(CL_MEM_USE_HOST_PTR, contents, status);
}

static void *create_sampler(cl_int *status)
{
    cl_sampler_properties properties[] = {CL_SAMPLER_NORMALIZED_COORDS,
                                          CL_FALSE,
                                          CL_SAMPLER_ADDRESSING_MODE,
                                          CL_ADDRESS_CLAMP,
                                          CL_SAMPLER_FILTER_MODE,
                                          CL_FILTER_NEAREST,
                                          0};
    return clCreateSamplerWithProperties(b.context, properties, status);
}

static void *create_program(cl_int *status)
{
    return clCreateProgramWithSource(b.context, 1, &source, NULL, status);
}

static void *create_kernel(cl_int *status)
{
    return clCreateKernel(built, "set", status);
}

static void *create_user_event(cl_int *status)
{
    return clCreateUserEvent(b.context, status);
}

static void *create_sub_device(cl_int *status)
{
    cl_device_partition_property by_counts[] = {CL_DEVICE_PARTITION_BY_COUNTS, 1,
                                                CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0};
    cl_device_id device = NULL;
    *status = clCreateSubDevices(b.device, by_counts, 1, &device, NULL);
    return device;
}

static cl_int release_context(void *object)
{
    return clReleaseContext(object);
}

static cl_int release_queue(void *object)
{
    return clReleaseCommandQueue(object);
}

static cl_int release_memory(void *object)
{
    return clReleaseMemObject(object);
}

static cl_int release_sampler(void *object)
{
    return clReleaseSampler(object);
}

static cl_int release_program(void *object)
{
    return clReleaseProgram(object);
}

static cl_int release_kernel(void *object)
{
    return clReleaseKernel(object);
}

/* Leaves the event incomplete, as a program in a hurry would. */
static cl_int release_event(void *object)
{
    return clReleaseEvent(object);
}

static cl_int release_device(void *object)
{
    return clReleaseDevice(object);
}

static const struct kind kinds[] = {
    {"context", 32, create_context, release_context},
    {"queue", 64, create_queue, release_queue},
    {"buffer", 256, create_buffer, release_memory},
    {"sub_buffer", 256, create_sub_buffer, release_memory},
    {"buffer_copied", 128, create_buffer_copied, release_memory},
    {"buffer_used", 128, create_buffer_used, release_memory},
    {"image", 128, create_image, release_memory},
    {"image_copied", 128, create_image_copied, release_memory},
    {"image_used", 128, create_image_used, release_memory},
    {"sampler", 256, create_sampler, release_sampler},
    {"program", 128, create_program, release_program},
    {"kernel", 256, create_kernel, release_kernel},
    {"user_event", 256, create_user_event, release_event},
    {"sub_device", 32, create_sub_device, release_device},
};

/* One round; the queue is empty before and after, so that no round pays for the one before it. */
static void round_run(const struct round *round, const struct kind *kind, struct series *created,
                      struct series *released)
{
    void *objects[MOST];
    cl_int status;
    double start = bench_now();
    for (int i = 0; i < kind->count; i++) {
        objects[i] = kind->create(&status);
        bench_check(status, kind->name, __FILE__, __LINE__);
    }
    double middle = bench_now();
    round_add(round, created, (middle - start) / kind->count / 1e3);

    CHECK(clFinish(b.queue));
    middle = bench_now();
    for (int i = 0; i < kind->count; i++)
        CHECK(kind->release(objects[i]));
    round_add(round, released, (bench_now() - middle) / kind->count / 1e3);
    CHECK(clFinish(b.queue));
}

static void measure(const struct kind *kind)
{
    struct series created = {0}, released = {0};
    char name[64];
    cl_int status;
    void *object = kind->create(&status);

    if (status != CL_SUCCESS) {
        printf("# no %s: error %d\n", kind->name, status);
        return;
    }
    CHECK(kind->release(object));
    EACH_ROUND (round, 1, bench_rounds(&b, 31, 7))
        round_run(&round, kind, &created, &released);
    snprintf(name, sizeof(name), "create_%s", kind->name);
    series_report(&created, name, "us");
    snprintf(name, sizeof(name), "release_%s", kind->name);
    series_report(&released, name, "us");
}

/* ---- queries ---- */

/* A query of a new object: the first answer, and then the same again. */
struct query {
    const char *name;
    void *(*create)(cl_int *status);
    cl_int (*release)(void *object);
    cl_int (*ask)(void *object);
};

static char answer[1 << 16];

static cl_int ask_platform(void *object)
{
    (void)object;
    return clGetPlatformInfo(b.platform, CL_PLATFORM_EXTENSIONS, sizeof(answer), answer, NULL);
}

static cl_int ask_device(void *object)
{
    (void)object;
    return clGetDeviceInfo(b.device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(answer), answer, NULL);
}

static cl_int ask_timers(void *object)
{
    cl_ulong device, host;
    (void)object;
    return clGetDeviceAndHostTimer(b.device, &device, &host);
}

static cl_int ask_formats(void *object)
{
    cl_uint count;
    (void)object;
    return clGetSupportedImageFormats(b.context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, 0, NULL, &count);
}

static cl_int ask_context(void *object)
{
    return clGetContextInfo(object, CL_CONTEXT_DEVICES, sizeof(answer), answer, NULL);
}

static cl_int ask_queue(void *object)
{
    return clGetCommandQueueInfo(object, CL_QUEUE_PROPERTIES, sizeof(answer), answer, NULL);
}

static cl_int ask_memory(void *object)
{
    return clGetMemObjectInfo(object, CL_MEM_SIZE, sizeof(answer), answer, NULL);
}

static cl_int ask_image(void *object)
{
    return clGetImageInfo(object, CL_IMAGE_WIDTH, sizeof(answer), answer, NULL);
}

static cl_int ask_sampler(void *object)
{
    return clGetSamplerInfo(object, CL_SAMPLER_FILTER_MODE, sizeof(answer), answer, NULL);
}

static cl_int ask_program(void *object)
{
    (void)object;
    return clGetProgramInfo(built, CL_PROGRAM_KERNEL_NAMES, sizeof(answer), answer, NULL);
}

static cl_int ask_binary_size(void *object)
{
    (void)object;
    return clGetProgramInfo(built, CL_PROGRAM_BINARY_SIZES, sizeof(answer), answer, NULL);
}

static cl_int ask_build(void *object)
{
    (void)object;
    return clGetProgramBuildInfo(built, b.device, CL_PROGRAM_BUILD_LOG, sizeof(answer), answer, NULL);
}

static cl_int ask_kernel(void *object)
{
    return clGetKernelInfo(object, CL_KERNEL_NUM_ARGS, sizeof(answer), answer, NULL);
}

static cl_int ask_group(void *object)
{
    return clGetKernelWorkGroupInfo(object, b.device, CL_KERNEL_WORK_GROUP_SIZE, sizeof(answer), answer, NULL);
}

static cl_int ask_local(void *object)
{
    return clGetKernelWorkGroupInfo(object, b.device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof(answer), answer, NULL);
}

static cl_int ask_event(void *object)
{
    return clGetEventInfo(object, CL_EVENT_COMMAND_TYPE, sizeof(answer), answer, NULL);
}

static cl_int ask_status(void *object)
{
    return clGetEventInfo(object, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(answer), answer, NULL);
}

static void *create_nothing(cl_int *status)
{
    *status = CL_SUCCESS;
    return NULL;
}

static cl_int release_nothing(void *object)
{
    (void)object;
    return CL_SUCCESS;
}

static const struct query queries[] = {
    {"platform", create_nothing, release_nothing, ask_platform},
    {"device", create_nothing, release_nothing, ask_device},
    {"timers", create_nothing, release_nothing, ask_timers},
    {"formats", create_nothing, release_nothing, ask_formats},
    {"context", create_context, release_context, ask_context},
    {"queue", create_queue, release_queue, ask_queue},
    {"memory", create_buffer, release_memory, ask_memory},
    {"image", create_image, release_memory, ask_image},
    {"sampler", create_sampler, release_sampler, ask_sampler},
    {"kernel_names", create_nothing, release_nothing, ask_program},
    {"binary_size", create_nothing, release_nothing, ask_binary_size},
    {"build_log", create_nothing, release_nothing, ask_build},
    {"kernel", create_kernel, release_kernel, ask_kernel},
    {"group_size", create_kernel, release_kernel, ask_group},
    {"local_size", create_kernel, release_kernel, ask_local},
    {"event", create_user_event, release_event, ask_event},
    {"event_status", create_user_event, release_event, ask_status},
};

static void query_round(const struct round *round, const struct query *query, struct series *first,
                        struct series *again)
{
    void *objects[32];
    cl_int status;
    double start, middle, end;
    for (int i = 0; i < 32; i++) {
        objects[i] = query->create(&status);
        bench_check(status, query->name, __FILE__, __LINE__);
    }
    CHECK(clFinish(b.queue));
    start = bench_now();
    for (int i = 0; i < 32; i++)
        CHECK(query->ask(objects[i]));
    middle = bench_now();
    for (int i = 0; i < 32; i++)
        CHECK(query->ask(objects[i]));
    end = bench_now();
    round_add(round, first, (middle - start) / 32 / 1e3);
    round_add(round, again, (end - middle) / 32 / 1e3);
    for (int i = 0; i < 32; i++)
        CHECK(query->release(objects[i]));
    CHECK(clFinish(b.queue));
}

static void query_measure(const struct query *query)
{
    struct series first = {0}, again = {0};
    char name[64];
    cl_int status;
    void *object = query->create(&status);

    if (status != CL_SUCCESS || query->ask(object) != CL_SUCCESS) {
        printf("# %s is not answered\n", query->name);
        return;
    }
    CHECK(query->release(object));
    EACH_ROUND (round, 0, bench_rounds(&b, 15, 5))
        query_round(&round, query, &first, &again);
    snprintf(name, sizeof(name), "info_%s", query->name);
    series_report(&first, name, "us");
    snprintf(name, sizeof(name), "info_%s_again", query->name);
    series_report(&again, name, "us");
}

int main(int count, char **words)
{
    bench_open(&b, count, words);
    parent = bench_buffer(&b, CL_MEM_READ_WRITE, 64 << 10);
    built = bench_program(&b, source, NULL);
    for (size_t i = 0; i < BENCH_COUNT(kinds); i++)
        measure(&kinds[i]);
    for (size_t i = 0; i < BENCH_COUNT(queries); i++)
        query_measure(&queries[i]);
    CHECK(clReleaseProgram(built));
    CHECK(clReleaseMemObject(parent));
    bench_close(&b);
    return 0;
}
