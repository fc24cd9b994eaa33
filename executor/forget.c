/* Another worker has taken over the session's node: this one forgets everything but its devices, and is as new. */
#include "executor/internal.h"

/* Objects come before those that they were made from. */
static const unsigned kinds[] = {WIRE_COMMAND_BUFFER, WIRE_KERNEL, WIRE_PROGRAM, WIRE_SAMPLER, WIRE_EVENT,
                                 WIRE_MEMORY,         WIRE_QUEUE,  WIRE_CONTEXT, WIRE_DEVICE};

static bool stays(unsigned kind, const struct object *object)
{
    return kind == WIRE_DEVICE && !((const struct device *)object)->part;
}

static uint32_t forget_kind(struct executor *x, unsigned kind)
{
    const struct table *table = &x->tables[kind];
    uint32_t count = 0;

    for (uint32_t at = 0; at < table->count; at++) {
        const struct exec_release m = {.kind = kind, .object = table->slots[at]};

        if (!m.object || stays(kind, m.object))
            continue;
        exec_release(x, &m);
        count++;
    }
    return count;
}

int exec_forget(struct executor *x, const struct exec_forget *m)
{
    struct wire_forget_reply reply = {.call = m->call};

    for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        reply.objects += forget_kind(x, kinds[i]);
    svm_forget(x);
    replicas_forget(x);
    x->last_length = 0;
    reply_forget(x, &reply);
    return 0;
}
