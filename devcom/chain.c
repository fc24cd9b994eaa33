/* Chained descriptors: a table of puts that is started again and again. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "devcom/internal.h"

struct devcom_chain {
    struct devcom *d;
    unsigned count, queue;
    pthread_mutex_t lock;
    struct devcom_put puts[];
};

int devcom_chain_create(struct devcom *d, const struct devcom_put *puts, unsigned count, unsigned queue,
                        struct devcom_chain **out)
{
    struct devcom_chain *chain;

    if (!count || queue >= d->o.queues)
        return -EINVAL;
    for (unsigned i = 0; i < count; i++) {
        struct transfer checked;
        int error = transfer_check(d, &puts[i], queue, &checked);

        if (error)
            return error;
    }
    chain = malloc(sizeof(*chain) + count * sizeof(*puts));
    if (!chain)
        return -ENOMEM;
    *chain = (struct devcom_chain){.d = d, .count = count, .queue = queue};
    memcpy(chain->puts, puts, count * sizeof(*puts));
    pthread_mutex_init(&chain->lock, NULL);
    *out = chain;
    return 0;
}

static bool under_way(const struct devcom_chain *chain)
{
    struct devcom *d = chain->d;

    for (unsigned i = 0; i < chain->count && d->nic; i++) {
        if (nic_busy(d, chain->puts[i].rank, chain->queue))
            return true;
    }
    return false;
}

int devcom_chain_start(struct devcom_chain *chain)
{
    unsigned done = 0;
    int error = -EBUSY;

    if (pthread_mutex_trylock(&chain->lock))
        return error;
    if (!under_way(chain))
        error = devcom_put(chain->d, chain->puts, chain->count, chain->queue, &done);
    /* a table may be longer than what a queue has under way */
    while (error == -EAGAIN && !(error = devcom_queue_fence(chain->d, chain->queue, DEVCOM_BLOCK))) {
        unsigned more;

        error = devcom_put(chain->d, chain->puts + done, chain->count - done, chain->queue, &more);
        done += more;
    }
    pthread_mutex_unlock(&chain->lock);
    return error;
}

int devcom_chain_wait(struct devcom_chain *chain, long timeout_us)
{
    return devcom_queue_fence(chain->d, chain->queue, timeout_us);
}

void devcom_chain_destroy(struct devcom_chain *chain)
{
    pthread_mutex_destroy(&chain->lock);
    free(chain);
}
