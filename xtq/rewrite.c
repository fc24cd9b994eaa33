/* Replaces the indices in a packet by this rank's addresses (section III-C.2, Figure 5). */
#include <errno.h>

#include "xtq/internal.h"

static void fill_task(struct table_entry *entry, int initiator, const struct ring_message *message,
                      struct rewritten *out)
{
    out->entry = entry;
    out->signal = (struct xtq_signal *)(uintptr_t)entry->signal;
    out->task = (struct xtq_task){
        .initiator = initiator,
        .buffer = (void *)(uintptr_t)entry->buffer,
        .buffer_bytes = entry->buffer_bytes,
        .payload = message->payload,
        .payload_bytes = message->payload_bytes,
        .arguments = message->arguments,
        .argument_bytes = message->argument_bytes,
    };
}

static int rewrite_function(struct xtq *x, int initiator, struct ring_message *message, struct rewritten *out)
{
    struct xtq_function_packet *packet = &message->packet.function;

    if (packet->completion_signal || packet->reserved)
        return -EINVAL;
    if (packet->type >= x->functions || !table_take(&x->function_slots[packet->type].entry))
        return -ENOENT;
    out->function = &x->function_slots[packet->type];
    fill_task(&x->function_slots[packet->type].entry, initiator, message, out);
    packet->arg[0] = out->function->entry.buffer;
    packet->arg[1] = (uintptr_t)message->payload;
    packet->completion_signal = out->function->entry.signal;
    for (unsigned i = 0; i < 4; i++)
        out->task.arg[i] = packet->arg[i];
    return 0;
}

static int rewrite_kernel(struct xtq *x, int initiator, struct ring_message *message, struct rewritten *out)
{
    struct xtq_kernel_packet *packet = &message->packet.kernel;

    if (packet->setup < 1 || packet->setup > 3 || packet->completion_signal || packet->private_segment_size ||
        packet->group_segment_size)
        return -EINVAL;
    if (packet->kernel_object >= x->kernels || !table_take(&x->kernel_table[packet->kernel_object]))
        return -ENOENT;
    out->kernel = &x->kernel_slots[packet->kernel_object];
    fill_task(out->kernel->entry, initiator, message, out);
    packet->kernel_object = (uintptr_t)out->kernel->kernel;
    packet->kernarg_address = (uintptr_t)message->arguments;
    packet->payload_address = (uintptr_t)message->payload;
    packet->completion_signal = out->kernel->entry->signal;
    return 0;
}

int rewrite(struct xtq *x, int initiator, struct ring_message *message, struct rewritten *out)
{
    *out = (struct rewritten){0};
    switch (message->packet.header & 0xff) {
    case XTQ_KERNEL:
        return rewrite_kernel(x, initiator, message, out);
    case XTQ_FUNCTION:
        return rewrite_function(x, initiator, message, out);
    }
    return -EINVAL;
}
