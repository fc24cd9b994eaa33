/* Options, names and lists that are longer than most programs', as code generators make them. */
#include "parity.h"

enum { LONG_TEXT = 80000, MANY = 1100, POINTERS = 9000 };

static struct parity p;

/* Returns options: the given ones and many unused definitions. */
static char *options_new(const char *first)
{
    char *text = malloc(LONG_TEXT + 64);
    int length = sprintf(text, "%s", first);
    for (int i = 0; length < LONG_TEXT; i++)
        length += sprintf(text + length, " -DUNUSED%d=%d", i, i);
    return text;
}

static cl_int run(cl_program program, const char *name)
{
    cl_kernel kernel = parity_kernel(program, name);
    cl_int value = 0;
    cl_mem buffer = parity_buffer(&p, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof(value), &value);
    parity_args(kernel, 1, sizeof(buffer), &buffer);
    parity_launch(p.queue, kernel, 1, (size_t[]){1}, NULL);
    parity_read(p.queue, buffer, 0, sizeof(value), &value);
    CHECK(clReleaseMemObject(buffer));
    CHECK(clReleaseKernel(kernel));
    return value;
}

static void build(void)
{
    char *options = options_new("-DVALUE=7");
    cl_program program = parity_program(&p, "kernel void f(global int *out) { *out = VALUE; }", options);
    size_t size;
    CHECK(clGetProgramBuildInfo(program, p.device, CL_PROGRAM_BUILD_OPTIONS, 0, NULL, &size));
    printf("%zu bytes of options, of %zu: %d\n", size, strlen(options) + 1, run(program, "f"));
    CHECK(clReleaseProgram(program));
    free(options);
}

static cl_program program_new(const char *source)
{
    cl_int status;
    cl_program program = clCreateProgramWithSource(p.context, 1, &source, NULL, &status);
    CHECK(status);
    return program;
}

/* One header many times, each time under another long name. */
static void compile(void)
{
    static cl_program headers[MANY];
    static const char *names[MANY];
    static char text[MANY][200];
    char *options = options_new("-DMORE=2"), source[600];
    cl_program header = program_new("#define VALUE 40\n"), program, linked;
    cl_int status;

    for (int i = 0; i < MANY; i++) {
        memset(text[i], 'a' + i % 26, sizeof(text[i]));
        sprintf(text[i] + 150, "%d.h", i);
        headers[i] = header;
        names[i] = text[i];
    }
    snprintf(source, sizeof(source), "#include \"%s\"\nkernel void f(global int *out) { *out = VALUE + MORE; }",
             text[MANY - 1]);
    program = program_new(source);
    SHOW("compile", clCompileProgram(program, 0, NULL, options, MANY, headers, names, NULL, NULL));
    linked = clLinkProgram(p.context, 0, NULL, NULL, 1, &program, NULL, NULL, &status);
    CHECK(status);
    printf("%d headers: %d\n", MANY, run(linked, "f"));
    CHECK(clReleaseProgram(linked));
    CHECK(clReleaseProgram(program));
    CHECK(clReleaseProgram(header));
    free(options);
}

/* One program many times in a list of inputs: each definition is duplicated. */
static void link_many(void)
{
    static cl_program inputs[MANY];
    cl_program one = program_new("kernel void f(global int *out) { *out = 3; }"), linked;
    cl_int status;

    CHECK(clCompileProgram(one, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL));
    for (int i = 0; i < MANY; i++)
        inputs[i] = one;
    linked = clLinkProgram(p.context, 0, NULL, NULL, MANY, inputs, NULL, NULL, &status);
    printf("%d inputs: %s\n", MANY, parity_error_name(status));
    if (linked)
        CHECK(clReleaseProgram(linked));
    CHECK(clReleaseProgram(one));
}

static void builtin(void)
{
    char *names = malloc(LONG_TEXT + 1);
    memset(names, 'n', LONG_TEXT);
    names[LONG_TEXT] = '\0';
    SHOW_NEW("built-in kernels", clCreateProgramWithBuiltInKernels(p.context, 1, &p.device, names, &status));
    free(names);
}

static void migrate(void)
{
    static cl_mem buffers[MANY];
    cl_event event;
    for (int i = 0; i < MANY; i++)
        buffers[i] = parity_buffer(&p, CL_MEM_READ_WRITE, 64, NULL);
    CHECK(clEnqueueMigrateMemObjects(p.queue, MANY, buffers, 0, 0, NULL, &event));
    parity_rich();
    CHECK(clWaitForEvents(1, &event));
    printf("%d objects: %s\n", MANY, parity_status_name(parity_event_status(event)));
    CHECK(clReleaseEvent(event));
    for (int i = 0; i < MANY; i++)
        CHECK(clReleaseMemObject(buffers[i]));
}

static void partition(void)
{
    static cl_device_partition_property properties[MANY + 3] = {CL_DEVICE_PARTITION_BY_COUNTS};
    cl_uint count = 0;
    for (int i = 1; i <= MANY; i++)
        properties[i] = 1;
    SHOW("so many counts", clCreateSubDevices(p.device, properties, 0, NULL, &count));
}

static void pointers(void)
{
    static void *list[POINTERS];
    cl_program program = parity_program(&p, "kernel void f(global int *out) { *out = 9; }", NULL);
    cl_kernel kernel = parity_kernel(program, "f");
    void *memory = clSVMAlloc(p.context, CL_MEM_READ_WRITE, POINTERS * 16, 0);
    EXPECT(memory);
    for (int i = 0; i < POINTERS; i++)
        list[i] = (char *)memory + 16 * i;
    SHOW("so many pointers", clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof(list), list));
    printf("and then: %d\n", run(program, "f"));
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseProgram(program));
    clSVMFree(p.context, memory);
}

int main(void)
{
    parity_open(&p, 0);
    build();
    compile();
    link_many();
    if (parity_tries("built-in-kernels"))
        builtin();
    migrate();
    partition();
    pointers();
    parity_close(&p);
    return 0;
}
