/*
 * CL_MEM_USE_HOST_PTR without maps: the next kernel sees what the program writes into its memory, and the program sees
 * a kernel's results once it has learned that the kernel is complete, where host and device share memory.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "parity.h"

static const char *source =
    "kernel void add(global uint *data, uint amount) { data[get_global_id(0)] += amount; }\n"
    "kernel void bytes(global uchar *data, uchar amount) { data[get_global_id(0)] += amount; }\n"
    "kernel void odd(global uint *data) { size_t i = get_global_id(0); if (i & 1) data[i] = i; }\n"
    "kernel void sum(global const uint *a, global const uint *b, global uint *c)\n"
    "{ size_t i = get_global_id(0); c[i] = a[i] * 3 + b[i]; }\n"
    "kernel void follow(global const ulong *at, global uint *to)\n"
    "{ size_t i = get_global_id(0); to[i] = *(global const uint *)at[i]; }\n"
    "kernel void invert(read_only image2d_t from, write_only image2d_t to)\n"
    "{ int2 at = (int2)(get_global_id(0), get_global_id(1)); write_imageui(to, at, 255u - read_imageui(from, at)); }\n";

static struct parity p;
static cl_program program;
static cl_kernel add, bytes, odd, sum;

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

/* ---- both directions, for each kind of memory and each size ---- */

static void both_ways(const char *name, cl_uint *data, size_t count)
{
    cl_mem buffer = parity_buffer(&p, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, count * sizeof(*data), data);

    printf("%s, %zu words\n", name, count);
    fill(data, count, 5);
    enqueue_add(p.queue, buffer, count, 11, NULL);
    CHECK(clFinish(p.queue));
    show("kernel, finish, look", data, count * sizeof(*data));
    for (int round = 0; round < 3; round++) {
        data[0] += 100;
        data[count - 1] += 1000;
        data[count / 2] = (cl_uint)round;
        enqueue_add(p.queue, buffer, count, 3, NULL);
        CHECK(clFinish(p.queue));
        show("written, kernel, finish, look", data, count * sizeof(*data));
    }
    enqueue_add(p.queue, buffer, count, 1, NULL);
    CHECK(clReleaseMemObject(buffer));
    CHECK(clFinish(p.queue));
    show("released, finish, look", data, count * sizeof(*data));
    fill(data, count, 77);
    show("afterwards it is the program's", data, count * sizeof(*data));
}

static cl_uint in_data[5000] = {1, 2, 3};
static cl_uint in_bss[50000];

static void kinds(void)
{
    static const size_t counts[] = {1, 3, 1000, 1024, 5000, 40000, 300001};
    cl_uint on_stack[4000];
    int file = open("/dev/zero", O_RDWR), memory = memfd_create("file", 0);
    cl_uint *mapped;

    for (size_t i = 0; i < PARITY_COUNT(counts); i++) {
        cl_uint *data = malloc(counts[i] * sizeof(*data) + 64);

        both_ways("malloc", data, counts[i]);
        both_ways("a little further", data + 3, counts[i]);
        free(data);
        data = aligned_alloc(4096, (counts[i] * sizeof(*data) + 4095) & ~(size_t)4095);
        both_ways("pages", data, counts[i]);
        free(data);
    }
    both_ways("data", in_data, PARITY_COUNT(in_data));
    both_ways("bss", in_bss, PARITY_COUNT(in_bss));
    both_ways("stack", on_stack, PARITY_COUNT(on_stack));
    mapped = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    both_ways("private mapping", mapped, 1 << 18);
    munmap(mapped, 1 << 20);
    EXPECT(!ftruncate(memory, 1 << 20));
    mapped = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    both_ways("shared file", mapped, 1 << 18);
    EXPECT(pread(memory, on_stack, sizeof(on_stack), 4096) == sizeof(on_stack));
    show("the file", on_stack, sizeof(on_stack));
    munmap(mapped, 1 << 20);
    mapped = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(!mprotect(mapped + (1 << 17), 1 << 19, PROT_READ | PROT_WRITE | PROT_EXEC));
    both_ways("two kinds of pages", mapped, 1 << 18);
    munmap(mapped, 1 << 20);
    close(file);
    close(memory);
}

