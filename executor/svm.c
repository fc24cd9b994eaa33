/* Shared virtual memory: the application's memory, mapped here at the same address, or, if the application is on
 * another host, memory that both sides have at one address. */
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "executor/internal.h"

/* ---- memory of the node's ---- */

const struct allocation *allocation_at(const struct executor *x, uint64_t address, uint64_t size)
{
    const struct allocation *a = x->allocations;

    while (a && (address < (uintptr_t)a->memory || address - (uintptr_t)a->memory > a->size ||
                 size > a->size - (address - (uintptr_t)a->memory)))
        a = a->next;
    return a;
}

struct allocation *allocation_new(struct executor *x, uint64_t devices, size_t size)
{
    struct allocation *a = calloc(1, sizeof(*a));

    if (!a)
        return NULL;
    *a = (struct allocation){.size = size, .counted = quota_hold(x, devices, size)};
    if (a->counted)
        return a;
    free(a);
    return NULL;
}

void allocation_drop(struct allocation *a)
{
    quota_drop(a->counted);
    free(a);
}

void allocation_add(struct executor *x, struct allocation *a)
{
    if (a->context)
        clRetainContext(a->context);
    a->next = x->allocations;
    x->allocations = a;
}

/* The shared part begins behind the page with the nonce. */
bool svm_is_shared(const struct executor *x, uint64_t address, uint64_t size)
{
    uint64_t first = (uintptr_t)x->shared + (uint64_t)sysconf(_SC_PAGESIZE),
             end = (uintptr_t)x->shared + x->shared_size;

    return x->shared && address >= first && address <= end && size <= end - address;
}

bool svm_has(const struct executor *x, uint64_t address, uint64_t size)
{
    return svm_is_shared(x, address, size) || allocation_at(x, address, size);
}

/* Whether the address may be given to kernels. */
static bool is_for_kernels(const struct executor *x, uint64_t address)
{
    return allocation_at(x, address, 1) || (!quota_counts(x) && svm_is_shared(x, address, 1));
}

const struct usm *usm_at(const struct executor *x, uint64_t address)
{
    const struct allocation *a = allocation_at(x, address, 1);

    return a ? a->usm : NULL;
}

/* A kernel's vector loads may reach over the ends of a buffer with lanes that are masked out. Where no page is
 * present the processor handles that slowly, each time anew: so this touches the neighbouring pages. */
void svm_touch_ends(const struct executor *x, uint64_t address, uint64_t size)
{
    const volatile uint8_t *before = (const uint8_t *)(uintptr_t)address - 1, *after = before + 1 + size;

    if (x->shared && before >= x->shared && after < x->shared + x->shared_size)
        (void)(*before + *after);
}

static cl_int allocate(struct executor *x, const struct exec_svm_alloc *m, uint64_t *address)
{
    const struct context *context = m->context;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (m->size + page - 1) & ~(page - 1);
    struct allocation *a = allocation_new(x, context->devices, size);

    if (!a)
        return CL_MEM_OBJECT_ALLOCATION_FAILURE;
    a->context = context->native;
    if (m->wanted) {
        a->memory = memory_map_at(m->wanted, size, PROT_READ | PROT_WRITE);
    } else {
        a->native = clSVMAlloc(context->native, m->flags, size + page, m->alignment);
        if (a->native && scrub_allocation(context, NULL, a->native, size + page)) {
            clSVMFree(context->native, a->native);
            a->native = NULL;
        }
        if (a->native)
            a->memory = (uint8_t *)(((uintptr_t)a->native + page - 1) & ~(page - 1));
    }
    if (!a->memory) {
        allocation_drop(a);
        return CL_MEM_OBJECT_ALLOCATION_FAILURE;
    }
    allocation_add(x, a);
    *address = (uintptr_t)a->memory;
    return CL_SUCCESS;
}

int exec_svm_alloc(struct executor *x, const struct exec_svm_alloc *m)
{
    struct wire_svm_alloc_reply reply = {.call = m->call, .error = CL_MEM_OBJECT_ALLOCATION_FAILURE};

    if (!m->size || m->size > UINT64_C(1) << 40 || m->wanted % (uint64_t)sysconf(_SC_PAGESIZE) ||
        m->alignment & (m->alignment - 1))
        return -EBADMSG;
    if (is_usable(m->context))
        reply.error = allocate(x, m, &reply.address);
    reply_svm_alloc(x, &reply);
    return 0;
}

