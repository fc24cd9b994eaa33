/*
 * Unified shared memory (cl_intel_unified_shared_memory): allocations. Those of a device are native ones of its node;
 * the program has their addresses, at which it has nothing itself. Memory of the host and shared memory lie in the
 * arena, which every worker of the host has at the same address, for devices that take any address; native ones are of
 * use to the program only where the device is one of its own process. Elsewhere there are none, and the capabilities
 * say so.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "libvocl/usm.h"

#define TRIES 8
#define MOST_PROPERTIES 64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct usm *all; /* by address */
static size_t count, room;

/* ---- the table; under the lock ---- */

/* How many begin at or before the address. */
static size_t count_up_to(uintptr_t address)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if ((uintptr_t)all[middle].base <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const struct usm *find(const void *pointer)
{
    size_t before = count_up_to((uintptr_t)pointer);
    const struct usm *u = before ? &all[before - 1] : NULL;

    return u && (uintptr_t)pointer - (uintptr_t)u->base < u->size ? u : NULL;
}

static uintptr_t page_of(uintptr_t address)
{
    return address & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
}

/* Whether a reserved allocation lies in part on the page, which then is reserved. */
static bool is_reserved(uintptr_t page)
{
    const uintptr_t last = page + (uintptr_t)sysconf(_SC_PAGESIZE) - 1;

    for (size_t at = count_up_to(last); at--;) {
        if ((uintptr_t)all[at].base + all[at].size <= page)
            return false;
        if (all[at].reserved)
            return true;
    }
    return false;
}

/* The pages that only this range is on: native allocations share pages, but only the first and the last. */
static void own_pages(uintptr_t base, size_t size, uintptr_t *first, uintptr_t *end)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

    *first = page_of(base);
    *end = page_of(base + size - 1) + page;
    if (is_reserved(*first))
        *first += page;
    if (*end > *first && is_reserved(*end - page))
        *end -= page;
}

static bool add(const struct usm *fresh)
{
    const size_t at = count_up_to((uintptr_t)fresh->base);
    uintptr_t first, end;

    if ((at && (uintptr_t)all[at - 1].base + all[at - 1].size > (uintptr_t)fresh->base) ||
        (at < count && (uintptr_t)fresh->base + fresh->size > (uintptr_t)all[at].base))
        return false; /* of two nodes */
    if (count == room) {
        struct usm *more = realloc(all, (room * 2 + 64) * sizeof(*all));

        if (!more)
            return false;
        all = more;
        room = room * 2 + 64;
    }
    if (fresh->reserved && !fresh->chosen) {
        own_pages((uintptr_t)fresh->base, fresh->size, &first, &end);
        if (first < end && !address_map(first, end - first, PROT_NONE))
            return false;
    }
    memmove(&all[at + 1], &all[at], (count - at) * sizeof(*all));
    all[at] = *fresh;
    count++;
    return true;
}

static void take(const struct usm *u)
{
    const size_t at = (size_t)(u - all);
    const struct usm gone = *u;
    uintptr_t first, end;

    count--;
    memmove(&all[at], &all[at + 1], (count - at) * sizeof(*all));
    if (!gone.reserved)
        return;
    own_pages((uintptr_t)gone.base, gone.size, &first, &end);
    if (first < end)
        munmap((void *)first, end - first);
}

static bool add_locked(const struct usm *fresh)
{
    bool good;

    pthread_mutex_lock(&lock);
    good = add(fresh);
    pthread_mutex_unlock(&lock);
    return good;
}

bool usm_find(const void *pointer, struct usm *out)
{
    const struct usm *u;

    pthread_mutex_lock(&lock);
    u = find(pointer);
    if (u)
        *out = *u;
    pthread_mutex_unlock(&lock);
    return u != NULL;
}

bool usm_any(const struct node *node)
{
    bool any = false;

    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count; i++)
        any |= all[i].node == node;
    pthread_mutex_unlock(&lock);
    return any;
}

/* What is reserved stays so: the parent's addresses mean nothing here. */
void usm_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    count = 0;
}

/* ---- capabilities ---- */

/* Whether host and shared memory of a device can be had at all. */
static bool is_within_reach(cl_device_id device)
{
    return device->node->in_process || (device->any_pointer && arena_shared_with(device->node));
}

