/* The bell: a stream socket between the application and each worker, beside MPI. */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "transport/internal.h"
#include "wire/frame.h"

#define CONNECT_MS 10000

static socklen_t unix_address(const char *name, struct sockaddr_un *address)
{
    size_t length = strlen(name);

    memset(address, 0, sizeof(*address));
    address->sun_family = AF_UNIX;
    if (length > sizeof(address->sun_path) - 1)
        length = sizeof(address->sun_path) - 1;
    memcpy(address->sun_path + 1, name, length); /* abstract: no file to leave behind */
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
}

int endpoint_listen_unix(struct endpoint *endpoint)
{
    struct sockaddr_un address;
    uint8_t random[HELLO_TOKEN];
    char name[2 * HELLO_TOKEN + 1];
    socklen_t length;

    if (getrandom(random, sizeof(random), 0) != sizeof(random))
        return -EIO;
    token_show(random, name);
    snprintf(endpoint->text, sizeof(endpoint->text), "unix:vocl-%s", name);
    length = unix_address(endpoint->text + 5, &address);
    endpoint->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (endpoint->fd < 0)
        return -errno;
    if (bind(endpoint->fd, (struct sockaddr *)&address, length) || listen(endpoint->fd, 64)) {
        int error = -errno;

        close(endpoint->fd);
        return error;
    }
    return 0;
}

int endpoint_listen_tcp(struct endpoint *endpoint, const char *host)
{
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found;
    struct sockaddr_in bound;
    socklen_t length = sizeof(bound);
    int error = 0;

    if (getaddrinfo(host, NULL, &hints, &found))
        return -EADDRNOTAVAIL;
    endpoint->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (endpoint->fd < 0 || bind(endpoint->fd, found->ai_addr, found->ai_addrlen) || listen(endpoint->fd, 64) ||
        getsockname(endpoint->fd, (struct sockaddr *)&bound, &length))
        error = -errno;
    freeaddrinfo(found);
    if (error && endpoint->fd >= 0)
        close(endpoint->fd);
    if (!error)
        snprintf(endpoint->text, sizeof(endpoint->text), "tcp:%s:%u", host, ntohs(bound.sin_port));
    return error;
}

static int connect_tcp(const char *text)
{
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found;
    char host[128];
    const char *port = strrchr(text, ':');
    int fd, error = 0;

    if (!port)
        return -EINVAL;
    snprintf(host, sizeof(host), "%.*s", (int)(port - text), text);
    if (getaddrinfo(host, port + 1, &hints, &found))
        return -EADDRNOTAVAIL;
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0) {
        int tries = 3;

        setsockopt(fd, IPPROTO_TCP, TCP_SYNCNT, &tries, sizeof(tries));
    }
    if (fd < 0 || connect(fd, found->ai_addr, found->ai_addrlen))
        error = -errno;
    freeaddrinfo(found);
    if (error && fd >= 0)
        close(fd);
    return error ? error : fd;
}

int endpoint_connect(const char *text)
{
    struct sockaddr_un address;
    socklen_t length;
    int fd, error;

    if (!strncmp(text, "tcp:", 4))
        return connect_tcp(text + 4);
    if (strncmp(text, "unix:", 5))
        return -EINVAL;
    length = unix_address(text + 5, &address);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    if (connect(fd, (struct sockaddr *)&address, length)) {
        error = -errno;
        close(fd);
        return error;
    }
    return fd;
}

/* ---- hello ---- */

void hello_fill(struct hello *hello, enum hello_role role, const uint8_t *token, uint32_t extra)
{
    *hello = (struct hello){.magic = HELLO_MAGIC,
                            .version = WIRE_VERSION,
                            .byte_order = 0x01020304,
                            .pointer_size = sizeof(void *),
                            .role = role,
                            .extra = extra};
    memcpy(hello->token, token, HELLO_TOKEN);
    gethostname(hello->host, sizeof(hello->host) - 1);
}

const char *hello_check(const struct hello *hello, const uint8_t *token)
{
    uint8_t difference = 0;

    if (hello->magic != HELLO_MAGIC)
        return "not a VOCL process";
    if (hello->byte_order != 0x01020304 || hello->pointer_size != sizeof(void *))
        return "byte order or pointer size differ";
    if (hello->version != WIRE_VERSION)
        return "protocol versions differ: the same VOCL must be installed on both sides";
    for (size_t i = 0; i < HELLO_TOKEN; i++)
        difference |= hello->token[i] ^ token[i];
    return difference ? "not of this session (wrong token)" : NULL;
}

