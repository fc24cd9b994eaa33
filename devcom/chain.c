/* Chained descriptors: a table of puts that is started again and again. */
#include <errno.h>
#include <stdlib.h>

#include "devcom/internal.h"

struct devcom_chain {
    struct devcom *d;
    unsigned count, queue;
    pthread_mutex_t lock;
    struct transfer transfers[];
};

int devcom_chain_create(struct devcom *d, const struct devcom_put *puts, unsigned count, unsigned queue,
                        struct devcom_chain **out)
{
    struct devcom_chain *chain;
    int error = 0;

    if (!count || queue >= d->o.queues)
        return -EINVAL;
    chain = malloc(sizeof(*chain) + count * sizeof(*chain->transfers));
    if (!chain)
        return -ENOMEM;
    *chain = (struct devcom_chain){.d = d, .count = count, .queue = queue};
    for (unsigned i = 0; i < count && !error; i++)
        error = transfer_check(d, &puts[i], queue, &chain->transfers[i]);
    if (error) {
        free(chain);
        return error;
    }
    pthread_mutex_init(&chain->lock, NULL);
    *out = chain;
    return 0;
}

static bool under_way(const struct devcom_chain *chain)
{
    struct devcom *d = chain->d;

    for (unsigned i = 0; i < chain->count && d->nic; i++) {
        if (nic_busy(d, chain->transfers[i].rank, chain->queue))
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
        error = put_checked(chain->d, chain->transfers, chain->count, &done);
    /* a table may be longer than what a queue has under way */
    while (error == -EAGAIN && !(error = devcom_queue_fence(chain->d, chain->queue, DEVCOM_BLOCK))) {
        unsigned more;

        error = put_checked(chain->d, chain->transfers + done, chain->count - done, &more);
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
