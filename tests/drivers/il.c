/*
 * SPIR-V, for a PoCL that takes LLVM bitcode of SPIR 1.2: llvm-spirv-15 translates, again for each build, since it also
 * sets the specialization constants. A program from IL is a handle for the program that was built last.
 */
#include "newer.h"

#include <unistd.h>

#define MAGIC 0x07230203u

struct il_program {
    struct il_program *next;
    cl_context context;
    cl_program program, built; /* the handle; what was built, or NULL */
    void *il;
    size_t size;
    char constants[1024]; /* in llvm-spirv-15's syntax */
};

static struct il_program *all;

static struct il_program *find(cl_program program)
{
    struct il_program *p;

    pthread_mutex_lock(&driver_lock);
    for (p = all; p && p->program != program; p = p->next)
        ;
    pthread_mutex_unlock(&driver_lock);
    return p;
}

static cl_program actual(cl_program program)
{
    const struct il_program *p = find(program);

    return p && p->built ? p->built : program;
}

/* Runs llvm-spirv-15 on the IL, and returns what it prints (printed) or writes to a file, to be freed, or NULL. */
static void *translate(const void *il, size_t il_size, const char *options, bool printed, size_t *size)
{
    char folder[] = "/tmp/vocl-il-XXXXXX", command[4096], name[4096];
    char *bytes = NULL;
    FILE *file;
    long length;

    if (!mkdtemp(folder))
        return NULL;
    snprintf(name, sizeof(name), "%s/in", folder);
    file = fopen(name, "wb");
    if (file) {
        fwrite(il, 1, il_size, file);
        fclose(file);
    }
    snprintf(command, sizeof(command), "cd %s && LD_PRELOAD= llvm-spirv-15 %s in %s out 2> /dev/null", folder, options,
             printed ? ">" : "-o");
    snprintf(name, sizeof(name), "%s/out", folder);
    file = system(command) == 0 ? fopen(name, "rb") : NULL;
    if (file) {
        fseek(file, 0, SEEK_END);
        length = ftell(file);
        rewind(file);
        bytes = calloc(1, (size_t)length + 1);
        *size = bytes ? fread(bytes, 1, (size_t)length, file) : 0;
        fclose(file);
    }
    snprintf(command, sizeof(command), "rm -r %s", folder);
    if (system(command))
        fprintf(stderr, "%s stays\n", folder);
    return bytes;
}

static cl_program make(cl_context context, const void *il, size_t size, const char *constants, cl_int *error)
{
    cl_device_id devices[16];
    const unsigned char *binaries[16];
    size_t sizes[16], length = 0;
    cl_program program = NULL;
    char options[2048];
    void *bitcode;

    snprintf(options, sizeof(options), "-r %s%s%s", *constants ? "'--spec-const=" : "", constants,
             *constants ? "'" : "");
    bitcode = translate(il, size, options, false, &sizes[0]);
    *error = bitcode ? real.clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof(devices), devices, &length)
                     : CL_INVALID_VALUE;
    for (size_t i = 0; i < length / sizeof(*devices); i++) {
        sizes[i] = sizes[0];
        binaries[i] = bitcode;
    }
    if (!*error)
        program = real.clCreateProgramWithBinary(context, (cl_uint)(length / sizeof(*devices)), devices, sizes,
                                                 binaries, NULL, error);
    free(bitcode);
    return program;
}

static cl_program CL_API_CALL create(cl_context context, const void *il, size_t size, cl_int *ret)
{
    struct il_program *p = calloc(1, sizeof(*p));
    cl_int error = p ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
    const uint32_t magic = MAGIC;

    if (!error && !context)
        error = CL_INVALID_CONTEXT;
    if (!error && (!il || size < 20 || memcmp(il, &magic, sizeof(magic))))
        error = CL_INVALID_VALUE;
    if (!error) {
        *p = (struct il_program){.context = context, .il = malloc(size), .size = size};
        memcpy(p->il, il, size);
        p->program = make(context, il, size, "", &error);
    }
    if (ret)
        *ret = error;
    if (error) {
        free(p);
        return NULL;
    }
    pthread_mutex_lock(&driver_lock);
    p->next = all;
    all = p;
    pthread_mutex_unlock(&driver_lock);
    return p->program;
}

