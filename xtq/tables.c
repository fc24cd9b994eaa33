/* The tables of kernels, functions and queues, and registering them (section IV-B). */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "xtq/internal.h"

bool table_take(struct table_entry *entry)
{
    atomic_fetch_add(&entry->users, 1);
    if (atomic_load(&entry->valid))
        return true;
    atomic_fetch_sub(&entry->users, 1);
    return false;
}

void table_release(struct table_entry *entry)
{
    atomic_fetch_sub(&entry->users, 1);
}

/* ---- changes of the tables: by one thread at a time ---- */

/* Locks the tables. Returns -EDEADLK if a task would wait for a thread that may itself wait for the task. */
static int change_begin(struct xtq *x)
{
    if (!server_inside()) {
        pthread_mutex_lock(&x->registering);
        return 0;
    }
    while (pthread_mutex_trylock(&x->registering)) {
        if (atomic_load(&x->awaits_tasks))
            return -EDEADLK;
        sched_yield();
    }
    return 0;
}

static void change_end(struct xtq *x)
{
    pthread_mutex_unlock(&x->registering);
}

/* Invalidates an entry, and waits until its tasks have ended. Returns -EDEADLK, and changes nothing, if this thread may
 * be in one of these tasks. */
static int entry_clear(struct xtq *x, struct table_entry *entry)
{
    bool inside = server_inside();

    if (!atomic_load(&entry->valid))
        return -ENOENT;
    if (inside && atomic_load(&entry->users))
        return -EDEADLK;
    atomic_store(&entry->valid, 0);
    if (inside && atomic_load(&entry->users)) { /* a task has begun meanwhile */
        atomic_store(&entry->valid, 1);
        return -EDEADLK;
    }
    atomic_store(&x->awaits_tasks, true);
    while (atomic_load(&entry->users)) {
        host_queues_settle(x);
        sched_yield();
    }
    atomic_store(&x->awaits_tasks, false);
    return 0;
}

static void entry_set(struct table_entry *entry, uint64_t buffer, size_t bytes, struct xtq_signal *signal,
                      unsigned body)
{
    entry->buffer = buffer;
    entry->buffer_bytes = bytes;
    entry->signal = (uintptr_t)signal;
    entry->body = body;
    atomic_store_explicit(&entry->valid, 1, memory_order_release);
}

int xtq_register_function(struct xtq *x, unsigned index, const struct xtq_function_entry *entry)
{
    struct function_slot *slot = x && index < x->functions ? &x->function_slots[index] : NULL;
    int error;

    if (!slot || !entry || !entry->function)
        return -EINVAL;
    error = change_begin(x);
    if (error)
        return error;
    error = entry_clear(x, &slot->entry);
    if (error != -EDEADLK) {
        slot->function = entry->function;
        slot->argument = entry->argument;
        entry_set(&slot->entry, (uintptr_t)entry->buffer, entry->buffer_bytes, entry->signal, 0);
        error = 0;
    }
    change_end(x);
    return error;
}

int xtq_unregister_function(struct xtq *x, unsigned index)
{
    int error = !x ? -EINVAL : index >= x->functions ? -ENOENT : change_begin(x);

    if (error)
        return error;
    error = entry_clear(x, &x->function_slots[index].entry);
    change_end(x);
    return error;
}

/* Retains both, or none. */
static int objects_retain(cl_kernel kernel, cl_mem memory)
{
    if (kernel && clRetainKernel(kernel))
        return -EINVAL;
    if (!memory || !clRetainMemObject(memory))
        return 0;
    if (kernel)
        clReleaseKernel(kernel);
    return -EINVAL;
}

static void objects_release(cl_kernel kernel, cl_mem memory)
{
    if (kernel)
        clReleaseKernel(kernel);
    if (memory)
        clReleaseMemObject(memory);
}

static int kernel_slot_clear(struct xtq *x, struct kernel_slot *slot)
{
    int error = entry_clear(x, slot->entry);

    if (error)
        return error;
    objects_release(slot->kernel, slot->memory);
    free(slot->argument_bytes);
    slot->argument_bytes = NULL;
    return 0;
}

size_t kernarg_place(size_t end, size_t bytes)
{
    size_t alignment = bytes < 16 ? bytes : 16;

    while (alignment & (alignment - 1))
        alignment++; /* a vector of three has the size of one of four */
    return (end + alignment - 1) & ~(alignment - 1);
}

static size_t kernarg_bytes(const size_t *bytes, unsigned count)
{
    size_t end = 0;

    for (unsigned i = 0; i < count; i++)
        end = kernarg_place(end, bytes[i]) + bytes[i];
    return end;
}

