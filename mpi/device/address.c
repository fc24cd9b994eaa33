/* Addresses of device memory: see xtqmpi.h. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "mpi/device/memory.h"

#define PAGE ((size_t)4096)

_Atomic uintptr_t device_low = UINTPTR_MAX, device_high;

/* The ranges of addresses of device memory, used under the lock. They stay reserved after their release, so that
 * nothing else is mapped there and later uses are reported as errors. They are reused for buffers that fit. */
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct device_range {
    uintptr_t base;
    size_t bytes, reserved;       /* reserved: 0 for SVM */
    struct device_memory *memory; /* NULL: released */
} * ranges;
static size_t range_count, range_room;

/* ---- the memory ---- */

static bool is_in_order(cl_command_queue commands, cl_context *context)
{
    cl_command_queue_properties properties;

    return commands && !clGetCommandQueueInfo(commands, CL_QUEUE_PROPERTIES, sizeof(properties), &properties, NULL) &&
           !(properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) &&
           !clGetCommandQueueInfo(commands, CL_QUEUE_CONTEXT, sizeof(*context), context, NULL);
}

static struct device_memory *memory_new(cl_command_queue commands, cl_mem buffer, void *svm, size_t bytes)
{
    struct device_memory *memory = malloc(sizeof(*memory));

    if (!memory)
        return NULL;
    *memory = (struct device_memory){.users = 1, .commands = commands, .buffer = buffer, .svm = svm, .bytes = bytes};
    clRetainCommandQueue(commands);
    if (buffer)
        clRetainMemObject(buffer);
    return memory;
}

void device_give_back(struct device_memory *memory)
{
    if (!memory || atomic_fetch_sub(&memory->users, 1) != 1)
        return;
    if (memory->buffer)
        clReleaseMemObject(memory->buffer);
    clReleaseCommandQueue(memory->commands);
    free(memory);
}

size_t device_bytes(const struct device_memory *memory)
{
    return memory->bytes;
}

/* ---- ranges ---- */

/* Under the lock. */
static void widen(const struct device_range *range)
{
    if (range->base < device_low)
        device_low = range->base;
    if (range->base + range->bytes > device_high)
        device_high = range->base + range->bytes;
}

/* Under the lock. */
static struct device_range *range_add(void)
{
    if (range_count == range_room) {
        size_t room = range_room ? 2 * range_room : 16;
        struct device_range *more = realloc(ranges, room * sizeof(*more));

        if (!more)
            return NULL;
        ranges = more;
        range_room = room;
    }
    return &ranges[range_count++];
}

/* Under the lock. */
static struct device_range *range_reserve(size_t bytes)
{
    const size_t whole = (bytes + PAGE - 1) & ~(PAGE - 1);
    struct device_range *range;
    void *base;

    for (size_t i = 0; i < range_count; i++) {
        if (!ranges[i].memory && ranges[i].reserved >= whole && ranges[i].reserved / 2 <= whole)
            return &ranges[i];
    }
    base = mmap(NULL, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return NULL;
    range = range_add();
    if (range)
        *range = (struct device_range){.base = (uintptr_t)base, .reserved = whole};
    else
        munmap(base, whole);
    return range;
}

/* Returns a range that overlaps that many bytes. Called under the lock. */
static struct device_range *range_find(uintptr_t at, size_t bytes)
{
    for (size_t i = 0; i < range_count; i++) {
        if (at < ranges[i].base + ranges[i].bytes && ranges[i].base < at + bytes)
            return &ranges[i];
    }
    return NULL;
}

enum device_where device_find(const void *address, struct device_memory **out, size_t *offset)
{
    const struct device_range *range;
    enum device_where where = DEVICE_NOT;

    pthread_rwlock_rdlock(&lock);
    range = range_find((uintptr_t)address, 1);
    if (range) {
        where = range->memory ? DEVICE_MEMORY : DEVICE_RELEASED;
        *offset = (uintptr_t)address - range->base;
        *out = range->memory;
        if (range->memory)
            atomic_fetch_add(&range->memory->users, 1);
    }
    pthread_rwlock_unlock(&lock);
    return where;
}

bool device_has(const void *address, MPI_Datatype datatype)
{
    MPI_Aint first = 0, span;
    bool holds;

    if (address == MPI_BOTTOM && (datatype == MPI_DATATYPE_NULL || PMPI_Type_get_true_extent(datatype, &first, &span)))
        return false;
    pthread_rwlock_rdlock(&lock);
    holds = range_find((uintptr_t)address + (uintptr_t)first, 1) != NULL;
    pthread_rwlock_unlock(&lock);
    return holds;
}

/* ---- xtqmpi.h ---- */

int xtqmpi_device_address(cl_command_queue commands, cl_mem buffer, void **out)
{
    cl_context context, of_buffer;
    size_t bytes = 0;
    struct device_range *range;
    int error = -ENOMEM;

    if (!out || !buffer || !is_in_order(commands, &context) ||
        clGetMemObjectInfo(buffer, CL_MEM_CONTEXT, sizeof(of_buffer), &of_buffer, NULL) || of_buffer != context ||
        clGetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof(bytes), &bytes, NULL) || !bytes)
        return -EINVAL;
    pthread_rwlock_wrlock(&lock);
    range = range_reserve(bytes);
    if (range && (range->memory = memory_new(commands, buffer, NULL, bytes))) {
        range->bytes = bytes;
        widen(range);
        *out = (void *)range->base;
        error = 0;
    }
    pthread_rwlock_unlock(&lock);
    return error;
}

int xtqmpi_device_svm(cl_command_queue commands, void *svm, size_t bytes)
{
    struct device_range *range = NULL;
    cl_context context;
    int error = 0;

    if (!svm || !bytes || bytes > UINTPTR_MAX - (uintptr_t)svm || !is_in_order(commands, &context))
        return -EINVAL;
    pthread_rwlock_wrlock(&lock);
    if (range_find((uintptr_t)svm, bytes))
        error = -EINVAL;
    if (!error && !(range = range_add()))
        error = -ENOMEM;
    if (!error) {
        *range = (struct device_range){
            .base = (uintptr_t)svm, .bytes = bytes, .memory = memory_new(commands, NULL, svm, bytes)};
        if (range->memory) {
            widen(range);
        } else {
            range_count--;
            error = -ENOMEM;
        }
    }
    pthread_rwlock_unlock(&lock);
    return error;
}

int xtqmpi_device_release(void *address)
{
    struct device_memory *memory = NULL;

    pthread_rwlock_wrlock(&lock);
    for (size_t i = 0; i < range_count && !memory; i++) {
        if (ranges[i].base != (uintptr_t)address || !ranges[i].memory)
            continue;
        memory = ranges[i].memory;
        ranges[i].memory = NULL;
        if (!ranges[i].reserved)
            ranges[i] = ranges[--range_count];
    }
    pthread_rwlock_unlock(&lock);
    device_give_back(memory);
    return memory ? 0 : -ENOENT;
}

int xtqmpi_device_buffer(const void *address, cl_mem *buffer, size_t *offset)
{
    struct device_memory *memory = NULL;
    size_t at;
    int error = -ENOENT;

    if (device_find(address, &memory, &at) == DEVICE_MEMORY && memory->buffer) {
        if (buffer)
            *buffer = memory->buffer;
        if (offset)
            *offset = at;
        error = 0;
    }
    device_give_back(memory);
    return error;
}
