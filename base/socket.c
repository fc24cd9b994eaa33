/* Stream sockets between processes of VOCL. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/settings.h"
#include "base/socket.h"

#define WRITE_MS 10000
#define CONNECT_MS 7000
#define FULL_MS 2000
#define FULL_NAP_MS 10

void hex_show(const uint8_t *bytes, size_t count, char *text)
{
    for (size_t i = 0; i < count; i++)
        sprintf(text + 2 * i, "%02x", bytes[i]);
}

bool hex_read(const char *text, uint8_t *bytes, size_t count)
{
    if (!text || strlen(text) != 2 * count || strspn(text, "0123456789abcdefABCDEF") != 2 * count)
        return false;
    for (size_t i = 0; i < count; i++) {
        unsigned byte;

        if (sscanf(text + 2 * i, "%2x", &byte) != 1)
            return false;
        bytes[i] = (uint8_t)byte;
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
    memcpy(address->sun_path + 1, name, length); /* an abstract name leaves no file behind */
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
    hex_show(random, TOKEN_BYTES, name);
    snprintf(endpoint->text, sizeof(endpoint->text), "unix:vocl-%s", name);
    length = unix_address(endpoint->text + 5, &address);
    endpoint->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (endpoint->fd < 0)
        return -errno;
    if (bind(endpoint->fd, (struct sockaddr *)&address, length) || listen(endpoint->fd, SOMAXCONN)) {
        int error = -errno;

        close(endpoint->fd);
        return error;
    }
    return 0;
}

int address_split(const char *text, char *host, size_t size, const char **port)
{
    const char *colon = strrchr(text, ':'), *first = text, *end = colon;

    if (!colon || colon == text || !colon[1])
        return -EINVAL;
    if (*text == '[') {
        if (colon[-1] != ']')
            return -EINVAL;
        first++;
        end--;
    }
    if (end <= first || (size_t)(end - first) >= size || (*text != '[' && memchr(first, ':', (size_t)(end - first))))
        return -EINVAL;
    memcpy(host, first, (size_t)(end - first));
    host[end - first] = '\0';
    *port = colon + 1;
    return 0;
}

void address_join(const char *host, unsigned port, char *text, size_t size)
{
    snprintf(text, size, strchr(host, ':') ? "[%s]:%u" : "%s:%u", host, port);
}

const char *address_error(int error)
{
    switch (-error) {
    case ADDRESS_UNKNOWN:
        return "nobody knows a host of this name";
    case ADDRESS_PORTS:
        return "VOCL_PORTS is not FIRST-LAST, two ports from 1 to 65535";
    case EADDRINUSE:
        return *settings_string(SETTING_PORTS) ? "no port of VOCL_PORTS is free" : strerror(EADDRINUSE);
    default:
        return strerror(-error);
    }
}

static int find_host(const char *host, const char *port, int type, int flags, struct addrinfo **found)
{
    const struct addrinfo hints = {.ai_socktype = type, .ai_flags = flags};

    return getaddrinfo(host, port, &hints, found) ? -ADDRESS_UNKNOWN : 0;
}

int socket_own_address(int fd, char *address, size_t size)
{
    struct sockaddr_storage own;
    socklen_t length = sizeof(own);

    return getsockname(fd, (struct sockaddr *)&own, &length) || own.ss_family == AF_UNIX ||
                   getnameinfo((struct sockaddr *)&own, length, address, (socklen_t)size, NULL, 0, NI_NUMERICHOST)
               ? -EADDRNOTAVAIL
               : 0;
}

