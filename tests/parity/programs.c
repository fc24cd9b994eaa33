/*
 * Programs: from source in several strings, with options, built twice and with errors (the logs compared without
 * paths), from binaries, compiled with headers and linked, with kernels that outlive them.
 */
#include "parity.h"
#include <ctype.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COUNT = 256, TEXT = 1 << 16 };

static const char *source = "#ifndef FACTOR\n"
                            "#define FACTOR 2\n"
                            "#endif\n"
                            "kernel void scale(global int *data)\n"
                            "{\n"
                            "    data[get_global_id(0)] *= FACTOR;\n"
                            "}\n"
                            "\n"
                            "kernel void shift(global int *data, int by)\n"
                            "{\n"
                            "    data[get_global_id(0)] += by;\n"
                            "}\n";

static struct parity p;

static cl_program program_create(const char *text)
{
    cl_int status;
    cl_program program = clCreateProgramWithSource(p.context, 1, &text, NULL, &status);
    CHECK(status);
    return program;
}

/* Runs scale and returns the factor. */
static cl_int factor_of(cl_program program)
{
    cl_int data[COUNT];
    cl_kernel kernel = parity_kernel(program, "scale");
    for (int i = 0; i < COUNT; i++)
        data[i] = i;
    cl_mem buffer = parity_buffer(&p, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof(data), data);
    parity_args(kernel, 1, sizeof(buffer), &buffer);
    parity_launch(p.queue, kernel, 1, (size_t[]){COUNT}, (size_t[]){16});
    parity_read(p.queue, buffer, 0, sizeof(data), data);
    for (int i = 0; i < COUNT; i++)
        EXPECT(data[i] == data[1] * i);
    CHECK(clReleaseMemObject(buffer));
    CHECK(clReleaseKernel(kernel));
    return data[1];
}

/* Prints a log, which names temporary files and versions: words with a slash lose their path. */
static void log_print(char *log)
{
    for (char *word = log; *word;) {
        size_t length = strcspn(word, " \n:");
        char end = word[length];
        word[length] = 0;
        printf("%s%c", strchr(word, '/') ? "PATH" : word, end ? end : '\n');
        word += length + (end != 0);
    }
}

static void build_show(cl_program program, bool with_log)
{
    static char text[TEXT];
    cl_build_status status;
    cl_program_binary_type type;
    size_t size;
    CHECK(clGetProgramBuildInfo(program, p.device, CL_PROGRAM_BUILD_STATUS, sizeof(status), &status, NULL));
    CHECK(clGetProgramBuildInfo(program, p.device, CL_PROGRAM_BINARY_TYPE, sizeof(type), &type, NULL));
    CHECK(clGetProgramBuildInfo(program, p.device, CL_PROGRAM_BUILD_OPTIONS, sizeof(text), text, &size));
    printf("status %d, binary type %u, options '%s' in %zu bytes\n", status, type, text, size);
    cl_int logged = clGetProgramBuildInfo(program, p.device, CL_PROGRAM_BUILD_LOG, sizeof(text), text, &size);
    SHOW("log", logged);
    if (logged != CL_SUCCESS)
        return;
    EXPECT(size == strlen(text) + 1);
    printf("log %s\n", size > 1 ? "there" : "empty");
    if (with_log)
        log_print(text);
}

static cl_uint references_of(cl_program program)
{
    cl_uint count;
    CHECK(clGetProgramInfo(program, CL_PROGRAM_REFERENCE_COUNT, sizeof(count), &count, NULL));
    return count;
}

static void kernels_show(cl_program program)
{
    char names[256] = "";
    size_t count = 0;
    SHOW("number of kernels", clGetProgramInfo(program, CL_PROGRAM_NUM_KERNELS, sizeof(count), &count, NULL));
    SHOW("names of kernels", clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, sizeof(names), names, NULL));
    printf("%zu kernels: %s\n", count, names);
}

