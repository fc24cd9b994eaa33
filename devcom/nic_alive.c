/* Beats, by which ranks of other hosts know of each other, and who is lost. */
#include <errno.h>

#include "base/log.h"
#include "devcom/nic.h"

void nic_heard(struct nic *nic, int rank)
{
    beats_heard(&nic->beats, rank);
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

/* True if it was not before. */
static bool lose(struct nic *nic, int rank)
{
    if (!beats_lose(&nic->beats, rank))
        return false;
    board_ring(nic->d->boards[nic->d->rank]);
    return true;
}

static void look(struct nic *nic, int rank)
{
    if (beats_silent(&nic->beats, rank) && lose(nic, rank))
        vocl_log(LOG_WARN, "devcom: rank %d has not heard of rank %d for %ld s: it is lost", nic->d->rank, rank,
                 nic->beats.silence_us / 1000000);
}

int nic_unreachable(struct nic *nic, int rank)
{
    if (!nic->d->boards[rank] && lose(nic, rank))
        vocl_log(LOG_WARN, "devcom: MPI does not reach rank %d from rank %d any more: it is lost", rank, nic->d->rank);
    return -ECONNRESET;
}

void nic_beat(struct nic *nic)
{
    bool stood_still;

    if (!beats_due(&nic->beats, &stood_still))
        return;
    hear(nic);
    for (int rank = 0; rank < nic->d->size; rank++) {
        struct wire heart = {.kind = WIRE_HEART};

        if (nic->d->boards[rank] || beats_lost(&nic->beats, rank))
            continue;
        nic_send_message(nic, rank, HEART_TAG, NULL, &heart, NULL, 0);
        if (!stood_still)
            look(nic, rank);
    }
}

bool nic_lost(const struct devcom *d, int rank)
{
    return d->nic && beats_lost(&d->nic->beats, rank);
}