int endpoint_own_address(const char *hosts, char *address, size_t size)
{
    struct addrinfo *found = NULL;
    char first[256];
    const char *at_sign;
    int error;

    if (*settings_string(SETTING_ADDRESS)) {
        snprintf(address, size, "%s", settings_string(SETTING_ADDRESS));
        return 0;
    }
    snprintf(first, sizeof(first), "%.*s", (int)strcspn(hosts, ","), hosts);
    at_sign = strrchr(first, '@'); /* ssh's user@host */
    error = find_host(at_sign ? at_sign + 1 : first, "9", SOCK_DGRAM, 0, &found);
    if (error)
        return error;
    error = -EADDRNOTAVAIL;
    for (const struct addrinfo *at = found; at && error; at = at->ai_next) {
        int fd = socket(at->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        if (fd < 0)
            continue;
        if (!connect(fd, at->ai_addr, at->ai_addrlen))
            error = socket_own_address(fd, address, size);
        close(fd);
    }
    freeaddrinfo(found);
    return error;
}

/* The ports from first on at which a process may listen; 0: the kernel chooses one. */
struct ports {
    unsigned first, count;
};

static bool read_ports(struct ports *ports)
{
    const char *text = settings_string(SETTING_PORTS);
    unsigned last;
    int end = 0;

    *ports = (struct ports){0, 1};
    if (!*text)
        return true;
    if (sscanf(text, "%5u-%5u%n", &ports->first, &last, &end) != 2 || text[end] ||
        (int)strspn(text, "0123456789-") != end || !ports->first || ports->first > last || last > UINT16_MAX)
        return false;
    ports->count = last - ports->first + 1;
    return true;
}

static in_port_t *port_of(struct sockaddr *address)
{
    return address->sa_family == AF_INET6 ? &((struct sockaddr_in6 *)address)->sin6_port
                                          : &((struct sockaddr_in *)address)->sin_port;
}

static int listen_at(const struct addrinfo *at, unsigned *port)
{
    struct sockaddr_storage bound;
    socklen_t length = sizeof(bound);
    int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), error;

    /* A port that is given was perhaps used a moment ago. */
    if (fd >= 0 && *port_of(at->ai_addr))
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (fd >= 0 && !bind(fd, at->ai_addr, at->ai_addrlen) && !listen(fd, SOMAXCONN) &&
        !getsockname(fd, (struct sockaddr *)&bound, &length)) {
        *port = ntohs(*port_of((struct sockaddr *)&bound));
        return fd;
    }
    error = -errno;
    if (fd >= 0)
        close(fd);
    return error;
}

/* Tries the ports from one on that depends on the process, as many start at once. */
static int listen_within(const struct addrinfo *at, const struct ports *ports, unsigned *port)
{
    const unsigned from = (unsigned)getpid();
    int fd = -EADDRINUSE;

    for (unsigned i = 0; i < ports->count && fd == -EADDRINUSE; i++) {
        *port_of(at->ai_addr) = htons((uint16_t)(ports->first + (from + i) % ports->count));
        fd = listen_at(at, port);
    }
    return fd;
}

int endpoint_listen_tcp(struct endpoint *endpoint, const char *host)
{
    struct addrinfo *found = NULL;
    struct ports ports;
    unsigned port = 0;
    int error = read_ports(&ports) ? find_host(host, NULL, SOCK_STREAM, AI_PASSIVE, &found) : -ADDRESS_PORTS;

    if (error)
        return error;
    endpoint->fd = -EADDRNOTAVAIL;
    for (const struct addrinfo *at = found; at && endpoint->fd < 0; at = at->ai_next)
        endpoint->fd = listen_within(at, &ports, &port);
    freeaddrinfo(found);
    if (endpoint->fd < 0)
        return endpoint->fd;
    strcpy(endpoint->text, "tcp:");
    address_join(host, port, endpoint->text + 4, sizeof(endpoint->text) - 4);
    return 0;
}

int endpoint_listen_beside(struct endpoint *endpoint, const char *text, int fd)
{
    char address[NI_MAXHOST];
    int error;

    if (!strncmp(text, "unix:", 5))
        return endpoint_listen_unix(endpoint);
    error = socket_own_address(fd, address, sizeof(address));
    return error ? error : endpoint_listen_tcp(endpoint, address);
}

