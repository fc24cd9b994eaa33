/* Stream sockets between processes of VOCL. */
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
#include <unistd.h>

#include "base/clock.h"
#include "base/settings.h"
#include "base/socket.h"

#define WRITE_MS 10000

void token_show(const uint8_t *token, char text[2 * TOKEN_BYTES + 1])
{
    for (size_t i = 0; i < TOKEN_BYTES; i++)
        sprintf(text + 2 * i, "%02x", token[i]);
}

bool token_read(const char *text, uint8_t *token)
{
    if (!text || strlen(text) != 2 * TOKEN_BYTES)
        return false;
    for (size_t i = 0; i < TOKEN_BYTES; i++) {
        unsigned byte;

        if (sscanf(text + 2 * i, "%2x", &byte) != 1)
            return false;
        token[i] = (uint8_t)byte;
    }
    return true;
}

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
    uint8_t random[TOKEN_BYTES];
    char name[2 * TOKEN_BYTES + 1];
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

int endpoint_own_address(const char *hosts, char *address, size_t size)
{
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_DGRAM}, *found;
    struct sockaddr_storage own;
    socklen_t length = sizeof(own);
    char first[256];
    int fd, error;

    if (*settings_string(SETTING_ADDRESS)) {
        snprintf(address, size, "%s", settings_string(SETTING_ADDRESS));
        return 0;
    }
    snprintf(first, sizeof(first), "%.*s", (int)strcspn(hosts, ","), hosts);
    if (getaddrinfo(first, "9", &hints, &found))
        return -EADDRNOTAVAIL;
    fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    error = fd < 0 || connect(fd, found->ai_addr, found->ai_addrlen) ||
            getsockname(fd, (struct sockaddr *)&own, &length) ||
            getnameinfo((struct sockaddr *)&own, length, address, (socklen_t)size, NULL, 0, NI_NUMERICHOST);
    if (fd >= 0)
        close(fd);
    freeaddrinfo(found);
    return error ? -EADDRNOTAVAIL : 0;
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

int socket_read_all(int fd, void *bytes, size_t length, long timeout_ms)
{
    long until = clock_ms() + timeout_ms;
    uint8_t *at = bytes;

    while (length) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        long left = until - clock_ms();
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

int socket_write_all(int fd, const void *bytes, size_t length)
{
    const uint8_t *at = bytes;

    while (length) {
        ssize_t sent = send(fd, at, length, MSG_NOSIGNAL);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && errno == EAGAIN) {
            struct pollfd ready = {.fd = fd, .events = POLLOUT};

            if (poll(&ready, 1, WRITE_MS) == 0)
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
void socket_tune(int fd)
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
