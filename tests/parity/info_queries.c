/*
 * Every clGet*Info except that of devices (device_info.c): each query with the right size, a larger and a smaller one,
 * without a value and without a size, and invalid queries.
 */
#include "parity.h"

static const char *source =
    "kernel void add(global const float *restrict from, local float *part, float by, global float *to)\n"
    "{\n"
    "    to[get_global_id(0)] = from[get_global_id(0)] + by;\n"
    "}\n";

/* clang-format off */
#define NUMBERS(param) {#param, param, PARITY_NUMBERS}
#define TEXT(param) {#param, param, PARITY_TEXT}
#define HANDLES(param) {#param, param, PARITY_HANDLES}
#define SIZE(param) {#param, param, PARITY_SIZE}
#define CODES(param) {#param, param, PARITY_CODES}
/* clang-format on */
#define NONE                                                                                                           \
    {"no such question", 0x9999, PARITY_NUMBERS},                                                                      \
    {                                                                                                                  \
        "zero", 0, PARITY_NUMBERS                                                                                      \
    }

static const struct parity_query platform_queries[] = {
    TEXT(CL_PLATFORM_PROFILE),
    CODES(CL_PLATFORM_VERSION),
    CODES(CL_PLATFORM_NAME),
    CODES(CL_PLATFORM_VENDOR),
    CODES(CL_PLATFORM_EXTENSIONS),
    CODES(CL_PLATFORM_EXTENSIONS_WITH_VERSION),
    CODES(CL_PLATFORM_ICD_SUFFIX_KHR),
    NUMBERS(CL_PLATFORM_NUMERIC_VERSION),
    SIZE(CL_PLATFORM_HOST_TIMER_RESOLUTION),
    {"a question for devices", CL_DEVICE_NAME, PARITY_NUMBERS},
    NONE,
};

/* The reference count, which includes PoCL's own, is not printed. */
static const struct parity_query context_queries[] = {
    SIZE(CL_CONTEXT_REFERENCE_COUNT),
    NUMBERS(CL_CONTEXT_NUM_DEVICES),
    HANDLES(CL_CONTEXT_DEVICES),
    NUMBERS(CL_CONTEXT_PLATFORM),
    NONE,
};

/* For contexts with properties only: PoCL 3.1 crashes if there are none and size_ret is NULL. */
static const struct parity_query property_queries[] = {
    HANDLES(CL_CONTEXT_PROPERTIES),
};

static const struct parity_query queue_queries[] = {
    HANDLES(CL_QUEUE_CONTEXT),          HANDLES(CL_QUEUE_DEVICE),
    NUMBERS(CL_QUEUE_REFERENCE_COUNT),  NUMBERS(CL_QUEUE_PROPERTIES),
    NUMBERS(CL_QUEUE_PROPERTIES_ARRAY), NUMBERS(CL_QUEUE_SIZE),
    HANDLES(CL_QUEUE_DEVICE_DEFAULT),   NONE,
};

static const struct parity_query memory_queries[] = {
    NUMBERS(CL_MEM_TYPE),       NUMBERS(CL_MEM_FLAGS),
    NUMBERS(CL_MEM_SIZE),       HANDLES(CL_MEM_HOST_PTR),
    NUMBERS(CL_MEM_MAP_COUNT),  NUMBERS(CL_MEM_REFERENCE_COUNT),
    HANDLES(CL_MEM_CONTEXT),    HANDLES(CL_MEM_ASSOCIATED_MEMOBJECT),
    NUMBERS(CL_MEM_OFFSET),     NUMBERS(CL_MEM_USES_SVM_POINTER),
    NUMBERS(CL_MEM_PROPERTIES), NONE,
};

static const struct parity_query image_queries[] = {
    NUMBERS(CL_IMAGE_FORMAT),         NUMBERS(CL_IMAGE_ELEMENT_SIZE), NUMBERS(CL_IMAGE_ROW_PITCH),
    NUMBERS(CL_IMAGE_SLICE_PITCH),    NUMBERS(CL_IMAGE_WIDTH),        NUMBERS(CL_IMAGE_HEIGHT),
    NUMBERS(CL_IMAGE_DEPTH),          NUMBERS(CL_IMAGE_ARRAY_SIZE),   HANDLES(CL_IMAGE_BUFFER),
    NUMBERS(CL_IMAGE_NUM_MIP_LEVELS), NUMBERS(CL_IMAGE_NUM_SAMPLES),  NONE,
};