/* Waits until the socket is connected. Returns 0 or a negative errno. */
static int await_connected(int fd, long milliseconds)
{
    socklen_t length = sizeof(int);
    int error = socket_wait(fd, POLLOUT, milliseconds);

    if (error <= 0)
        return error ? error : -ETIMEDOUT;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) ? -errno : -error;
}

/* Connects without waiting for ever, even for a listener of this host that accepts nobody. With 0 ms it does not
 * wait. */
static int connect_to(const struct addrinfo *at, long milliseconds)
{
    int tries = 3, error, fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -errno;
    setsockopt(fd, IPPROTO_TCP, TCP_SYNCNT, &tries, sizeof(tries));
    error = connect(fd, at->ai_addr, at->ai_addrlen) ? -errno : 0;
    if (error == -EINPROGRESS)
        error = milliseconds ? await_connected(fd, milliseconds) : 0;
    if (!error)
        return fd;
    close(fd);
    return error;
}

static int connect_tcp(const char *text, long milliseconds)
{
    struct addrinfo *found = NULL;
    const char *port;
    char host[128];
    int fd = -ECONNREFUSED, error = address_split(text, host, sizeof(host), &port);

    if (!error)
        error = find_host(host, port, SOCK_STREAM, 0, &found);
    if (error)
        return error;
    for (const struct addrinfo *at = found; at && fd < 0; at = at->ai_next)
        fd = connect_to(at, milliseconds);
    freeaddrinfo(found);
    return fd;
}

/* The listener's backlog may be full: tries again for a while. */
static int connect_unix(const char *name)
{
    const long until = clock_ms() + FULL_MS;
    struct sockaddr_un address;
    socklen_t length = unix_address(name, &address);
    int error, fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -errno;
    while ((error = connect(fd, (struct sockaddr *)&address, length) ? -errno : 0) == -EAGAIN && clock_ms() < until)
        poll(NULL, 0, FULL_NAP_MS);
    if (!error)
        return fd;
    close(fd);
    return error == -EAGAIN ? -ETIMEDOUT : error;
}

static int connect_any(const char *text, long milliseconds)
{
    if (!strncmp(text, "tcp:", 4))
        return connect_tcp(text + 4, milliseconds);
    return strncmp(text, "unix:", 5) ? -EINVAL : connect_unix(text + 5);
}

int endpoint_connect_within(const char *text, long milliseconds)
{
    const int fd = connect_any(text, milliseconds);

    if (fd >= 0)
        fcntl(fd, F_SETFL, 0);
    return fd;
}

int endpoint_connect(const char *text)
{
    return endpoint_connect_within(text, CONNECT_MS);
}

int endpoint_connect_start(const char *text)
{
    return connect_any(text, 0);
}

int socket_wait(int fd, short events, long milliseconds)
{
    const long until = clock_ms() + milliseconds;
    struct pollfd ready = {.fd = fd, .events = events};
    long left;

    while ((left = until - clock_ms()) > 0) {
        const int count = poll(&ready, 1, (int)left);

        if (count > 0)
            return ready.revents;
        if (count < 0 && errno != EINTR)
            return -errno;
    }
    return 0;
}

