#include "parity.h"
#include "base/cl_ext.h"
#include <spawn.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void parity_check(cl_int status, const char *call, const char *file, int line)
{
    if (status == CL_SUCCESS)
        return;
    fflush(stdout);
    fprintf(stderr, "%s:%d: %s = %s (%d)\n", file, line, call, parity_error_name(status), status);
    exit(1);
}

void parity_expect(bool holds, const char *condition, const char *file, int line)
{
    if (holds)
        return;
    fflush(stdout);
    fprintf(stderr, "%s:%d: not so: %s\n", file, line, condition);
    exit(1);
}

const char *parity_error_name(cl_int status)
{
#define NAME(code)                                                                                                     \
    case code:                                                                                                         \
        return #code
    switch (status) {
        NAME(CL_SUCCESS);
        NAME(CL_DEVICE_NOT_FOUND);
        NAME(CL_DEVICE_NOT_AVAILABLE);
        NAME(CL_COMPILER_NOT_AVAILABLE);
        NAME(CL_MEM_OBJECT_ALLOCATION_FAILURE);
        NAME(CL_OUT_OF_RESOURCES);
        NAME(CL_OUT_OF_HOST_MEMORY);
        NAME(CL_PROFILING_INFO_NOT_AVAILABLE);
        NAME(CL_MEM_COPY_OVERLAP);
        NAME(CL_IMAGE_FORMAT_MISMATCH);
        NAME(CL_IMAGE_FORMAT_NOT_SUPPORTED);
        NAME(CL_BUILD_PROGRAM_FAILURE);
        NAME(CL_MAP_FAILURE);
        NAME(CL_MISALIGNED_SUB_BUFFER_OFFSET);
        NAME(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
        NAME(CL_COMPILE_PROGRAM_FAILURE);
        NAME(CL_LINKER_NOT_AVAILABLE);
        NAME(CL_LINK_PROGRAM_FAILURE);
        NAME(CL_DEVICE_PARTITION_FAILED);
        NAME(CL_KERNEL_ARG_INFO_NOT_AVAILABLE);
        NAME(CL_INVALID_VALUE);
        NAME(CL_INVALID_DEVICE_TYPE);
        NAME(CL_INVALID_PLATFORM);
        NAME(CL_INVALID_DEVICE);
        NAME(CL_INVALID_CONTEXT);
        NAME(CL_INVALID_QUEUE_PROPERTIES);
        NAME(CL_INVALID_COMMAND_QUEUE);
        NAME(CL_INVALID_HOST_PTR);
        NAME(CL_INVALID_MEM_OBJECT);
        NAME(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
        NAME(CL_INVALID_IMAGE_SIZE);
        NAME(CL_INVALID_SAMPLER);
        NAME(CL_INVALID_BINARY);
        NAME(CL_INVALID_BUILD_OPTIONS);
        NAME(CL_INVALID_PROGRAM);
        NAME(CL_INVALID_PROGRAM_EXECUTABLE);
        NAME(CL_INVALID_KERNEL_NAME);
        NAME(CL_INVALID_KERNEL_DEFINITION);
        NAME(CL_INVALID_KERNEL);
        NAME(CL_INVALID_ARG_INDEX);
        NAME(CL_INVALID_ARG_VALUE);
        NAME(CL_INVALID_ARG_SIZE);
        NAME(CL_INVALID_KERNEL_ARGS);
        NAME(CL_INVALID_WORK_DIMENSION);
        NAME(CL_INVALID_WORK_GROUP_SIZE);
        NAME(CL_INVALID_WORK_ITEM_SIZE);
        NAME(CL_INVALID_GLOBAL_OFFSET);
        NAME(CL_INVALID_EVENT_WAIT_LIST);
        NAME(CL_INVALID_EVENT);
        NAME(CL_INVALID_OPERATION);
        NAME(CL_INVALID_GL_OBJECT);
        NAME(CL_INVALID_BUFFER_SIZE);
        NAME(CL_INVALID_MIP_LEVEL);
        NAME(CL_INVALID_GLOBAL_WORK_SIZE);
        NAME(CL_INVALID_PROPERTY);
        NAME(CL_INVALID_IMAGE_DESCRIPTOR);
        NAME(CL_INVALID_COMPILER_OPTIONS);
        NAME(CL_INVALID_LINKER_OPTIONS);
        NAME(CL_INVALID_DEVICE_PARTITION_COUNT);
        NAME(CL_INVALID_PIPE_SIZE);
        NAME(CL_INVALID_DEVICE_QUEUE);
        NAME(CL_INVALID_SPEC_ID);
        NAME(CL_MAX_SIZE_RESTRICTION_EXCEEDED);
        NAME(CL_PLATFORM_NOT_FOUND_KHR);
    }
#undef NAME
    static char number[32];
    snprintf(number, sizeof(number), "unknown code %d", status);
    return number;
}

void parity_open(struct parity *p, cl_command_queue_properties properties)
{
    cl_int status;
    CHECK(clGetPlatformIDs(1, &p->platform, NULL));
    CHECK(clGetDeviceIDs(p->platform, CL_DEVICE_TYPE_ALL, 1, &p->device, NULL));
    p->context = clCreateContext(NULL, 1, &p->device, NULL, NULL, &status);
    CHECK(status);
    p->queue = parity_queue(p, properties);
}

int parity_version(const struct parity *p)
{
    char text[256] = "";
    unsigned major = 0, minor = 0;
    CHECK(clGetPlatformInfo(p->platform, CL_PLATFORM_VERSION, sizeof(text), text, NULL));
    EXPECT(sscanf(text, "OpenCL %u.%u", &major, &minor) == 2);
    return (int)(100 * major + 10 * minor);
}

bool parity_answers_as_before(const struct parity *p)
{
    char text[256] = "";
    CHECK(clGetDeviceInfo(p->device, CL_DRIVER_VERSION, sizeof(text), text, NULL));
    return atof(text) < 3.15;
}

bool parity_tries(const char *what)
{
    const char *list = getenv("VOCL_TEST_OMIT");
    const size_t length = strlen(what);

    for (const char *at = list; at && (at = strstr(at, what)); at += length) {
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return false;
    }
    return true;
}

cl_version parity_extension(cl_device_id device, const char *name)
{
    cl_name_version known[256];
    size_t size = 0;

    if (clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS_WITH_VERSION, sizeof(known), known, &size) != CL_SUCCESS)
        size = 0;
    for (size_t i = 0; i < size / sizeof(*known); i++) {
        if (!strcmp(known[i].name, name))
            return known[i].version;
    }
    return 0;
}

bool parity_records(cl_command_queue queue)
{
    cl_version version;
    cl_device_id device;

    CHECK(clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof(device), &device, NULL));
    version = parity_extension(device, CL_KHR_COMMAND_BUFFER_EXTENSION_NAME);
    return (version >= RECORD_SINCE) == RECORD_TAKES_PROPERTIES;
}