static void options_try(void)
{
    static const char *const options[] = {NULL,
                                          "",
                                          "-DFACTOR=5",
                                          "-D FACTOR=6",
                                          "  -D   FACTOR=7  ",
                                          "-cl-std=CL1.2 -DFACTOR=8 -cl-fast-relaxed-math -cl-mad-enable",
                                          "-cl-opt-disable -DFACTOR=9",
                                          "-w -DFACTOR=10 -Werror",
                                          "-cl-std=CL3.0 -DFACTOR=11",
                                          "-DFACTOR=12 -DTEXT=\"quoted\"",
                                          "-g -DFACTOR=(6+7)",
                                          "-DFACTOR=3 -UFACTOR",
                                          "-Wall",
                                          "-cl-std=CL9.9"};
    printf("-- options\n");
    for (size_t i = 0; i < PARITY_COUNT(options); i++) {
        cl_program program = program_create(source);
        cl_int status = clBuildProgram(program, 1, &p.device, options[i], NULL, NULL);
        SHOW(options[i] ? options[i] : "no options", status);
        build_show(program, false);
        if (status == CL_SUCCESS)
            printf("factor %d\n", factor_of(program));
        CHECK(clReleaseProgram(program));
    }
}

/* Source in pieces, with and without lengths. */
static void pieces_try(void)
{
    const char *pieces[] = {"#define FACTOR 17\n", source, "// the end, and no newline"};
    size_t lengths[] = {0, strlen(source), 3}, size;
    static char text[TEXT];
    cl_int status;
    printf("-- pieces\n");
    for (int way = 0; way < 2; way++) {
        cl_program program = clCreateProgramWithSource(p.context, 3, pieces, way ? lengths : NULL, &status);
        CHECK(status);
        CHECK(clGetProgramInfo(program, CL_PROGRAM_SOURCE, sizeof(text), text, &size));
        EXPECT(size == strlen(text) + 1);
        parity_hash_print("source", text, size);
        CHECK(clBuildProgram(program, 0, NULL, NULL, NULL, NULL));
        printf("factor %d\n", factor_of(program));
        CHECK(clReleaseProgram(program));
    }
}

static void errors_try(void)
{
    static const char *const sources[] = {
        "kernel void broken(global int *data)\n{\n    data[0] = missing;\n}\n",
        "kernel void broken(global int *data)\n{\n    data[0] = 1\n}\n",
        "#error not today\n",
        "kernel int broken(global int *data)\n{\n    return 1;\n}\n",
        "this is no program at all",
    };
    printf("-- errors\n");
    for (size_t i = 0; i < PARITY_COUNT(sources); i++) {
        cl_program program = program_create(sources[i]);
        cl_int status;
        SHOW("build", clBuildProgram(program, 1, &p.device, NULL, NULL, NULL));
        build_show(program, true);
        kernels_show(program);
        cl_kernel kernel = clCreateKernel(program, "broken", &status);
        SHOW("kernel", status);
        EXPECT(kernel == NULL);
        if (i % 2 == 0)
            SHOW("build again", clBuildProgram(program, 1, &p.device, NULL, NULL, NULL));
        CHECK(clReleaseProgram(program));
    }
}

static void warnings_try(void)
{
    cl_program program = program_create("kernel void scale(global int *data)\n"
                                        "{\n"
                                        "    int unused;\n"
                                        "    data[get_global_id(0)] *= 19;\n"
                                        "    return;\n"
                                        "    #warning something\n"
                                        "}\n");
    printf("-- warnings\n");
    SHOW("build", clBuildProgram(program, 1, &p.device, NULL, NULL, NULL));
    build_show(program, true);
    printf("factor %d\n", factor_of(program));
    CHECK(clReleaseProgram(program));
}

static void twice_try(void)
{
    cl_program program = program_create(source);
    printf("-- built twice\n");
    CHECK(clBuildProgram(program, 1, &p.device, "-DFACTOR=21", NULL, NULL));
    printf("factor %d\n", factor_of(program));
    CHECK(clBuildProgram(program, 1, &p.device, "-DFACTOR=22", NULL, NULL));
    printf("factor %d\n", factor_of(program));
    cl_kernel kernel = parity_kernel(program, "scale");
    SHOW("build with a kernel there", clBuildProgram(program, 1, &p.device, "-DFACTOR=23", NULL, NULL));
    CHECK(clReleaseKernel(kernel));
    printf("factor %d\n", factor_of(program));
    CHECK(clReleaseProgram(program));
}