static cl_int capabilities(cl_device_id device, cl_device_info param,
                           cl_device_unified_shared_memory_capabilities_intel *can)
{
    cl_int error = cl_error(
        info_ask_once(device->node, WIRE_INFO_DEVICE, &device->object, 0, param, NULL, 0, sizeof(*can), can, NULL));

    if (!error && param == CL_DEVICE_SHARED_SYSTEM_MEM_CAPABILITIES_INTEL && !device->node->in_process)
        *can = 0;
    else if (!error && param != CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL && !is_within_reach(device))
        *can = 0;
    return error;
}

cl_int usm_capabilities(cl_device_id device, cl_device_info param, size_t size, void *value, size_t *size_ret)
{
    cl_device_unified_shared_memory_capabilities_intel can = 0;
    cl_int error = capabilities(device, param, &can);

    return error ? error : info_return(&can, sizeof(can), size, value, size_ret);
}

static bool can(cl_device_id device, cl_device_info param)
{
    cl_device_unified_shared_memory_capabilities_intel found = 0;

    return !capabilities(device, param, &found) && found;
}

static bool can_share(cl_device_id device)
{
    return can(device, CL_DEVICE_SINGLE_DEVICE_SHARED_MEM_CAPABILITIES_INTEL) ||
           can(device, CL_DEVICE_CROSS_DEVICE_SHARED_MEM_CAPABILITIES_INTEL);
}

static bool any_can(cl_context context, bool (*one_can)(cl_device_id))
{
    bool any = false;

    for (cl_uint i = 0; i < context->device_count; i++)
        any |= one_can(context->devices[i]);
    return any;
}

static bool can_host(cl_device_id device)
{
    return can(device, CL_DEVICE_HOST_MEM_CAPABILITIES_INTEL);
}

static bool can_device(cl_device_id device)
{
    return can(device, CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL);
}

bool usm_offered(cl_context context)
{
    bool offered = false;

    for (cl_uint i = 0; i < context->device_count; i++)
        offered |= context->devices[i]->has_usm;
    return offered;
}

/* ---- allocation ---- */

struct wish {
    struct usm usm; /* all but the address */
    const cl_mem_properties_intel *properties;
    uint32_t properties_length;
    cl_uint alignment;
};

static uint32_t wire_type(cl_unified_shared_memory_type_intel type)
{
    return type == CL_MEM_TYPE_HOST_INTEL     ? WIRE_USM_HOST
           : type == CL_MEM_TYPE_DEVICE_INTEL ? WIRE_USM_DEVICE
                                              : WIRE_USM_SHARED;
}

static cl_int ask(const struct wish *wish, const void *wanted, uint64_t *address)
{
    struct wire_usm_alloc m = {.context = wish->usm.context->object.id,
                               .device = wish->usm.device ? wish->usm.device->object.id : 0,
                               .type = wire_type(wish->usm.type),
                               .wanted = (uintptr_t)wanted,
                               .size = wish->usm.size,
                               .alignment = wish->alignment,
                               .properties = wish->properties,
                               .properties_length = wish->properties_length};
    struct wire_usm_alloc_reply reply;
    struct call call;
    cl_int error = cl_error(call_usm_alloc(wish->usm.node, &m, &reply, &call));

    if (error)
        return error;
    error = reply.error;
    if (!error)
        *address = reply.address;
    call_free(&call);
    return error;
}

/* Two processes whose memory is laid out alike (without ASLR, or with a sanitizer) take the same addresses for ever:
 * where the device takes any the program chooses. */
static cl_int alloc_chosen(struct wish *wish)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (wish->usm.size + page - 1) & ~(page - 1);
    uint64_t address = svm_remote_choose(wish->usm.context, wish->usm.node, CL_MEM_READ_WRITE, wish->usm.size, whole);

    if (!address)
        return CL_OUT_OF_RESOURCES;
    wish->usm.chosen = true;
    wish->usm.base = (uint8_t *)(uintptr_t)address;
    mprotect(wish->usm.base, whole, PROT_NONE);
    if (add_locked(&wish->usm))
        return CL_SUCCESS;
    munmap(wish->usm.base, whole);
    address_free(wish->usm.node, address);
    return CL_OUT_OF_HOST_MEMORY;
}

