/*
 * The calls that create and release each kind of object, us each. A kind that the device does not offer is left out,
 * with a line that says so.
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
    int count; /* so many are created in a row, then released in a row */
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

static void *create_sub_buffer(cl_int *status)
{
    cl_buffer_region region = {4096, 4096};
    return clCreateSubBuffer(parent, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, status);
}

static void *create_image(cl_int *status)
{
    cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
    cl_image_desc description = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 128, .image_height = 128};
    return clCreateImage(b.context, CL_MEM_READ_WRITE, &format, &description, NULL, status);
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

/* Left pending, as a program in a hurry would. */
static cl_int release_event(void *object)
{
    return clReleaseEvent(object);
}

static cl_int release_device(void *object)
{
    return clReleaseDevice(object);
}

static const struct kind kinds[] = {
    {"context", 32, create_context, release_context},      {"queue", 64, create_queue, release_queue},
    {"buffer", 256, create_buffer, release_memory},        {"sub_buffer", 256, create_sub_buffer, release_memory},
    {"image", 128, create_image, release_memory},          {"sampler", 256, create_sampler, release_sampler},
    {"program", 128, create_program, release_program},     {"kernel", 256, create_kernel, release_kernel},
    {"user_event", 256, create_user_event, release_event}, {"sub_device", 32, create_sub_device, release_device},
};

/* One round; the queue is empty before and after, so that no round pays for the one before it. */
static void round_run(const struct kind *kind, struct series *created, struct series *released)
{
    void *objects[MOST];
    cl_int status;
    double start = bench_now();
    for (int i = 0; i < kind->count; i++) {
        objects[i] = kind->create(&status);
        bench_check(status, kind->name, __FILE__, __LINE__);
    }
    double middle = bench_now();
    series_add(created, (middle - start) / kind->count / 1e3);

    CHECK(clFinish(b.queue));
    middle = bench_now();
    for (int i = 0; i < kind->count; i++)
        CHECK(kind->release(objects[i]));
    series_add(released, (bench_now() - middle) / kind->count / 1e3);
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
    round_run(kind, &created, &released);
    created.count = released.count = 0; /* that was the warm-up */

    for (int round = 0; round < bench_rounds(&b, 31, 7); round++)
        round_run(kind, &created, &released);
    snprintf(name, sizeof(name), "create_%s", kind->name);
    series_report(&created, name, "us");
    snprintf(name, sizeof(name), "release_%s", kind->name);
    series_report(&released, name, "us");
}

int main(int count, char **words)
{
    bench_open(&b, count, words);
    parent = bench_buffer(&b, CL_MEM_READ_WRITE, 64 << 10);
    built = bench_program(&b, source, NULL);
    for (size_t i = 0; i < BENCH_COUNT(kinds); i++)
        measure(&kinds[i]);
    CHECK(clReleaseProgram(built));
    CHECK(clReleaseMemObject(parent));
    bench_close(&b);
    return 0;
}