void parity_close(struct parity *p)
{
    CHECK(clReleaseCommandQueue(p->queue));
    CHECK(clReleaseContext(p->context));
}

cl_command_queue parity_queue(const struct parity *p, cl_command_queue_properties properties)
{
    cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, properties, 0};
    cl_int status;
    cl_command_queue queue = parity_version(p) >= 200
                                 ? clCreateCommandQueueWithProperties(p->context, p->device, list, &status)
                                 : clCreateCommandQueue(p->context, p->device, properties, &status);
    CHECK(status);
    return queue;
}

static void build_log_print(cl_program program, cl_device_id device)
{
    size_t size = 0;
    clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
    char *log = calloc(1, size + 1);
    clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log, NULL);
    fprintf(stderr, "%s\n", log);
    free(log);
}

cl_program parity_program(const struct parity *p, const char *source, const char *options)
{
    cl_int status;
    cl_program program = clCreateProgramWithSource(p->context, 1, &source, NULL, &status);
    CHECK(status);
    status = clBuildProgram(program, 1, &p->device, options, NULL, NULL);
    if (status != CL_SUCCESS)
        build_log_print(program, p->device);
    CHECK(status);
    return program;
}

cl_kernel parity_kernel(cl_program program, const char *name)
{
    cl_int status;
    cl_kernel kernel = clCreateKernel(program, name, &status);
    CHECK(status);
    return kernel;
}

cl_mem parity_buffer(const struct parity *p, cl_mem_flags flags, size_t size, void *host)
{
    cl_int status;
    cl_mem buffer = clCreateBuffer(p->context, flags, size, host, &status);
    CHECK(status);
    return buffer;
}

