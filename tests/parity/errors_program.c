/* Error codes of the calls about programs for wrong arguments. */
#include "parity.h"

static struct parity p, other;
static const char *good = "kernel void k(global int *a) { a[0] = 1; }\n", *bad = "kernel void k( {\n";
static cl_program fresh, built, failed, foreign;

static void CL_CALLBACK notified(cl_program program, void *data)
{
    (void)program, (void)data;
}

static cl_program source_program(const struct parity *in, const char *source)
{
    cl_int status;
    cl_program program = clCreateProgramWithSource(in->context, 1, &source, NULL, &status);
    CHECK(status);
    return program;
}

static void source_ask(void)
{
    const char *with_null[] = {good, NULL}, *empty = "";
    size_t zero = 0, two = 2;
    SHOW_NEW("clCreateProgramWithSource(NULL context)", clCreateProgramWithSource(NULL, 1, &good, NULL, &status));
    SHOW_NEW("clCreateProgramWithSource(none)", clCreateProgramWithSource(p.context, 0, &good, NULL, &status));
    SHOW_NEW("clCreateProgramWithSource(NULL string)",
             clCreateProgramWithSource(p.context, 2, with_null, NULL, &status));
    SHOW_NEW("clCreateProgramWithSource(empty)", clCreateProgramWithSource(p.context, 1, &empty, NULL, &status));
    SHOW_NEW("clCreateProgramWithSource(length 0)", clCreateProgramWithSource(p.context, 1, &good, &zero, &status));
    SHOW_NEW("clCreateProgramWithSource(length 2)", clCreateProgramWithSource(p.context, 1, &good, &two, &status));
}

static void binary_ask(void)
{
    const unsigned char noise[] = "this is no binary of anything", *binary = noise, *none = NULL;
    size_t length = sizeof(noise), zero = 0;
    cl_int code = parity_untouched;
    SHOW_NEW("clCreateProgramWithBinary(NULL context)",
             clCreateProgramWithBinary(NULL, 1, &p.device, &length, &binary, NULL, &status));
    SHOW_NEW("clCreateProgramWithBinary(no devices)",
             clCreateProgramWithBinary(p.context, 0, &p.device, &length, &binary, NULL, &status));
    SHOW_NEW("clCreateProgramWithBinary(no device list)",
             clCreateProgramWithBinary(p.context, 1, NULL, &length, &binary, NULL, &status));
    SHOW_NEW("clCreateProgramWithBinary(no lengths)",
             clCreateProgramWithBinary(p.context, 1, &p.device, NULL, &binary, NULL, &status));
    SHOW_NEW("clCreateProgramWithBinary(length 0)",
             clCreateProgramWithBinary(p.context, 1, &p.device, &zero, &binary, &code, &status));
    printf("%d\n", code);
    SHOW_NEW("clCreateProgramWithBinary(NULL binary)",
             clCreateProgramWithBinary(p.context, 1, &p.device, &length, &none, &code, &status));
    printf("%d\n", code);
    SHOW_NEW("clCreateProgramWithBinary(noise)",
             clCreateProgramWithBinary(p.context, 1, &p.device, &length, &binary, &code, &status));
    printf("%d\n", code);
    if (parity_version(&p) >= 210) {
        SHOW_NEW("clCreateProgramWithIL(NULL context)", clCreateProgramWithIL(NULL, noise, sizeof(noise), &status));
        SHOW_NEW("clCreateProgramWithIL(nothing)", clCreateProgramWithIL(p.context, NULL, 10, &status));
        SHOW_NEW("clCreateProgramWithIL(length 0)", clCreateProgramWithIL(p.context, noise, 0, &status));
        SHOW_NEW("clCreateProgramWithIL(noise)", clCreateProgramWithIL(p.context, noise, sizeof(noise), &status));
    }
    SHOW_NEW("clCreateProgramWithBuiltInKernels(NULL context)",
             clCreateProgramWithBuiltInKernels(NULL, 1, &p.device, "pocl.add.i8", &status));
    SHOW_NEW("clCreateProgramWithBuiltInKernels(no devices)",
             clCreateProgramWithBuiltInKernels(p.context, 0, &p.device, "pocl.add.i8", &status));
    SHOW_NEW("clCreateProgramWithBuiltInKernels(no list)",
             clCreateProgramWithBuiltInKernels(p.context, 1, NULL, "pocl.add.i8", &status));
    SHOW_NEW("clCreateProgramWithBuiltInKernels(no names)",
             clCreateProgramWithBuiltInKernels(p.context, 1, &p.device, NULL, &status));
    if (parity_tries("built-in-kernels"))
        SHOW_NEW("clCreateProgramWithBuiltInKernels(unknown)",
                 clCreateProgramWithBuiltInKernels(p.context, 1, &p.device, "no.such.kernel", &status));
}

