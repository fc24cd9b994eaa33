/* Beats, by which ranks of other hosts know of each other, and who is lost. */
#include <errno.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"
#include "devcom/nic.h"

void nic_alive_open(struct nic *nic)
{
    nic->silence_us = settings_peer_ms() * 1000;
    nic->tick_us = settings_tick_ms() * 1000;
    for (int rank = 0; rank < nic->d->size; rank++)
        nic_heard(nic, rank);
}

void nic_heard(struct nic *nic, int rank)
{
    atomic_store(&nic->heard_us[rank], clock_us());
}

/* Beats have a tag of their own, so that they are heard also while a large message is waited for. */
static void hear(struct nic *nic)
{
    int found = 1;

    while (found) {
        MPI_Message message;
        MPI_Status status;
        int length;

        if (PMPI_Improbe(MPI_ANY_SOURCE, HEART_TAG, nic->wire, &found, &message, &status) || !found)
            return;
        PMPI_Get_count(&status, MPI_BYTE, &length);
        message_drop(&message, length);
        nic_heard(nic, status.MPI_SOURCE);
    }
}

/* Who is lost stays so, as waits have ended with an error by then. True if it was not before. */
static bool lose(struct nic *nic, int rank)
{
    if (atomic_exchange(&nic->lost[rank], true))
        return false;
    board_ring(nic->d->boards[nic->d->rank]);
    return true;
}

static void look(struct nic *nic, int rank, long now)
{
    if (nic->silence_us && now - atomic_load(&nic->heard_us[rank]) >= nic->silence_us && lose(nic, rank))
        vocl_log(LOG_WARN, "devcom: rank %d has not heard of rank %d for %ld s: it is lost", nic->d->rank, rank,
                 nic->silence_us / 1000000);
}

int nic_unreachable(struct nic *nic, int rank)
{
    if (!nic->d->boards[rank] && lose(nic, rank))
        vocl_log(LOG_WARN, "devcom: MPI does not reach rank %d from rank %d any more: it is lost", rank, nic->d->rank);
    return -ECONNRESET;
}

void nic_beat(struct nic *nic)
{
    long now = clock_us(), last = atomic_load(&nic->beat_us);
    bool stood_still = last && now - last > nic->silence_us / 2; /* this one: the others' beats are still to be read */

    if (now - last < nic->tick_us || !atomic_compare_exchange_strong(&nic->beat_us, &last, now))
        return;
    hear(nic);
    for (int rank = 0; rank < nic->d->size; rank++) {
        struct wire heart = {.kind = WIRE_HEART};

        if (nic->d->boards[rank] || atomic_load(&nic->lost[rank]))
            continue;
        nic_send_message(nic, rank, HEART_TAG, NULL, &heart, NULL, 0);
        if (!stood_still)
            look(nic, rank, now);
    }
}

bool nic_lost(const struct devcom *d, int rank)
{
    return d->nic && atomic_load(&d->nic->lost[rank]);
}