/* A header in a local directory that the options name. */
static void include_try(void)
{
    char folder[] = "/tmp/parity-XXXXXX", file[64], options[64];
    EXPECT(mkdtemp(folder) != NULL);
    snprintf(file, sizeof(file), "%s/factor.h", folder);
    snprintf(options, sizeof(options), "-I %s", folder);
    FILE *header = fopen(file, "w");
    EXPECT(header != NULL);
    fputs("#define FACTOR 31\n", header);
    fclose(header);
    printf("-- a folder of headers\n");
    const char *pieces[] = {"#include \"factor.h\"\n", source};
    cl_int status;
    cl_program program = clCreateProgramWithSource(p.context, 2, pieces, NULL, &status);
    CHECK(status);
    status = clBuildProgram(program, 1, &p.device, options, NULL, NULL);
    unlink(file);
    rmdir(folder);
    CHECK(status);
    printf("factor %d\n", factor_of(program));
    CHECK(clReleaseProgram(program));
}

static cl_program binary_load(const unsigned char *binary, size_t size)
{
    cl_int status, loaded;
    cl_program program = clCreateProgramWithBinary(p.context, 1, &p.device, &size, &binary, &loaded, &status);
    SHOW("program from the binary", status);
    SHOW("that device", loaded);
    return program;
}

static void binary_try(void)
{
    printf("-- binary\n");
    cl_program program = parity_program(&p, source, "-DFACTOR=41");
    size_t size, sizes;
    CHECK(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, &sizes));
    EXPECT(size > 0 && sizes == sizeof(size));
    unsigned char *binary = malloc(size);
    CHECK(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(binary), &binary, NULL));
    CHECK(clReleaseProgram(program));

    cl_program loaded = binary_load(binary, size);
    free(binary);
    SHOW("build", clBuildProgram(loaded, 1, &p.device, "", NULL, NULL));
    build_show(loaded, false);
    kernels_show(loaded);
    char text[16];
    SHOW("its source", clGetProgramInfo(loaded, CL_PROGRAM_SOURCE, sizeof(text), text, &size));
    printf("%zu bytes of source\n", size);
    printf("factor %d\n", factor_of(loaded));
    CHECK(clReleaseProgram(loaded));
}

static void link_try(void)
{
    cl_int status;
    cl_program header = program_create("int twice(int x);\n#define MORE 1\n");
    cl_program user = program_create("#include \"inner/twice.h\"\n"
                                     "kernel void scale(global int *data)\n"
                                     "{\n"
                                     "    data[get_global_id(0)] = twice(data[get_global_id(0)] * FACTOR);\n"
                                     "}\n");
    cl_program library = program_create("int twice(int x)\n{\n    return 2 * x;\n}\n");
    const char *name = "inner/twice.h";
    printf("-- compiled and linked\n");
    SHOW("compile", clCompileProgram(user, 1, &p.device, "-DFACTOR=5", 1, &header, &name, NULL, NULL));
    build_show(user, false);
    SHOW("compile the other", clCompileProgram(library, 1, &p.device, NULL, 0, NULL, NULL, NULL, NULL));
    cl_program both[] = {user, library};
    cl_program linked = clLinkProgram(p.context, 1, &p.device, "", 2, both, NULL, NULL, &status);
    SHOW("link", status);
    build_show(linked, false);
    kernels_show(linked);
    parity_rich();
    printf("factor %d\n", factor_of(linked));
    CHECK(clReleaseProgram(linked));

    cl_program archive = clLinkProgram(p.context, 1, &p.device, "-create-library", 1, &library, NULL, NULL, &status);
    SHOW("link a library", status);
    build_show(archive, false);
    cl_program with_archive[] = {user, archive};
    linked = clLinkProgram(p.context, 1, &p.device, NULL, 2, with_archive, NULL, NULL, &status);
    SHOW("link with the library", status);
    printf("factor %d\n", factor_of(linked));
    CHECK(clReleaseProgram(linked));
    CHECK(clReleaseProgram(archive));
    CHECK(clReleaseProgram(library));
    CHECK(clReleaseProgram(user));
    CHECK(clReleaseProgram(header));
}