/* Read-only memory can hold what kernels read. */
static void read_only(void)
{
    const size_t count = 100000;
    int memory = memfd_create("file", 0);
    cl_uint *out = calloc(count, sizeof(*out)), *in;
    cl_mem from, to;

    fill(out, count, 9);
    EXPECT(write(memory, out, count * sizeof(*out)) == (ssize_t)(count * sizeof(*out)));
    in = mmap(NULL, count * sizeof(*in), PROT_READ, MAP_PRIVATE, memory, 0);
    from = parity_buffer(&p, CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, count * sizeof(*in), in);
    to = parity_buffer(&p, CL_MEM_USE_HOST_PTR, count * sizeof(*out), out);
    parity_args(sum, 3, sizeof(from), &from, sizeof(from), &from, sizeof(to), &to);
    CHECK(clEnqueueNDRangeKernel(p.queue, sum, 1, NULL, &count, NULL, 0, NULL, NULL));
    CHECK(clFinish(p.queue));
    show("from memory that cannot be written", out, count * sizeof(*out));
    CHECK(clReleaseMemObject(from));
    CHECK(clReleaseMemObject(to));
    munmap(in, count * sizeof(*in));
    close(memory);
    free(out);
}

/* ---- ways to learn that a kernel is complete ---- */

struct seen {
    cl_uint *data;
    size_t size;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t hash;
    bool there;
};

static void CL_CALLBACK look(cl_event event, cl_int status, void *argument)
{
    struct seen *seen = argument;

    (void)event;
    (void)status;
    pthread_mutex_lock(&seen->lock);
    seen->hash = parity_hash(seen->data, seen->size);
    seen->there = true;
    pthread_cond_signal(&seen->changed);
    pthread_mutex_unlock(&seen->lock);
}

static void ways_to_learn(const char *name, cl_command_queue queue, cl_uint *data, size_t count)
{
    const size_t size = count * sizeof(*data);
    struct seen seen = {data, size, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, false};
    cl_mem buffer = parity_buffer(&p, CL_MEM_USE_HOST_PTR, size, data), other = parity_buffer(&p, 0, 4096, NULL);
    cl_command_queue second = parity_queue(&p, 0);
    cl_event event, behind;
    cl_uint word = 0, *map;

    printf("%s, %zu words\n", name, count);
    fill(data, count, 1);
    enqueue_add(queue, buffer, count, 2, &event);
    parity_rich();
    CHECK(clWaitForEvents(1, &event));
    show("its event", data, size);
    CHECK(clReleaseEvent(event));

    data[1] = 12345;
    enqueue_add(queue, buffer, count, 2, &event);
    CHECK(clEnqueueReadBuffer(queue, other, CL_TRUE, 0, sizeof(word), &word, 1, &event, NULL));
    show("a blocking read of another", data, size);
    CHECK(clReleaseEvent(event));

    data[2] = 12345;
    enqueue_add(queue, buffer, count, 2, &event);
    CHECK(clEnqueueWriteBuffer(queue, other, CL_TRUE, 0, sizeof(word), &word, 1, &event, NULL));
    CHECK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, size - 4, sizeof(word), &word, 1, &event, NULL));
    printf("the last word is %u\n", word);
    show("a blocking write of another", data, size);
    CHECK(clReleaseEvent(event));

    data[0] = 1;
    enqueue_add(queue, buffer, count, 2, &event);
    map = clEnqueueMapBuffer(queue, other, CL_TRUE, CL_MAP_READ, 0, 4096, 1, &event, NULL, NULL);
    show("a blocking map of another", data, size);
    CHECK(clEnqueueUnmapMemObject(queue, other, map, 0, NULL, NULL));
    CHECK(clReleaseEvent(event));

    data[count - 1] = 2;
    enqueue_add(queue, buffer, count, 2, &event);
    CHECK(clEnqueueMarkerWithWaitList(second, 1, &event, &behind));
    CHECK(clWaitForEvents(1, &behind));
    show("a marker of another queue", data, size);
    CHECK(clReleaseEvent(event));
    CHECK(clReleaseEvent(behind));

    data[count / 3] = 3;
    enqueue_add(queue, buffer, count, 2, &event);
    CHECK(clFlush(queue));
    while (parity_event_status(event) > CL_COMPLETE)
        usleep(100);
    show("asking for its status", data, size);
    CHECK(clReleaseEvent(event));

    data[count / 4] = 3;
    enqueue_add(queue, buffer, count, 2, &event);
    CHECK(clSetEventCallback(event, CL_COMPLETE, look, &seen));
    CHECK(clFlush(queue));
    pthread_mutex_lock(&seen.lock);
    while (!seen.there)
        pthread_cond_wait(&seen.changed, &seen.lock);
    pthread_mutex_unlock(&seen.lock);
    printf("its callback: %d, ", seen.hash == parity_hash(data, size));
    show("then", data, size);
    CHECK(clReleaseEvent(event));

    data[count / 5] = 4;
    enqueue_add(queue, buffer, count, 2, &event);
    map = clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 4, size - 4, 1, &event, NULL, NULL);
    EXPECT(map == data + 1);
    show("a map of it", data, size);
    map[0] = 7;
    CHECK(clEnqueueUnmapMemObject(queue, buffer, map, 0, NULL, NULL));
    CHECK(clFinish(queue));
    CHECK(clReleaseEvent(event));
    enqueue_add(queue, buffer, count, 2, NULL);
    CHECK(clFinish(queue));
    show("and after the map", data, size);

    data[0] = 9;
    CHECK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(word), &word, 0, NULL, NULL));
    printf("what was written is read: %u\n", word);
    data[1] = 10;
    CHECK(clEnqueueCopyBuffer(queue, buffer, other, 4, 0, 4, 0, NULL, &event));
    CHECK(clEnqueueReadBuffer(queue, other, CL_TRUE, 0, sizeof(word), &word, 1, &event, NULL));
    printf("and copied: %u\n", word);
    CHECK(clReleaseEvent(event));
    word = 4711;
    CHECK(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 8, sizeof(word), &word, 0, NULL, NULL));
    CHECK(clEnqueueFillBuffer(queue, buffer, &word, sizeof(word), size - 8, 4, 0, NULL, &event));
    CHECK(clWaitForEvents(1, &event));
    show("written to and filled", data, size);
    CHECK(clReleaseEvent(event));

    CHECK(clReleaseMemObject(buffer));
    CHECK(clReleaseMemObject(other));
    CHECK(clReleaseCommandQueue(second));
}