static const struct parity_query sampler_queries[] = {
    NUMBERS(CL_SAMPLER_REFERENCE_COUNT),   HANDLES(CL_SAMPLER_CONTEXT),
    NUMBERS(CL_SAMPLER_NORMALIZED_COORDS), NUMBERS(CL_SAMPLER_ADDRESSING_MODE),
    NUMBERS(CL_SAMPLER_FILTER_MODE),       NUMBERS(CL_SAMPLER_MIP_FILTER_MODE_KHR),
    NUMBERS(CL_SAMPLER_LOD_MIN_KHR),       NUMBERS(CL_SAMPLER_LOD_MAX_KHR),
    NUMBERS(CL_SAMPLER_PROPERTIES),        NONE,
};

/* The size of a binary depends on the compiler. */
static const struct parity_query program_queries[] = {
    NUMBERS(CL_PROGRAM_REFERENCE_COUNT),
    HANDLES(CL_PROGRAM_CONTEXT),
    NUMBERS(CL_PROGRAM_NUM_DEVICES),
    HANDLES(CL_PROGRAM_DEVICES),
    TEXT(CL_PROGRAM_SOURCE),
    SIZE(CL_PROGRAM_BINARY_SIZES),
    NUMBERS(CL_PROGRAM_NUM_KERNELS),
    TEXT(CL_PROGRAM_KERNEL_NAMES),
    NUMBERS(CL_PROGRAM_IL),
    NUMBERS(CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT),
    NUMBERS(CL_PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT),
    NONE,
};

static const struct parity_query build_queries[] = {
    NUMBERS(CL_PROGRAM_BUILD_STATUS),
    TEXT(CL_PROGRAM_BUILD_OPTIONS),
    TEXT(CL_PROGRAM_BUILD_LOG),
    NUMBERS(CL_PROGRAM_BINARY_TYPE),
    NUMBERS(CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE),
    NONE,
};

static const struct parity_query kernel_queries[] = {
    TEXT(CL_KERNEL_FUNCTION_NAME),
    NUMBERS(CL_KERNEL_NUM_ARGS),
    NUMBERS(CL_KERNEL_REFERENCE_COUNT),
    HANDLES(CL_KERNEL_CONTEXT),
    HANDLES(CL_KERNEL_PROGRAM),
    TEXT(CL_KERNEL_ATTRIBUTES),
    NONE,
};

static const struct parity_query argument_queries[] = {
    NUMBERS(CL_KERNEL_ARG_ADDRESS_QUALIFIER),
    NUMBERS(CL_KERNEL_ARG_ACCESS_QUALIFIER),
    TEXT(CL_KERNEL_ARG_TYPE_NAME),
    NUMBERS(CL_KERNEL_ARG_TYPE_QUALIFIER),
    TEXT(CL_KERNEL_ARG_NAME),
    NONE,
};

static const struct parity_query group_queries[] = {
    NUMBERS(CL_KERNEL_WORK_GROUP_SIZE),
    NUMBERS(CL_KERNEL_COMPILE_WORK_GROUP_SIZE),
    NUMBERS(CL_KERNEL_LOCAL_MEM_SIZE),
    NUMBERS(CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE),
    NUMBERS(CL_KERNEL_PRIVATE_MEM_SIZE),
    NUMBERS(CL_KERNEL_GLOBAL_WORK_SIZE),
    NONE,
};

static const struct parity_query sub_group_queries[] = {
    NUMBERS(CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE), NUMBERS(CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE),
    NUMBERS(CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT), NUMBERS(CL_KERNEL_MAX_NUM_SUB_GROUPS),
    NUMBERS(CL_KERNEL_COMPILE_NUM_SUB_GROUPS),         NONE,
};

/* The reference count includes PoCL's own references to the event of a command. */
static const struct parity_query event_queries[] = {
    HANDLES(CL_EVENT_COMMAND_QUEUE), NUMBERS(CL_EVENT_COMMAND_TYPE),
    SIZE(CL_EVENT_REFERENCE_COUNT),  NUMBERS(CL_EVENT_COMMAND_EXECUTION_STATUS),
    HANDLES(CL_EVENT_CONTEXT),       NONE,
};

static const struct parity_query profiling_queries[] = {
    SIZE(CL_PROFILING_COMMAND_QUEUED), SIZE(CL_PROFILING_COMMAND_SUBMIT),   SIZE(CL_PROFILING_COMMAND_START),
    SIZE(CL_PROFILING_COMMAND_END),    SIZE(CL_PROFILING_COMMAND_COMPLETE), NONE,
};

static cl_int platform_get(void *const *objects, cl_uint param, size_t size, void *value, size_t *size_ret)
{
    return clGetPlatformInfo(objects[0], param, size, value, size_ret);
}

static cl_int context_get(void *const *objects, cl_uint param, size_t size, void *value, size_t *size_ret)
{
    return clGetContextInfo(objects[0], param, size, value, size_ret);
}

static cl_int queue_get(void *const *objects, cl_uint param, size_t size, void *value, size_t *size_ret)
{
    return clGetCommandQueueInfo(objects[0], param, size, value, size_ret);
}

