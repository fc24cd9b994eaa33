/* Runs a session as a program does, and measures each stage of its start and its end. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS /* clCreateCommandQueue, which every version has */
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/settings.h"
#include "base/text.h"
#include "tools/doctor.h"
#include "tools/tools.h"

#define ITEMS 1024
#define COMPILE_MS 60000 /* for the work in the session */

static const char source[] = "kernel void twice(global int *a) { a[get_global_id(0)] = 2 * get_global_id(0); }";

static void *library;
static long began_us;

#define CL(function) ((__typeof__(&(function)))entry(#function))

static void *entry(const char *name)
{
    void *address = dlsym(library, name);

    if (!address)
        fail(EXIT_BROKEN, "%s", dlerror());
    return address;
}

/* Prints the time since the last stage, in a line that doctor_try_session() reads. */
static void stage(const char *name)
{
    printf("%.1f %s\n", (double)(clock_us() - began_us) / 1000, name);
    fflush(stdout);
    began_us = clock_us();
}

static void must(cl_int error, const char *what)
{
    if (error != CL_SUCCESS)
        fail(EXIT_FAILURE, "%s: error %d", what, error);
}

static void compute(cl_context context, cl_device_id device)
{
    const size_t items = ITEMS;
    const char *text = source;
    static int result[ITEMS];
    cl_int error;
    cl_command_queue queue = CL(clCreateCommandQueue)(context, device, 0, &error);
    cl_mem buffer = error ? NULL : CL(clCreateBuffer)(context, CL_MEM_READ_WRITE, sizeof(result), NULL, &error);
    cl_program program = error ? NULL : CL(clCreateProgramWithSource)(context, 1, &text, NULL, &error);
    cl_kernel kernel;

    must(error, "queue, buffer, program");
    must(CL(clBuildProgram)(program, 1, &device, NULL, NULL, NULL), "clBuildProgram");
    kernel = CL(clCreateKernel)(program, "twice", &error);
    must(error, "clCreateKernel");
    must(CL(clSetKernelArg)(kernel, 0, sizeof(buffer), &buffer), "clSetKernelArg");
    stage("a kernel compiled");
    must(CL(clEnqueueNDRangeKernel)(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
    must(CL(clEnqueueReadBuffer)(queue, buffer, CL_TRUE, 0, sizeof(result), result, 0, NULL, NULL), "a kernel's run");
    for (int i = 0; i < ITEMS; i++) {
        if (result[i] != 2 * i)
            fail(EXIT_FAILURE, "a kernel computed wrongly");
    }
    stage("it run and its result read");
}

int doctor_be_session(void)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_uint count = 0;
    cl_int error;

    began_us = clock_us();
    library = dlopen(library_path(), RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail(EXIT_BROKEN, "%s", dlerror());
    error = CL(clGetPlatformIDs)(1, &platform, NULL);
    if (error == CL_SUCCESS)
        error = CL(clGetDeviceIDs)(platform, CL_DEVICE_TYPE_ALL, 1, &device, &count);
    if (error != CL_SUCCESS || !count)
        return EXIT_FAILURE; /* libvocl has logged the reason */
    printf("devices %u\n", count);
    stage("workers started and their devices told");
    context = CL(clCreateContext)(NULL, 1, &device, NULL, NULL, &error);
    must(error, "clCreateContext");
    stage("a context made");
    compute(context, device);
    return 0;
}

/* Returns the reason in an error of libvocl's, without its advice to run vocl doctor. */
static const char *reason(char *errors)
{
    char *found = strstr(errors, " error: "), *why = found ? found + strlen(" error: ") : errors, *advice;
    static char visible[400];

    if (found)
        why[strcspn(why, "\n")] = '\0';
    advice = strstr(why, "; run `vocl doctor`");
    if (advice)
        *advice = '\0';
    return found ? text_visible(why, visible, sizeof(visible)) : last_line(errors);
}

static void say_failure(struct tried *tried, long seconds)
{
    const char *why = reason(tried->errors);

    if (tried->status < 0)
        doctor_say(WRONG, "a session", "it did not end within %ld s; VOCL_LOG=debug shows more", seconds);
    else
        doctor_say(WRONG, "a session", "%s", *why ? why : "it failed without a message; VOCL_LOG=debug shows more");
}

/* Describes the start by the stages that libvocl logs: " (1.2 ms this, 3.4 ms that)", or nothing. */
static void describe_start(const char *errors, char *text, size_t size)
{
    static const char mark[] = " debug: stage: ";

    *text = '\0';
    for (const char *at = errors; (at = strstr(at, mark));) {
        const size_t length = strlen(text);

        at += strlen(mark);
        snprintf(text + length, size - length, "%s%.*s", length ? ", " : " (", (int)strcspn(at, "\n"), at);
    }
    if (*text)
        snprintf(text + strlen(text), size - strlen(text), ")");
}

void doctor_try_session(void)
{
    const long limit_ms = settings_number(SETTING_START_TIMEOUT) * 1000 + COMPILE_MS;
    char mode[] = DOCTOR_SESSION, *helper = helper_path("vocl-doctor"), *save = NULL, stages[1000] = "", start[400];
    char *words[] = {helper, mode, NULL};
    const char *log = getenv("VOCL_LOG");
    struct tried tried;
    unsigned devices = 0;
    double sum = 0;

    setenv("VOCL_LOG", "debug", 1);
    tried = doctor_try(words, NULL, 0, limit_ms);
    if (log)
        setenv("VOCL_LOG", log, 1);
    else
        unsetenv("VOCL_LOG");
    describe_start(tried.errors, start, sizeof(start));

    for (char *line = strtok_r(tried.output, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        const size_t length = strlen(stages);
        char *name;
        const double ms = strtod(line, &name);

        if (sscanf(line, "devices %u", &devices) == 1)
            continue;
        sum += ms;
        snprintf(stages + length, sizeof(stages) - length, "%.1f ms%s%s, ", ms, name, start);
        *start = '\0'; /* only the first stage has this */
    }
    if (tried.status)
        say_failure(&tried, limit_ms / 1000);
    else
        doctor_say(FINE, "a session", "%u device%s; %s%.1f ms its end", devices, devices == 1 ? "" : "s", stages,
                   tried.ms - sum);
    tried_free(&tried);
    free(helper);
}
