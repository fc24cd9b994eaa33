/* See combine.h. */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "ground/elements.h"
#include "ground/text.h"
#include "xtq/combine.h"

TEXT_OF_FILE(combine_source, XTQ_SOURCE_DIR "/combine.cl");
const char *const combine_bodies[1] = {"xtq_combine"};

size_t xtq_type_bytes(enum xtq_type type)
{
    return elements_bytes(type);
}

static int ready(const struct xtq_task *task, uint64_t number)
{
    struct xtq_signal *const *signals = task->buffer;
    uint64_t count = task->buffer_bytes / sizeof(*signals);

    if (number >= count || (uint64_t)task->initiator >= count - number)
        return -EINVAL;
    xtq_signal_add(signals[number + (uint64_t)task->initiator], 1);
    return 0;
}

int combine(const struct xtq_task *task, void *argument)
{
    struct combine_arguments a;
    uint8_t *into = task->buffer;
    size_t bytes;

    (void)argument;
    if (task->argument_bytes != sizeof(a))
        return -EINVAL;
    memcpy(&a, task->arguments, sizeof(a));
    if (a.op == COMBINE_READY)
        return ready(task, a.offset);
    bytes = xtq_type_bytes(a.type);
    if (!bytes || a.op >= COMBINE_READY || a.offset % bytes || task->payload_bytes % bytes ||
        a.offset > task->buffer_bytes || task->payload_bytes > task->buffer_bytes - a.offset)
        return -EINVAL;
    if (a.op == XTQ_REPLACE)
        memcpy(into + a.offset, task->payload, task->payload_bytes);
    else
        elements_combine(into + a.offset, task->payload, task->payload_bytes / bytes, a.type, a.op);
    return 0;
}
