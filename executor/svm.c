/* Shared virtual memory: the application's, mapped here at the address it has there, or, of an application on another
 * host, memory that both have at one address. */
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "executor/internal.h"

/* ---- memory of the node's ---- */

struct allocation {
    struct allocation *next;
    cl_context context;
    void *native;
    uint8_t *memory; /* whole pages in it: native alignment may be no more than that of the largest type */
    size_t size;
};

static bool in_allocation(const struct executor *x, uint64_t address, uint64_t size)
{
    for (const struct allocation *a = x->allocations; a; a = a->next) {
        if (address >= (uintptr_t)a->memory && address - (uintptr_t)a->memory <= a->size &&
            size <= a->size - (address - (uintptr_t)a->memory))
            return true;
    }
    return false;
}

/* What is shared begins behind the page of the nonce. */
bool svm_has(const struct executor *x, uint64_t address, uint64_t size)
{
    uint64_t first = (uintptr_t)x->shared + (uint64_t)sysconf(_SC_PAGESIZE),
             end = (uintptr_t)x->shared + x->shared_size;

    if (x->shared && address >= first && address <= end && size <= end - address)
        return true;
    return in_allocation(x, address, size);
}

/* A kernel's vector loads may reach over the ends of a buffer with lanes that are masked out. Where no page is, the
 * processor sorts that out slowly, each time anew: so the neighbouring pages are made to be there. */
void svm_touch_ends(const struct executor *x, uint64_t address, uint64_t size)
{
    const volatile uint8_t *before = (const uint8_t *)(uintptr_t)address - 1, *after = before + 1 + size;

    if (x->shared && before >= x->shared && after < x->shared + x->shared_size)
        (void)(*before + *after);
}

static uint8_t *map_at(uint64_t address, size_t size)
{
    void *wanted = (void *)(uintptr_t)address;
    void *memory = mmap(wanted, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

    if (memory == MAP_FAILED)
        return NULL;
    if (memory == wanted)
        return memory;
    munmap(memory, size); /* an old kernel, for which the address is a wish */
    return NULL;
}

static cl_int allocate(struct executor *x, struct object *context, const struct wire_svm_alloc *m, uint64_t *address)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (m->size + page - 1) & ~(page - 1);
    struct allocation *a = calloc(1, sizeof(*a));

    if (!a)
        return CL_OUT_OF_HOST_MEMORY;
    if (!quota_take(x, size)) {
        free(a);
        return CL_MEM_OBJECT_ALLOCATION_FAILURE;
    }
    *a = (struct allocation){.next = x->allocations, .context = context->context, .size = size};
    if (m->wanted) {
        a->memory = map_at(m->wanted, size);
    } else {
        a->native = clSVMAlloc(context->context, m->flags, size + page, m->alignment);
        if (a->native)
            a->memory = (uint8_t *)(((uintptr_t)a->native + page - 1) & ~(page - 1));
    }
    if (!a->memory) {
        free(a);
        quota_give_back(x, size);
        return CL_MEM_OBJECT_ALLOCATION_FAILURE;
    }
    clRetainContext(a->context);
    x->allocations = a;
    *address = (uintptr_t)a->memory;
    return CL_SUCCESS;
}

int exec_svm_alloc(struct executor *x, const struct wire_svm_alloc *m)
{
    struct object *context = object_get(x, WIRE_CONTEXT, m->context);
    struct wire_svm_alloc_reply reply = {.call = m->call, .error = CL_MEM_OBJECT_ALLOCATION_FAILURE};
    struct wire_buffer out = {0};

    if (!context || !m->size || m->size > UINT64_C(1) << 40 || m->wanted % (uint64_t)sysconf(_SC_PAGESIZE))
        return -EBADMSG;
    if (is_usable(context))
        reply.error = allocate(x, context, m, &reply.address);
    wire_put_svm_alloc_reply(&out, &reply);
    executor_send(x, &out);
    return 0;
}

