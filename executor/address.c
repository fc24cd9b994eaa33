/* Commands on memory that is named by its address: shared virtual memory and unified shared memory. */
#include "executor/transfer.h"

static struct side side_at(const struct executor *x, uint64_t address, uint64_t size)
{
    return (struct side){
        .svm = (void *)(uintptr_t)address, .usm = usm_at(x, address), .part = {.kind = WIRE_PIECE, .size = size}};
}

int exec_write_svm(struct command *c, const struct exec_write_svm *m)
{
    const struct side side = side_at(c->x, m->address, m->size);

    return svm_has(c->x, m->address, m->size) ? transfer_write(c, &side, m->tag, m->data, m->data_length) : -EBADMSG;
}

int exec_read_svm(struct command *c, const struct exec_read_svm *m)
{
    const struct side side = side_at(c->x, m->address, m->size);

    return svm_has(c->x, m->address, m->size) ? transfer_read(c, &side, m->tag) : -EBADMSG;
}

static cl_int copy(const struct command *c, const struct exec_copy_svm *m)
{
    const struct usm *usm = usm_at(c->x, m->target);
    void *to = (void *)(uintptr_t)m->target;
    const void *from = (void *)(uintptr_t)m->source;
    const cl_event *wait = command_waits(c);

    if (!usm)
        usm = usm_at(c->x, m->source);
    if (usm)
        return usm->clEnqueueMemcpyINTEL(c->queue->native, CL_FALSE, to, from, m->size, c->wait_count, wait, c->ask);
    return clEnqueueSVMMemcpy(c->queue->native, CL_FALSE, to, from, m->size, c->wait_count, wait, c->ask);
}

/* Whether native OpenCL has not allocated the memory: it can copy to such memory, where the device takes any
 * address, but PoCL 7.0 crashes when it fills it. */
static bool is_foreign(const struct executor *x, const struct exec_fill_svm *m)
{
    const struct allocation *a = allocation_at(x, m->address, m->size);

    return (!a || !(a->native || a->usm)) && m->size <= UINT32_MAX;
}

static int fill_foreign(struct command *c, const struct exec_fill_svm *m)
{
    const struct side side = {.svm = (void *)(uintptr_t)m->address, .part = {.kind = WIRE_PIECE, .size = m->size}};
    uint8_t *bytes = malloc(m->size);
    int bad;

    for (size_t at = 0; bytes && at + m->pattern_length <= m->size; at += m->pattern_length)
        memcpy(bytes + at, m->pattern, m->pattern_length);
    if (!bytes || m->size % m->pattern_length)
        c->error = bytes ? CL_INVALID_VALUE : CL_OUT_OF_HOST_MEMORY;
    bad = c->error ? 0 : transfer_write(c, &side, 0, bytes, (uint32_t)m->size);
    free(bytes);
    return bad;
}

static cl_int fill(const struct command *c, const struct exec_fill_svm *m)
{
    const struct usm *usm = usm_at(c->x, m->address);
    void *to = (void *)(uintptr_t)m->address;
    const cl_event *wait = command_waits(c);

    if (usm)
        return usm->clEnqueueMemFillINTEL(c->queue->native, to, m->pattern, m->pattern_length, m->size, c->wait_count,
                                          wait, c->ask);
    return clEnqueueSVMMemFill(c->queue->native, to, m->pattern, m->pattern_length, m->size, c->wait_count, wait,
                               c->ask);
}

int exec_copy_svm(struct command *c, const struct exec_copy_svm *m)
{
    if (!svm_has(c->x, m->target, m->size) || !svm_has(c->x, m->source, m->size))
        return -EBADMSG;
    if (!c->error)
        c->error = copy(c, m);
    return 0;
}

int exec_fill_svm(struct command *c, const struct exec_fill_svm *m)
{
    if (!svm_has(c->x, m->address, m->size) || !m->pattern_length)
        return -EBADMSG;
    if (!c->error && is_foreign(c->x, m))
        return fill_foreign(c, m);
    if (!c->error)
        c->error = fill(c, m);
    return 0;
}

/* ---- outside of queues ---- */

/* Returns NULL if the memory is not this process' alone: then only native OpenCL may know how to read it. */
static uint8_t *own_memory(const struct executor *x, uint64_t address, uint64_t size)
{
    const struct allocation *a = size && size <= SIDE_MOST_BYTES ? allocation_at(x, address, size) : NULL;

    return a && !a->native && !a->usm && !a->placed ? a->memory + (address - (uintptr_t)a->memory) : NULL;
}

static void brought(void *argument, int status)
{
    struct transfer *t = argument;
    struct executor *x = t->x;

    if (!status)
        memcpy(t->side.svm, t->bytes, t->side.part.size);
    transfer_free(t);
    executor_resume(x);
}

/* Holds the stream until the bytes have arrived, so that no command frees the memory. */
static int bring(struct executor *x, const struct side *side, uint32_t tag)
{
    struct transfer *t = transfer_new(x, NULL, side, tag, false);

    if (t)
        t->bytes = malloc(side->part.size);
    if (!t || !t->bytes) {
        free(t);
        return -ENOMEM;
    }
    x->held = true;
    if (!x->host.take(x->host.owner, 0, tag, t->bytes, side->part.size, brought, t))
        return 0;
    x->held = false;
    transfer_free(t);
    return -EIO;
}

int exec_bring_svm(struct executor *x, const struct exec_bring_svm *m)
{
    uint8_t *memory = own_memory(x, m->address, m->size);
    const struct side side = side_at(x, m->address, m->size);

    if (!memory || !m->tag != !!m->data_length || m->tag & WIRE_TAG_CHUNKED ||
        (m->data_length && m->data_length != m->size))
        return -EBADMSG;
    if (m->tag)
        return bring(x, &side, m->tag);
    memcpy(memory, m->data, m->data_length);
    return 0;
}

/* Sends a copy, as the memory may be freed before the bytes have arrived. */
int exec_take_svm(struct executor *x, const struct exec_take_svm *m)
{
    const uint8_t *memory = own_memory(x, m->address, m->size);
    const struct side side = side_at(x, m->address, m->size);
    struct transfer *t;

    if (!memory || !m->tag || m->tag & WIRE_TAG_CHUNKED)
        return -EBADMSG;
    t = transfer_new(x, NULL, &side, m->tag, true);
    if (!t)
        return -ENOMEM;
    t->bytes = malloc(m->size);
    if (t->bytes)
        memcpy(t->bytes, memory, m->size);
    else
        t->error = CL_OUT_OF_HOST_MEMORY;
    transfer_give(t);
    return 0;
}
