/*
 * A program with one object that a move has to handle specially, or refuse: prints "ready", waits for the first FILE,
 * uses the object, prints "used", waits for the second FILE, uses it once more, and compares the results.
 * usage: stays FILE FILE WHAT
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <stdbool.h>
#include <string.h>

#include "base/cl_ext.h"
#include "tests/session/moved.h"

enum { ITEMS = 1024, SIZE = ITEMS * 4, MOST = 8 };

static const char *source = "#ifndef BY\n"
                            "#define BY 1\n"
                            "#endif\n"
                            "kernel void add(global int *data, int by) { data[get_global_id(0)] += by * BY; }\n"
                            "kernel void poll(global volatile int *data) { while (!data[0]) ; }\n";

static const char *first, *second;
static cl_platform_id platform;
static cl_device_id devices[MOST];
static cl_context context;
static cl_command_queue queue, queues[MOST];
static cl_program program;
static cl_mem buffer;
static cl_uint device_count;
static cl_int expected; /* value of each element of the buffer */

static void *function(const char *name)
{
    void *found = clGetExtensionFunctionAddressForPlatform(platform, name);

    if (!found)
        exit(77);
    return found;
}

static cl_program program_of(const char *text)
{
    cl_int error;
    cl_program made = clCreateProgramWithSource(context, 1, &text, NULL, &error);

    NEED(error);
    return made;
}

static cl_kernel kernel_of(cl_program from, const char *name)
{
    cl_int error;
    cl_kernel kernel = clCreateKernel(from, name, &error);

    NEED(error);
    return kernel;
}

static cl_mem new_buffer(cl_mem_flags flags, void *host)
{
    cl_int error;
    cl_mem made = clCreateBuffer(context, CL_MEM_READ_WRITE | flags, SIZE, host, &error);

    NEED(error);
    return made;
}

/* Runs the kernel in that queue; it adds by to the buffer or memory of its first argument. */
static void launch(cl_command_queue to, cl_kernel kernel, cl_int by)
{
    NEED(clSetKernelArg(kernel, 1, sizeof(by), &by));
    NEED(clEnqueueNDRangeKernel(to, kernel, 1, NULL, &(size_t){ITEMS}, NULL, 0, NULL, NULL));
    NEED(clFinish(to));
}

static void add(cl_program from, cl_int by)
{
    cl_kernel kernel = kernel_of(from, "add");

    NEED(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer));
    launch(queue, kernel, by);
    NEED(clReleaseKernel(kernel));
}

static void compare(const cl_int *data, cl_int wanted, const char *what)
{
    for (int i = 0; i < ITEMS; i++) {
        if (data[i] != wanted) {
            printf("%s: %d at %d, not %d\n", what, data[i], i, wanted);
            exit(1);
        }
    }
}

static void plain_use(void)
{
    add(program, 1);
    expected++;
}

/* ---- commands that do not end before the first file exists ---- */

static cl_mem bell;
static cl_int *word;

static void busy_begin(void)
{
    cl_kernel kernel = kernel_of(program, "poll");
    cl_int error;

    bell = new_buffer(0, NULL);
    word = clEnqueueMapBuffer(queue, bell, CL_TRUE, CL_MAP_WRITE, 0, SIZE, 0, NULL, NULL, &error);
    NEED(error);
    memset(word, 0, SIZE);
    NEED(clSetKernelArg(kernel, 0, sizeof(bell), &bell));
    NEED(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &(size_t){1}, NULL, 0, NULL, NULL));
    NEED(clFlush(queue));
}

static void busy_use(void)
{
    *(volatile cl_int *)word = 1;
    plain_use();
}

static void CL_CALLBACK wait_natively(void *unused)
{
    (void)unused;
    wait_for(first);
}

static void native_begin(void)
{
    NEED(clEnqueueNativeKernel(queue, wait_natively, NULL, 0, 0, NULL, NULL, 0, NULL, NULL));
    NEED(clFlush(queue));
}

/* ---- programs ---- */