void parity_args(cl_kernel kernel, cl_uint count, ...)
{
    va_list list;
    va_start(list, count);
    for (cl_uint i = 0; i < count; i++) {
        size_t size = va_arg(list, size_t);
        const void *value = va_arg(list, const void *);
        CHECK(clSetKernelArg(kernel, i, size, value));
    }
    va_end(list);
}

void parity_launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *global,
                   const size_t *local)
{
    CHECK(clEnqueueNDRangeKernel(queue, kernel, dimensions, NULL, global, local, 0, NULL, NULL));
    CHECK(clFinish(queue));
}

void parity_read(cl_command_queue queue, cl_mem buffer, size_t offset, size_t size, void *data)
{
    CHECK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, offset, size, data, 0, NULL, NULL));
}

void parity_write(cl_command_queue queue, cl_mem buffer, size_t offset, size_t size, const void *data)
{
    CHECK(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, offset, size, data, 0, NULL, NULL));
}

static void numbers_print(const unsigned char *value, size_t size)
{
    static const size_t widths[] = {8, 4, 1};
    size_t width = 1;
    for (size_t i = 0; i < PARITY_COUNT(widths); i++) {
        if (size % widths[i] == 0) {
            width = widths[i];
            break;
        }
    }
    for (size_t i = 0; i < size; i += width) {
        uint64_t number = 0;
        memcpy(&number, value + i, width);
        printf(" %#llx", (unsigned long long)number);
    }
}

static void handles_print(const unsigned char *value, size_t size)
{
    for (size_t i = 0; i + sizeof(void *) <= size; i += sizeof(void *)) {
        void *handle;
        memcpy(&handle, value + i, sizeof(handle));
        printf(handle ? " something" : " nothing");
    }
}

static void value_print(enum parity_shown shown, const unsigned char *value, size_t size)
{
    if (shown != PARITY_CODES)
        printf(", %zu bytes", size);
    if (shown == PARITY_TEXT)
        printf(" '%.*s'", (int)size, (const char *)value);
    if (shown == PARITY_NUMBERS)
        numbers_print(value, size);
    if (shown == PARITY_HANDLES)
        handles_print(value, size);
}

static void query_show(parity_get *get, void *const *objects, const struct parity_query *query)
{
    static unsigned char value[1 << 16];
    size_t size = 0, told = 0;
    cl_int status = get(objects, query->param, 0, NULL, &size);
    printf("%s: size %s", query->name, parity_error_name(status));
    printf(", neither %s", parity_error_name(get(objects, query->param, 0, NULL, NULL)));
    if (status == CL_SUCCESS && size <= sizeof(value) - 8) {
        memset(value, 0xee, sizeof(value));
        printf(", larger %s", parity_error_name(get(objects, query->param, size + 8, value, NULL)));
        if (size > 0)
            printf(", smaller %s", parity_error_name(get(objects, query->param, size - 1, value, &told)));
        memset(value, 0xee, sizeof(value));
        printf(", exact %s", parity_error_name(get(objects, query->param, size, value, &told)));
        value_print(query->shown, value, told);
    }
    printf("\n");
}

void parity_queries(parity_get *get, void *const *objects, const struct parity_query *queries, size_t count)
{
    for (size_t i = 0; i < count; i++)
        query_show(get, objects, &queries[i]);
}

cl_uint parity_references_of_event(cl_event event)
{
    cl_uint count = 0;
    CHECK(clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof(count), &count, NULL));
    return count;
}

cl_uint parity_references_of_memory(cl_mem memory)
{
    cl_uint count = 0;
    CHECK(clGetMemObjectInfo(memory, CL_MEM_REFERENCE_COUNT, sizeof(count), &count, NULL));
    return count;
}

cl_uint parity_map_count(cl_mem memory, cl_uint expected)
{
    static const struct timespec pause = {.tv_nsec = 1000000};
    cl_uint count = 0;
    for (int i = 0; i < 1000; i++) {
        CHECK(clGetMemObjectInfo(memory, CL_MEM_MAP_COUNT, sizeof(count), &count, NULL));
        if (count == expected)
            break;
        nanosleep(&pause, NULL);
    }
    return count;
}

cl_int parity_event_status(cl_event event)
{
    cl_int status;
    CHECK(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL));
    return status;
}

const char *parity_status_name(cl_int status)
{
    static const char *const names[] = {"CL_COMPLETE", "CL_RUNNING", "CL_SUBMITTED", "CL_QUEUED"};
    return status >= 0 && status < (cl_int)PARITY_COUNT(names) ? names[status] : parity_error_name(status);
}