/* Without linking a program that did not compile: PoCL 3.1 aborts. */
static void link_errors_try(void)
{
    cl_int status;
    printf("-- errors of compiling and linking\n");
    cl_program broken = program_create("kernel void scale(global int *data)\n{\n    data[0] = missing;\n}\n");
    SHOW("compile", clCompileProgram(broken, 1, &p.device, NULL, 0, NULL, NULL, NULL, NULL));
    build_show(broken, true);
    cl_program header = program_create("int unused;\n");
    const char *name = "other.h";
    cl_program user = program_create("#include \"missing.h\"\n");
    SHOW("compile with a header missing", clCompileProgram(user, 1, &p.device, NULL, 1, &header, &name, NULL, NULL));
    cl_program other = program_create("int missing(int x);\nkernel void scale(global int *data)\n"
                                      "{\n    data[0] = missing(1);\n}\n");
    CHECK(clCompileProgram(other, 1, &p.device, NULL, 0, NULL, NULL, NULL, NULL));
    cl_program linked = clLinkProgram(p.context, 1, &p.device, "-nonsense", 1, &other, NULL, NULL, &status);
    SHOW("link with an unknown option", status);
    if (linked)
        CHECK(clReleaseProgram(linked));
    CHECK(clReleaseProgram(other));
    CHECK(clReleaseProgram(user));
    CHECK(clReleaseProgram(header));
    CHECK(clReleaseProgram(broken));
}

/* Kernels keep their program alive. */
static void kernels_outlive(void)
{
    cl_kernel kernels[4];
    cl_uint count;
    char name[16];
    printf("-- kernels outlive their program\n");
    cl_program program = parity_program(&p, source, NULL);
    CHECK(clCreateKernelsInProgram(program, 0, NULL, &count));
    EXPECT(count == 2);
    CHECK(clCreateKernelsInProgram(program, PARITY_COUNT(kernels), kernels, &count));
    kernels_show(program);
    printf("%u kernels, %u references to the program\n", count, references_of(program));
    CHECK(clReleaseProgram(program));
    for (cl_uint i = 0; i < count; i++) {
        cl_int data[COUNT] = {3}, by = 1;
        cl_mem buffer = parity_buffer(&p, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof(data), data);
        CHECK(clGetKernelInfo(kernels[i], CL_KERNEL_FUNCTION_NAME, sizeof(name), name, NULL));
        CHECK(clSetKernelArg(kernels[i], 0, sizeof(buffer), &buffer));
        if (strcmp(name, "shift") == 0)
            CHECK(clSetKernelArg(kernels[i], 1, sizeof(by), &by));
        parity_launch(p.queue, kernels[i], 1, (size_t[]){COUNT}, NULL);
        parity_read(p.queue, buffer, 0, sizeof(data), data);
        printf("%s makes 3 %d\n", name, data[0]);
        CHECK(clReleaseMemObject(buffer));
        CHECK(clReleaseKernel(kernels[i]));
    }
}

static void unbuilt_show(void)
{
    cl_int status;
    cl_program program = program_create(source);
    printf("-- not built\n");
    build_show(program, false);
    size_t size = 77;
    SHOW("binary sizes", clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL));
    printf("%zu bytes\n", size);
    SHOW("number of kernels", clGetProgramInfo(program, CL_PROGRAM_NUM_KERNELS, sizeof(size), &size, NULL));
    EXPECT(clCreateKernel(program, "scale", &status) == NULL);
    SHOW("kernel", status);
    printf("%u reference\n", references_of(program));
    CHECK(clReleaseProgram(program));
}

static void built_in_try(void)
{
    cl_int status;
    printf("-- built-in kernels\n");
    cl_program program = clCreateProgramWithBuiltInKernels(p.context, 1, &p.device, "pocl.add.i8", &status);
    SHOW("program", status);
    if (!program)
        return;
    SHOW("build", clBuildProgram(program, 1, &p.device, NULL, NULL, NULL));
    kernels_show(program);
    CHECK(clReleaseProgram(program));
}

int main(void)
{
    parity_open(&p, 0);
    options_try();
    pieces_try();
    errors_try();
    warnings_try();
    twice_try();
    include_try();
    binary_try();
    link_try();
    link_errors_try();
    kernels_outlive();
    unbuilt_show();
    if (parity_tries("built-in-kernels"))
        built_in_try();
    parity_close(&p);
    return 0;
}