/* ---- several objects over adjacent and over the same memory ---- */

static void one_page(void)
{
    enum { PARTS = 5 };
    static const size_t starts[PARTS + 1] = {0, 700, 4100, 4101, 33000, 60000};
    unsigned char *data = malloc(60000);
    cl_mem parts[PARTS];

    parity_random_bytes(data, 60000, 3);
    for (int i = 0; i < PARTS; i++)
        parts[i] = parity_buffer(&p, CL_MEM_USE_HOST_PTR, starts[i + 1] - starts[i], data + starts[i]);
    for (int round = 0; round < 3; round++) {
        for (int i = PARTS; i-- > 0;) {
            cl_uchar amount = (cl_uchar)(i + 1);
            size_t count = starts[i + 1] - starts[i];

            data[starts[i]] ^= 0x5a;
            parity_args(bytes, 2, sizeof(cl_mem), &parts[i], sizeof(amount), &amount);
            CHECK(clEnqueueNDRangeKernel(p.queue, bytes, 1, NULL, &count, NULL, 0, NULL, NULL));
        }
        CHECK(clFinish(p.queue));
        show("several on one page", data, 60000);
    }
    for (int i = 0; i < PARTS; i++)
        CHECK(clReleaseMemObject(parts[i]));
    show("released", data, 60000);
    free(data);
}

static void same_memory(void)
{
    const size_t count = 50000;
    cl_uint *data = malloc(count * sizeof(*data));
    cl_mem one = parity_buffer(&p, CL_MEM_USE_HOST_PTR, count * sizeof(*data), data);
    cl_mem two = parity_buffer(&p, CL_MEM_USE_HOST_PTR, count * sizeof(*data), data);

    fill(data, count, 0);
    enqueue_add(p.queue, one, count, 1, NULL);
    CHECK(clFinish(p.queue));
    enqueue_add(p.queue, two, count, 2, NULL);
    CHECK(clFinish(p.queue));
    show("two over the same memory", data, count * sizeof(*data));
    CHECK(clReleaseMemObject(one));
    data[5] = 1;
    enqueue_add(p.queue, two, count, 2, NULL);
    CHECK(clFinish(p.queue));
    show("one of them is left", data, count * sizeof(*data));
    CHECK(clReleaseMemObject(two));
    free(data);
}