static cl_int memory_get(void *const *objects, cl_uint param, size_t size, void *value, size_t *size_ret)
{
    return clGetMemObjectInfo(objects[0], param, size, value, size_ret);
}

static cl_int image_get(void *const *objects, cl_uint param, size_t size, void *value, size_t *size_ret)
{
    return clGetImageInfo(objects[0], param, size, value, size_ret);
}

static cl_int sampler_get(void *const *objects, cl_uint param, size_t size, void *value, size_t *size_ret)
{
    return clGetSamplerInfo(objects[0], param, size, value, size_ret);
}

static cl_int program_get(void *const *objects, cl_uint param, size_t size, void *value, size_t *size_ret)
{
    return clGetProgramInfo(objects[0], param, size, value, size_ret);
}

static cl_int build_get(void *const *objects, cl_uint param, size_t size, void *value, size_t *size_ret)
{
    return clGetProgramBuildInfo(objects[0], objects[1], param, size, value, size_ret);
}

static cl_int kernel_get(void *const *objects, cl_uint param, size_t size, void *value, size_t *size_ret)
{
    return clGetKernelInfo(objects[0], param, size, value, size_ret);
}

static cl_int argument_get(void *const *objects, cl_uint param, size_t size, void *value, size_t *size_ret)
{
    return clGetKernelArgInfo(objects[0], *(cl_uint *)objects[1], param, size, value, size_ret);
}

static cl_int group_get(void *const *objects, cl_uint param, size_t size, void *value, size_t *size_ret)
{
    return clGetKernelWorkGroupInfo(objects[0], objects[1], param, size, value, size_ret);
}

static cl_int sub_group_get(void *const *objects, cl_uint param, size_t size, void *value, size_t *size_ret)
{
    size_t local = 64;
    return clGetKernelSubGroupInfo(objects[0], objects[1], param, sizeof(local), &local, size, value, size_ret);
}

static cl_int event_get(void *const *objects, cl_uint param, size_t size, void *value, size_t *size_ret)
{
    return clGetEventInfo(objects[0], param, size, value, size_ret);
}

static cl_int profiling_get(void *const *objects, cl_uint param, size_t size, void *value, size_t *size_ret)
{
    return clGetEventProfilingInfo(objects[0], param, size, value, size_ret);
}

#define ASK(name, get, table, ...)                                                                                     \
    do {                                                                                                               \
        printf("-- %s\n", name);                                                                                       \
        parity_queries(get, (void *[]){__VA_ARGS__}, table, PARITY_COUNT(table));                                      \
    } while (0)

static void context_ask(const struct parity *p)
{
    cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)p->platform, 0};
    cl_int status;
    size_t size = 77;
    ASK("context", context_get, context_queries, p->context);
    SHOW("its properties", clGetContextInfo(p->context, CL_CONTEXT_PROPERTIES, 0, NULL, &size));
    printf("%zu bytes\n", size);
    cl_context context = clCreateContext(properties, 1, &p->device, NULL, NULL, &status);
    CHECK(status);
    ASK("context of a platform", context_get, context_queries, context);
    ASK("its properties", context_get, property_queries, context);
    CHECK(clReleaseContext(context));
    context = clCreateContextFromType(properties, CL_DEVICE_TYPE_ALL, NULL, NULL, &status);
    CHECK(status);
    ASK("context of a type", context_get, context_queries, context);
    ASK("its properties", context_get, property_queries, context);
    CHECK(clReleaseContext(context));
}

