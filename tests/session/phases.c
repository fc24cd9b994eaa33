/*
 * phases PHASE LENGTH: a program that stays in a phase of its life for LENGTH (seconds or a file, see length.h), and
 * checks every result. A file's contents are the number of rounds that the program stays in the phase after that.
 * Prints "ready" when it has entered the phase, and at the end the outcome: status 0 if all is right, 3 if OpenCL
 * returned an error, 4 if a result was wrong.
 */
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/length.h"

enum { SMALL = 4096, LARGE = 64 << 20, MOST = 2, BUSY = 2 }; /* BUSY: seconds */

static cl_context context;
static cl_device_id devices[MOST];
static cl_command_queue queues[MOST];
static cl_uint device_count;
static cl_mem small, large[MOST];
static cl_kernel kernel;
static unsigned *map;
static unsigned *data, *back;
static const char *length;
static double began;

static int rounds_more(void)
{
    FILE *file = strchr(length, '/') ? fopen(length, "r") : NULL;
    int rounds = 0;

    if (file) {
        if (fscanf(file, "%d", &rounds) != 1)
            rounds = 0;
        fclose(file);
    }
    return rounds;
}

static void nap(double seconds)
{
    const struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};

    nanosleep(&time, NULL);
}

/* Whether the phase is over. After BUSY seconds the test has done what it does to the phase and only waits for its
 * effect: pauses between rounds, as other processes need the processors. */
static bool over(void)
{
    static int more = -1;

    if (more < 0 && length_is_over(length, began))
        more = rounds_more();
    if (more < 0 && length_now() - began > BUSY)
        nap(0.1);
    return more >= 0 && more-- == 0;
}

static void check(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    printf("%.2f %s: %d\n", length_now(), what, status);
    exit(3);
}

static void right(int holds, const char *what)
{
    if (holds)
        return;
    printf("%.2f wrong: %s\n", length_now(), what);
    exit(4);
}

static cl_kernel make_kernel(const char *options, unsigned salt)
{
    char source[256], *text = source;
    cl_program program;
    cl_kernel made;
    cl_int status;

    snprintf(source, sizeof(source),
             "kernel void add(global uint *data, uint what) { data[get_global_id(0)] += what; }\n// %u\n", salt);
    program = clCreateProgramWithSource(context, 1, (const char **)&text, NULL, &status);
    check(status, "clCreateProgramWithSource");
    check(clBuildProgram(program, 0, NULL, options, NULL, NULL), "clBuildProgram");
    made = clCreateKernel(program, "add", &status);
    check(status, "clCreateKernel");
    check(clReleaseProgram(program), "clReleaseProgram");
    return made;
}

static void have_kernel(void)
{
    kernel = make_kernel("", 0);
}

static void launches(void)
{
    const size_t global = SMALL / 4;
    unsigned one = 1, sum = 0;

    check(clSetKernelArg(kernel, 0, sizeof(small), &small), "clSetKernelArg");
    check(clSetKernelArg(kernel, 1, sizeof(one), &one), "clSetKernelArg");
    do {
        for (int i = 0; i < 20; i++, sum++)
            check(clEnqueueNDRangeKernel(queues[0], kernel, 1, NULL, &global, NULL, 0, NULL, NULL), "a launch");
        check(clFinish(queues[0]), "clFinish");
    } while (!over());
    check(clEnqueueReadBuffer(queues[0], small, CL_TRUE, 0, SMALL, back, 0, NULL, NULL), "a read");
    for (int i = 0; i < SMALL / 4; i++)
        right(back[i] == sum, "the sum of launches");
}

static void write_all(unsigned round)
{
    data[0] = data[LARGE / 4 - 1] = round;
    check(clEnqueueWriteBuffer(queues[0], large[0], CL_TRUE, 0, LARGE, data, 0, NULL, NULL), "a write");
}

static void read_all(cl_command_queue queue, cl_mem buffer, unsigned round)
{
    check(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, LARGE, back, 0, NULL, NULL), "a read");
    right(back[0] == round && back[LARGE / 4 - 1] == round && back[LARGE / 8] == LARGE / 8, "what was read");
}

static void writes(void)
{
    unsigned round = 0;

    do
        write_all(++round);
    while (!over());
    read_all(queues[0], large[0], round);
}

static void have_data(void)
{
    write_all(7);
}

static void reads(void)
{
    do
        read_all(queues[0], large[0], 7);
    while (!over());
}

static void have_map(void)
{
    cl_int status;

    map =
        clEnqueueMapBuffer(queues[0], large[0], CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, LARGE, 0, NULL, NULL, &status);
    check(status, "a map");
}