static void sub_buffers(void)
{
    const size_t count = 100000, align = 8192;
    cl_uint *data = malloc(count * sizeof(*data));
    cl_mem whole = parity_buffer(&p, CL_MEM_USE_HOST_PTR, count * sizeof(*data), data), parts[2];
    cl_buffer_region regions[2] = {{0, align}, {align, count * sizeof(*data) - align}};
    void *host;

    fill(data, count, 0);
    for (int i = 0; i < 2; i++) {
        cl_int error;

        parts[i] = clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &regions[i], &error);
        CHECK(error);
        CHECK(clGetMemObjectInfo(parts[i], CL_MEM_HOST_PTR, sizeof(host), &host, NULL));
        printf("a part's host pointer: %s\n", !host                                              ? "none"
                                              : (char *)host == (char *)data + regions[i].origin ? "the part's"
                                                                                                 : "another");
    }
    for (int round = 0; round < 2; round++) {
        data[0] += 5;
        data[count - 1] += 6;
        enqueue_add(p.queue, parts[0], regions[0].size / 4, 1, NULL);
        enqueue_add(p.queue, parts[1], regions[1].size / 4, 2, NULL);
        CHECK(clFinish(p.queue));
        show("sub-buffers", data, count * sizeof(*data));
    }
    enqueue_add(p.queue, parts[1], regions[1].size / 4, 2, NULL);
    CHECK(clReleaseMemObject(whole));
    CHECK(clReleaseMemObject(parts[0]));
    CHECK(clReleaseMemObject(parts[1]));
    CHECK(clFinish(p.queue));
    show("sub-buffers released", data, count * sizeof(*data));
    free(data);
}

/* The program and a kernel write different words of the same memory. */
static void between(void)
{
    const size_t count = 20001;
    cl_uint *data = calloc(count, sizeof(*data));
    cl_mem buffer = parity_buffer(&p, CL_MEM_USE_HOST_PTR, count * sizeof(*data), data);

    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < count; i += 2)
            data[i] += 3;
        parity_args(odd, 1, sizeof(buffer), &buffer);
        CHECK(clEnqueueNDRangeKernel(p.queue, odd, 1, NULL, &count, NULL, 0, NULL, NULL));
        CHECK(clFinish(p.queue));
    }
    show("by turns", data, count * sizeof(*data));
    CHECK(clReleaseMemObject(buffer));
    free(data);
}

/* Many small launches between two checks. */
static void many(void)
{
    const size_t count = 3000;
    cl_uint *a = malloc(count * 4), *b = malloc(count * 4), *c = calloc(count, 4);
    cl_mem ma = parity_buffer(&p, CL_MEM_USE_HOST_PTR | CL_MEM_READ_ONLY, count * 4, a);
    cl_mem mb = parity_buffer(&p, CL_MEM_USE_HOST_PTR | CL_MEM_READ_ONLY, count * 4, b);
    cl_mem mc = parity_buffer(&p, CL_MEM_USE_HOST_PTR | CL_MEM_WRITE_ONLY, count * 4, c);

    for (cl_uint round = 0; round < 5; round++) {
        fill(a, count, round);
        fill(b, count, round * 2);
        parity_args(sum, 3, sizeof(ma), &ma, sizeof(mb), &mb, sizeof(mc), &mc);
        for (int i = 0; i < 50; i++)
            CHECK(clEnqueueNDRangeKernel(p.queue, sum, 1, NULL, &count, NULL, 0, NULL, NULL));
        CHECK(clFinish(p.queue));
        show("three buffers", c, count * 4);
    }
    CHECK(clReleaseMemObject(ma));
    CHECK(clReleaseMemObject(mb));
    CHECK(clReleaseMemObject(mc));
    free(a);
    free(b);
    free(c);
}

/* ---- images ---- */

