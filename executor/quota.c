/* How much device memory the session may use, where its node's daemon says so. */
#include "base/size.h"
#include "executor/internal.h"

/* A memory object that counts. */
struct counted {
    struct executor *x;
    size_t size;
};

bool quota_take(struct executor *x, size_t size)
{
    const uint64_t most = x->host.memory;

    if (most && (size > most || atomic_fetch_add(&x->memory_used, size) + size > most)) {
        if (size <= most)
            atomic_fetch_sub(&x->memory_used, size);
        return false;
    }
    if (!most)
        atomic_fetch_add(&x->memory_used, size);
    return true;
}

bool quota_has(const struct executor *x, size_t size)
{
    return !x->host.memory || size_within(atomic_load(&x->memory_used), size, x->host.memory);
}

void quota_give_back(struct executor *x, size_t size)
{
    atomic_fetch_sub(&x->memory_used, size);
}

/* On any thread. */
static void CL_CALLBACK gone(cl_mem memory, void *argument)
{
    struct counted *counted = argument;

    (void)memory;
    quota_give_back(counted->x, counted->size);
    free(counted);
}

void quota_count(struct executor *x, cl_mem memory, size_t size)
{
    struct counted *counted = malloc(sizeof(*counted));

    if (counted) {
        *counted = (struct counted){x, size};
        if (clSetMemObjectDestructorCallback(memory, gone, counted) == CL_SUCCESS)
            return;
        free(counted);
    }
    /* it counts until the session's end */
}

cl_int quota_take_memory(struct executor *x, cl_mem memory, size_t least)
{
    size_t size = 0;

    clGetMemObjectInfo(memory, CL_MEM_SIZE, sizeof(size), &size, NULL);
    if (size < least)
        size = least;
    if (!quota_take(x, size))
        return CL_MEM_OBJECT_ALLOCATION_FAILURE;
    if (x->host.slice || x->host.memory)
        quota_count(x, memory, size);
    return CL_SUCCESS;
}

void quota_info(const struct executor *x, cl_device_info param, void *value, size_t size)
{
    cl_ulong bytes;

    if (!x->host.memory || size != sizeof(bytes) ||
        (param != CL_DEVICE_GLOBAL_MEM_SIZE && param != CL_DEVICE_MAX_MEM_ALLOC_SIZE))
        return;
    memcpy(&bytes, value, sizeof(bytes));
    if (bytes > x->host.memory)
        bytes = x->host.memory;
    memcpy(value, &bytes, sizeof(bytes));
}
