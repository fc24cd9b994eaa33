/* Sources that include files: by -I and relative to the working directory, nested, missing, wrong; built and
 * compiled. */
#include "parity.h"

#include <sys/stat.h>
#include <unistd.h>

static struct parity p;
static char folder[] = "/tmp/vocl-parity-XXXXXX";

static const struct {
    const char *name, *text;
} files[] = {
    {"a.h", "#include \"sub/b.h\"\n#define A 1\n"},
    {"sub/b.h", "#pragma once\n# include \"c.h\"\n#include <d.h>\n#define B 20\n"},
    {"sub/c.h", "#define C 300"},
    {"other/d.h", "#define D 4000\n"},
    {"other/wrong.h", "this is no C\n"},
};

static void files_make(void)
{
    EXPECT(mkdtemp(folder) != NULL);
    CHECK(chdir(folder));
    CHECK(mkdir("sub", 0700));
    CHECK(mkdir("other", 0700));
    for (size_t i = 0; i < PARITY_COUNT(files); i++) {
        FILE *stream = fopen(files[i].name, "w");
        EXPECT(stream != NULL);
        fputs(files[i].text, stream);
        CHECK(fclose(stream));
    }
}

static void files_remove(void)
{
    for (size_t i = 0; i < PARITY_COUNT(files); i++)
        CHECK(unlink(files[i].name));
    CHECK(rmdir("sub"));
    CHECK(rmdir("other"));
    CHECK(chdir("/"));
    CHECK(rmdir(folder));
}

/* Prints a log without the names of files in native's cache. */
static void print_without_cache(const char *what, const char *text)
{
    printf("%s: ", what);
    while (*text) {
        const char *cached = strstr(text, "/tempfile_"), *end = cached ? strchr(cached, ':') : NULL, *start = cached;

        if (!end) {
            fputs(text, stdout);
            break;
        }
        while (start > text && start[-1] != ' ')
            start--;
        printf("%.*sSOURCE", (int)(start - text), text);
        text = end;
    }
    putchar('\n');
}

/* Replaces the folder's name, which varies, by FOLDER. */
static void replace_folder(char *text)
{
    char *at;
    while ((at = strstr(text, folder)) != NULL) {
        memcpy(at, "FOLDER", 6);
        memmove(at + 6, at + strlen(folder), strlen(at + strlen(folder)) + 1);
    }
}

static void run(cl_program program)
{
    cl_int result = 0;
    cl_kernel kernel = parity_kernel(program, "tell");
    cl_mem buffer = parity_buffer(&p, CL_MEM_READ_WRITE, sizeof(result), NULL);
    parity_args(kernel, 1, sizeof(buffer), &buffer);
    parity_rich();
    parity_launch(p.queue, kernel, 1, (size_t[]){1}, NULL);
    parity_read(p.queue, buffer, 0, sizeof(result), &result);
    printf("result %d\n", result);
    CHECK(clReleaseMemObject(buffer));
    CHECK(clReleaseKernel(kernel));
}

static void build(const char *source, const char *options)
{
    static char text[65536];
    cl_int status;
    cl_program program = clCreateProgramWithSource(p.context, 1, &source, NULL, &status);
    CHECK(status);
    status = clBuildProgram(program, 0, NULL, options, NULL, NULL);
    printf("build: %s\n", parity_error_name(status));
    CHECK(clGetProgramBuildInfo(program, p.device, CL_PROGRAM_BUILD_OPTIONS, sizeof(text), text, NULL));
    replace_folder(text);
    printf("options: %s\n", text);
    CHECK(clGetProgramBuildInfo(program, p.device, CL_PROGRAM_BUILD_LOG, sizeof(text), text, NULL));
    replace_folder(text);
    print_without_cache("log", text);
    if (status == CL_SUCCESS)
        run(program);
    CHECK(clReleaseProgram(program));
}

static void compile_and_link(void)
{
    const char *source = "#include \"a.h\"\n#include <virtual.h>\nkernel void tell(global int *to) { *to = A + V; }",
               *header = "#define V 50000\n", *name = "virtual.h";
    cl_int status;
    cl_program program = clCreateProgramWithSource(p.context, 1, &source, NULL, &status), linked;
    cl_program virtual = clCreateProgramWithSource(p.context, 1, &header, NULL, &status);
    SHOW("compile", clCompileProgram(program, 0, NULL, "-I . -Iother", 1, &virtual, &name, NULL, NULL));
    linked = clLinkProgram(p.context, 0, NULL, NULL, 1, &program, NULL, NULL, &status);
    printf("link: %s\n", parity_error_name(status));
    if (linked && status == CL_SUCCESS)
        run(linked);
    if (linked)
        CHECK(clReleaseProgram(linked));
    CHECK(clReleaseProgram(program));
    CHECK(clReleaseProgram(virtual));
}

int main(void)
{
    const char *good = "#include \"a.h\"\nkernel void tell(global int *to) { *to = A + B + C + D; }";
    char options[256];

    parity_open(&p, 0);
    files_make();
    build(good, "-I. -Iother");
    build(good, "-DX  -I other");
    snprintf(options, sizeof(options), "-I %s -I%s/other -DY=2", folder, folder);
    build(good, options);
    build("#include \"other/d.h\"\nkernel void tell(global int *to) { *to = D; }", NULL);
    build("#include <missing.h>\nkernel void tell(global int *to) { *to = D; }", options);
    build("#include <wrong.h>\nkernel void tell(global int *to) { *to = D; }", options);
    build("// #include nothing\nkernel void tell(global int *to) { *to = 7; }", "-I other");
    compile_and_link();
    files_remove();
    parity_close(&p);
    return 0;
}
