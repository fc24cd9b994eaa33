/*
 * Uses shared virtual memory: an allocation of which it has written little, one that is written once, and a list whose
 * items are allocations of their own, which a kernel changes all the time. Other allocations are created and freed, or
 * written in each possible way after their contents have been checked. Runs until FILE exists, or for ROUNDS rounds,
 * and compares the contents.
 * usage: moved_svm FILE [ROUNDS]
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/session/moved.h"

enum {
    LARGE = 64 << 20,
    PIECE = 1 << 20,
    FIRST = 20 << 20,
    SECOND = 50 << 20,
    SHORT = 4096,
    CALM = 32 << 20,
    TURNS = 2 << 20,
    ITEMS = 5
};

struct item {
    cl_ulong value;
    struct item *next;
    cl_ulong more[((1 << 19) - 16) / 8];
};

static const char *source =
    "struct item { ulong value; global struct item *next; ulong more[((1 << 19) - 16) / 8]; };\n"
    "kernel void fill(global int *data) { data[get_global_id(0)] = get_global_id(0) * 5; }\n"
    "kernel void set(global int *data, int what) { data[get_global_id(0)] = what; }\n"
    "kernel void walk(global struct item *at) { for (; at; at = at->next) { at->value++; at->more[9]++; } }\n";

static cl_context context;
static cl_command_queue queue;
static cl_kernel fill, walk, set;

static void *allocate(size_t size)
{
    void *memory = clSVMAlloc(context, CL_MEM_READ_WRITE, size, 0);

    if (!memory) {
        printf("no memory of %zu bytes\n", size);
        exit(1);
    }
    return memory;
}

static void begin(void)
{
    cl_device_id device;
    cl_program program;
    cl_int error;

    open_first(&device, &context, &queue);
    program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
    NEED(error);
    NEED(clBuildProgram(program, 0, NULL, "", NULL, NULL));
    fill = clCreateKernel(program, "fill", &error);
    NEED(error);
    walk = clCreateKernel(program, "walk", &error);
    NEED(error);
    set = clCreateKernel(program, "set", &error);
    NEED(error);
}

static void launch(cl_kernel kernel, size_t global)
{
    NEED(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
}

static struct item *make_list(void)
{
    struct item *items[ITEMS], *zero = calloc(1, sizeof(*zero));

    for (int i = 0; i < ITEMS; i++)
        items[i] = allocate(sizeof(**items));
    for (int i = 0; i < ITEMS; i++) {
        zero->value = 100 * (cl_ulong)i;
        zero->next = i + 1 < ITEMS ? items[i + 1] : NULL;
        NEED(clEnqueueSVMMemcpy(queue, CL_TRUE, items[i], zero, sizeof(*zero), 0, NULL, NULL));
    }
    NEED(clSetKernelArgSVMPointer(walk, 0, items[0]));
    NEED(clSetKernelExecInfo(walk, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof(items), items));
    free(zero);
    return items[0];
}

/* Allocates memory, and some rounds later maps it, checks its contents, and frees it. */
static void come_and_go(cl_int round)
{
    static cl_int *kept;

    if (round % 3 == 0 && !kept) {
        kept = allocate(2 << 20);
        NEED(clEnqueueSVMMemFill(queue, kept, &round, sizeof(round), 2 << 20, 0, NULL, NULL));
    } else if (kept) {
        NEED(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, kept, 2 << 20, 0, NULL, NULL));
        for (int i = 0; i < 2 << 18; i += 1000) {
            if (kept[i] != kept[0] || kept[0] % 3) {
                printf("what came has %d at %d\n", kept[i], i);
                exit(1);
            }
        }
        NEED(clEnqueueSVMUnmap(queue, kept, 0, NULL, NULL));
        NEED(clFinish(queue));
        clSVMFree(context, kept);
        kept = NULL;
    }
}

