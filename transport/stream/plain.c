/* Connections without TLS: see plain.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "transport/stream/plain.h"

struct tls {
    int fd;
    bool accepts;
    pid_t process; /* the PID at the other end, as the kernel reports it, or 0 */
    bool asks;     /* the kernel has to report it with the next bytes */
    size_t known;  /* bytes of the identity that have been sent or received */
    char identity[TLS_IDENTITY];
};

/* The program may have closed a descriptor that it does not know, which the session replaces (use()). */
static bool is_later(int error)
{
    return error == EAGAIN || error == EINTR || error == EBADF || error == ENOTSOCK;
}

/* The kernel then also reports it for bytes that were sent earlier, if the other end is a Unix socket, too. */
static bool ask_for_process(int fd)
{
    struct sockaddr_un address;
    socklen_t length = sizeof(address);
    const int on = 1;

    return !getsockname(fd, (struct sockaddr *)&address, &length) && address.sun_family == AF_UNIX &&
           !setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
}

/* There is no room for descriptors, so the kernel closes any that arrive. */
static ssize_t receive(struct tls *tls, void *bytes, size_t length)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(struct ucred))];
    } control;
    struct iovec part = {bytes, length};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    const struct cmsghdr *header;
    struct ucred who;
    ssize_t got;

    if (!tls->asks)
        return recv(tls->fd, bytes, length, MSG_DONTWAIT);
    got = recvmsg(tls->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    header = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_CREDENTIALS ||
        header->cmsg_len != CMSG_LEN(sizeof(who)))
        return got;
    memcpy(&who, CMSG_DATA(header), sizeof(who));
    tls->process = who.pid;
    tls->asks = who.pid <= 0;
    return got;
}

pid_t plain_process(const struct tls *tls)
{
    return tls->process;
}

static int plain_init(const uint8_t *secret, bool bare, void (*ending)(void *), void *argument)
{
    (void)secret, (void)bare, (void)ending, (void)argument;
    return 0;
}

static struct tls *plain_open(int fd, const char *identity)
{
    struct tls *tls = calloc(1, sizeof(*tls));

    if (!tls)
        return NULL;
    tls->fd = fd;
    tls->accepts = !identity;
    tls->asks = ask_for_process(fd);
    if (identity)
        memcpy(tls->identity, identity, strnlen(identity, TLS_IDENTITY - 1));
    return tls;
}

static int plain_shake(struct tls *tls)
{
    while (tls->known < TLS_IDENTITY) {
        char *at = tls->identity + tls->known;
        const size_t left = TLS_IDENTITY - tls->known;
        ssize_t moved = tls->accepts ? receive(tls, at, left) : send(tls->fd, at, left, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (moved < 0 && is_later(errno))
            return -EAGAIN;
        if (moved <= 0)
            return -ECONNRESET;
        tls->known += (size_t)moved;
    }
    tls->identity[TLS_IDENTITY - 1] = '\0';
    return 0;
}

static const char *plain_identity(const struct tls *tls)
{
    return tls->identity;
}

static void plain_use(struct tls *tls, int fd)
{
    tls->fd = fd;
}

static ssize_t plain_write(struct tls *tls, const void *bytes, size_t length)
{
    ssize_t sent = send(tls->fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);

    return sent >= 0 ? sent : is_later(errno) ? 0 : -ECONNRESET;
}

static int plain_flush(struct tls *tls)
{
    (void)tls;
    return 1;
}

static ssize_t plain_read(struct tls *tls, void *bytes, size_t length)
{
    ssize_t got = length ? receive(tls, bytes, length) : -1;

    if (!length)
        return 0;
    return got > 0 ? got : got < 0 && is_later(errno) ? 0 : -ECONNRESET;
}

static bool plain_waits(const struct tls *tls)
{
    (void)tls;
    return false;
}

static void plain_close(struct tls *tls)
{
    free(tls);
}

const struct tls_plugin plain_plugin = {
    .version = TLS_PLUGIN_VERSION,
    .init = plain_init,
    .open = plain_open,
    .shake = plain_shake,
    .identity = plain_identity,
    .use = plain_use,
    .write = plain_write,
    .flush = plain_flush,
    .read = plain_read,
    .waits = plain_waits,
    .by_kernel = plain_waits,
    .close = plain_close,
};
