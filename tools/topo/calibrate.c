/* See calibrate.h. Uses native OpenCL: the devices of this machine, not of others. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tools/topo/calibrate.h"
#include "topology/native.h"
#include "topology/opencl.h"

#define ROUNDS 7
#define MOST 64

struct placed {
    cl_device_id device;
    unsigned number; /* number in the tree */
};

/* Devices of one platform that are in the tree, for one context. */
struct found {
    cl_context context;
    struct placed devices[MOST];
    unsigned count;
};

static void add_device(const struct topology *t, cl_device_id id, unsigned number, struct found *found)
{
    char address[TOPOLOGY_ADDRESS];
    const bool has_address = topology_pci_address(id, address);
    const int device = topology_device_of(t, has_address ? address : NULL, number);

    if (device >= 0 && found->count < MOST)
        found->devices[found->count++] = (struct placed){id, (unsigned)device};
}

/* Finds the platform with most of the tree's devices. */
static void find_devices(const struct topology *t, struct found *best)
{
    struct native_device devices[NATIVE_MOST_DEVICES];
    const unsigned count = native_devices(devices);
    struct found found;

    best->count = 0;
    for (unsigned i = 0; i < count; i++) {
        if (!i || devices[i].platform != devices[i - 1].platform)
            found.count = 0;
        add_device(t, devices[i].device, i, &found);
        if (found.count > best->count)
            *best = found;
    }
}

static bool crosses_root(const struct topology *t, unsigned a, unsigned b)
{
    return topology_root_port(t, t->devices[a]) != topology_root_port(t, t->devices[b]);
}

/* Finds the nearest two devices with, or without, the root complex between them. */
static bool find_pair(const struct topology *t, const struct found *found, bool crossing, const struct placed **from,
                      const struct placed **to)
{
    unsigned least = 0;

    for (unsigned i = 0; i < found->count; i++) {
        for (unsigned k = i + 1; k < found->count; k++) {
            const struct placed *a = &found->devices[i], *b = &found->devices[k];
            unsigned links = topology_distance(t, t->devices[a->number], t->devices[b->number]);

            if (crosses_root(t, a->number, b->number) != crossing || (least && links >= least))
                continue;
            least = links;
            *from = a;
            *to = b;
        }
    }
    return least;
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

/* ---- measuring ---- */

struct ends {
    cl_command_queue from, to;
    cl_mem source, target;
    void *memory; /* host memory in the place of target, or NULL */
};

static cl_int transfer_once(const struct ends *e, size_t bytes, double *rate)
{
    const cl_uchar pattern = 1;
    long start;
    cl_int error = clEnqueueFillBuffer(e->from, e->source, &pattern, 1, 0, bytes, 0, NULL, NULL); /* so that the memory
                                                                                                   * is allocated */

    error = error ? error : clFinish(e->from);
    start = clock_us();
    if (!error && e->memory)
        error = clEnqueueReadBuffer(e->from, e->source, CL_TRUE, 0, bytes, e->memory, 0, NULL, NULL);
    else if (!error)
        error = clEnqueueCopyBuffer(e->to, e->source, e->target, 0, 0, bytes, 0, NULL, NULL);
    error = error ? error : clFinish(e->to);
    *rate = (double)bytes / ((double)(clock_us() - start + 1) * 1e-6);
    return error;
}

static cl_int transfer_rounds(const struct ends *e, size_t bytes, double *rate)
{
    double rates[ROUNDS];
    cl_int error = transfer_once(e, bytes, rate);

    for (int round = 0; round < ROUNDS && !error; round++)
        error = transfer_once(e, bytes, &rates[round]);
    if (error)
        return error;
    qsort(rates, ROUNDS, sizeof(*rates), by_value);
    *rate = rates[ROUNDS / 2];
    return CL_SUCCESS;
}

static void ends_close(const struct ends *e)
{
    if (e->memory)
        clEnqueueUnmapMemObject(e->from, e->target, e->memory, 0, NULL, NULL);
    if (e->target)
        clReleaseMemObject(e->target);
    if (e->source)
        clReleaseMemObject(e->source);
    if (e->to)
        clReleaseCommandQueue(e->to);
    if (e->from)
        clReleaseCommandQueue(e->from);
}

/* Measures bytes a second from one device to another, or to the host (to NULL): the median of some rounds. */
static cl_int rate_between(const struct found *found, const struct placed *from, const struct placed *to, size_t bytes,
                           double *rate)
{
    struct ends e = {0};
    cl_int error;

    e.from = clCreateCommandQueueWithProperties(found->context, from->device, NULL, &error);
    if (!error)
        e.to = clCreateCommandQueueWithProperties(found->context, to ? to->device : from->device, NULL, &error);
    if (!error)
        e.source = clCreateBuffer(found->context, CL_MEM_READ_WRITE, bytes, NULL, &error);
    if (!error) /* for the host: memory that devices can access directly */
        e.target = clCreateBuffer(found->context, to ? CL_MEM_READ_WRITE : CL_MEM_ALLOC_HOST_PTR, bytes, NULL, &error);
    if (!error && !to)
        e.memory = clEnqueueMapBuffer(e.from, e.target, CL_TRUE, CL_MAP_WRITE, 0, bytes, 0, NULL, NULL, &error);
    if (!error)
        error = transfer_rounds(&e, bytes, rate);
    ends_close(&e);
    return error;
}

static cl_int measure_link(struct topology *t, const struct found *found, size_t bytes, FILE *out)
{
    const struct placed *from = &found->devices[0], *to = NULL;
    bool pair = find_pair(t, found, false, &from, &to);
    cl_int error = rate_between(found, from, to, bytes, &t->bandwidth);

    if (error)
        return error;
    fprintf(out, "# one link, %u > ", from->number);
    if (pair)
        fprintf(out, "%u", to->number);
    else
        fputs("the host", out);
    fprintf(out, ": %.2f GB/s\n", t->bandwidth / (1 << 30));
    return CL_SUCCESS;
}

static cl_int measure_tau(struct topology *t, const struct found *found, size_t bytes, FILE *out)
{
    const struct placed *from, *to;
    double rate;
    cl_int error;

    if (!find_pair(t, found, true, &from, &to)) {
        fputs("# tau: not measured, as no two devices have the root complex between them\n", out);
        return CL_SUCCESS;
    }
    error = rate_between(found, from, to, bytes, &rate);
    if (error)
        return error;
    fprintf(out, "# across the root complex, %u > %u: %.2f GB/s\n", from->number, to->number, rate / (1 << 30));
    t->tau = rate < t->bandwidth ? 1 - rate / t->bandwidth : 0;
    return CL_SUCCESS;
}

int calibrate(struct topology *t, size_t bytes, FILE *out, char *why, size_t why_size)
{
    cl_device_id devices[MOST];
    struct found found = {0};
    cl_int error;

    find_devices(t, &found);
    if (!found.count) {
        snprintf(why, why_size, "none of the tree's devices is an OpenCL device of this machine");
        return -1;
    }
    for (unsigned i = 0; i < found.count; i++)
        devices[i] = found.devices[i].device;
    found.context = clCreateContext(NULL, found.count, devices, NULL, NULL, &error);
    if (!error)
        error = measure_link(t, &found, bytes, out);
    if (!error)
        error = measure_tau(t, &found, bytes, out);
    if (found.context)
        clReleaseContext(found.context);
    if (error)
        snprintf(why, why_size, "OpenCL fails with error %d", error);
    return error ? -1 : 0;
}
