/*
 * How much memory the session's objects may use on each device, where the node's daemon limits that. It is not known
 * where an object is, and native OpenCL may have it on each device of its context: so it counts on each of them.
 */
#include "base/size.h"
#include "executor/internal.h"

/* Bytes that count on these devices until their last user is gone. */
struct counted {
    struct executor *x;
    uint64_t devices;
    size_t size;
    atomic_uint users;
};

bool quota_counts(const struct executor *x)
{
    return x->host.slice || x->host.memory;
}

/* The devices on which bytes count one by one: without a limit none, as only the total is reported then. */
static uint64_t limited(const struct executor *x, uint64_t devices)
{
    return x->host.memory ? devices : 0;
}

static void give_back_on(struct executor *x, uint64_t devices, size_t size)
{
    for (; devices; devices &= devices - 1)
        atomic_fetch_sub(&x->memory_used_on[__builtin_ctzll(devices)], size);
}

bool quota_take(struct executor *x, uint64_t devices, size_t size)
{
    const uint64_t most = x->host.memory, all = limited(x, devices);

    if (most && size > most)
        return false;
    for (uint64_t left = all; left; left &= left - 1) {
        if (atomic_fetch_add(&x->memory_used_on[__builtin_ctzll(left)], size) + size > most) {
            give_back_on(x, all ^ (left & (left - 1)), size);
            return false;
        }
    }
    atomic_fetch_add(&x->memory_used, size);
    return true;
}

bool quota_has(const struct executor *x, uint64_t devices, size_t size)
{
    for (uint64_t left = limited(x, devices); left; left &= left - 1) {
        if (!size_within(atomic_load(&x->memory_used_on[__builtin_ctzll(left)]), size, x->host.memory))
            return false;
    }
    return true;
}

void quota_give_back(struct executor *x, uint64_t devices, size_t size)
{
    give_back_on(x, limited(x, devices), size);
    atomic_fetch_sub(&x->memory_used, size);
}

static struct counted *counted_new(struct executor *x, uint64_t devices, size_t size)
{
    struct counted *counted = malloc(sizeof(*counted));

    if (counted)
        *counted = (struct counted){.x = x, .devices = devices, .size = size, .users = 1};
    return counted;
}

struct counted *quota_hold(struct executor *x, uint64_t devices, size_t size)
{
    struct counted *counted;

    if (!quota_take(x, devices, size))
        return NULL;
    counted = counted_new(x, devices, size);
    if (!counted)
        quota_give_back(x, devices, size);
    return counted;
}

void quota_drop(struct counted *counted)
{
    if (atomic_fetch_sub(&counted->users, 1) > 1)
        return;
    quota_give_back(counted->x, counted->devices, counted->size);
    free(counted);
}

/* Called on any thread. */
static void CL_CALLBACK gone(cl_mem memory, void *argument)
{
    (void)memory;
    quota_drop(argument);
}

/* If no callback can be set they count until the session's end. */
void quota_hold_for(struct counted *counted, cl_mem memory)
{
    atomic_fetch_add(&counted->users, 1);
    clSetMemObjectDestructorCallback(memory, gone, counted);
}

void quota_count(struct executor *x, uint64_t devices, cl_mem memory, size_t size)
{
    struct counted *counted = counted_new(x, devices, size);

    if (!counted)
        return; /* they count until the session's end */
    quota_hold_for(counted, memory);
    quota_drop(counted);
}

cl_int quota_take_memory(struct executor *x, uint64_t devices, cl_mem memory, size_t least)
{
    size_t size = 0;

    clGetMemObjectInfo(memory, CL_MEM_SIZE, sizeof(size), &size, NULL);
    if (size < least)
        size = least;
    if (!quota_take(x, devices, size))
        return CL_MEM_OBJECT_ALLOCATION_FAILURE;
    if (quota_counts(x))
        quota_count(x, devices, memory, size);
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
