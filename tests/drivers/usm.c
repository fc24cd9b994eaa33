/* Unified shared memory over PoCL's SVM, which takes any memory: on a CPU each allocation is of all three kinds at
 * once. */
#include <sys/mman.h>
#include <unistd.h>

#include "newer.h"

typedef cl_bitfield capabilities;

struct memory {
    struct memory *next;
    cl_context context;
    unsigned char *base;
    size_t size;
    cl_uint type;
    cl_device_id device;
    cl_mem_alloc_flags_intel flags;
};

static struct memory *all;

static struct memory *find(const void *pointer)
{
    struct memory *m = all;

    while (m && (uintptr_t)pointer - (uintptr_t)m->base >= m->size)
        m = m->next;
    return m;
}

bool usm_has(const void *pointer)
{
    bool has;

    pthread_mutex_lock(&driver_lock);
    has = find(pointer) != NULL;
    pthread_mutex_unlock(&driver_lock);
    return has;
}

/* ---- allocations ---- */

static cl_int check(cl_context context, const cl_mem_properties_intel *properties, size_t size, cl_uint alignment,
                    cl_uint type, cl_mem_alloc_flags_intel *flags)
{
    const cl_mem_alloc_flags_intel placement =
        CL_MEM_ALLOC_INITIAL_PLACEMENT_DEVICE_INTEL | CL_MEM_ALLOC_INITIAL_PLACEMENT_HOST_INTEL;

    if (!context)
        return CL_INVALID_CONTEXT;
    for (; properties && *properties; properties += 2) {
        if (*properties != CL_MEM_ALLOC_FLAGS_INTEL)
            return CL_INVALID_PROPERTY;
        *flags = properties[1];
    }
    if (*flags & ~(placement | CL_MEM_ALLOC_WRITE_COMBINED_INTEL) || (*flags & placement) == placement ||
        (*flags & placement && type != CL_MEM_TYPE_SHARED_INTEL))
        return CL_INVALID_PROPERTY;
    if (!size || size > (size_t)1 << 31)
        return CL_INVALID_BUFFER_SIZE;
    return alignment & (alignment - 1) ? CL_INVALID_VALUE : CL_SUCCESS;
}

/* Takes addresses from a range of the driver's own, as GPUs' drivers do; each is given once. PoCL would take
 * malloc()'s, and with a sanitizer these are the same in the program and in its worker, so that the program could map
 * none of them. */