int socket_read_all(int fd, void *bytes, size_t length, long timeout_ms)
{
    long until = clock_ms() + timeout_ms;
    uint8_t *at = bytes;

    while (length) {
        const int ready = socket_wait(fd, POLLIN, until - clock_ms());
        ssize_t got;

        if (ready <= 0)
            return ready ? ready : -ETIMEDOUT;
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
    const long until = clock_ms() + WRITE_MS;
    const uint8_t *at = bytes;

    while (length) {
        ssize_t sent = send(fd, at, length, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && errno == EAGAIN) {
            if (!socket_wait(fd, POLLOUT, until - clock_ms()))
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

int write_all(int fd, const void *bytes, size_t length)
{
    for (size_t at = 0; at < length;) {
        const ssize_t wrote = write(fd, (const uint8_t *)bytes + at, length - at);

        if (wrote < 0 && errno != EINTR)
            return -errno;
        at += wrote > 0 ? (size_t)wrote : 0;
    }
    return 0;
}

pid_t socket_process(int fd)
{
    struct ucred peer = {0};
    socklen_t length = sizeof(peer);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length))
        return 0;
    return peer.pid > 1 && peer.pid != getpid() ? peer.pid : 0;
}

#ifndef TCP_RTO_MAX_MS
#define TCP_RTO_MAX_MS 44 /* since Linux 6.15 */
#endif

/* The owner of a connection notices within VOCL_PEER_TIMEOUT that its peer does not answer. The system's own timeout is
 * longer, for processes that cannot notice; and it retransmits often, so that what the network held up comes as soon as
 * it can. */
void socket_tune(int fd)
{
    int on = 1, second = 1, often_ms = 1000, timeout_ms = 2 * (int)settings_peer_ms();

    fcntl(fd, F_SETFD, FD_CLOEXEC);
    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)))
        return; /* a Unix socket */
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &second, sizeof(second));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &second, sizeof(second));
    setsockopt(fd, IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_RTO_MAX_MS, &often_ms, sizeof(often_ms));
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof(timeout_ms));
}

/* The system's own timeout would count from when the other end stopped reading, though its host answers. */
void socket_be_patient(int fd)
{
    int for_ever_ms = INT_MAX;

    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &for_ever_ms, sizeof(for_ever_ms));
}

/* ---- descriptors ---- */

int environment_descriptor(const char *name)
{
    const char *text = getenv(name);
    const int fd = text ? atoi(text) : -1;

    return fd >= 3 && !fcntl(fd, F_SETFD, FD_CLOEXEC) ? fd : -1;
}

union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(MOST_DESCRIPTORS * sizeof(int))];
};

int socket_send_descriptors(int fd, const void *bytes, size_t length, const int *descriptors, unsigned count)
{
    union control control = {.header = {CMSG_LEN(count * sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
    struct iovec vector = {(void *)(uintptr_t)bytes, length};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
    ssize_t sent;

    if (count > MOST_DESCRIPTORS)
        return -EINVAL;
    if (count) {
        memcpy(CMSG_DATA(&control.header), descriptors, count * sizeof(int));
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    }
    do
        sent = sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && (errno == EINTR || (errno == EAGAIN && socket_wait(fd, POLLOUT, WRITE_MS) > 0)));
    return sent == (ssize_t)length ? 0 : sent < 0 ? -errno : -EIO;
}

ssize_t socket_receive_descriptors(int fd, void *bytes, size_t length, int *descriptors, unsigned *count,
                                   long timeout_ms)
{
    union control control = {.bytes = {0}};
    struct iovec vector = {bytes, length};
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    const unsigned room = *count;
    const struct cmsghdr *header;
    ssize_t got;

    *count = 0;
    if (socket_wait(fd, POLLIN, timeout_ms) <= 0)
        return -ETIMEDOUT;
    got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (got < 0)
        return -errno;
    header = CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
        unsigned came = (unsigned)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));

        for (unsigned i = 0; i < came; i++) {
            int one;

            memcpy(&one, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
            if (i < room)
                descriptors[(*count)++] = one;
            else
                close(one);
        }
    }
    return got;
}

bool socket_same_user(int fd)
{
    struct ucred peer;
    socklen_t length = sizeof(peer);

    return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) && peer.uid == geteuid();
}

int socket_poll(struct pollfd *fds, unsigned count, int milliseconds)
{
    struct pollfd there[count + 1];
    unsigned at[count + 1], used = 0;
    int ready;

    for (unsigned i = 0; i < count; i++) {
        fds[i].revents = 0;
        if (fds[i].fd < 0)
            continue;
        there[used] = fds[i];
        at[used++] = i;
    }
    ready = poll(there, used, milliseconds);
    for (unsigned i = 0; ready > 0 && i < used; i++)
        fds[at[i]].revents = there[i].revents;
    return ready;
}
