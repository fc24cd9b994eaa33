/* Records a rank's puts, tasks and waits if they are traced. tools/trace_xtq.c reads the records. */
#include <unistd.h>

#include "base/settings.h"
#include "xtq/internal.h"

void timeline_join(struct xtq *x)
{
    const char *folder = settings_string(SETTING_TIMELINE);

    x->identity = (uint64_t)clock_ns() ^ (uint64_t)getpid() << 40;
    PMPI_Bcast(&x->identity, sizeof(x->identity), MPI_BYTE, 0, x->comm);
    if (*folder && !timeline_wanted())
        timeline_start(folder);
}

struct timeline_message timeline_of_packet(const union ring_packet *packet)
{
    if ((packet->header & 0xff) == XTQ_KERNEL)
        return (struct timeline_message){
            .queue = packet->kernel.queue, .index = (uint32_t)packet->kernel.kernel_object, .kernel = 1};
    return (struct timeline_message){.queue = packet->function.queue, .index = packet->function.type};
}

void timeline_of_put(const struct xtq *x, uint64_t since, int target, const struct ring_parts *parts, uint64_t end)
{
    struct timeline_message m;

    if (!since)
        return;
    m = timeline_of_packet(&parts->packet);
    m.context = x->identity;
    m.end = end;
    m.bytes = parts->argument_bytes + parts->payload_bytes;
    m.initiator = (uint32_t)x->rank;
    m.target = (uint32_t)target;
    timeline_put(TIMELINE_PUT, m.target, since, (uint64_t)clock_ns(), &m, sizeof(m));
}

void timeline_of_task(const struct xtq *x, uint64_t since, int initiator, const struct timeline_message *message,
                      const struct xtq_signal *signal, int error)
{
    struct timeline_message m;

    if (!since)
        return;
    m = *message;
    m.context = x->identity;
    m.initiator = (uint32_t)initiator;
    m.target = (uint32_t)x->rank;
    m.signal = (uintptr_t)signal;
    m.error = error;
    timeline_put(TIMELINE_TASK, m.initiator, since, (uint64_t)clock_ns(), &m, sizeof(m));
}

void timeline_of_wait(const struct xtq *x, uint64_t since, const struct xtq_signal *signal)
{
    const struct timeline_message m = {
        .context = x->identity, .signal = (uintptr_t)signal, .target = (uint32_t)x->rank};

    if (since)
        timeline_put(signal ? TIMELINE_SIGNAL : TIMELINE_FENCE, m.target, since, (uint64_t)clock_ns(), &m, sizeof(m));
}