/* Addresses where the program has something stay allocated there until another has been found. */
static cl_int alloc_native(struct wish *wish)
{
    uint64_t refused[TRIES], address;
    unsigned tries = 0;
    cl_int error = CL_OUT_OF_RESOURCES;

    wish->usm.reserved = !wish->usm.node->in_process;
    while (tries < TRIES && !(error = ask(wish, NULL, &address))) {
        wish->usm.base = (uint8_t *)(uintptr_t)address;
        if (add_locked(&wish->usm))
            break;
        refused[tries++] = address;
        error = CL_OUT_OF_RESOURCES;
    }
    if (tries == TRIES && wish->usm.device && wish->usm.device->any_pointer)
        error = alloc_chosen(wish);
    if (tries)
        vocl_log(LOG_INFO, "%u addresses of unified shared memory were taken", tries);
    while (tries--)
        address_free(wish->usm.node, refused[tries]);
    return error;
}

static cl_int alloc_placed(struct wish *wish)
{
    uint64_t address;
    cl_int error;

    wish->usm.placed = true;
    wish->usm.base = arena_alloc(wish->usm.size, wish->alignment);
    if (!wish->usm.base)
        return CL_OUT_OF_RESOURCES;
    error = ask(wish, wish->usm.base, &address);
    if (!error && add_locked(&wish->usm))
        return CL_SUCCESS;
    if (!error)
        address_free(wish->usm.node, (uintptr_t)wish->usm.base);
    arena_free(wish->usm.base);
    return error ? error : CL_OUT_OF_HOST_MEMORY;
}

static bool is_placeable(cl_context context)
{
    bool good = true;

    for (unsigned i = 0; i < context->node_count; i++)
        good &= arena_shared_with(context->nodes[i]);
    for (cl_uint i = 0; i < context->device_count; i++)
        good &= context->devices[i]->any_pointer;
    return good;
}

static cl_int alloc(struct wish *wish)
{
    cl_context context = wish->usm.context;

    if (wish->usm.type == CL_MEM_TYPE_DEVICE_INTEL)
        return alloc_native(wish);
    if (is_placeable(context))
        return alloc_placed(wish);
    return context->node_count == 1 && context->node->in_process ? alloc_native(wish) : CL_OUT_OF_RESOURCES;
}

static cl_int check_properties(struct wish *wish, const cl_mem_properties_intel *properties)
{
    const cl_mem_alloc_flags_intel placement =
        CL_MEM_ALLOC_INITIAL_PLACEMENT_DEVICE_INTEL | CL_MEM_ALLOC_INITIAL_PLACEMENT_HOST_INTEL;
    uint32_t length = 0;

    for (; properties && properties[length]; length += 2) {
        if (length == MOST_PROPERTIES || properties[length] != CL_MEM_ALLOC_FLAGS_INTEL)
            return CL_INVALID_PROPERTY;
        wish->usm.flags = properties[length + 1];
    }
    wish->properties = properties;
    wish->properties_length = length * (uint32_t)sizeof(*properties);
    if (wish->usm.flags & ~(placement | CL_MEM_ALLOC_WRITE_COMBINED_INTEL) ||
        (wish->usm.flags & placement) == placement ||
        (wish->usm.flags & placement && wish->usm.type != CL_MEM_TYPE_SHARED_INTEL))
        return CL_INVALID_PROPERTY;
    return CL_SUCCESS;
}

static cl_int check(struct wish *wish, const cl_mem_properties_intel *properties)
{
    const cl_context context = wish->usm.context;
    const cl_device_id device = wish->usm.device;
    cl_int error;

    if (device && !context_has_device(context, device))
        return CL_INVALID_DEVICE;
    switch (wish->usm.type) {
    case CL_MEM_TYPE_HOST_INTEL:
        if (!any_can(context, can_host))
            return CL_INVALID_OPERATION;
        break;
    case CL_MEM_TYPE_DEVICE_INTEL:
        if (!device)
            return CL_INVALID_DEVICE;
        if (!can_device(device))
            return CL_INVALID_OPERATION;
        break;
    default:
        if (device ? !can_share(device) : !any_can(context, can_share))
            return CL_INVALID_OPERATION;
    }
    error = check_properties(wish, properties);
    if (error)
        return error;
    if (!wish->usm.size)
        return CL_INVALID_BUFFER_SIZE;
    for (cl_uint i = 0; i < context->device_count; i++) {
        if (wish->usm.size > context->devices[i]->alloc_size)
            return CL_INVALID_BUFFER_SIZE;
    }
    return wish->alignment & (wish->alignment - 1) ? CL_INVALID_VALUE : CL_SUCCESS;
}