cl_event parity_gate(const struct parity *p)
{
    cl_int status;
    cl_event gate = clCreateUserEvent(p->context, &status);
    CHECK(status);
    return gate;
}

static void *gate_open(void *gate)
{
    usleep(30000);
    CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
    return NULL;
}

pthread_t parity_gate_open_later(cl_event gate)
{
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, gate_open, gate) == 0);
    return thread;
}

/* Whether this process is the first to come, of the program and those that it starts. Its PID is in the file "reached"
 * as soon as that exists. */
static bool barrier_reached(const char *folder)
{
    char coming[256], reached[256];
    FILE *file;
    bool first;

    snprintf(coming, sizeof(coming), "%s/coming.%d", folder, (int)getpid());
    snprintf(reached, sizeof(reached), "%s/reached", folder);
    file = fopen(coming, "w");
    EXPECT(file && fprintf(file, "%d\n", (int)getpid()) > 0 && !fclose(file));
    first = !link(coming, reached);
    EXPECT(!unlink(coming));
    return first;
}

bool parity_modest(void)
{
    const char *modest = getenv("VOCL_TEST_MODEST");

    return modest && *modest;
}

void parity_rich(void)
{
    const char *folder = getenv("VOCL_TEST_BARRIER"), *place = getenv("VOCL_TEST_PLACE");
    static int calls;
    char go[256];

    if (!folder || ++calls != (place ? atoi(place) : 1) || !barrier_reached(folder))
        return;
    snprintf(go, sizeof(go), "%s/go", folder);
    while (access(go, F_OK))
        usleep(2000);
}

void parity_end_print(const char *argument)
{
    char *arguments[] = {(char *)"again", (char *)(uintptr_t)argument, NULL};
    extern char **environ;
    pid_t child;
    int status;
    printf("-- %s\n", argument);
    fflush(stdout);
    EXPECT(posix_spawn(&child, "/proc/self/exe", NULL, NULL, arguments, environ) == 0);
    EXPECT(waitpid(child, &status, 0) == child);
    printf("%s %d\n", WIFSIGNALED(status) ? "signal" : "status",
           WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

uint32_t parity_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

void parity_random_floats(float *data, size_t count, uint32_t seed)
{
    for (size_t i = 0; i < count; i++)
        data[i] = (float)parity_random(&seed) / (1 << 23) - 1.0f;
}

void parity_random_bytes(void *data, size_t size, uint32_t seed)
{
    unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)parity_random(&seed);
}

unsigned char *parity_memory_new(size_t length, int fill)
{
    const size_t page = 4096, whole = (length + page - 1) & ~(page - 1);
    unsigned char *pages = mmap(NULL, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    EXPECT(pages != MAP_FAILED);
    EXPECT(!mprotect(pages + whole, page, PROT_NONE));
    memset(pages, fill, whole);
    return pages + whole - length;
}

void parity_memory_free(unsigned char *memory, size_t length)
{
    const size_t page = 4096, whole = (length + page - 1) & ~(page - 1);

    EXPECT(!munmap(memory + length - whole, whole + page));
}

bool parity_all_are(const unsigned char *bytes, size_t length, unsigned char wanted)
{
    return !length || (bytes[0] == wanted && !memcmp(bytes, bytes + 1, length - 1));
}

uint64_t parity_hash(const void *data, size_t size)
{
    const unsigned char *bytes = data;
    uint64_t hash = 0xcbf29ce484222325u, word;
    size_t i = 0;

    for (; i + sizeof(word) <= size; i += sizeof(word)) {
        memcpy(&word, bytes + i, sizeof(word));
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
    }
    for (; i < size; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

void parity_hash_print(const char *name, const void *data, size_t size)
{
    printf("%s: %016llx\n", name, (unsigned long long)parity_hash(data, size));
}

void parity_compare(const char *name, const float *result, const float *wanted, size_t count, float tolerance)
{
    for (size_t i = 0; i < count; i++) {
        float allowed = tolerance * fmaxf(1.0f, fabsf(wanted[i]));
        if (fabsf(result[i] - wanted[i]) <= allowed)
            continue;
        fflush(stdout);
        fprintf(stderr, "%s: element %zu is %g, not %g\n", name, i, result[i], wanted[i]);
        exit(1);
    }
}
