/* Buffers with device addresses: each uses an SVM allocation, whose address is the buffer's. */
#include "newer.h"

struct addressed {
    struct addressed *next;
    cl_context context;
    cl_mem buffer;
    unsigned char *memory;
    size_t size;
};

static struct addressed *all;

bool bda_has(uint64_t address)
{
    const struct addressed *a;

    pthread_mutex_lock(&driver_lock);
    for (a = all; a && address - (uintptr_t)a->memory >= a->size; a = a->next)
        ;
    pthread_mutex_unlock(&driver_lock);
    return a != NULL;
}

static void CL_CALLBACK gone(cl_mem buffer, void *data)
{
    struct addressed **at, *a = data;

    (void)buffer;
    pthread_mutex_lock(&driver_lock);
    for (at = &all; *at != a; at = &(*at)->next)
        ;
    *at = a->next;
    pthread_mutex_unlock(&driver_lock);
    real.clSVMFree(a->context, a->memory);
    free(a);
}

static cl_mem addressed_new(cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *error)
{
    struct addressed *a = calloc(1, sizeof(*a));

    if (!a || flags & CL_MEM_USE_HOST_PTR) {
        *error = a ? CL_INVALID_VALUE : CL_OUT_OF_HOST_MEMORY;
        free(a);
        return NULL;
    }
    *a = (struct addressed){.context = context, .size = size};
    a->memory = real.clSVMAlloc(context, CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER, size, 0);
    if (a->memory && host)
        memcpy(a->memory, host, size);
    flags &= ~(cl_mem_flags)(CL_MEM_COPY_HOST_PTR | CL_MEM_ALLOC_HOST_PTR);
    if (a->memory)
        a->buffer = real.clCreateBuffer(context, flags | CL_MEM_USE_HOST_PTR, size, a->memory, error);
    else
        *error = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    if (!a->buffer) {
        free(a);
        return NULL;
    }
    real.clSetMemObjectDestructorCallback(a->buffer, gone, a);
    pthread_mutex_lock(&driver_lock);
    a->next = all;
    all = a;
    pthread_mutex_unlock(&driver_lock);
    return a->buffer;
}

static cl_mem CL_API_CALL create_buffer(cl_context context, const cl_mem_properties *properties, cl_mem_flags flags,
                                        size_t size, void *host, cl_int *ret)
{
    bool addressed = false;
    cl_int error = CL_SUCCESS;
    cl_mem buffer = NULL;

    for (; properties && *properties; properties += 2) {
        if (*properties != CL_MEM_DEVICE_PRIVATE_ADDRESS_EXT)
            error = CL_INVALID_PROPERTY;
        else
            addressed = properties[1];
    }
    if (!error)
        buffer = addressed ? addressed_new(context, flags, size, host, &error)
                           : real.clCreateBufferWithProperties(context, NULL, flags, size, host, &error);
    if (ret)
        *ret = error;
    return buffer;
}

static cl_int CL_API_CALL memory_info(cl_mem memory, cl_mem_info param, size_t size, void *value, size_t *size_ret)
{
    const struct addressed *a;
    cl_mem_device_address_ext addresses[64];
    cl_uint count = 0;

    if (param != CL_MEM_DEVICE_ADDRESS_EXT)
        return real.clGetMemObjectInfo(memory, param, size, value, size_ret);
    pthread_mutex_lock(&driver_lock);
    for (a = all; a && a->buffer != memory; a = a->next)
        ;
    if (a)
        real.clGetContextInfo(a->context, CL_CONTEXT_NUM_DEVICES, sizeof(count), &count, NULL);
    for (cl_uint i = 0; i < count && i < 64; i++)
        addresses[i] = (uintptr_t)a->memory;
    pthread_mutex_unlock(&driver_lock);
    return a ? driver_return(addresses, count * sizeof(*addresses), size, value, size_ret) : CL_INVALID_OPERATION;
}

static cl_int CL_API_CALL set_argument(cl_kernel kernel, cl_uint index, cl_mem_device_address_ext address)
{
    if (kernel && address && !bda_has(address))
        return CL_INVALID_ARG_VALUE;
    return real.clSetKernelArgSVMPointer(kernel, index, (void *)(uintptr_t)address);
}

void *bda_function(const char *name)
{
    return strcmp(name, "clSetKernelArgDevicePointerEXT") ? NULL : (void *)(uintptr_t)set_argument;
}

void bda_install(struct _cl_icd_dispatch *table)
{
    table->clCreateBufferWithProperties = create_buffer;
    table->clGetMemObjectInfo = memory_info;
}
