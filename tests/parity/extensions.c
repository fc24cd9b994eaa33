/* Extensions: which are reported, which functions are found by name, and functions that no other program calls. */
#include "parity.h"

typedef cl_program create_with_il(cl_context context, const void *il, size_t length, cl_int *status);
typedef __typeof__(clCreateBufferWithPropertiesINTEL) create_with_properties;
typedef cl_int set_content_size(cl_mem buffer, cl_mem content_size);

static struct parity p;

static const char *const names[] = {
    "clIcdGetPlatformIDsKHR",
    "clCreateProgramWithILKHR",
    "clCreateCommandQueueWithPropertiesKHR",
    "clCreateBufferWithPropertiesINTEL",
    "clSetContentSizeBufferPoCL",
    "clGetKernelSubGroupInfoKHR",
    "clGetKernelSuggestedLocalWorkSizeKHR",
    "clCreateSubDevicesEXT",
    "clRetainDeviceEXT",
    "clReleaseDeviceEXT",
    "clGetGLContextInfoKHR",
    "clCreateFromGLBuffer",
    "clTerminateContextKHR",
    "clGetPlatformInfo",
    "clCreateBuffer",
    "clCommandSVMMemcpyKHR",
    "clUpdateMutableCommandsKHR",
    "clCreateCommandBufferKHR",
    "clRetainCommandBufferKHR",
    "clReleaseCommandBufferKHR",
    "clFinalizeCommandBufferKHR",
    "clEnqueueCommandBufferKHR",
    "clGetCommandBufferInfoKHR",
    "clCommandBarrierWithWaitListKHR",
    "clCommandCopyBufferKHR",
    "clCommandCopyBufferRectKHR",
    "clCommandCopyBufferToImageKHR",
    "clCommandCopyImageKHR",
    "clCommandCopyImageToBufferKHR",
    "clCommandFillBufferKHR",
    "clCommandFillImageKHR",
    "clCommandNDRangeKernelKHR",
    "",
    "clNothing",
};

/* Extensions and functions of PoCL 6 that VOCL does not carry, or whose extension PoCL does not report, so that no
 * program may call them. */
static const char *const left_out[] = {
    "cl_ext_buffer_device_address",
    "cl_khr_command_buffer_multi_device",
    "cl_pocl_command_buffer_host_buffer",
    "cl_pocl_command_buffer_svm",
    "cl_pocl_svm_rect",
    "clCommandSVMMemcpyKHR",
    "clCreateBufferWithPropertiesINTEL",
};

static bool compared(const char *name)
{
    if (parity_answers_as_before(&p))
        return true;
    for (size_t i = 0; i < PARITY_COUNT(left_out); i++)
        if (!strcmp(name, left_out[i]))
            return false;
    return true;
}

static void functions(void)
{
    for (size_t i = 0; i < PARITY_COUNT(names); i++)
        if (compared(names[i]))
            printf("\"%s\": %s\n", names[i],
                   clGetExtensionFunctionAddressForPlatform(p.platform, names[i]) ? "there" : "not there");
}

static void text_print(const char *whose, char *text)
{
    char *rest;

    if (parity_answers_as_before(&p)) {
        printf("%s: %s\n", whose, text);
        return;
    }
    printf("%s:", whose);
    for (char *name = strtok_r(text, " ", &rest); name; name = strtok_r(NULL, " ", &rest))
        if (compared(name))
            printf(" %s", name);
    printf("\n");
}

static void versions_print(const char *whose, const cl_name_version *versions, size_t size)
{
    for (size_t i = 0; i < size / sizeof(*versions); i++)
        if (compared(versions[i].name))
            printf("%s: %s %#x\n", whose, versions[i].name, versions[i].version);
}