/* Records a launch whose argument has been released: what the driver makes of that argument is unknown. */
static void loose_begin(void)
{
    clCreateCommandBufferKHR_fn create = (clCreateCommandBufferKHR_fn)function("clCreateCommandBufferKHR");
    clCommandNDRangeKernelKHR_fn record = (clCommandNDRangeKernelKHR_fn)function("clCommandNDRangeKernelKHR");
    cl_kernel kernel = kernel_of(program, "add");
    cl_mem gone = new_buffer(0, NULL);
    const cl_int one = 1;
    cl_command_buffer_khr recorded;
    cl_int error;

    NEED(clSetKernelArg(kernel, 0, sizeof(gone), &gone));
    NEED(clSetKernelArg(kernel, 1, sizeof(one), &one));
    NEED(clReleaseMemObject(gone));
    recorded = create(1, &queue, NULL, &error);
    NEED(error);
    error = record(recorded, NULL, NULL, kernel, 1, NULL, &(size_t){ITEMS}, NULL, 0, NULL, NULL, NULL);
    if (error)
        exit(77);
}

static cl_program part, linked;

static void linked_begin(void)
{
    cl_int error;

    part = program_of(source);
    NEED(clCompileProgram(part, 0, NULL, "-DBY=5", 0, NULL, NULL, NULL, NULL));
    linked = clLinkProgram(context, 0, NULL, "", 1, &part, NULL, NULL, &error);
    NEED(error);
}

static void anew_begin(void)
{
    linked_begin();
    NEED(clCompileProgram(part, 0, NULL, "-DBY=7", 0, NULL, NULL, NULL, NULL));
}

static void linked_use(void)
{
    add(linked, 1);
    expected += 5;
}

static cl_program each;
static cl_kernel of_each[MOST];

/* Builds a program with other options for each of two devices. */
static void each_begin(void)
{
    if (device_count < 2)
        exit(77);
    each = program_of(source);
    NEED(clBuildProgram(each, 1, &devices[0], "-DBY=9", NULL, NULL));
    NEED(clBuildProgram(each, 1, &devices[1], "-DBY=10", NULL, NULL));
    NEED(clBuildProgram(each, 1, &devices[0], "-DBY=2", NULL, NULL));
    NEED(clBuildProgram(each, 1, &devices[1], "-DBY=3", NULL, NULL));
}

static void each_use(void)
{
    for (int i = 0; i < 2; i++) {
        if (!of_each[i])
            of_each[i] = kernel_of(each, "add");
        NEED(clSetKernelArg(of_each[i], 0, sizeof(buffer), &buffer));
        launch(queues[i], of_each[i], 100);
    }
    expected += 100 * (2 + 3);
}

static cl_program special;

/* Builds a program with one value; the next value takes effect only in a build at the end. */
static void special_begin(void)
{
    static unsigned char il[65536];
    FILE *file = fopen(getenv("VOCL_TEST_IL"), "rb");
    const cl_uint five = 5, six = 6, seven = 7;
    cl_int error;
    size_t size;

    if (!file)
        exit(77);
    size = fread(il, 1, sizeof(il), file);
    fclose(file);
    special = clCreateProgramWithIL(context, il, size, &error);
    NEED(error);
    NEED(clSetProgramSpecializationConstant(special, 7, sizeof(five), &five));
    NEED(clSetProgramSpecializationConstant(special, 7, sizeof(six), &six));
    NEED(clBuildProgram(special, 0, NULL, NULL, NULL, NULL));
    NEED(clSetProgramSpecializationConstant(special, 7, sizeof(seven), &seven));
}

static void special_use(void)
{
    static cl_int factor = 6;
    cl_kernel kernel;

    if (factor == 7)
        NEED(clBuildProgram(special, 0, NULL, NULL, NULL, NULL));
    kernel = kernel_of(special, "scale");
    NEED(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer));
    launch(queue, kernel, 2);
    expected = expected * factor++ + 2;
    NEED(clReleaseKernel(kernel));
}

/* ---- memory ---- */

static cl_int own[ITEMS] __attribute__((aligned(4096)));
static cl_mem over;