static void free_at(struct allocation **at)
{
    struct allocation *a = *at;

    *at = a->next;
    if (a->native)
        clSVMFree(a->context, a->native);
    else if (a->usm)
        usm_free(a);
    else if (!a->placed)
        munmap(a->memory, a->size);
    if (a->context)
        clReleaseContext(a->context);
    allocation_drop(a);
}

int exec_svm_free(struct executor *x, const struct exec_svm_free *m)
{
    struct allocation **at = &x->allocations;

    while (*at && (uintptr_t)(*at)->memory != m->address)
        at = &(*at)->next;
    if (!*at)
        return -EBADMSG;
    free_at(at);
    return 0;
}

void svm_forget(struct executor *x)
{
    while (x->allocations)
        free_at(&x->allocations);
}

int exec_set_svm_pointers(struct executor *x, const struct exec_set_svm_pointers *m)
{
    const uint8_t *bytes = m->pointers;

    if (m->pointers_length % sizeof(uint64_t))
        return -EBADMSG;
    for (uint32_t at = 0; at < m->pointers_length; at += sizeof(uint64_t)) {
        uint64_t address;

        memcpy(&address, bytes + at, sizeof(address));
        if (!is_for_kernels(x, address))
            return -EBADMSG;
    }
    if (is_usable(m->kernel))
        clSetKernelExecInfo(m->kernel->native, CL_KERNEL_EXEC_INFO_SVM_PTRS, m->pointers_length, m->pointers);
    return 0;
}

cl_int svm_set_argument(const struct executor *x, cl_kernel kernel, cl_uint index, uint64_t address)
{
    const struct usm *usm = usm_at(x, address);
    void *pointer = (void *)(uintptr_t)address;

    if (usm)
        return usm->clSetKernelArgMemPointerINTEL(kernel, index, pointer);
    if (address && !is_for_kernels(x, address)) /* freed memory is the program's mistake, not a breach of the
                                                 * protocol */
        return CL_INVALID_KERNEL_ARGS;
    return clSetKernelArgSVMPointer(kernel, index, pointer);
}

/* ---- memory of the application's ---- */

/* The PID and descriptor may be of another host: the nonce shows whether they are. */
static int map(struct executor *x, const struct exec_share_memory *m)
{
    uint64_t size;
    void *memory;
    int fd = m->address < MEMORY_LOWEST ? -EINVAL : memory_of_process(m->process, m->descriptor, &size), error = 0;

    if (fd < 0)
        return fd;
    if (size < m->size) {
        close(fd);
        return -EINVAL;
    }
    memory = mmap((void *)(uintptr_t)m->address, m->size, PROT_READ | PROT_WRITE, MAP_SHARED | MEMORY_AT, fd, 0);
    if (memory == MAP_FAILED)
        error = -errno;
    close(fd);
    if (error)
        return error;
    if (memory != (void *)(uintptr_t)m->address || memcmp(memory, m->nonce, m->nonce_length)) {
        munmap(memory, m->size);
        return -EXDEV;
    }
    x->shared = memory;
    x->shared_size = m->size;
    return 0;
}

int exec_count_svm(struct executor *x, const struct exec_count_svm *m)
{
    struct wire_count_svm_reply reply = {.call = m->call, .error = CL_OUT_OF_RESOURCES};
    struct allocation *a;

    if (!m->size || !svm_is_shared(x, m->address, m->size))
        return -EBADMSG;
    a = allocation_new(x, QUOTA_ALL, m->size); /* of which context is not told */
    if (a) {
        a->memory = (uint8_t *)(uintptr_t)m->address;
        a->placed = true;
        allocation_add(x, a);
        reply.error = CL_SUCCESS;
    }
    reply_count_svm(x, &reply);
    return 0;
}

int exec_share_memory(struct executor *x, const struct exec_share_memory *m)
{
    struct wire_share_memory_reply reply = {.call = m->call, .counts = quota_counts(x)};
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int error = 0;

    if (x->shared || m->nonce_length != 16 || !m->size || m->size % page || !m->address || m->address % page)
        return -EBADMSG;
    if (x->host.same_process) {
        x->shared = (uint8_t *)(uintptr_t)m->address;
        x->shared_size = m->size;
    } else {
        error = map(x, m);
    }
    if (error) {
        vocl_log(LOG_INFO, "no shared virtual memory: %s", strerror(-error));
        reply.error = CL_OUT_OF_RESOURCES;
    }
    reply_share_memory(x, &reply);
    return 0;
}