/* Checks the contents that the last round has written, and writes memory in another way. */
static void turn(cl_int *memory, cl_mem over, cl_int round)
{
    static cl_int from[TURNS / 4];
    const cl_int ends[] = {0, TURNS / 8, TURNS / 4 - 1};
    cl_int seen;

    for (int i = 0; i < 3 && round; i++) {
        NEED(clEnqueueSVMMemcpy(queue, CL_TRUE, &seen, memory + ends[i], sizeof(seen), 0, NULL, NULL));
        if (seen == round - 1)
            continue;
        printf("turn %d has left %d at %d\n", round - 1, seen, ends[i]);
        exit(1);
    }
    for (int i = 0; i < TURNS / 4; i++)
        from[i] = round;
    switch (round % 6) {
    case 0:
        NEED(clEnqueueSVMMemFill(queue, memory, &round, sizeof(round), TURNS, 0, NULL, NULL));
        break;
    case 1:
        NEED(clEnqueueSVMMemcpy(queue, CL_TRUE, memory, from, TURNS, 0, NULL, NULL));
        break;
    case 2:
        NEED(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_WRITE, memory, TURNS, 0, NULL, NULL));
        memcpy(memory, from, TURNS);
        NEED(clEnqueueSVMUnmap(queue, memory, 0, NULL, NULL));
        break;
    case 3:
        NEED(clEnqueueWriteBuffer(queue, over, CL_TRUE, 0, TURNS, from, 0, NULL, NULL));
        break;
    case 4:
        NEED(clEnqueueFillBuffer(queue, over, &round, sizeof(round), 0, TURNS, 0, NULL, NULL));
        break;
    default:
        NEED(clSetKernelArg(set, 0, sizeof(over), &over));
        NEED(clSetKernelArg(set, 1, sizeof(round), &round));
        launch(set, TURNS / 4);
    }
}

static void expect(int good, const char *what)
{
    if (good)
        return;
    printf("wrong: %s\n", what);
    exit(1);
}

static void check(uint8_t *large, cl_int *calm, struct item *list, cl_ulong rounds)
{
    int i = 0;

    NEED(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, large, LARGE, 0, NULL, NULL));
    for (size_t at = 0; at < PIECE; at++)
        expect(large[FIRST + at] == (uint8_t)(at * 7 + at / 255), "what was written");
    for (size_t at = 0; at < SHORT; at++)
        expect(large[SECOND + at] == 77, "what was filled");
    NEED(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, calm, CALM, 0, NULL, NULL));
    for (cl_int at = 0; at < CALM / 4; at++)
        expect(calm[at] == at * 5, "what a kernel has written");
    for (struct item *at = list; at; at = at->next, i++) {
        NEED(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, at, sizeof(*at), 0, NULL, NULL));
        expect(at->value == 100 * (cl_ulong)i + rounds && at->more[9] == rounds, "an item");
    }
    expect(i == ITEMS, "the list");
}

int main(int count, char **words)
{
    uint8_t *bytes = malloc(PIECE), *large;
    const cl_uchar filling = 77;
    cl_int *calm, *turns, error;
    struct item *list;
    cl_int round;
    cl_mem over;

    for (size_t i = 0; i < PIECE; i++)
        bytes[i] = (uint8_t)(i * 7 + i / 255);
    begin();
    large = allocate(LARGE);
    calm = allocate(CALM);
    NEED(clEnqueueSVMMemcpy(queue, CL_TRUE, large + FIRST, bytes, PIECE, 0, NULL, NULL));
    NEED(clEnqueueSVMMemFill(queue, large + SECOND, &filling, 1, SHORT, 0, NULL, NULL));
    NEED(clSetKernelArgSVMPointer(fill, 0, calm));
    launch(fill, CALM / 4);
    list = make_list();
    turns = allocate(TURNS);
    over = clCreateBuffer(context, CL_MEM_USE_HOST_PTR, TURNS, turns, &error);
    NEED(error);
    NEED(clFinish(queue));
    puts("ready");
    fflush(stdout);
    for (round = 0; count > 1 && access(words[1], F_OK) && (count < 3 || round < atoi(words[2])); round++) {
        launch(walk, 1);
        if (round % 10 == 9) {
            NEED(clFinish(queue));
            come_and_go(round / 10);
            turn(turns, over, round / 10);
        }
        if (round % 4 == 3)
            breathe();
    }
    check(large, calm, list, (cl_ulong)round);
    puts("right");
    return 0;
}
