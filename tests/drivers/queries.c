/* Queries whose answers are pointers, or that depend on the version of OpenCL: prints the answers. See newer.sh. */
#include "tests/parity/parity.h"

#include "base/cl_ext.h"

static struct parity p;

static void texts_show(const char *name, cl_device_info param)
{
    const char *texts[16], *again[16];
    size_t size = 0;
    const cl_int status = clGetDeviceInfo(p.device, param, sizeof(texts), texts, &size);

    printf("%s: %d\n", name, status);
    for (size_t i = 0; !status && i < size / sizeof(*texts); i++)
        printf("  %s\n", texts[i]);
    if (!status && !clGetDeviceInfo(p.device, param, sizeof(again), again, NULL) && memcmp(texts, again, size))
        printf("  other pointers the second time\n");
    if (!status && size)
        printf("  in too little room: %d\n", clGetDeviceInfo(p.device, param, size - 1, texts, NULL));
}

int main(void)
{
    cl_uint capability = 0;

    parity_open(&p, 0);
    texts_show("CL_DEVICE_SPIRV_EXTENDED_INSTRUCTION_SETS_KHR", CL_DEVICE_SPIRV_EXTENDED_INSTRUCTION_SETS_KHR);
    texts_show("CL_DEVICE_SPIRV_EXTENSIONS_KHR", CL_DEVICE_SPIRV_EXTENSIONS_KHR);
    printf("CL_DEVICE_SPIRV_CAPABILITIES_KHR: %d\n",
           clGetDeviceInfo(p.device, CL_DEVICE_SPIRV_CAPABILITIES_KHR, sizeof(capability), &capability, NULL));
    printf("  %u\n", capability);
    printf("CL_DEVICE_COMMAND_BUFFER_SYNC_DEVICES_KHR: %d\n", clGetDeviceInfo(p.device, 0x12AC, 0, NULL, NULL));
    parity_close(&p);
    return 0;
}
