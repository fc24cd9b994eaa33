/*
 * CL_MEM_USE_HOST_PTR, and what else a program does with such memory: it forks, frees the memory before the buffer,
 * returns it to the system, and reuses it.
 */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "parity.h"

static const char *source = "kernel void add(global uint *data, uint amount) { data[get_global_id(0)] += amount; }\n";

static struct parity p;
static cl_kernel add;

static void enqueue_add(cl_command_queue queue, cl_mem buffer, size_t count, cl_uint amount, cl_event *event)
{
    parity_args(add, 2, sizeof(cl_mem), &buffer, sizeof(amount), &amount);
    CHECK(clEnqueueNDRangeKernel(queue, add, 1, NULL, &count, NULL, 0, NULL, event));
}

static void fill(cl_uint *data, size_t count, cl_uint first)
{
    for (size_t i = 0; i < count; i++)
        data[i] = first + (cl_uint)i * 7;
}

static void show(const char *name, const void *data, size_t size)
{
    parity_hash_print(name, data, size);
}

/* Natively a child has a copy of the memory as of the fork. */
static void forks(size_t count)
{
    cl_uint *data = malloc(count * sizeof(*data));
    cl_mem buffer = parity_buffer(&p, CL_MEM_USE_HOST_PTR, count * sizeof(*data), data);
    int to_child[2], to_parent[2], status;
    pid_t child;
    char byte;

    fill(data, count, 4);
    enqueue_add(p.queue, buffer, count, 1, NULL);
    CHECK(clFinish(p.queue));
    fflush(stdout);
    EXPECT(!pipe(to_child) && !pipe(to_parent));
    child = fork();
    if (!child) {
        const uint64_t before = parity_hash(data, count * sizeof(*data));
        bool same;

        same = read(to_child[0], &byte, 1) == 1 && before == parity_hash(data, count * sizeof(*data));
        memset(data, 0xee, count * sizeof(*data));
        same &= write(to_parent[1], "x", 1) == 1;
        _exit(same ? 0 : 1);
    }
    data[7] = 700;
    enqueue_add(p.queue, buffer, count, 1, NULL);
    CHECK(clFinish(p.queue));
    parity_rich();
    EXPECT(write(to_child[1], "x", 1) == 1 && read(to_parent[0], &byte, 1) == 1);
    EXPECT(waitpid(child, &status, 0) == child);
    printf("the child: %d\n", status);
    enqueue_add(p.queue, buffer, count, 1, NULL);
    CHECK(clFinish(p.queue));
    show("the parent after the fork", data, count * sizeof(*data));
    CHECK(clReleaseMemObject(buffer));
    show("and released", data, count * sizeof(*data));
    for (int i = 0; i < 2; i++) {
        close(to_child[i]);
        close(to_parent[i]);
    }
    free(data);
}

/* The program frees the memory before it releases the buffer, and uses the addresses for something else. */
static void freed_first(void)
{
    const size_t size = 1 << 20;

    for (int round = 0; round < 20; round++) {
        cl_uint *data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *after;
        cl_mem buffer = parity_buffer(&p, CL_MEM_USE_HOST_PTR, size, data);
        bool zero = true;

        fill(data, size / 4, (cl_uint)round);
        enqueue_add(p.queue, buffer, size / 4, 1, NULL);
        CHECK(clFinish(p.queue));
        munmap(data, size);
        after = mmap(data, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        after[100] = 100;
        CHECK(clReleaseMemObject(buffer));
        CHECK(clFinish(p.queue));
        for (size_t i = 0; i < size / 4; i++)
            zero &= after[i] == (i == 100 ? 100 : 0);
        EXPECT(zero);
        munmap(after, size);
    }
}

/* Memory given back to the system is zero afterwards, and allocations may grow and shrink. */
static void reused(void)
{
    const size_t size = 2 << 20;
    unsigned char *data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *heap;
    cl_mem buffer = parity_buffer(&p, CL_MEM_USE_HOST_PTR, size, data);
    bool zero = true, same = true;

    memset(data, 1, size);
    enqueue_add(p.queue, buffer, size / 4, 1, NULL);
    CHECK(clFinish(p.queue));
    CHECK(clReleaseMemObject(buffer));
    buffer = parity_buffer(&p, 0, 4096, NULL); /* so that the release of the first buffer is complete */
    parity_write(p.queue, buffer, 0, 5, "hello");
    CHECK(clReleaseMemObject(buffer));
    show("released", data, size);
    EXPECT(!madvise(data, size, MADV_DONTNEED));
    for (size_t i = 0; i < size; i++)
        zero &= !data[i];
    printf("zero again: %d\n", zero);
    munmap(data, size);
    for (int round = 0; round < 10; round++) {
        heap = malloc(300000);
        buffer = parity_buffer(&p, CL_MEM_USE_HOST_PTR, 300000, heap);
        memset(heap, round, 300000);
        enqueue_add(p.queue, buffer, 75000, 0x01010101, NULL);
        CHECK(clFinish(p.queue));
        CHECK(clReleaseMemObject(buffer));
        heap = realloc(heap, round & 1 ? 100000 : 900000);
        for (int i = 0; i < 100000; i++)
            same &= heap[i] == round + 1;
        free(heap);
        heap = calloc(1, 300000);
        for (int i = 0; i < 300000; i++)
            same &= !heap[i];
        free(heap);
    }
    printf("the same again: %d\n", same);
}

/* Memory that is freed after its buffer, allocated again at the same address, and used by another buffer. */
static void freed_and_allocated(void)
{
    const size_t size = 655360;
    const cl_uint two = 0x02020202;
    unsigned char *read = malloc(size), *place = NULL, *map;
    bool same = true;

    for (int round = 0; round < 6; round++) {
        cl_mem buffer;
        cl_int status;

        place = mmap(place, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | (place ? MAP_FIXED : 0), -1, 0);
        EXPECT(place != MAP_FAILED);
        buffer = parity_buffer(&p, CL_MEM_USE_HOST_PTR, size, place);
        CHECK(clEnqueueFillBuffer(p.queue, buffer, &two, 4, 0, size, 0, NULL, NULL));
        map = clEnqueueMapBuffer(p.queue, buffer, CL_TRUE, CL_MAP_WRITE, size / 2, size / 4, 0, NULL, NULL, &status);
        CHECK(status);
        memset(map, 3, size / 4);
        CHECK(clEnqueueUnmapMemObject(p.queue, buffer, map, 0, NULL, NULL));
        CHECK(clEnqueueReadBuffer(p.queue, buffer, CL_TRUE, 0, size, read, 0, NULL, NULL));
        for (size_t i = 0; i < size; i++)
            same &= read[i] == (i >= size / 2 && i < size / 2 + size / 4 ? 3 : 2);
        CHECK(clReleaseMemObject(buffer));
        EXPECT(!munmap(place, size));
    }
    printf("freed and allocated again: %d\n", same);
    free(read);
}

int main(void)
{
    cl_program program;

    parity_open(&p, 0);
    program = parity_program(&p, source, NULL);
    add = parity_kernel(program, "add");
    forks(200);
    forks(100000);
    freed_first();
    reused();
    freed_and_allocated();
    CHECK(clReleaseKernel(add));
    CHECK(clReleaseProgram(program));
    parity_close(&p);
    return 0;
}