static void images(size_t width, size_t height, size_t pitch)
{
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {
        .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = width, .image_height = height, .image_row_pitch = pitch};
    const size_t size = pitch * height, global[] = {width, height};
    unsigned char *from = malloc(size), *to = calloc(size, 1);
    cl_kernel invert = parity_kernel(program, "invert");
    cl_mem in, out;
    cl_int error;

    parity_random_bytes(from, size, 8);
    in = clCreateImage(p.context, CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, &format, &desc, from, &error);
    CHECK(error);
    out = clCreateImage(p.context, CL_MEM_WRITE_ONLY | CL_MEM_USE_HOST_PTR, &format, &desc, to, &error);
    CHECK(error);
    for (int round = 0; round < 3; round++) {
        from[pitch * (height / 2)] += 17;
        parity_args(invert, 2, sizeof(in), &in, sizeof(out), &out);
        CHECK(clEnqueueNDRangeKernel(p.queue, invert, 2, NULL, global, NULL, 0, NULL, NULL));
        CHECK(clFinish(p.queue));
        show("image", to, size);
    }
    CHECK(clReleaseMemObject(in));
    CHECK(clReleaseMemObject(out));
    CHECK(clReleaseKernel(invert));
    free(from);
    free(to);
}

/* A buffer over an SVM allocation uses that memory itself. */
static void over_svm(void)
{
    const size_t count = 3000;
    cl_device_svm_capabilities can = 0;
    cl_kernel follow = parity_kernel(program, "follow");
    cl_ulong *at;
    cl_uint *words, *out;
    cl_mem pointers, to;

    clGetDeviceInfo(p.device, CL_DEVICE_SVM_CAPABILITIES, sizeof(can), &can, NULL);
    at = clSVMAlloc(p.context, CL_MEM_READ_WRITE, count * sizeof(*at), 0);
    words = clSVMAlloc(p.context, CL_MEM_READ_WRITE, count * sizeof(*words), 0);
    out = clSVMAlloc(p.context, CL_MEM_READ_WRITE, count * sizeof(*out), 0);
    if (!(can & CL_DEVICE_SVM_FINE_GRAIN_BUFFER) || !at || !words || !out)
        return;
    for (size_t i = 0; i < count; i++) {
        words[i] = (cl_uint)i * 5;
        at[i] = (cl_ulong)(uintptr_t)&words[count - 1 - i];
    }
    pointers = parity_buffer(&p, CL_MEM_USE_HOST_PTR, count * sizeof(*at), at);
    to = parity_buffer(&p, CL_MEM_USE_HOST_PTR, count * sizeof(*out), out);
    CHECK(clSetKernelExecInfo(follow, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof(words), &words));
    for (int round = 0; round < 3; round++) {
        words[round] = 99;
        parity_args(follow, 2, sizeof(pointers), &pointers, sizeof(to), &to);
        CHECK(clEnqueueNDRangeKernel(p.queue, follow, 1, NULL, &count, NULL, 0, NULL, NULL));
        CHECK(clFinish(p.queue));
        show("over shared virtual memory", out, count * sizeof(*out));
    }
    CHECK(clReleaseMemObject(pointers));
    CHECK(clReleaseMemObject(to));
    CHECK(clReleaseKernel(follow));
    clSVMFree(p.context, at);
    clSVMFree(p.context, words);
    clSVMFree(p.context, out);
}

int main(int argc, char **argv)
{
    const bool svm = argc < 2 || strcmp(argv[1], "no-svm");
    cl_command_queue out_of_order;
    static cl_uint words[70000];

    parity_open(&p, 0);
    program = parity_program(&p, source, NULL);
    add = parity_kernel(program, "add");
    bytes = parity_kernel(program, "bytes");
    odd = parity_kernel(program, "odd");
    sum = parity_kernel(program, "sum");
    out_of_order = parity_queue(&p, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    kinds();
    read_only();
    ways_to_learn("in order", p.queue, words + 1, 300);
    ways_to_learn("in order", p.queue, words + 1, 60000);
    ways_to_learn("out of order", out_of_order, words + 1, 300);
    ways_to_learn("out of order", out_of_order, words + 1, 60000);
    one_page();
    same_memory();
    sub_buffers();
    between();
    many();
    images(64, 33, 256);
    images(63, 33, 256);
    images(200, 100, 1024);
    if (svm)
        over_svm();
    CHECK(clReleaseCommandQueue(out_of_order));
    CHECK(clReleaseKernel(add));
    CHECK(clReleaseKernel(bytes));
    CHECK(clReleaseKernel(odd));
    CHECK(clReleaseKernel(sum));
    CHECK(clReleaseProgram(program));
    parity_close(&p);
    return 0;
}