static void maps(void)
{
    do
        nap(0.1);
    while (!over());
    memcpy(map, data, LARGE);
    map[0] = map[LARGE / 4 - 1] = 9;
    check(clEnqueueUnmapMemObject(queues[0], large[0], map, 0, NULL, NULL), "an unmap");
    read_all(queues[0], large[0], 9);
}

static void builds(void)
{
    unsigned salt = (unsigned)getpid() << 12;

    do
        check(clReleaseKernel(make_kernel("-cl-fast-relaxed-math", salt++)), "clReleaseKernel");
    while (!over());
}

static void nodes(void)
{
    unsigned round = 0;

    do {
        write_all(++round);
        check(clEnqueueCopyBuffer(queues[1], large[0], large[1], 0, 0, LARGE, 0, NULL, NULL), "a copy");
        check(clFinish(queues[1]), "clFinish");
    } while (!over());
    read_all(queues[1], large[1], round);
}

/* Makes no OpenCL call: at its end, only the session's own end is left to be done. */
static void ends(void)
{
    do
        nap(0.01);
    while (!over());
}

static void idle(void)
{
    do
        nap(0.1);
    while (!over());
    check(clEnqueueReadBuffer(queues[0], small, CL_TRUE, 0, SMALL, back, 0, NULL, NULL), "a read");
    right(back[0] == 0, "what was read");
}

/* Waits until the device is lost or the time is over, as a thread in clFinish() would see it. */
static void waits(void)
{
    cl_int status;
    cl_event gate = clCreateUserEvent(context, &status), marker;

    check(status, "clCreateUserEvent");
    check(clEnqueueMarkerWithWaitList(queues[0], 1, &gate, &marker), "a marker");
    check(clFlush(queues[0]), "clFlush");
    do {
        check(clGetEventInfo(marker, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL), "a question");
        check(status < 0 ? status : CL_SUCCESS, "the marker");
        nap(0.05);
    } while (!over());
    check(clSetUserEventStatus(gate, CL_COMPLETE), "clSetUserEventStatus");
    check(clFinish(queues[0]), "clFinish");
}

static void set_up(void)
{
    const unsigned zero = 0;
    cl_platform_id platform;
    cl_int status;

    check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MOST, devices, &device_count), "clGetDeviceIDs");
    device_count = device_count < MOST ? device_count : MOST;
    context = clCreateContext(NULL, device_count, devices, NULL, NULL, &status);
    check(status, "clCreateContext");
    for (unsigned i = 0; i < device_count; i++) {
        queues[i] = clCreateCommandQueueWithProperties(context, devices[i], NULL, &status);
        check(status, "clCreateCommandQueue");
        large[i] = clCreateBuffer(context, CL_MEM_READ_WRITE, LARGE, NULL, &status);
        check(status, "clCreateBuffer");
    }
    if (device_count < MOST)
        queues[1] = queues[0], large[1] = large[0];
    small = clCreateBuffer(context, CL_MEM_READ_WRITE, SMALL, NULL, &status);
    check(status, "clCreateBuffer");
    check(clEnqueueFillBuffer(queues[0], small, &zero, sizeof(zero), 0, SMALL, 0, NULL, NULL), "a fill");
    check(clFinish(queues[0]), "clFinish");
    data = malloc(LARGE);
    back = malloc(LARGE);
    for (unsigned i = 0; i < LARGE / 4; i++)
        data[i] = i;
}

int main(int count, char **words)
{
    static const struct {
        const char *name;
        void (*prepare)(void), (*run)(void);
    } phases[] = {{"idle", NULL, idle},    {"launches", have_kernel, launches},
                  {"write", NULL, writes}, {"read", have_data, reads},
                  {"map", have_map, maps}, {"build", NULL, builds},
                  {"nodes", NULL, nodes},  {"wait", NULL, waits},
                  {"end", NULL, ends}};

    if (count != 3)
        return 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!strcmp(words[1], "start"))
        printf("ready %.2f\n", length_now());
    set_up();
    for (size_t i = 0; i < sizeof(phases) / sizeof(*phases); i++) {
        if (!strcmp(words[1], phases[i].name) && phases[i].prepare)
            phases[i].prepare();
    }
    length = words[2];
    began = length_now();
    if (strcmp(words[1], "start"))
        printf("ready %.2f\n", length_now());
    for (size_t i = 0; i < sizeof(phases) / sizeof(*phases); i++) {
        if (!strcmp(words[1], phases[i].name))
            phases[i].run();
    }
    printf("%.2f right\n", length_now());
    return 0;
}
