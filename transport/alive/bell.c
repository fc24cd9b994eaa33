/* The bell: a stream socket between two members, beside the provider. */
#include <errno.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/settings.h"
#include "base/socket.h"
#include "transport/alive/bell.h"

#define MOST_UNREAD 8192 /* bytes of the socket's buffer, which holds several times as many */

/* Returns the bell's descriptor, or -1, and then the bell is lost. */
static int bell_fd(struct bell *bell)
{
    int fd = bell->lost ? -1 : stored_fd(&bell->socket);

    if (fd < 0 && !bell->lost)
        bell->why = "the program has closed descriptors that are not its own";
    bell->lost |= fd < 0;
    return fd;
}

void bell_send(struct bell *bell, enum bell_kind kind, uint32_t value)
{
    struct bell_record record = {kind, value};
    ssize_t sent;
    int fd;

    if (bell->carry && !bell->lost)
        bell->carry(bell->carrier, bell->number, &record);
    fd = bell->carry ? -1 : bell_fd(bell);
    if (fd < 0)
        return;
    sent = send(fd, &record, sizeof(record), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0 && sent < (ssize_t)sizeof(record))
        sent = socket_write_all(fd, (uint8_t *)&record + sent, sizeof(record) - (size_t)sent) ? -1 : 8;
    /* the peer is awake already if its socket is full; bell_hear() notices a broken one */
}

/* Frames may already have confirmed more. */
static void acked(struct bell *bell, uint32_t frames)
{
    if ((int32_t)(frames - bell->acked) > 0)
        bell->acked = frames;
}

void bell_take(struct bell *bell, const struct bell_record *record)
{
    bell->heard++;
    if (record->kind != BELL_STOPPED)
        bell->stopped = false;
    switch (record->kind) {
    case BELL_SLEEP:
        bell->peer_sleeps = true;
        acked(bell, record->value);
        break;
    case BELL_ACK:
        acked(bell, record->value);
        break;
    case BELL_ACCEPTED:
        bell->ring = true;
        break;
    case BELL_RING:
        bell->rung = true;
        bell->rung_for = record->value;
        break;
    case BELL_RANK:
    case BELL_BEAT:
        break;
    case BELL_STOPPED:
        bell->stopped = true;
        break;
    case BELL_BYE:
        bell->lost = bell->bye = true;
        break;
    default:
        bell->why = "it sent an unknown record on the bell";
        bell->lost = true;
    }
}

int bell_hear(struct bell *bell)
{
    uint8_t bytes[64 * sizeof(struct bell_record)];
    struct bell_record record;
    int count = 0, fd = bell_fd(bell);
    ssize_t got;

    while (!bell->lost) {
        memcpy(bytes, bell->partial, bell->partial_length);
        got = recv(fd, bytes + bell->partial_length, sizeof(bytes) - bell->partial_length, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            break;
        if (got < 0 && errno == EBADF) { /* closed by another thread just now */
            fd = bell_fd(bell);
            continue;
        }
        if (got <= 0) {
            bell->lost = true;
            break;
        }
        got += (ssize_t)bell->partial_length;
        for (size_t at = 0; at + sizeof(record) <= (size_t)got; at += sizeof(record), count++) {
            memcpy(&record, bytes + at, sizeof(record));
            bell_take(bell, &record);
        }
        bell->partial_length = (size_t)got % sizeof(record);
        memcpy(bell->partial, bytes + got - bell->partial_length, bell->partial_length);
        if ((size_t)got < sizeof(bytes))
            break;
    }
    return count;
}

void bell_beat(int fd, bool stopped)
{
    const struct bell_record record = {stopped ? BELL_STOPPED : BELL_BEAT, 0};
    int unread = 0;

    if (ioctl(fd, SIOCOUTQ, &unread) || unread > MOST_UNREAD)
        return;
    if (send(fd, &record, sizeof(record), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        return; /* the owner notices it */
}
