/*
 * What --check-config does beyond reading: whether the daemon could do what its configuration says here. Mistakes are
 * errors; what may still come, such as other daemons, is told only.
 */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/socket.h"
#include "proxy/daemon/daemon.h"

#define ANSWER_MS 2000

static bool failed;

/* setting: which one it is about, with its line in the file. */
__attribute__((format(printf, 3, 4))) static void mistake(const struct config *config, const char *setting,
                                                          const char *format, ...)
{
    const unsigned line = config_line(config, setting);
    va_list arguments;

    failed = true;
    fprintf(stderr, "vocl-proxy: %s:", config->path);
    if (line)
        fprintf(stderr, "%u:", line);
    fprintf(stderr, " %s: ", setting);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

static struct addrinfo *resolve(const char *address)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
    const char *port;
    char host[128];

    if (address_split(address, host, sizeof(host), &port) || getaddrinfo(host, port, &hints, &list))
        return NULL;
    return list;
}

/* Whether it is this host's, whoever listens at the port now. */
static void check_own(const struct config *config, const char *setting, const char *address)
{
    struct addrinfo *list = resolve(address);
    int fd;

    if (!list) {
        mistake(config, setting, "nobody knows the address %s", address);
        return;
    }
    fd = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (list->ai_family == AF_INET)
        ((struct sockaddr_in *)list->ai_addr)->sin_port = 0;
    else if (list->ai_family == AF_INET6)
        ((struct sockaddr_in6 *)list->ai_addr)->sin6_port = 0;
    if (fd < 0 || bind(fd, list->ai_addr, list->ai_addrlen))
        mistake(config, setting, "%s is no address of this host: %s", address, strerror(errno));
    if (fd >= 0)
        close(fd);
    freeaddrinfo(list);
}

static bool is_loopback(const struct sockaddr *address)
{
    const struct in6_addr *six = &((const struct sockaddr_in6 *)address)->sin6_addr;

    if (address->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    return address->sa_family == AF_INET6 &&
           (IN6_IS_ADDR_LOOPBACK(six) || (IN6_IS_ADDR_V4MAPPED(six) && six->s6_addr[12] == IN_LOOPBACKNET));
}

/* Whether only this host reaches it; a name that nobody knows is another host's. */
static bool is_own_only(const char *address)
{
    struct addrinfo *list = resolve(address);
    const bool loopback = list && is_loopback(list->ai_addr);

    if (list)
        freeaddrinfo(list);
    return loopback;
}

bool check_reach(const struct config *config, const struct poolfile *pool, char *why, size_t why_size)
{
    const struct poolfile_node *own = NULL, *far = NULL;

    if (!is_own_only(config->listen))
        return true;
    for (unsigned i = 0; i < pool->count; i++) {
        const struct poolfile_node *node = &pool->nodes[i];

        if (!strcmp(node->name, config->name))
            own = node;
        if (!far && !is_own_only(node->address))
            far = node;
    }
    if (!far)
        return true;
    snprintf(why, why_size,
             "the daemon listens at %s, which no other host reaches, but %s has node %s at %s: set listen = \"%s\"",
             config->listen, config->pool_file, far->name, far->address,
             own && !is_own_only(own->address) ? own->address : "0.0.0.0:7801");
    return false;
}

/* ---- the pool file ---- */

static const char *port_of(const char *address)
{
    return strrchr(address, ':') + 1;
}

static void check_own_name(const struct config *config, const struct poolfile *pool)
{
    for (unsigned i = 0; i < pool->count; i++) {
        const struct poolfile_node *node = &pool->nodes[i];

        if (strcmp(node->name, config->name))
            continue;
        if (strcmp(port_of(node->address), port_of(config->listen)) && strcmp(port_of(config->listen), "0"))
            mistake(config, "listen", "%s: node %s is at %s there, but the daemon listens at %s", config->pool_file,
                    config->name, node->address, config->listen);
        return;
    }
    mistake(config, "name", "%s has no node %s, which this one's name is", config->pool_file, config->name);
}

static int dial(const char *address)
{
    struct addrinfo *list = resolve(address);
    int fd = list ? socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) : -1;

    if (fd >= 0 && connect(fd, list->ai_addr, list->ai_addrlen) && errno != EINPROGRESS) {
        close(fd);
        fd = -1;
    }
    if (list)
        freeaddrinfo(list);
    return fd;
}

static bool is_there(int fd, long until)
{
    struct pollfd ready = {.fd = fd, .events = POLLOUT};
    const long left = until - clock_ms();
    socklen_t length = sizeof(int);
    int error = 0;

    return fd >= 0 && poll(&ready, 1, left > 0 ? (int)left : 0) > 0 &&
           !getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) && !error;
}

/* All at once; they may be started later. */
static void try_peers(const struct config *config, const struct poolfile *pool)
{
    const long until = clock_ms() + ANSWER_MS;
    int fds[POOLFILE_NODES];

    for (unsigned i = 0; i < pool->count; i++)
        fds[i] = strcmp(pool->nodes[i].name, config->name) ? dial(pool->nodes[i].address) : -1;
    for (unsigned i = 0; i < pool->count; i++) {
        if (!strcmp(pool->nodes[i].name, config->name))
            continue;
        if (!is_there(fds[i], until))
            printf("node %s does not answer at %s now\n", pool->nodes[i].name, pool->nodes[i].address);
        if (fds[i] >= 0)
            close(fds[i]);
    }
}

static void check_pool(const struct config *config)
{
    struct poolfile pool = {.count = 0};
    char why[512];

    if (access(config->pool_file, F_OK) && errno == ENOENT) {
        printf("there is no %s: %s is alone in its pool, and listens at %s%s\n", config->pool_file, config->name,
               config->listen, is_own_only(config->listen) ? ", which no other host reaches" : "");
        return;
    }
    if (poolfile_read_file(&pool, config->pool_file, why, sizeof(why))) {
        mistake(config, "pool-file", "%s", why);
    } else {
        if (strcmp(pool.method, config->method))
            mistake(config, "auth", "%s: auth is %s there, and %s for the daemon", config->pool_file, pool.method,
                    config->method);
        if (!check_reach(config, &pool, why, sizeof(why)))
            mistake(config, "listen", "%s", why);
        else
            check_own_name(config, &pool);
        if (!failed) /* it takes a while where they do not answer */
            try_peers(config, &pool);
    }
    poolfile_free(&pool);
}

int check_config(const char *path)
{
    char why[512];
    struct config *config = config_load(path, why, sizeof(why));

    if (!config) {
        fprintf(stderr, "vocl-proxy: %s\n", why);
        return 2;
    }
    check_own(config, "listen", config->listen);
    if (*config->http)
        check_own(config, "http", config->http);
    if (!auth_open(config->method, why, sizeof(why)))
        mistake(config, "auth", "%s", why);
    if (!strcmp(config->method, "key") && access(config->key_file, R_OK))
        mistake(config, "key-file", "%s: %s", config->key_file, strerror(errno));
    check_pool(config);
    config_free(config);
    if (!failed)
        printf("%s: good\n", path);
    return failed ? 2 : 0;
}