static unsigned char *take_addresses(size_t size, size_t alignment)
{
    static const uintptr_t most = (uintptr_t)1 << 30;
    static uintptr_t next, end;
    void *wish = (void *)(0x2d0000000000 + ((uintptr_t)getpid() % 4096 << 32)), *range;
    unsigned char *base = NULL;

    alignment = alignment > 128 ? alignment : 128;
    pthread_mutex_lock(&driver_lock);
    if (size + alignment > end - next) {
        range = mmap(wish, size + most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        next = range == MAP_FAILED ? end : (uintptr_t)range;
        end = range == MAP_FAILED ? end : next + size + most;
    }
    if (size + alignment <= end - next) {
        base = (unsigned char *)((next + alignment - 1) & ~(alignment - 1));
        next = (uintptr_t)base + size;
    }
    pthread_mutex_unlock(&driver_lock);
    return base;
}

static void *alloc(cl_context context, cl_device_id device, const cl_mem_properties_intel *properties, size_t size,
                   cl_uint alignment, cl_uint type, cl_int *ret)
{
    struct memory *m = calloc(1, sizeof(*m));
    cl_int error = m ? check(context, properties, size, alignment, type, &m->flags) : CL_OUT_OF_HOST_MEMORY;

    if (!error) {
        *m = (struct memory){NULL, context, NULL, size, type, device, m->flags};
        m->base = take_addresses(size, alignment);
        error = m->base ? CL_SUCCESS : CL_OUT_OF_RESOURCES;
    }
    if (ret)
        *ret = error;
    if (error) {
        free(m);
        return NULL;
    }
    pthread_mutex_lock(&driver_lock);
    m->next = all;
    all = m;
    pthread_mutex_unlock(&driver_lock);
    return m->base;
}

static void *CL_API_CALL host_alloc(cl_context context, const cl_mem_properties_intel *properties, size_t size,
                                    cl_uint alignment, cl_int *ret)
{
    return alloc(context, NULL, properties, size, alignment, CL_MEM_TYPE_HOST_INTEL, ret);
}

static void *CL_API_CALL device_alloc(cl_context context, cl_device_id device,
                                      const cl_mem_properties_intel *properties, size_t size, cl_uint alignment,
                                      cl_int *ret)
{
    if (device)
        return alloc(context, device, properties, size, alignment, CL_MEM_TYPE_DEVICE_INTEL, ret);
    if (ret)
        *ret = CL_INVALID_DEVICE;
    return NULL;
}

static void *CL_API_CALL shared_alloc(cl_context context, cl_device_id device,
                                      const cl_mem_properties_intel *properties, size_t size, cl_uint alignment,
                                      cl_int *ret)
{
    return alloc(context, device, properties, size, alignment, CL_MEM_TYPE_SHARED_INTEL, ret);
}

static cl_int CL_API_CALL mem_free(cl_context context, void *pointer)
{
    struct memory **at, *m = NULL;

    if (!pointer)
        return CL_SUCCESS;
    pthread_mutex_lock(&driver_lock);
    for (at = &all; *at && ((*at)->base != pointer || (*at)->context != context); at = &(*at)->next)
        ;
    m = *at;
    if (m)
        *at = m->next;
    pthread_mutex_unlock(&driver_lock);
    if (!m)
        return CL_INVALID_VALUE;
    memset(m->base, 0xdd, m->size); /* makes uses after the free visible */
    free(m);
    return CL_SUCCESS;
}

static cl_int CL_API_CALL info(cl_context context, const void *pointer, cl_mem_info_intel param, size_t size,
                               void *value, size_t *size_ret)
{
    struct memory found = {.type = CL_MEM_TYPE_UNKNOWN_INTEL};
    const struct memory *m;

    pthread_mutex_lock(&driver_lock);
    m = find(pointer);
    if (m && m->context == context)
        found = *m;
    pthread_mutex_unlock(&driver_lock);
    switch (param) {
    case CL_MEM_ALLOC_TYPE_INTEL:
        return driver_return(&found.type, sizeof(found.type), size, value, size_ret);
    case CL_MEM_ALLOC_BASE_PTR_INTEL:
        return driver_return(&found.base, sizeof(found.base), size, value, size_ret);
    case CL_MEM_ALLOC_SIZE_INTEL:
        return driver_return(&found.size, sizeof(found.size), size, value, size_ret);
    case CL_MEM_ALLOC_DEVICE_INTEL:
        return driver_return(&found.device, sizeof(found.device), size, value, size_ret);
    case CL_MEM_ALLOC_FLAGS_INTEL:
        return driver_return(&found.flags, sizeof(found.flags), size, value, size_ret);
    }
    return CL_INVALID_VALUE;
}

/* ---- commands: those of SVM, with other command types in their events ---- */

static cl_int CL_API_CALL fill(cl_command_queue queue, void *to, const void *pattern, size_t pattern_size, size_t size,
                               cl_uint count, const cl_event *list, cl_event *event)
{
    if (!to || !pattern || !pattern_size || pattern_size & (pattern_size - 1) || !size || size % pattern_size)
        return CL_INVALID_VALUE; /* PoCL 3.1 crashes */
    return real.clEnqueueSVMMemFill(queue, to, pattern, pattern_size, size, count, list, event);
}

static cl_int CL_API_CALL copy(cl_command_queue queue, cl_bool blocking, void *to, const void *from, size_t size,
                               cl_uint count, const cl_event *list, cl_event *event)
{
    return real.clEnqueueSVMMemcpy(queue, blocking, to, from, size, count, list, event);
}

static cl_int CL_API_CALL migrate(cl_command_queue queue, const void *memory, size_t size, cl_mem_migration_flags flags,
                                  cl_uint count, const cl_event *list, cl_event *event)
{
    if (!usm_has(memory))
        return CL_INVALID_VALUE;
    return real.clEnqueueSVMMigrateMem(queue, 1, &memory, &size, flags, count, list, event);
}

static cl_int CL_API_CALL advise(cl_command_queue queue, const void *memory, size_t size, cl_mem_advice_intel advice,
                                 cl_uint count, const cl_event *list, cl_event *event)
{
    (void)advice;
    if (!usm_has(memory))
        return CL_INVALID_VALUE;
    return real.clEnqueueSVMMap(queue, CL_FALSE, CL_MAP_READ, (void *)(uintptr_t)memory, size, count, list, event);
}

static cl_int CL_API_CALL event_info(cl_event event, cl_event_info param, size_t size, void *value, size_t *size_ret)
{
    static const cl_command_type own[][2] = {{CL_COMMAND_SVM_MEMFILL, CL_COMMAND_MEMFILL_INTEL},
                                             {CL_COMMAND_SVM_MEMCPY, CL_COMMAND_MEMCPY_INTEL},
                                             {CL_COMMAND_SVM_MIGRATE_MEM, CL_COMMAND_MIGRATEMEM_INTEL},
                                             {CL_COMMAND_SVM_MAP, CL_COMMAND_MEMADVISE_INTEL}};
    cl_int error = real.clGetEventInfo(event, param, size, value, size_ret);
    cl_command_type type;

    if (error || param != CL_EVENT_COMMAND_TYPE || !value)
        return error;
    memcpy(&type, value, sizeof(type));
    for (int i = 0; i < 4; i++) {
        if (own[i][0] == type) {
            memcpy(value, &own[i][1], sizeof(type));
            break;
        }
    }
    return error;
}

/* ---- kernels ---- */

/* Stricter than PoCL: accepts only pointers into allocations of this driver. */
static cl_int CL_API_CALL set_argument(cl_kernel kernel, cl_uint index, const void *pointer)
{
    if (kernel && pointer && !usm_has(pointer))
        return CL_INVALID_ARG_VALUE;
    return real.clSetKernelArgSVMPointer(kernel, index, pointer);
}

static cl_int check_pointers(size_t size, const void *value, bool (*has)(const void *))
{
    for (size_t i = 0; i < size / sizeof(void *); i++) {
        if (!has(((void *const *)value)[i]))
            return CL_INVALID_VALUE;
    }
    return size % sizeof(void *) == 0 ? CL_SUCCESS : CL_INVALID_VALUE;
}

static bool is_device_address(const void *pointer)
{
    return bda_has((uintptr_t)pointer);
}

static cl_int CL_API_CALL exec_info(cl_kernel kernel, cl_kernel_exec_info param, size_t size, const void *value)
{
    cl_int error;

    switch (param) {
    case CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL:
    case CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL:
    case CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL:
        error = size == sizeof(cl_bool) ? CL_SUCCESS : CL_INVALID_VALUE;
        break;
    case CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL:
        error = check_pointers(size, value, usm_has);
        break;
    case CL_KERNEL_EXEC_INFO_DEVICE_PTRS_EXT:
        error = check_pointers(size, value, is_device_address);
        break;
    default:
        return real.clSetKernelExecInfo(kernel, param, size, value);
    }
    if (driver_logs())
        fprintf(stderr, "exec info 0x%x, %zu bytes: %d\n", param, size, error);
    return error;
}

/* ---- the extension ---- */

cl_int usm_device_info(cl_device_info param, size_t size, void *value, size_t *size_ret)
{
    const capabilities can = param == CL_DEVICE_SHARED_SYSTEM_MEM_CAPABILITIES_INTEL
                                 ? 0
                                 : CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL | CL_UNIFIED_SHARED_MEMORY_ATOMIC_ACCESS_INTEL;

    if (param < CL_DEVICE_HOST_MEM_CAPABILITIES_INTEL || param > CL_DEVICE_SHARED_SYSTEM_MEM_CAPABILITIES_INTEL)
        return CL_INVALID_VALUE;
    return driver_return(&can, sizeof(can), size, value, size_ret);
}

void *usm_function(const char *name)
{
    static const struct {
        const char *name;
        void (*function)(void);
    } functions[] = {{"clHostMemAllocINTEL", (void (*)(void))host_alloc},
                     {"clDeviceMemAllocINTEL", (void (*)(void))device_alloc},
                     {"clSharedMemAllocINTEL", (void (*)(void))shared_alloc},
                     {"clMemFreeINTEL", (void (*)(void))mem_free},
                     {"clMemBlockingFreeINTEL", (void (*)(void))mem_free},
                     {"clGetMemAllocInfoINTEL", (void (*)(void))info},
                     {"clSetKernelArgMemPointerINTEL", (void (*)(void))set_argument},
                     {"clEnqueueMemFillINTEL", (void (*)(void))fill},
                     {"clEnqueueMemcpyINTEL", (void (*)(void))copy},
                     {"clEnqueueMigrateMemINTEL", (void (*)(void))migrate},
                     {"clEnqueueMemAdviseINTEL", (void (*)(void))advise}};

    for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
        if (!strcmp(functions[i].name, name))
            return (void *)(uintptr_t)functions[i].function;
    }
    return NULL;
}

void usm_install(struct _cl_icd_dispatch *table)
{
    table->clGetEventInfo = event_info;
    table->clSetKernelExecInfo = exec_info;
}