/* Sets a slot. The entry's objects have been retained; the slot owns them and bytes unless this fails. */
static int kernel_slot_set(struct xtq *x, struct kernel_slot *slot, const struct xtq_kernel_entry *entry, size_t *bytes)
{
    int error = change_begin(x);

    if (error)
        return error;
    error = kernel_slot_clear(x, slot);
    if (error != -EDEADLK) {
        slot->kernel = entry->kernel;
        slot->memory = entry->memory;
        slot->argument_count = entry->argument_count;
        slot->argument_bytes = bytes;
        slot->kernarg_bytes = kernarg_bytes(bytes, entry->argument_count);
        entry_set(slot->entry, (uintptr_t)entry->address, entry->buffer_bytes, entry->signal, entry->body);
        error = 0;
    }
    change_end(x);
    return error;
}

int xtq_register_kernel(struct xtq *x, unsigned index, const struct xtq_kernel_entry *entry)
{
    struct kernel_slot *slot = x && index < x->kernels ? &x->kernel_slots[index] : NULL;
    size_t *bytes;
    int error;

    if (!slot || !entry || (!entry->kernel && !entry->body) || (entry->argument_count && !entry->argument_bytes) ||
        (entry->memory && entry->address))
        return -EINVAL;
    for (unsigned i = 0; i < entry->argument_count; i++) {
        if (!entry->argument_bytes[i] || entry->argument_bytes[i] > LEAST_LANE)
            return -EINVAL;
    }
    bytes = malloc((entry->argument_count + 1) * sizeof(*bytes));
    if (!bytes)
        return -ENOMEM;
    if (entry->argument_count)
        memcpy(bytes, entry->argument_bytes, entry->argument_count * sizeof(*bytes));
    error = objects_retain(entry->kernel, entry->memory);
    if (error) {
        free(bytes);
        return error;
    }
    error = kernel_slot_set(x, slot, entry, bytes);
    if (error) {
        objects_release(entry->kernel, entry->memory);
        free(bytes);
    }
    return error;
}

int xtq_unregister_kernel(struct xtq *x, unsigned index)
{
    int error = !x ? -EINVAL : index >= x->kernels ? -ENOENT : change_begin(x);

    if (error)
        return error;
    error = kernel_slot_clear(x, &x->kernel_slots[index]);
    change_end(x);
    return error;
}

/* Opens a queue. The refuser handles what has arrived before, and has finished when the queue's server begins. */
static int queue_open(struct xtq *x, unsigned index, const struct xtq_queue_entry *entry)
{
    struct queue_slot *slot = &x->queue_slots[index];
    struct region_header *header = region_header(&x->region, (unsigned)x->rank);
    struct device_queue *device = NULL;
    struct host_queue *host = NULL;
    int error;

    if (atomic_load(&slot->host) || atomic_load(&slot->device))
        return -EBUSY;
    atomic_store(&x->unserved[index], false);
    server_drain(&x->refuser);
    error = entry->engine == XTQ_DEVICE ? device_queue_open(x, index, entry, &device)
                                        : host_queue_open(x, index, entry, &host);
    if (error) {
        atomic_store(&x->unserved[index], true);
        return error;
    }
    atomic_store(&header->server_of[index], index);
    atomic_store(&slot->host, host);
    atomic_store(&slot->device, device);
    if (host)
        server_show(host_queue_server(host));
    region_wake(&x->region, (unsigned)x->rank, index, false);
    return 0;
}

int xtq_register_queue(struct xtq *x, unsigned index, const struct xtq_queue_entry *entry)
{
    int error;

    if (!x || !entry || index >= x->queues || (entry->engine != XTQ_HOST && entry->engine != XTQ_DEVICE))
        return -EINVAL;
    error = change_begin(x);
    if (error)
        return error;
    error = queue_open(x, index, entry);
    change_end(x);
    return error;
}

void queue_stop(struct xtq *x, unsigned index)
{
    struct queue_slot *slot = &x->queue_slots[index];
    struct host_queue *host = atomic_exchange(&slot->host, NULL);
    struct device_queue *device = atomic_exchange(&slot->device, NULL);

    if (host)
        host_queue_stop(host);
    if (device)
        device_queue_close(device);
}

int xtq_unregister_queue(struct xtq *x, unsigned index)
{
    int error = -ENOENT;

    if (!x)
        return -EINVAL;
    if (index >= x->queues)
        return -ENOENT;
    if (server_inside()) /* in a task of this queue, or of another that may wait likewise for this one */
        return -EDEADLK;
    pthread_mutex_lock(&x->registering);
    if (atomic_load(&x->queue_slots[index].host) || atomic_load(&x->queue_slots[index].device)) {
        atomic_store(&x->awaits_tasks, true);
        queue_stop(x, index);
        atomic_store(&x->awaits_tasks, false);
        atomic_store(&region_header(&x->region, (unsigned)x->rank)->server_of[index], REFUSER);
        atomic_store(&x->unserved[index], true);
        error = 0;
    }
    pthread_mutex_unlock(&x->registering);
    return error;
}
