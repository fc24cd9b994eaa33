/* See newer.h: how PoCL becomes this driver, and the queries about its device. */
#include "newer.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

struct _cl_icd_dispatch real;
pthread_mutex_t driver_lock = PTHREAD_MUTEX_INITIALIZER;

static const cl_name_version added[] = {{CL_MAKE_VERSION(1, 0, 0), "cl_intel_unified_shared_memory"},
                                        {CL_MAKE_VERSION(1, 0, 2), "cl_ext_buffer_device_address"},
                                        {CL_MAKE_VERSION(1, 0, 0), "cl_khr_il_program"},
                                        {CL_MAKE_VERSION(1, 0, 0), "cl_khr_priority_hints"},
                                        {CL_MAKE_VERSION(1, 0, 0), "cl_khr_suggested_local_work_size"},
                                        {CL_MAKE_VERSION(1, 0, 0), "cl_khr_throttle_hints"},
                                        {CL_MAKE_VERSION(1, 0, 0), "cl_intel_create_buffer_with_properties"}};
static const cl_name_version ils[] = {{CL_MAKE_VERSION(1, 2, 0), "SPIR-V"}};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

bool driver_logs(void)
{
    return getenv("VOCL_TEST_LOG") != NULL;
}

static cl_int extensions(cl_device_id device, size_t size, void *value, size_t *size_ret)
{
    static char text[16384];
    cl_int error = real.clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof(text) / 2, text, NULL);

    for (size_t i = 0; !error && i < COUNT(added); i++)
        strcat(strcat(text, " "), added[i].name);
    return error ? error : driver_return(text, strlen(text) + 1, size, value, size_ret);
}

static cl_int versions(cl_device_id device, size_t size, void *value, size_t *size_ret)
{
    static cl_name_version list[256];
    const char *records = getenv("VOCL_TEST_RECORDS"), *addresses = getenv("VOCL_TEST_ADDRESSES");
    size_t length = 0;
    cl_int error =
        real.clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS_WITH_VERSION, sizeof(list) - sizeof(added), list, &length);

    for (size_t i = 0; records && i < length / sizeof(*list); i++) {
        if (!strcmp(list[i].name, CL_KHR_COMMAND_BUFFER_EXTENSION_NAME))
            list[i].version = (cl_version)atoi(records);
    }
    memcpy((char *)list + length, added, sizeof(added));
    for (size_t i = 0; addresses && i < (length + sizeof(added)) / sizeof(*list); i++) {
        if (!strcmp(list[i].name, "cl_ext_buffer_device_address"))
            list[i].version = (cl_version)atoi(addresses);
    }
    return error ? error : driver_return(list, length + sizeof(added), size, value, size_ret);
}

static cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info param, size_t size, void *value,
                                      size_t *size_ret)
{
    static const char *const spirv[] = {"SPV_KHR_expect_assume", "", "SPV_KHR_no_integer_wrap_decoration"};
    const cl_device_type gpu = CL_DEVICE_TYPE_GPU;
    cl_uint align = 0;
    cl_int error;

    switch (param) {
    case CL_DEVICE_EXTENSIONS:
    case CL_DEVICE_EXTENSIONS_WITH_VERSION:
        pthread_mutex_lock(&driver_lock);
        error = param == CL_DEVICE_EXTENSIONS ? extensions(device, size, value, size_ret)
                                              : versions(device, size, value, size_ret);
        pthread_mutex_unlock(&driver_lock);
        return error;
    case CL_DEVICE_IL_VERSION:
        return driver_return("SPIR-V_1.2", sizeof("SPIR-V_1.2"), size, value, size_ret);
    case CL_DEVICE_ILS_WITH_VERSION:
        return driver_return(ils, sizeof(ils), size, value, size_ret);
    case 0x12AC: /* CL_DEVICE_COMMAND_BUFFER_SYNC_DEVICES_KHR */
        return driver_return(&device, sizeof(device), size, value, size_ret);
    case CL_DEVICE_SPIRV_EXTENDED_INSTRUCTION_SETS_KHR:
        return driver_return(spirv, 0, size, value, size_ret);
    case CL_DEVICE_SPIRV_EXTENSIONS_KHR:
        return driver_return(spirv, sizeof(spirv), size, value, size_ret);
    case CL_DEVICE_SPIRV_CAPABILITIES_KHR: /* Shader */
        return driver_return(&(cl_uint){1}, sizeof(cl_uint), size, value, size_ret);
    case CL_DEVICE_MEM_BASE_ADDR_ALIGN: /* four times what PoCL takes */
        error = real.clGetDeviceInfo(device, param, sizeof(align), &align, NULL);
        align *= 4;
        return error ? error : driver_return(&align, sizeof(align), size, value, size_ret);
    case CL_DEVICE_TYPE:
        if (getenv("VOCL_TEST_GPU"))
            return driver_return(&gpu, sizeof(gpu), size, value, size_ret);
    }
    error = usm_device_info(param, size, value, size_ret);
    if (error == CL_INVALID_VALUE)
        error = pipe_device_info(param, size, value, size_ret);
    if (error == CL_INVALID_VALUE)
        error = later_device_info(device, param, size, value, size_ret);
    return error == CL_INVALID_VALUE ? real.clGetDeviceInfo(device, param, size, value, size_ret) : error;
}