static void mapped_begin(void)
{
    cl_int error;

    over = new_buffer(CL_MEM_USE_HOST_PTR, own);
    clEnqueueMapBuffer(queue, over, CL_TRUE, CL_MAP_WRITE, 0, SIZE, 0, NULL, NULL, &error);
    NEED(error);
    own[0] = 1;
}

static void mapped_use(void)
{
    cl_kernel kernel;

    if (!expected) { /* from here on it can move */
        for (int i = 0; i < ITEMS; i++)
            own[i] = 1;
        NEED(clEnqueueUnmapMemObject(queue, over, own, 0, NULL, NULL));
    }
    kernel = kernel_of(program, "add");
    NEED(clSetKernelArg(kernel, 0, sizeof(over), &over));
    launch(queue, kernel, 1);
    plain_use();
    clEnqueueMapBuffer(queue, over, CL_TRUE, CL_MAP_READ, 0, SIZE, 0, NULL, NULL, NULL);
    compare(own, 1 + expected, "the program's memory");
    NEED(clEnqueueUnmapMemObject(queue, over, own, 0, NULL, NULL));
    NEED(clFinish(queue));
}

/* Creates a large buffer of which four bytes are used. */
static void large_begin(void)
{
    cl_int error;

    over = clCreateBuffer(context, CL_MEM_READ_WRITE, (size_t)1 << 30, NULL, &error);
    NEED(error);
    NEED(clEnqueueWriteBuffer(queue, over, CL_TRUE, 4096, sizeof(cl_int), &(cl_int){17}, 0, NULL, NULL));
}

static void large_use(void)
{
    cl_int read = 0;

    plain_use();
    NEED(clEnqueueReadBuffer(queue, over, CL_TRUE, 4096, sizeof(read), &read, 0, NULL, NULL));
    if (read != 17)
        exit(1);
}

/* Creates a buffer whose content size is in another buffer, and another such buffer, which is released. */
static void sized_begin(void)
{
    typedef cl_int set_size(cl_mem, cl_mem);
    set_size *set = (set_size *)function("clSetContentSizeBufferPoCL");
    const cl_ulong much = SIZE / 2;
    cl_mem size = new_buffer(0, NULL), gone = new_buffer(0, NULL);

    over = new_buffer(0, NULL);
    NEED(clEnqueueFillBuffer(queue, over, &(cl_int){17}, sizeof(cl_int), 0, SIZE, 0, NULL, NULL));
    NEED(clEnqueueFillBuffer(queue, size, &much, sizeof(much), 0, sizeof(much), 0, NULL, NULL));
    NEED(clFinish(queue));
    NEED(set(gone, new_buffer(0, NULL)));
    NEED(set(over, size));
    NEED(clReleaseMemObject(gone));
}

static void sized_use(void)
{
    static cl_int data[ITEMS];

    plain_use();
    NEED(clEnqueueReadBuffer(queue, over, CL_TRUE, 0, SIZE / 2, data, 0, NULL, NULL));
    for (int i = ITEMS / 2; i < ITEMS; i++)
        data[i] = 17;
    compare(data, 17, "the buffer with a size");
}

static void *memory;
static cl_kernel pointing;

static void *svm_take(void)
{
    cl_device_svm_capabilities can = 0;

    NEED(clGetDeviceInfo(devices[0], CL_DEVICE_SVM_CAPABILITIES, sizeof(can), &can, NULL));
    return can ? clSVMAlloc(context, CL_MEM_READ_WRITE, SIZE, 0) : NULL;
}

static void svm_begin(void)
{
    memory = svm_take();
    if (!memory)
        exit(77);
    pointing = kernel_of(program, "add");
    NEED(clEnqueueSVMMemFill(queue, memory, &(cl_int){0}, 4, SIZE, 0, NULL, NULL));
    NEED(clFinish(queue));
}

static void svm_compare(void)
{
    plain_use();
    NEED(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, memory, SIZE, 0, NULL, NULL));
    compare(memory, expected, "shared virtual memory");
    NEED(clEnqueueSVMUnmap(queue, memory, 0, NULL, NULL));
    NEED(clFinish(queue));
}