static void lists(void)
{
    cl_name_version versions[64];
    char text[4096];
    size_t size;

    CHECK(clGetPlatformInfo(p.platform, CL_PLATFORM_EXTENSIONS, sizeof(text), text, NULL));
    text_print("platform", text);
    CHECK(clGetDeviceInfo(p.device, CL_DEVICE_EXTENSIONS, sizeof(text), text, NULL));
    text_print("device", text);
    if (parity_version(&p) < 300)
        return;
    CHECK(clGetPlatformInfo(p.platform, CL_PLATFORM_EXTENSIONS_WITH_VERSION, sizeof(versions), versions, &size));
    versions_print("platform", versions, size);
    CHECK(clGetDeviceInfo(p.device, CL_DEVICE_EXTENSIONS_WITH_VERSION, sizeof(versions), versions, &size));
    versions_print("device", versions, size);
}

static void content_size(set_content_size *set)
{
    cl_ulong much = 1000;
    cl_int status, data[1024] = {7}, back[1024] = {0};
    cl_mem buffer = parity_buffer(&p, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof(data), data);
    cl_mem size = parity_buffer(&p, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof(much), &much);
    cl_mem small = parity_buffer(&p, CL_MEM_READ_WRITE, 4, NULL);
    cl_mem part = clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &(cl_buffer_region){1024, 1024}, &status);
    cl_context other = clCreateContext(NULL, 1, &p.device, NULL, NULL, &status);
    cl_mem alien = clCreateBuffer(other, CL_MEM_READ_WRITE, 8, NULL, &status);

    parity_rich();
    /* PoCL 6 fails an assertion if no command has used the buffer that holds the size */
    parity_read(p.queue, size, 0, sizeof(much), &much);
    SHOW("content size", set(buffer, size));
    SHOW("content size, no buffer", set(NULL, size));
    SHOW("content size, no size", set(buffer, NULL));
    SHOW("content size, small", set(buffer, small));
    SHOW("content size, part", set(buffer, part));
    SHOW("content size, alien", set(buffer, alien));
    parity_read(p.queue, buffer, 0, 1000, back);
    parity_hash_print("contents", back, sizeof(back));
    CHECK(clReleaseMemObject(alien));
    CHECK(clReleaseContext(other));
    CHECK(clReleaseMemObject(part));
    CHECK(clReleaseMemObject(buffer));
    CHECK(clReleaseMemObject(size));
    CHECK(clReleaseMemObject(small));
}

static void buffer_properties(create_with_properties *create)
{
    const cl_mem_properties_intel none[] = {0}, unknown[] = {0x7fff, 1, 0};
    cl_int data[16] = {3, 1, 4}, back[16] = {0};
    cl_mem buffer = NULL;

    for (int i = 0; i < 2; i++) {
        cl_int status = parity_untouched;

        buffer = create(p.context, i ? none : NULL, CL_MEM_COPY_HOST_PTR, sizeof(data), data, &status);
        CHECK(status);
        parity_read(p.queue, buffer, 0, sizeof(back), back);
        parity_hash_print("buffer with properties", back, sizeof(back));
        CHECK(clReleaseMemObject(buffer));
    }
    SHOW_NEW("buffer, unknown property", create(p.context, unknown, 0, 64, NULL, &status));
    SHOW_NEW("buffer, no context", create(NULL, NULL, 0, 64, NULL, &status));
    SHOW_NEW("buffer, no size", create(p.context, NULL, 0, 0, NULL, &status));
}

int main(void)
{
    create_with_properties *with_properties;
    create_with_il *with_il;
    set_content_size *set;

    parity_open(&p, 0);
    functions();
    lists();
    with_il = (create_with_il *)clGetExtensionFunctionAddressForPlatform(p.platform, "clCreateProgramWithILKHR");
    if (with_il) {
        SHOW_NEW("il", with_il(p.context, "no IL", 5, &status));
        SHOW_NEW("il, none", with_il(p.context, NULL, 0, &status));
    }
    with_properties = (create_with_properties *)clGetExtensionFunctionAddressForPlatform(
        p.platform, "clCreateBufferWithPropertiesINTEL");
    if (with_properties && compared("clCreateBufferWithPropertiesINTEL"))
        buffer_properties(with_properties);
    set = (set_content_size *)clGetExtensionFunctionAddressForPlatform(p.platform, "clSetContentSizeBufferPoCL");
    if (set)
        content_size(set);
    parity_close(&p);
    return 0;
}
