/*
 * Buffers with an address on the device (cl_ext_buffer_device_address): queries, the address as an argument, and
 * addresses that a kernel loads from memory.
 */
#include "parity.h"

#ifndef cl_ext_buffer_device_address
typedef cl_ulong cl_mem_device_address_ext;
typedef cl_int(CL_API_CALL *clSetKernelArgDevicePointerEXT_fn)(cl_kernel, cl_uint, cl_mem_device_address_ext);
#define CL_MEM_DEVICE_PRIVATE_ADDRESS_EXT 0x5000
#define CL_MEM_DEVICE_ADDRESS_EXT 0x5001
#define CL_KERNEL_EXEC_INFO_DEVICE_PTRS_EXT 0x5002
#endif

enum { COUNT = 1024, BUFFERS = 4 };

static const char *source = "kernel void add(global int *data, int what)\n"
                            "{\n"
                            "    data[get_global_id(0)] += what;\n"
                            "}\n"
                            "kernel void gather(global ulong *table, global int *sums)\n"
                            "{\n"
                            "    global int *data = (global int *)table[get_global_id(0)];\n"
                            "    int all = 0;\n"
                            "    for (int i = 0; i < 1024; i++)\n"
                            "        all += data[i];\n"
                            "    sums[get_global_id(0)] = all;\n"
                            "    data[0] = -1;\n"
                            "}\n";

static struct parity p;
static clSetKernelArgDevicePointerEXT_fn clSetKernelArgDevicePointerEXT_;

static cl_mem buffer_new(cl_mem_flags flags, size_t size, void *host)
{
    const cl_mem_properties properties[] = {CL_MEM_DEVICE_PRIVATE_ADDRESS_EXT, CL_TRUE, 0};
    cl_int status;
    cl_mem buffer = clCreateBufferWithProperties(p.context, properties, flags, size, host, &status);

    CHECK(status);
    return buffer;
}

static cl_mem_device_address_ext address_of(cl_mem buffer)
{
    cl_mem_device_address_ext address = 0;

    CHECK(clGetMemObjectInfo(buffer, CL_MEM_DEVICE_ADDRESS_EXT, sizeof(address), &address, NULL));
    EXPECT(address != 0);
    return address;
}

static void errors_try(cl_kernel add)
{
    const cl_mem_properties unknown[] = {0x7777, 1, 0}, none[] = {CL_MEM_DEVICE_PRIVATE_ADDRESS_EXT, CL_FALSE, 0};
    cl_mem plain = parity_buffer(&p, CL_MEM_READ_WRITE, 4096, NULL), without;
    cl_mem_device_address_ext address, wrong[] = {8};
    cl_int status;

    SHOW_NEW("unknown property", clCreateBufferWithProperties(p.context, unknown, 0, 64, NULL, &status));
    without = clCreateBufferWithProperties(p.context, none, CL_MEM_READ_WRITE, 64, NULL, &status);
    CHECK(status);
    SHOW("address of a plain buffer",
         clGetMemObjectInfo(plain, CL_MEM_DEVICE_ADDRESS_EXT, sizeof(address), &address, NULL));
    SHOW("address of one without",
         clGetMemObjectInfo(without, CL_MEM_DEVICE_ADDRESS_EXT, sizeof(address), &address, NULL));
    SHOW("argument 7", clSetKernelArgDevicePointerEXT_(add, 7, 0));
    SHOW("argument of no kernel", clSetKernelArgDevicePointerEXT_(NULL, 0, 0));
    SHOW("argument that is a number", clSetKernelArgDevicePointerEXT_(add, 1, 0));
    SHOW("no buffer's", clSetKernelExecInfo(add, CL_KERNEL_EXEC_INFO_DEVICE_PTRS_EXT, sizeof(wrong), wrong));
    SHOW("no addresses", clSetKernelExecInfo(add, CL_KERNEL_EXEC_INFO_DEVICE_PTRS_EXT, 0, NULL));
    CHECK(clReleaseMemObject(plain));
    CHECK(clReleaseMemObject(without));
}