static void svm_use(void)
{
    NEED(clSetKernelArgSVMPointer(pointing, 0, memory));
    launch(queue, pointing, 1);
    svm_compare();
}

/* Creates a buffer over the allocation. */
static void over_svm_begin(void)
{
    svm_begin();
    over = new_buffer(CL_MEM_USE_HOST_PTR, memory);
}

static void over_svm_use(void)
{
    NEED(clSetKernelArg(pointing, 0, sizeof(over), &over));
    launch(queue, pointing, 1);
    svm_compare();
}

static void usm_begin(void)
{
    clDeviceMemAllocINTEL_fn take = (clDeviceMemAllocINTEL_fn)function("clDeviceMemAllocINTEL");
    cl_int error;

    memory = take(context, devices[0], NULL, SIZE, 0, &error);
    NEED(error);
}

static void usm_use(void)
{
    clEnqueueMemcpyINTEL_fn move = (clEnqueueMemcpyINTEL_fn)function("clEnqueueMemcpyINTEL");

    plain_use();
    for (int i = 0; i < ITEMS; i++)
        own[i] = expected;
    NEED(move(queue, CL_TRUE, memory, own, SIZE, 0, NULL, NULL));
    memset(own, 0, SIZE);
    NEED(move(queue, CL_TRUE, own, memory, SIZE, 0, NULL, NULL));
    compare(own, expected, "unified shared memory");
}

static void address_begin(void)
{
    const cl_mem_properties properties[] = {CL_MEM_DEVICE_PRIVATE_ADDRESS_EXT, CL_TRUE, 0};
    cl_int error;

    over = clCreateBufferWithProperties(context, properties, CL_MEM_READ_WRITE, SIZE, NULL, &error);
    NEED(error);
}

static const struct {
    const char *name;
    void (*begin)(void), (*use)(void);
} modes[] = {{"busy", busy_begin, busy_use},
             {"native", native_begin, plain_use},
             {"loose", loose_begin, plain_use},
             {"linked", linked_begin, linked_use},
             {"anew", anew_begin, linked_use},
             {"each", each_begin, each_use},
             {"special", special_begin, special_use},
             {"mapped", mapped_begin, mapped_use},
             {"sized", sized_begin, sized_use},
             {"svm", svm_begin, svm_use},
             {"over_svm", over_svm_begin, over_svm_use},
             {"usm", usm_begin, usm_use},
             {"address", address_begin, plain_use},
             {"large", large_begin, large_use},
             {"plain", plain_use, plain_use}};

static void open_all(void)
{
    cl_int error;

    NEED(clGetPlatformIDs(1, &platform, NULL));
    NEED(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MOST, devices, &device_count));
    device_count = device_count < MOST ? device_count : MOST;
    context = clCreateContext(NULL, device_count, devices, NULL, NULL, &error);
    NEED(error);
    for (cl_uint i = 0; i < device_count; i++) {
        queues[i] = clCreateCommandQueueWithProperties(context, devices[i], NULL, &error);
        NEED(error);
    }
    queue = queues[0];
    program = program_of(source);
    NEED(clBuildProgram(program, 0, NULL, "", NULL, NULL));
    buffer = new_buffer(0, NULL);
    NEED(clEnqueueFillBuffer(queue, buffer, &expected, sizeof(expected), 0, SIZE, 0, NULL, NULL));
    NEED(clFinish(queue));
}

int main(int count, char **words)
{
    static cl_int data[ITEMS];
    unsigned mode = 0;

    if (count < 4)
        return 2;
    first = words[1];
    second = words[2];
    while (mode < sizeof(modes) / sizeof(*modes) && strcmp(modes[mode].name, words[3]))
        mode++;
    if (mode == sizeof(modes) / sizeof(*modes))
        return 2;
    open_all();
    modes[mode].begin();
    say("ready");
    wait_for(first);
    modes[mode].use();
    say("used");
    wait_for(second);
    modes[mode].use();
    NEED(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, SIZE, data, 0, NULL, NULL));
    compare(data, expected, "the buffer");
    say("right");
    return 0;
}