static void *CL_API_CALL platform_function(cl_platform_id platform, const char *name)
{
    void *function = usm_function(name);

    if (!strcmp(name, "clCreateBufferWithPropertiesINTEL"))
        return (void *)(uintptr_t)(*(struct _cl_icd_dispatch *const *)platform)->clCreateBufferWithProperties;
    if (!function)
        function = bda_function(name);
    if (!function)
        function = il_function(name);
    if (!function)
        function = groups_function(name);
    return function ? function : real.clGetExtensionFunctionAddressForPlatform(platform, name);
}

static void change(struct _cl_icd_dispatch *table)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = (uintptr_t)table & ~(page - 1);
    const size_t length = (uintptr_t)table + sizeof(*table) - first;

    if (mprotect((void *)first, length, PROT_READ | PROT_WRITE))
        abort();
    real = *table;
    table->clGetDeviceInfo = device_info;
    table->clGetExtensionFunctionAddressForPlatform = platform_function;
    usm_install(table);
    bda_install(table);
    il_install(table);
    pipe_install(table);
    groups_install(table);
    hints_install(table);
    formats_install(table);
    later_install(table);
}

/* Opens Debian's PoCL, named in its ICD file. */
static void *pocl_library(void)
{
    char line[4096] = "libpocl.so.2";
    FILE *file = fopen("/etc/OpenCL/vendors/pocl.icd", "r");

    if (file && fgets(line, sizeof(line), file))
        line[strcspn(line, "\r\n")] = '\0';
    if (file)
        fclose(file);
    return dlopen(line, RTLD_NOW | RTLD_LOCAL);
}

static clIcdGetPlatformIDsKHR_fn platform_ids;

static void open_pocl(void)
{
    void *(*function)(const char *);
    cl_platform_id platform;
    void *library = pocl_library();

    function = library ? (void *(*)(const char *))dlsym(library, "clGetExtensionFunctionAddress") : NULL;
    platform_ids = function ? (clIcdGetPlatformIDsKHR_fn)function("clIcdGetPlatformIDsKHR") : NULL;
    if (platform_ids && !platform_ids(1, &platform, NULL))
        change(*(struct _cl_icd_dispatch **)platform);
}

EXPORT cl_int CL_API_CALL clIcdGetPlatformIDsKHR(cl_uint count, cl_platform_id *platforms, cl_uint *count_ret)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, open_pocl);
    return platform_ids ? platform_ids(count, platforms, count_ret) : CL_PLATFORM_NOT_FOUND_KHR;
}

EXPORT cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id platform, cl_platform_info param, size_t size, void *value,
                                            size_t *size_ret)
{
    return (*(struct _cl_icd_dispatch *const *)platform)->clGetPlatformInfo(platform, param, size, value, size_ret);
}

EXPORT void *CL_API_CALL clGetExtensionFunctionAddress(const char *name)
{
    if (!strcmp(name, "clIcdGetPlatformIDsKHR"))
        return (void *)(uintptr_t)clIcdGetPlatformIDsKHR;
    return !strcmp(name, "clGetPlatformInfo") ? (void *)(uintptr_t)clGetPlatformInfo : NULL;
}
