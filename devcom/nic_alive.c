/* Beats, by which ranks of other hosts know of each other, and who is lost. */
#include "base/clock.h"
#include "devcom/nic.h"

#define HEART_US 1000000
#define LOST_US 30000000

void nic_heard(struct nic *nic, int rank)
{
    atomic_store(&nic->heard_us[rank], clock_us());
}

void nic_beat(struct nic *nic)
{
    long now = clock_us();

    if (now - nic->beat_us < HEART_US)
        return;
    nic->beat_us = now;
    for (int rank = 0; rank < nic->d->size; rank++) {
        struct wire heart = {.kind = WIRE_HEART};

        if (!nic->d->boards[rank])
            nic_send_message(nic, rank, BACK_TAG, NULL, &heart, NULL, 0);
    }
}

bool nic_lost(const struct devcom *d, int rank)
{
    return d->nic && clock_us() - atomic_load(&d->nic->heard_us[rank]) > LOST_US;
}
