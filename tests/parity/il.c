/*
 * Programs from SPIR-V, in the file VOCL_TEST_IL: tests/drivers/scale.spvasm, assembled. Both entry points, the
 * queries, specialization constants, and errors.
 */
#include "parity.h"

static struct parity p;
static unsigned char il[65536];
static size_t il_size;

static void read_il(void)
{
    const char *name = getenv("VOCL_TEST_IL");
    FILE *file = name ? fopen(name, "rb") : NULL;

    if (!file) {
        printf("VOCL_TEST_IL names no file\n");
        exit(77);
    }
    il_size = fread(il, 1, sizeof(il), file);
    fclose(file);
}

static cl_program il_new(void)
{
    cl_int status;
    cl_program program = clCreateProgramWithIL(p.context, il, il_size, &status);

    CHECK(status);
    return program;
}

static void run(cl_program program)
{
    cl_int data[8] = {0, 1, 2, 3, 4, 5, 6, 7}, what = 100;
    cl_mem buffer = parity_buffer(&p, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof(data), data);
    cl_kernel kernel = parity_kernel(program, "scale");

    parity_args(kernel, 2, sizeof(buffer), &buffer, sizeof(what), &what);
    parity_rich();
    parity_launch(p.queue, kernel, 1, (size_t[]){8}, NULL);
    parity_read(p.queue, buffer, 0, sizeof(data), data);
    printf("scaled: %d %d %d %d\n", data[0], data[1], data[2], data[7]);
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseMemObject(buffer));
}

static void errors_try(void)
{
    static const char garbage[64] = "this is no SPIR-V at all";
    const char *source = "kernel void nothing(global int *a) { a[0] = 0; }";
    cl_uint value = 1;
    size_t size = 99;
    cl_program program;
    cl_int status;

    SHOW_NEW("no memory", clCreateProgramWithIL(p.context, NULL, il_size, &status));
    SHOW_NEW("no bytes", clCreateProgramWithIL(p.context, il, 0, &status));
    SHOW_NEW("no context", clCreateProgramWithIL(NULL, il, il_size, &status));
    SHOW_NEW("garbage", clCreateProgramWithIL(p.context, garbage, sizeof(garbage), &status));
    program = clCreateProgramWithSource(p.context, 1, &source, NULL, &status);
    CHECK(status);
    CHECK(clGetProgramInfo(program, CL_PROGRAM_IL, 0, NULL, &size));
    printf("IL of source: %zu bytes\n", size);
    SHOW("constant of source", clSetProgramSpecializationConstant(program, 7, sizeof(value), &value));
    CHECK(clReleaseProgram(program));
    SHOW("constant of nothing", clSetProgramSpecializationConstant(NULL, 7, sizeof(value), &value));
}

int main(void)
{
    clCreateProgramWithILKHR_fn clCreateProgramWithILKHR_;
    static unsigned char got[sizeof(il)];
    char version[512] = "";
    cl_uint factor = 5;
    cl_program program;
    cl_int status;
    size_t size;

    read_il();
    parity_open(&p, 0);
    clGetDeviceInfo(p.device, CL_DEVICE_IL_VERSION, sizeof(version), version, NULL);
    if (!strstr(version, "SPIR-V")) {
        printf("no SPIR-V here\n");
        return 77;
    }
    printf("%s\n", version);
    errors_try();

    program = il_new();
    CHECK(clGetProgramInfo(program, CL_PROGRAM_IL, sizeof(got), got, &size));
    printf("IL as it was: %d\n", size == il_size && !memcmp(got, il, size));
    CHECK(clBuildProgram(program, 1, &p.device, NULL, NULL, NULL));
    run(program);
    CHECK(clReleaseProgram(program));

    program = il_new();
    SHOW("constant that there is not", clSetProgramSpecializationConstant(program, 8, sizeof(factor), &factor));
    SHOW("constant", clSetProgramSpecializationConstant(program, 7, sizeof(factor), &factor));
    CHECK(clBuildProgram(program, 1, &p.device, "", NULL, NULL));
    run(program);
    CHECK(clReleaseProgram(program));

    clCreateProgramWithILKHR_ =
        (clCreateProgramWithILKHR_fn)clGetExtensionFunctionAddressForPlatform(p.platform, "clCreateProgramWithILKHR");
    EXPECT(clCreateProgramWithILKHR_ != NULL);
    program = clCreateProgramWithILKHR_(p.context, il, il_size, &status);
    CHECK(status);
    CHECK(clBuildProgram(program, 1, &p.device, NULL, NULL, NULL));
    run(program);
    CHECK(clReleaseProgram(program));
    parity_close(&p);
    return 0;
}
