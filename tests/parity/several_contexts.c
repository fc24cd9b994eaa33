/*
 * Contexts side by side on one device: used alternately, released in any order and before their objects, and many one
 * after the other.
 */
#include "parity.h"

enum { CONTEXTS = 6, ROUNDS = 10, CYCLES = 12, COUNT = 4096, SIZE = COUNT * 4 };

static const char *source = "kernel void next(global int *data, int more)\n"
                            "{\n"
                            "    data[get_global_id(0)] += more;\n"
                            "}\n";

struct set {
    struct parity p;
    cl_program program;
    cl_kernel kernel;
    cl_mem buffer;
};

static cl_int zeros[COUNT], result[COUNT];

static void set_create(struct set *set)
{
    parity_open(&set->p, 0);
    set->program = parity_program(&set->p, source, NULL);
    set->kernel = parity_kernel(set->program, "next");
    set->buffer = parity_buffer(&set->p, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, SIZE, zeros);
}

static void set_advance(struct set *set, cl_int more)
{
    parity_args(set->kernel, 2, sizeof(set->buffer), &set->buffer, sizeof(more), &more);
    CHECK(clEnqueueNDRangeKernel(set->p.queue, set->kernel, 1, NULL, (size_t[]){COUNT}, (size_t[]){64}, 0, NULL, NULL));
}

static void set_check(struct set *set, cl_int wanted)
{
    parity_read(set->p.queue, set->buffer, 0, SIZE, result);
    for (int i = 0; i < COUNT; i++)
        EXPECT(result[i] == wanted);
    printf("%d\n", wanted);
}

/* The order of release varies: the context itself may be released before its objects. */
static void set_release(struct set *set, int way)
{
    if (way % 2)
        CHECK(clReleaseContext(set->p.context));
    if (way % 3)
        CHECK(clReleaseCommandQueue(set->p.queue));
    CHECK(clReleaseProgram(set->program));
    CHECK(clReleaseMemObject(set->buffer));
    CHECK(clReleaseKernel(set->kernel));
    if (way % 3 == 0)
        CHECK(clReleaseCommandQueue(set->p.queue));
    if (way % 2 == 0)
        CHECK(clReleaseContext(set->p.context));
}

static void side_by_side(void)
{
    struct set sets[CONTEXTS];
    for (int i = 0; i < CONTEXTS; i++)
        set_create(&sets[i]);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < CONTEXTS; i++)
            set_advance(&sets[i], i);
    }
    parity_rich();
    for (int i = CONTEXTS - 1; i >= 0; i--)
        set_check(&sets[i], ROUNDS * i);
    for (int i = 0; i < CONTEXTS; i++)
        set_release(&sets[(i * 5) % CONTEXTS], i);
}

/* A context that was released first still serves its objects. */
static void context_released_first(void)
{
    struct set set;
    set_create(&set);
    CHECK(clReleaseContext(set.p.context));
    CHECK(clReleaseProgram(set.program));
    set_advance(&set, 5);
    set_advance(&set, 6);
    set_check(&set, 11);
    CHECK(clReleaseMemObject(set.buffer));
    CHECK(clReleaseKernel(set.kernel));
    CHECK(clReleaseCommandQueue(set.p.queue));
}

static void one_after_the_other(void)
{
    for (int i = 0; i < CYCLES; i++) {
        struct set set;
        set_create(&set);
        set_advance(&set, i);
        if (i % 6 == 5)
            set_check(&set, i);
        set_release(&set, i);
    }
}

static void CL_CALLBACK error_note(const char *text, const void *data, size_t size, void *user)
{
    (void)data;
    (void)size;
    (void)user;
    printf("told of an error: %s\n", text);
}

static void ways_to_create(void)
{
    struct parity p;
    cl_int status;
    parity_open(&p, 0);
    cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)p.platform, 0};
    cl_device_id twice[] = {p.device, p.device};
    cl_context context = clCreateContext(properties, 1, &p.device, error_note, NULL, &status);
    SHOW("with properties and a function", status);
    CHECK(clReleaseContext(context));
    context = clCreateContextFromType(properties, CL_DEVICE_TYPE_DEFAULT, error_note, NULL, &status);
    SHOW("from the default type", status);
    CHECK(clReleaseContext(context));
    context = clCreateContextFromType(properties, CL_DEVICE_TYPE_CPU, NULL, NULL, &status);
    SHOW("from the type of CPUs", status);
    CHECK(clReleaseContext(context));
    context = clCreateContext(NULL, 2, twice, NULL, NULL, &status);
    SHOW("with the same device twice", status);
    if (context) {
        cl_uint count;
        CHECK(clGetContextInfo(context, CL_CONTEXT_NUM_DEVICES, sizeof(count), &count, NULL));
        printf("%u devices\n", count);
        CHECK(clReleaseContext(context));
    }
    parity_close(&p);
}

int main(void)
{
    side_by_side();
    context_released_first();
    one_after_the_other();
    ways_to_create();
    return 0;
}