static void *usm_alloc(cl_context context, cl_device_id device, cl_unified_shared_memory_type_intel type,
                       const cl_mem_properties_intel *properties, size_t size, cl_uint alignment, cl_int *ret)
{
    struct wish wish = {.usm = {.size = size, .type = type, .context = context, .device = device},
                        .alignment = alignment};
    cl_int error = handle_check(context, WIRE_CONTEXT) ? check(&wish, properties) : CL_INVALID_CONTEXT;

    if (!error) {
        wish.usm.node = device ? device->node : context->node;
        handle_use(context); /* native memory holds it, too */
        error = alloc(&wish);
        if (error)
            handle_drop(context);
    }
    fail_ret(ret, error);
    return error ? NULL : wish.usm.base;
}

void *usm_alloc_host(cl_context context, const cl_mem_properties_intel *properties, size_t size, cl_uint alignment,
                     cl_int *ret)
{
    return usm_alloc(context, NULL, CL_MEM_TYPE_HOST_INTEL, properties, size, alignment, ret);
}

void *usm_alloc_device(cl_context context, cl_device_id device, const cl_mem_properties_intel *properties, size_t size,
                       cl_uint alignment, cl_int *ret)
{
    return usm_alloc(context, device, CL_MEM_TYPE_DEVICE_INTEL, properties, size, alignment, ret);
}

void *usm_alloc_shared(cl_context context, cl_device_id device, const cl_mem_properties_intel *properties, size_t size,
                       cl_uint alignment, cl_int *ret)
{
    return usm_alloc(context, device, CL_MEM_TYPE_SHARED_INTEL, properties, size, alignment, ret);
}

cl_int usm_free(cl_context context, void *memory)
{
    const struct usm *found;
    struct usm gone;

    if (!handle_check(context, WIRE_CONTEXT))
        return CL_INVALID_CONTEXT;
    if (!memory)
        return CL_SUCCESS;
    pthread_mutex_lock(&lock);
    found = find(memory);
    if (found && (found->base != memory || found->context != context))
        found = NULL;
    if (found) {
        gone = *found;
        take(found);
    }
    pthread_mutex_unlock(&lock);
    if (!found)
        return CL_INVALID_VALUE;
    address_free(gone.node, (uintptr_t)gone.base);
    if (gone.placed)
        arena_free(gone.base);
    handle_drop(context);
    return CL_SUCCESS;
}

/* The queues of a context, each held. */
struct queues {
    cl_context context;
    cl_command_queue *list;
    size_t count;
};

static void collect(struct object *object, void *argument)
{
    struct queues *queues = argument;
    cl_command_queue queue = (cl_command_queue)object, *more;

    if (queue->context != queues->context || atomic_load(&object->references) <= 0)
        return;
    more = realloc(queues->list, (queues->count + 1) * sizeof(*more));
    if (!more)
        return;
    handle_use(queue);
    queues->list = more;
    queues->list[queues->count++] = queue;
}

/* What may use the memory has been enqueued somewhere. */
cl_int usm_free_blocking(cl_context context, void *memory)
{
    struct queues queues = {.context = context};
    struct usm found;

    if (handle_check(context, WIRE_CONTEXT) && usm_find(memory, &found))
        handle_each(WIRE_QUEUE, collect, &queues);
    for (size_t i = 0; i < queues.count; i++) {
        queue_wait_idle(queues.list[i]);
        handle_drop(queues.list[i]);
    }
    free(queues.list);
    return usm_free(context, memory);
}

/* ---- queries ---- */

cl_int usm_info(cl_context context, const void *pointer, cl_mem_info_intel param, size_t size, void *value,
                size_t *size_ret)
{
    struct usm u;

    if (!handle_check(context, WIRE_CONTEXT))
        return CL_INVALID_CONTEXT;
    if (!usm_find(pointer, &u) || u.context != context)
        u = (struct usm){.type = CL_MEM_TYPE_UNKNOWN_INTEL};
    switch (param) {
    case CL_MEM_ALLOC_TYPE_INTEL:
        return info_return(&u.type, sizeof(u.type), size, value, size_ret);
    case CL_MEM_ALLOC_BASE_PTR_INTEL:
        return info_return(&u.base, sizeof(u.base), size, value, size_ret);
    case CL_MEM_ALLOC_SIZE_INTEL:
        return info_return(&u.size, sizeof(u.size), size, value, size_ret);
    case CL_MEM_ALLOC_DEVICE_INTEL:
        return info_return(&u.device, sizeof(u.device), size, value, size_ret);
    case CL_MEM_ALLOC_FLAGS_INTEL:
        return info_return(&u.flags, sizeof(u.flags), size, value, size_ret);
    }
    return CL_INVALID_VALUE;
}