static void build_ask(void)
{
    int data = 1;
    SHOW("clBuildProgram(NULL)", clBuildProgram(NULL, 0, NULL, NULL, NULL, NULL));
    SHOW("clBuildProgram(no list)", clBuildProgram(fresh, 1, NULL, NULL, NULL, NULL));
    SHOW("clBuildProgram(list of none)", clBuildProgram(fresh, 0, &p.device, NULL, NULL, NULL));
    SHOW("clBuildProgram(data without a function)", clBuildProgram(fresh, 0, NULL, NULL, NULL, &data));
    SHOW("clBuildProgram(unknown option)", clBuildProgram(fresh, 0, NULL, "-no-such-option", NULL, NULL));
    SHOW("clBuildProgram(syntax)", clBuildProgram(failed, 0, NULL, "", NULL, NULL));
    SHOW("clBuildProgram(good)", clBuildProgram(built, 1, &p.device, "", NULL, NULL));
    SHOW("clCompileProgram(NULL)", clCompileProgram(NULL, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL));
    SHOW("clCompileProgram(no list)", clCompileProgram(fresh, 1, NULL, NULL, 0, NULL, NULL, NULL, NULL));
    SHOW("clCompileProgram(names without headers)", clCompileProgram(fresh, 0, NULL, NULL, 0, NULL, &good, NULL, NULL));
    SHOW("clCompileProgram(data without a function)",
         clCompileProgram(fresh, 0, NULL, NULL, 0, NULL, NULL, NULL, &data));
    SHOW("clUnloadPlatformCompiler(NULL)", clUnloadPlatformCompiler(NULL));
}

static void link_ask(void)
{
    int data = 1;
    SHOW_NEW("clLinkProgram(NULL context)", clLinkProgram(NULL, 0, NULL, NULL, 1, &built, NULL, NULL, &status));
    SHOW_NEW("clLinkProgram(nothing)", clLinkProgram(p.context, 0, NULL, NULL, 0, NULL, NULL, NULL, &status));
    SHOW_NEW("clLinkProgram(no list)", clLinkProgram(p.context, 0, NULL, NULL, 1, NULL, NULL, NULL, &status));
    SHOW_NEW("clLinkProgram(list of none)", clLinkProgram(p.context, 0, NULL, NULL, 0, &built, NULL, NULL, &status));
    SHOW_NEW("clLinkProgram(no device list)", clLinkProgram(p.context, 1, NULL, NULL, 1, &built, NULL, NULL, &status));
    SHOW_NEW("clLinkProgram(data without a function)",
             clLinkProgram(p.context, 0, NULL, NULL, 1, &built, NULL, &data, &status));
}

static void info_ask(void)
{
    cl_uint number;
    char text[4096];
    SHOW("clGetProgramInfo(NULL)", clGetProgramInfo(NULL, CL_PROGRAM_NUM_DEVICES, 4, &number, NULL));
    SHOW("clGetProgramInfo(too small)", clGetProgramInfo(fresh, CL_PROGRAM_NUM_DEVICES, 1, &number, NULL));
    SHOW("clGetProgramInfo(no such question)", clGetProgramInfo(fresh, 0x7777, 0, NULL, NULL));
    SHOW("clGetProgramInfo(kernels, not built)", clGetProgramInfo(fresh, CL_PROGRAM_NUM_KERNELS, 0, NULL, NULL));
    SHOW("clGetProgramInfo(kernels, failed)", clGetProgramInfo(failed, CL_PROGRAM_KERNEL_NAMES, 0, NULL, NULL));
    SHOW("clGetProgramBuildInfo(NULL)",
         clGetProgramBuildInfo(NULL, p.device, CL_PROGRAM_BUILD_STATUS, 4, &number, NULL));
    SHOW("clGetProgramBuildInfo(NULL device)",
         clGetProgramBuildInfo(built, NULL, CL_PROGRAM_BUILD_STATUS, 4, &number, NULL));
    SHOW("clGetProgramBuildInfo(no such question)", clGetProgramBuildInfo(built, p.device, 0x7777, 0, NULL, NULL));
    SHOW("clGetProgramBuildInfo(too small)",
         clGetProgramBuildInfo(built, p.device, CL_PROGRAM_BUILD_STATUS, 1, &number, NULL));
    SHOW("clGetProgramBuildInfo(options)",
         clGetProgramBuildInfo(built, p.device, CL_PROGRAM_BUILD_OPTIONS, sizeof(text), text, NULL));
    SHOW("clRetainProgram(NULL)", clRetainProgram(NULL));
    SHOW("clReleaseProgram(NULL)", clReleaseProgram(NULL));
    if (parity_version(&p) < 220)
        return;
    SHOW("clSetProgramReleaseCallback(NULL)", clSetProgramReleaseCallback(NULL, notified, NULL));
    SHOW("clSetProgramReleaseCallback(no function)", clSetProgramReleaseCallback(fresh, NULL, NULL));
    SHOW("clSetProgramSpecializationConstant(NULL)", clSetProgramSpecializationConstant(NULL, 0, 4, &number));
    SHOW("clSetProgramSpecializationConstant(no IL)", clSetProgramSpecializationConstant(fresh, 0, 4, &number));
}

int main(void)
{
    parity_open(&p, 0);
    parity_open(&other, 0);
    fresh = source_program(&p, good);
    built = source_program(&p, good);
    failed = source_program(&p, bad);
    foreign = source_program(&other, good);
    source_ask();
    binary_ask();
    build_ask();
    link_ask();
    parity_rich();
    info_ask();
    return 0;
}