static void queue_ask(const struct parity *p)
{
    cl_int status;
    cl_queue_properties both[] = {CL_QUEUE_PROPERTIES,
                                  CL_QUEUE_PROFILING_ENABLE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
    ASK("queue", queue_get, queue_queries, p->queue);
    cl_command_queue queue;
    if (parity_version(p) >= 200) {
        queue = clCreateCommandQueueWithProperties(p->context, p->device, both, &status);
        CHECK(status);
        ASK("queue with properties", queue_get, queue_queries, queue);
        CHECK(clReleaseCommandQueue(queue));
        queue = clCreateCommandQueueWithProperties(p->context, p->device, NULL, &status);
        CHECK(status);
        ASK("queue without properties", queue_get, queue_queries, queue);
        CHECK(clReleaseCommandQueue(queue));
    }
    queue = clCreateCommandQueue(p->context, p->device, CL_QUEUE_PROFILING_ENABLE, &status);
    CHECK(status);
    ASK("queue of OpenCL 1.0", queue_get, queue_queries, queue);
    CHECK(clReleaseCommandQueue(queue));
}

static void buffer_ask(const struct parity *p)
{
    static char host[4096];
    cl_int status;
    cl_buffer_region region = {1024, 512};
    cl_mem buffer = parity_buffer(p, CL_MEM_READ_WRITE, 4096, NULL);
    ASK("buffer", memory_get, memory_queries, buffer);
    ASK("buffer as an image", image_get, image_queries, buffer);
    cl_mem sub = clCreateSubBuffer(buffer, CL_MEM_READ_ONLY, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    CHECK(status);
    ASK("sub-buffer", memory_get, memory_queries, sub);
    CHECK(clReleaseMemObject(sub));
    CHECK(clReleaseMemObject(buffer));
    buffer = parity_buffer(p, CL_MEM_USE_HOST_PTR | CL_MEM_READ_ONLY, sizeof(host), host);
    ASK("buffer of host memory", memory_get, memory_queries, buffer);
    CHECK(clReleaseMemObject(buffer));
    if (parity_version(p) < 300)
        return;
    cl_mem_properties properties[] = {0};
    buffer = clCreateBufferWithProperties(p->context, properties, CL_MEM_WRITE_ONLY, 100, NULL, &status);
    CHECK(status);
    ASK("buffer with properties", memory_get, memory_queries, buffer);
    CHECK(clReleaseMemObject(buffer));
}

static void image_ask(const struct parity *p)
{
    static const cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
    cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 17, .image_height = 9};
    cl_int status;
    cl_mem image = clCreateImage(p->context, CL_MEM_READ_ONLY, &format, &desc, NULL, &status);
    CHECK(status);
    ASK("image as a memory object", memory_get, memory_queries, image);
    ASK("image", image_get, image_queries, image);
    CHECK(clReleaseMemObject(image));
}

static void sampler_ask(const struct parity *p)
{
    cl_int status;
    cl_sampler sampler = clCreateSampler(p->context, CL_TRUE, CL_ADDRESS_REPEAT, CL_FILTER_LINEAR, &status);
    CHECK(status);
    ASK("sampler", sampler_get, sampler_queries, sampler);
    CHECK(clReleaseSampler(sampler));
    if (parity_version(p) < 200)
        return;
    cl_sampler_properties properties[] = {CL_SAMPLER_FILTER_MODE, CL_FILTER_LINEAR, 0};
    sampler = clCreateSamplerWithProperties(p->context, properties, &status);
    CHECK(status);
    ASK("sampler with properties", sampler_get, sampler_queries, sampler);
    CHECK(clReleaseSampler(sampler));
}

static void program_ask(const struct parity *p, cl_program program, cl_kernel kernel)
{
    cl_uint index = 0;
    ASK("program", program_get, program_queries, program);
    ASK("build", build_get, build_queries, program, p->device);
    ASK("kernel", kernel_get, kernel_queries, kernel);
    for (; index < 5; index++)
        ASK("argument", argument_get, argument_queries, kernel, &index);
    ASK("work-group", group_get, group_queries, kernel, p->device);
    CHECK(clSetKernelArg(kernel, 1, 640, NULL));
    ASK("work-group with a local argument set", group_get, group_queries, kernel, p->device);
    ASK("work-group of the only device", group_get, group_queries, kernel, NULL);
    if (parity_version(p) >= 210)
        ASK("sub-group", sub_group_get, sub_group_queries, kernel, p->device);
}

static void event_ask(const struct parity *p)
{
    cl_event event;
    cl_int status, pattern = 0;
    cl_mem buffer = parity_buffer(p, CL_MEM_READ_WRITE, 4096, NULL);
    CHECK(clEnqueueFillBuffer(p->queue, buffer, &pattern, sizeof(pattern), 0, 4096, 0, NULL, &event));
    CHECK(clWaitForEvents(1, &event));
    parity_rich();
    ASK("event", event_get, event_queries, event);
    ASK("profiling", profiling_get, profiling_queries, event);
    CHECK(clReleaseEvent(event));
    CHECK(clReleaseMemObject(buffer));
    event = clCreateUserEvent(p->context, &status);
    CHECK(status);
    ASK("user event", event_get, event_queries, event);
    ASK("profiling of a user event", profiling_get, profiling_queries, event);
    CHECK(clReleaseEvent(event));
}

int main(void)
{
    struct parity p;
    parity_open(&p, CL_QUEUE_PROFILING_ENABLE);
    cl_program program = parity_program(&p, source, "-cl-kernel-arg-info");
    cl_kernel kernel = parity_kernel(program, "add");
    ASK("platform", platform_get, platform_queries, p.platform);
    context_ask(&p);
    queue_ask(&p);
    buffer_ask(&p);
    image_ask(&p);
    sampler_ask(&p);
    program_ask(&p, program, kernel);
    event_ask(&p);
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseProgram(program));
    parity_close(&p);
    return 0;
}