void token_show(const uint8_t *token, char text[2 * HELLO_TOKEN + 1])
{
    for (size_t i = 0; i < HELLO_TOKEN; i++)
        sprintf(text + 2 * i, "%02x", token[i]);
}

bool token_read(const char *text, uint8_t *token)
{
    if (!text || strlen(text) != 2 * HELLO_TOKEN)
        return false;
    for (size_t i = 0; i < HELLO_TOKEN; i++) {
        unsigned byte;

        if (sscanf(text + 2 * i, "%2x", &byte) != 1)
            return false;
        token[i] = (uint8_t)byte;
    }
    return true;
}

/* ---- bytes ---- */

long bell_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int bell_read_all(int fd, void *bytes, size_t length, long timeout_ms)
{
    long until = bell_now_ms() + timeout_ms;
    uint8_t *at = bytes;

    while (length) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        long left = until - bell_now_ms();
        ssize_t got;

        if (left <= 0)
            return -ETIMEDOUT;
        if (poll(&ready, 1, (int)left) < 0 && errno != EINTR)
            return -errno;
        if (!ready.revents)
            continue;
        got = recv(fd, at, length, MSG_DONTWAIT);
        if (got == 0)
            return -ECONNRESET;
        if (got < 0 && errno != EAGAIN && errno != EINTR)
            return -errno;
        if (got > 0) {
            at += got;
            length -= (size_t)got;
        }
    }
    return 0;
}

int bell_write_all(int fd, const void *bytes, size_t length)
{
    const uint8_t *at = bytes;

    while (length) {
        ssize_t sent = send(fd, at, length, MSG_NOSIGNAL);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && errno == EAGAIN) {
            struct pollfd ready = {.fd = fd, .events = POLLOUT};

            if (poll(&ready, 1, CONNECT_MS) == 0)
                return -ETIMEDOUT;
            continue;
        }
        if (sent < 0)
            return -errno;
        at += sent;
        length -= (size_t)sent;
    }
    return 0;
}

/* A dead host is to be noticed in about two seconds, also when nothing is said. */
void bell_tune(int fd)
{
    int on = 1, second = 1, tries = 1, timeout_ms = 2000;

    fcntl(fd, F_SETFD, FD_CLOEXEC);
    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)))
        return; /* a Unix socket */
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &second, sizeof(second));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &second, sizeof(second));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &tries, sizeof(tries));
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof(timeout_ms));
}

void bell_send(struct bell *bell, enum bell_kind kind, uint32_t value)
{
    struct bell_record record = {kind, value};
    ssize_t sent;

    if (bell->lost)
        return;
    sent = send(bell->fd, &record, sizeof(record), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0 && sent < (ssize_t)sizeof(record))
        sent = bell_write_all(bell->fd, (uint8_t *)&record + sent, sizeof(record) - (size_t)sent) ? -1 : 8;
    /* a full socket has enough in it to wake anybody; a broken one is noticed by bell_hear() */
}

static void heard(struct bell *bell, const struct bell_record *record)
{
    switch (record->kind) {
    case BELL_SLEEP:
        bell->peer_sleeps = true;
        bell->acked = record->value;
        break;
    case BELL_ACK:
        bell->acked = record->value;
        break;
    case BELL_RANK:
        bell->rank = record->value;
        break;
    case BELL_RING:
        bell->rung = true;
        break;
    default:
        bell->lost = true; /* BELL_BYE, or no peer of ours */
    }
}

int bell_hear(struct bell *bell)
{
    uint8_t bytes[64 * sizeof(struct bell_record)];
    struct bell_record record;
    int count = 0;
    ssize_t got;

    while (!bell->lost) {
        memcpy(bytes, bell->partial, bell->partial_length);
        got = recv(bell->fd, bytes + bell->partial_length, sizeof(bytes) - bell->partial_length, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            break;
        if (got <= 0) {
            bell->lost = true;
            break;
        }
        got += (ssize_t)bell->partial_length;
        for (size_t at = 0; at + sizeof(record) <= (size_t)got; at += sizeof(record), count++) {
            memcpy(&record, bytes + at, sizeof(record));
            heard(bell, &record);
        }
        bell->partial_length = (size_t)got % sizeof(record);
        memcpy(bell->partial, bytes + got - bell->partial_length, bell->partial_length);
        if ((size_t)got < sizeof(bytes))
            break;
    }
    return count;
}