int main(void)
{
    char extensions[8192] = "";
    static cl_int data[COUNT];
    cl_mem_device_address_ext addresses[BUFFERS], small[2];
    cl_mem buffers[BUFFERS], table, sums;
    cl_int result[BUFFERS];
    cl_kernel add, gather;
    cl_program program;
    size_t size = 0;

    parity_open(&p, 0);
    CHECK(clGetDeviceInfo(p.device, CL_DEVICE_EXTENSIONS, sizeof(extensions), extensions, NULL));
    if (!strstr(extensions, "cl_ext_buffer_device_address") ||
        parity_extension(p.device, "cl_ext_buffer_device_address") < CL_MAKE_VERSION(1, 0, 0)) { /* a draft */
        printf("buffers have no addresses here\n");
        return 77;
    }
    clSetKernelArgDevicePointerEXT_ = (clSetKernelArgDevicePointerEXT_fn)clGetExtensionFunctionAddressForPlatform(
        p.platform, "clSetKernelArgDevicePointerEXT");
    EXPECT(clSetKernelArgDevicePointerEXT_ != NULL);
    program = parity_program(&p, source, NULL);
    add = parity_kernel(program, "add");
    gather = parity_kernel(program, "gather");
    errors_try(add);

    for (int i = 0; i < BUFFERS; i++) {
        for (int j = 0; j < COUNT; j++)
            data[j] = i + j;
        buffers[i] =
            buffer_new(CL_MEM_READ_WRITE | (i % 2 ? CL_MEM_COPY_HOST_PTR : 0), sizeof(data), i % 2 ? data : NULL);
        if (i % 2 == 0)
            parity_write(p.queue, buffers[i], 0, sizeof(data), data);
        addresses[i] = address_of(buffers[i]);
    }
    CHECK(clGetMemObjectInfo(buffers[0], CL_MEM_DEVICE_ADDRESS_EXT, 0, NULL, &size));
    SHOW("too little room", clGetMemObjectInfo(buffers[0], CL_MEM_DEVICE_ADDRESS_EXT, sizeof(*small) / 2, small, NULL));
    printf("%zu bytes of address\n", size);

    /* an address inside the buffer, passed by itself */
    CHECK(clSetKernelArgDevicePointerEXT_(add, 0, addresses[1] + 16));
    CHECK(clSetKernelArg(add, 1, sizeof(cl_int), &(cl_int){1000}));
    parity_launch(p.queue, add, 1, (size_t[]){8}, NULL);
    parity_read(p.queue, buffers[1], 0, sizeof(data), data);
    printf("added: %d %d %d %d\n", data[3], data[4], data[11], data[12]);

    table = parity_buffer(&p, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof(addresses), addresses);
    sums = parity_buffer(&p, CL_MEM_READ_WRITE, sizeof(result), NULL);
    CHECK(clSetKernelExecInfo(gather, CL_KERNEL_EXEC_INFO_DEVICE_PTRS_EXT, sizeof(addresses), addresses));
    parity_args(gather, 2, sizeof(table), &table, sizeof(sums), &sums);
    parity_rich();
    parity_launch(p.queue, gather, 1, (size_t[]){BUFFERS}, NULL);
    parity_read(p.queue, sums, 0, sizeof(result), result);
    printf("sums: %d %d %d %d\n", result[0], result[1], result[2], result[3]);
    for (int i = 0; i < BUFFERS; i++) {
        parity_read(p.queue, buffers[i], 0, sizeof(data), data);
        printf("left: %d %d\n", data[0], data[1]);
    }
    for (int i = 0; i < BUFFERS; i++)
        CHECK(clReleaseMemObject(buffers[i]));
    CHECK(clReleaseMemObject(table));
    CHECK(clReleaseMemObject(sums));
    CHECK(clReleaseKernel(add));
    CHECK(clReleaseKernel(gather));
    CHECK(clReleaseProgram(program));
    parity_close(&p);
    return 0;
}