int exec_svm_free(struct executor *x, const struct wire_svm_free *m)
{
    struct allocation **at = &x->allocations, *a;

    while (*at && (uintptr_t)(*at)->memory != m->address)
        at = &(*at)->next;
    a = *at;
    if (!a)
        return -EBADMSG;
    *at = a->next;
    if (a->native)
        clSVMFree(a->context, a->native);
    else
        munmap(a->memory, a->size);
    quota_give_back(x, a->size);
    clReleaseContext(a->context);
    free(a);
    return 0;
}

int exec_set_svm_pointers(struct executor *x, const struct wire_set_svm_pointers *m)
{
    struct object *kernel = object_get(x, WIRE_KERNEL, m->kernel);
    const uint8_t *bytes = m->pointers;

    if (!kernel || m->pointers_length % sizeof(uint64_t))
        return -EBADMSG;
    for (uint32_t at = 0; at < m->pointers_length; at += sizeof(uint64_t)) {
        uint64_t address;

        memcpy(&address, bytes + at, sizeof(address));
        if (!svm_has(x, address, 1))
            return -EBADMSG;
    }
    if (is_usable(kernel))
        clSetKernelExecInfo(kernel->kernel, CL_KERNEL_EXEC_INFO_SVM_PTRS, m->pointers_length, m->pointers);
    return 0;
}

#define WAITS m->event, m->want, m->wait, m->wait_count

int exec_write_svm(struct executor *x, const struct wire_write_svm *m)
{
    struct side side = {.svm = (void *)(uintptr_t)m->address, .size = m->size};
    struct command c;
    int bad = svm_has(x, m->address, m->size) ? command_begin(&c, x, m->queue, WAITS) : -EBADMSG;

    return bad ? bad : transfer_write(&c, &side, m->tag, m->data, m->data_length);
}

int exec_read_svm(struct executor *x, const struct wire_read_svm *m)
{
    struct side side = {.svm = (void *)(uintptr_t)m->address, .size = m->size};
    struct command c;
    int bad = svm_has(x, m->address, m->size) ? command_begin(&c, x, m->queue, WAITS) : -EBADMSG;

    return bad ? bad : transfer_read(&c, &side, m->tag);
}

int exec_copy_svm(struct executor *x, const struct wire_copy_svm *m)
{
    struct command c;
    int bad = svm_has(x, m->target, m->size) && svm_has(x, m->source, m->size) ? command_begin(&c, x, m->queue, WAITS)
                                                                               : -EBADMSG;

    if (bad)
        return bad;
    return command_end(&c, c.error ? c.error
                                   : clEnqueueSVMMemcpy(c.queue->queue, CL_FALSE, (void *)(uintptr_t)m->target,
                                                        (void *)(uintptr_t)m->source, m->size, c.wait_count,
                                                        c.wait_count ? c.wait : NULL, c.ask));
}

int exec_fill_svm(struct executor *x, const struct wire_fill_svm *m)
{
    struct command c;
    int bad = svm_has(x, m->address, m->size) && m->pattern_length ? command_begin(&c, x, m->queue, WAITS) : -EBADMSG;

    if (bad)
        return bad;
    return command_end(&c, c.error ? c.error
                                   : clEnqueueSVMMemFill(c.queue->queue, (void *)(uintptr_t)m->address, m->pattern,
                                                         m->pattern_length, m->size, c.wait_count,
                                                         c.wait_count ? c.wait : NULL, c.ask));
}

/* ---- memory of the application's ---- */

/* The process and descriptor may be of another host: the nonce tells. */
static int map(struct executor *x, const struct wire_share_memory *m)
{
    uint64_t size;
    void *memory;
    int fd = memory_of_process(m->process, m->descriptor, &size), error = 0;

    if (fd < 0)
        return fd;
    if (size < m->size) {
        close(fd);
        return -EINVAL;
    }
    memory =
        mmap((void *)(uintptr_t)m->address, m->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
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

int exec_share_memory(struct executor *x, const struct wire_share_memory *m)
{
    struct wire_share_memory_reply reply = {.call = m->call};
    struct wire_buffer out = {0};
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
    wire_put_share_memory_reply(&out, &reply);
    executor_send(x, &out);
    return 0;
}
