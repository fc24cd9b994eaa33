/* Sub-devices: created in each way, queried, and used in contexts of their own and together. */
#include "parity.h"

static const char *source = "kernel void add(global int *data, int what)\n"
                            "{\n"
                            "    data[get_global_id(0)] += what;\n"
                            "}\n";

static struct parity p;
static cl_device_id released[256]; /* released at the end */
static cl_uint released_count;

static void device_show(cl_device_id device)
{
    cl_device_partition_property type[16] = {0};
    cl_device_id parent = NULL;
    cl_uint units = 0, references = 0;
    size_t size = 0;
    CHECK(clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(units), &units, NULL));
    CHECK(clGetDeviceInfo(device, CL_DEVICE_PARENT_DEVICE, sizeof(parent), &parent, NULL));
    CHECK(clGetDeviceInfo(device, CL_DEVICE_REFERENCE_COUNT, sizeof(references), &references, NULL));
    CHECK(clGetDeviceInfo(device, CL_DEVICE_PARTITION_TYPE, sizeof(type), type, &size));
    printf("%u units, %s, %u references, partition", units,
           !parent              ? "whole"
           : parent == p.device ? "part of the whole"
                                : "part of a part",
           references);
    for (size_t i = 0; i < size / sizeof(*type); i++)
        printf(" 0x%lx", (unsigned long)type[i]);
    printf("\n");
}

/* Reads the binaries: PoCL has one for all sub-devices of a device. */
static void binaries_take(cl_program program, cl_uint count)
{
    size_t sizes[64] = {0};
    unsigned char *binaries[64] = {NULL};
    CHECK(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(sizes), sizes, NULL));
    for (cl_uint i = 0; i < count; i++)
        binaries[i] = malloc(sizes[i] + 1);
    CHECK(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(binaries), binaries, NULL));
    printf("binaries: the first has %s\n", sizes[0] ? "bytes" : "none");
    for (cl_uint i = 0; i < count; i++)
        free(binaries[i]);
}

/* Uses all sub-devices in one context, a queue for each: the buffer goes from one to the next. */
static void devices_use(const cl_device_id *devices, cl_uint count)
{
    cl_int status, data[64] = {0};
    cl_context context = clCreateContext(NULL, count, devices, NULL, NULL, &status);
    CHECK(status);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    CHECK(status);
    CHECK(clBuildProgram(program, 0, NULL, NULL, NULL, NULL));
    binaries_take(program, count);
    cl_kernel kernel = parity_kernel(program, "add");
    cl_mem buffer = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof(data), data, &status);
    CHECK(status);
    CHECK(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer));
    for (cl_int i = 0; i < (cl_int)count; i++) {
        cl_command_queue queue = clCreateCommandQueue(context, devices[i], 0, &status);
        CHECK(status);
        CHECK(clSetKernelArg(kernel, 1, sizeof(i), &(cl_int){i + 1}));
        parity_rich();
        parity_launch(queue, kernel, 1, (size_t[]){64}, (size_t[]){8});
        parity_read(queue, buffer, 0, sizeof(data), data);
        printf("after device %d: %d\n", i, data[63]);
        CHECK(clReleaseCommandQueue(queue));
    }
    CHECK(clReleaseMemObject(buffer));
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseProgram(program));
    CHECK(clReleaseContext(context));
}

static void partition_try(const char *name, cl_device_id device, const cl_device_partition_property *properties)
{
    cl_device_id parts[64];
    cl_uint count = 77;
    printf("-- %s\n", name);
    cl_int status = clCreateSubDevices(device, properties, 0, NULL, &count);
    printf("count: %s, %u\n", parity_error_name(status), count);
    if (status != CL_SUCCESS)
        return;
    SHOW("too few", clCreateSubDevices(device, properties, count - 1, parts, NULL));
    CHECK(clCreateSubDevices(device, properties, 64, parts, NULL));
    for (cl_uint i = 0; i < count; i++)
        device_show(parts[i]);
    devices_use(parts, count);
    CHECK(clRetainDevice(parts[0]));
    device_show(parts[0]);
    CHECK(clReleaseDevice(parts[0]));
    for (cl_uint i = 0; i < count; i++)
        released[released_count++] = parts[i];
}

/* PoCL 3.1 may still be releasing the event of a command that the program has waited for, and then accesses its device,
 * which neither queue nor context retains. Therefore other work comes before the release. */
static void parts_release(void)
{
    printf("-- the whole\n");
    devices_use(&p.device, 1);
    for (cl_uint i = 0; i < released_count; i++)
        CHECK(clReleaseDevice(released[i]));
}

int main(void)
{
    const cl_device_partition_property equally[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0},
                                       counts[] = {CL_DEVICE_PARTITION_BY_COUNTS, 1, 1,
                                                   CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0},
                                       one[] = {CL_DEVICE_PARTITION_BY_COUNTS, 1, 0, 0},
                                       domain[] = {CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN,
                                                   CL_DEVICE_AFFINITY_DOMAIN_NUMA, 0};
    parity_open(&p, 0);
    device_show(p.device);
    partition_try("equally", p.device, equally);
    partition_try("by counts", p.device, counts);
    partition_try("by one count", p.device, one);
    partition_try("by domain", p.device, domain);
    parts_release();
    parity_close(&p);
    return 0;
}