static cl_int CL_API_CALL specialize(cl_program program, cl_uint id, size_t size, const void *value)
{
    struct il_program *p = find(program);
    char line[64], *text;
    uint64_t number = 0;
    size_t length;
    bool known;

    if (!p)
        return CL_INVALID_PROGRAM;
    if (!value || size > sizeof(number))
        return CL_INVALID_VALUE;
    text = translate(p->il, p->size, "-spec-const-info", true, &length);
    snprintf(line, sizeof(line), "const id = %u,", id);
    known = text && strstr(text, line);
    free(text);
    if (!known)
        return CL_INVALID_SPEC_ID;
    memcpy(&number, value, size);
    length = strlen(p->constants);
    snprintf(p->constants + length, sizeof(p->constants) - length, "%s%u:i%zu:%llu", length ? " " : "", id, 8 * size,
             (unsigned long long)number);
    return CL_SUCCESS;
}

static cl_int CL_API_CALL build(cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
                                void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
    struct il_program *p = find(program);
    char all_options[4096];
    cl_int error = CL_SUCCESS;

    if (!p)
        return real.clBuildProgram(program, count, devices, options, notify, data);
    snprintf(all_options, sizeof(all_options), "%s -x spir -spir-std=1.2", options ? options : "");
    if (p->built)
        real.clReleaseProgram(p->built);
    p->built = make(p->context, p->il, p->size, p->constants, &error);
    if (!error)
        error = real.clBuildProgram(p->built, count, devices, all_options, NULL, NULL);
    if (notify)
        notify(program, data);
    return error;
}

static cl_int CL_API_CALL info(cl_program program, cl_program_info param, size_t size, void *value, size_t *size_ret)
{
    const struct il_program *p = find(program);

    if (param == CL_PROGRAM_IL && p)
        return driver_return(p->il, p->size, size, value, size_ret);
    return real.clGetProgramInfo(actual(program), param, size, value, size_ret);
}

static cl_int CL_API_CALL build_info(cl_program program, cl_device_id device, cl_program_build_info param, size_t size,
                                     void *value, size_t *size_ret)
{
    return real.clGetProgramBuildInfo(actual(program), device, param, size, value, size_ret);
}

static cl_kernel CL_API_CALL create_kernel(cl_program program, const char *name, cl_int *ret)
{
    return real.clCreateKernel(actual(program), name, ret);
}

static cl_int CL_API_CALL create_kernels(cl_program program, cl_uint count, cl_kernel *kernels, cl_uint *count_ret)
{
    return real.clCreateKernelsInProgram(actual(program), count, kernels, count_ret);
}

static cl_int CL_API_CALL release(cl_program program)
{
    struct il_program *p = find(program), **at;
    cl_uint references = 0;

    if (p)
        real.clGetProgramInfo(program, CL_PROGRAM_REFERENCE_COUNT, sizeof(references), &references, NULL);
    if (references == 1) {
        pthread_mutex_lock(&driver_lock);
        for (at = &all; *at != p; at = &(*at)->next)
            ;
        *at = p->next;
        pthread_mutex_unlock(&driver_lock);
        if (p->built)
            real.clReleaseProgram(p->built);
        free(p->il);
        free(p);
    }
    return real.clReleaseProgram(program);
}

void *il_function(const char *name)
{
    return strcmp(name, "clCreateProgramWithILKHR") ? NULL : (void *)(uintptr_t)create;
}

void il_install(struct _cl_icd_dispatch *table)
{
    table->clCreateProgramWithIL = create;
    table->clSetProgramSpecializationConstant = specialize;
    table->clBuildProgram = build;
    table->clGetProgramInfo = info;
    table->clGetProgramBuildInfo = build_info;
    table->clCreateKernel = create_kernel;
    table->clCreateKernelsInProgram = create_kernels;
    table->clReleaseProgram = release;
}
