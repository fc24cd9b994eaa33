/*
 * --check-config: after reading the configuration it checks whether the daemon can do on this host what the
 * configuration says. If the daemon could not start, that is an error. If it can serve without something (an unknown
 * user, a limit that cannot be set), that is a warning, which the daemon also writes to its log. Conditions that may
 * still change, such as other daemons that do not answer, are only printed.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/journal.h"
#include "base/socket.h"
#include "proxy/daemon/internal.h"
#include "proxy/daemon/net/question.h"
#include "proxy/daemon/node/node.h"

#define ANSWER_MS 2000

static bool failed;
static unsigned doubts;
static bool serving; /* called by a running daemon, so a mistake no longer prevents its start */

/* Prints a line of the log, with the place of the setting. */
static void print(const char *level, const struct config *config, const char *setting, const char *format,
                  va_list arguments)
{
    const unsigned line = config_line(config, setting);
    char place[32] = "", text[1024], whole[4096];

    if (line)
        snprintf(place, sizeof(place), "%u:", line);
    vsnprintf(text, sizeof(text), format, arguments);
    snprintf(whole, sizeof(whole), "%.2000s:%s %s: %s", config->path, place, setting, text);
    journal_print(level, whole);
}

/* Reports that the daemon cannot do what the setting says. */
__attribute__((format(printf, 3, 4))) static void mistake(const struct config *config, const char *setting,
                                                          const char *format, ...)
{
    va_list arguments;

    failed = true;
    va_start(arguments, format);
    print(serving ? "warning" : "error", config, setting, format, arguments);
    va_end(arguments);
}

/* Reports that the daemon can serve, but not as the setting says. */
__attribute__((format(printf, 3, 4))) static void doubt(const struct config *config, const char *setting,
                                                        const char *format, ...)
{
    va_list arguments;

    doubts++;
    va_start(arguments, format);
    print("warning", config, setting, format, arguments);
    va_end(arguments);
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

/* Whether the address is this host's, even if its port is in use; otherwise *error is an errno, or 0 if the address
 * cannot be resolved. */
static bool is_own(const char *address, int *error)
{
    struct addrinfo *list = resolve(address);
    bool good = false;
    int fd;

    *error = 0;
    if (!list)
        return false;
    fd = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (list->ai_family == AF_INET)
        ((struct sockaddr_in *)list->ai_addr)->sin_port = 0;
    else if (list->ai_family == AF_INET6)
        ((struct sockaddr_in6 *)list->ai_addr)->sin6_port = 0;
    good = fd >= 0 && !bind(fd, list->ai_addr, list->ai_addrlen);
    *error = errno;
    if (fd >= 0)
        close(fd);
    freeaddrinfo(list);
    return good;
}

static void check_own(const struct config *config, const char *setting, const char *address)
{
    int error;

    if (is_own(address, &error))
        return;
    if (error)
        mistake(config, setting, "%s is not an address of this host: %s", address, strerror(error));
    else
        mistake(config, setting, "the address %s cannot be resolved", address);
}

static bool is_loopback(const struct sockaddr *address)
{
    const struct in6_addr *six = &((const struct sockaddr_in6 *)address)->sin6_addr;

    if (address->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    return address->sa_family == AF_INET6 &&
           (IN6_IS_ADDR_LOOPBACK(six) || (IN6_IS_ADDR_V4MAPPED(six) && six->s6_addr[12] == IN_LOOPBACKNET));
}

/* Whether only this host can reach the address; an unknown name counts as another host. */
static bool is_own_only(const char *address)
{
    struct addrinfo *list = resolve(address);
    const bool loopback = list && is_loopback(list->ai_addr);

    if (list)
        freeaddrinfo(list);
    return loopback;
}

/* Whether every host takes the address for its own, without a look-up. */
static bool is_anybodys(const char *address)
{
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM}, *list = NULL;
    const char *port;
    char host[128];
    bool own = false;

    if (address_split(address, host, sizeof(host), &port))
        return false;
    if (!strcmp(host, "localhost"))
        return true;
    if (!getaddrinfo(host, port, &hints, &list))
        own = is_loopback(list->ai_addr);
    if (list)
        freeaddrinfo(list);
    return own;
}

static bool is_wildcard(const char *address)
{
    struct addrinfo *list = resolve(address);
    bool all = false;

    if (list && list->ai_family == AF_INET)
        all = ((const struct sockaddr_in *)list->ai_addr)->sin_addr.s_addr == htonl(INADDR_ANY);
    else if (list && list->ai_family == AF_INET6)
        all = IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)list->ai_addr)->sin6_addr);
    if (list)
        freeaddrinfo(list);
    return all;
}

/* Whether two addresses are of one host and port; true also if one cannot be resolved. */
static bool is_same(const char *one, const char *other)
{
    struct addrinfo *ours = resolve(one), *theirs = resolve(other);
    bool same = !ours || !theirs;

    for (const struct addrinfo *at = ours; at && !same; at = at->ai_next) {
        for (const struct addrinfo *to = theirs; to && !same; to = to->ai_next)
            same = at->ai_addrlen == to->ai_addrlen && !memcmp(at->ai_addr, to->ai_addr, to->ai_addrlen);
    }
    if (ours)
        freeaddrinfo(ours);
    if (theirs)
        freeaddrinfo(theirs);
    return same;
}

static const char *port_of(const char *address)
{
    return strrchr(address, ':') + 1;
}

/* The pool has nodes on other hosts, and the daemon listens for them: whether they find it by its line in the pool
 * file. */
static void check_found(const struct config *config, const struct poolfile *pool, const struct poolfile_node *own)
{
    const bool near = own && is_own_only(own->address), everywhere = is_wildcard(config->listen);
    int error;

    for (unsigned i = 0; i < pool->count; i++) {
        if (&pool->nodes[i] != own && is_anybodys(pool->nodes[i].address))
            doubt(config, "pool-file", "%s has node %s at %s, where every host finds only itself", config->pool_file,
                  pool->nodes[i].name, pool->nodes[i].address);
    }
    if (!own)
        return;
    if (is_anybodys(own->address))
        mistake(config, "pool-file", "%s has this node, %s, at %s, where every other host finds only itself",
                config->pool_file, own->name, own->address);
    else if (near)
        doubt(config, "pool-file", "%s has this node at %s, which is a loopback address on this host (/etc/hosts)",
              config->pool_file, own->address);
    else if (everywhere && !is_own(own->address, &error) && error)
        doubt(config, "pool-file", "%s has this node at %s, which is not an address of this host", config->pool_file,
              own->address);
    else if (!everywhere && !strcmp(port_of(own->address), port_of(config->listen)) &&
             !is_same(own->address, config->listen))
        doubt(config, "listen", "%s has this node at %s, but the daemon listens only at %s", config->pool_file,
              own->address, config->listen);
}

/* Whether the other nodes of the pool file can reach this daemon. */
static bool check_reach(const struct config *config, const struct poolfile *pool)
{
    const struct poolfile_node *own = NULL, *far = NULL;
    const bool near = is_own_only(config->listen);

    for (unsigned i = 0; i < pool->count; i++) {
        const struct poolfile_node *node = &pool->nodes[i];

        if (!strcmp(node->name, config->name))
            own = node;
        if (!far && !is_own_only(node->address))
            far = node;
    }
    if (!far && pool->count && !near)
        doubt(config, "pool-file",
              "the daemon listens at %s, but %s has all nodes at addresses that only this host can reach, such as %s",
              config->listen, config->pool_file, pool->nodes[0].address);
    else if (!far && pool->count && !serving)
        printf("all nodes of %s are on this host: no other host can reach them\n", config->pool_file);
    if (far && !near)
        check_found(config, pool, own);
    if (!far || !near)
        return true;
    mistake(config, "listen",
            "the daemon listens at %s, which no other host can reach, but %s has node %s at %s: set listen = \"%s\"",
            config->listen, config->pool_file, far->name, far->address,
            own && !is_own_only(own->address) ? own->address : "0.0.0.0:7801");
    return false;
}

/* ---- the pool file ---- */

static void check_own_name(const struct config *config, const struct poolfile *pool)
{
    for (unsigned i = 0; i < pool->count; i++) {
        const struct poolfile_node *node = &pool->nodes[i];

        if (strcmp(node->name, config->name))
            continue;
        if (strcmp(port_of(node->address), port_of(config->listen)) && strcmp(port_of(config->listen), "0"))
            mistake(config, "listen", "%s has node %s at %s, but the daemon listens at %s", config->pool_file,
                    config->name, node->address, config->listen);
        return;
    }
    mistake(config, "name", "%s has no node %s, which is the name of this node", config->pool_file, config->name);
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

/* Connects to all other daemons at once. One that does not answer may be started later. */
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
            printf("node %s does not answer at %s at present\n", pool->nodes[i].name, pool->nodes[i].address);
        if (fds[i] >= 0)
            close(fds[i]);
    }
}

static void check_pool(const struct config *config, struct poolfile *pool)
{
    char why[512];

    if (access(config->pool_file, F_OK) && errno == ENOENT) {
        printf("there is no pool file %s: %s is alone in its pool, and listens at %s%s\n", config->pool_file,
               config->name, config->listen, is_own_only(config->listen) ? ", which no other host can reach" : "");
        return;
    }
    if (poolfile_read_file(pool, config->pool_file, why, sizeof(why))) {
        mistake(config, "pool-file", "%s", why);
        return;
    }
    if (strcmp(pool->method, config->method))
        mistake(config, "auth", "auth is %s in %s, but %s in the daemon's configuration", pool->method,
                config->pool_file, config->method);
    if (check_reach(config, pool))
        check_own_name(config, pool);
}

/* ---- users and groups ---- */

static void check_people(const struct config *config, const char *setting, char *const *list)
{
    for (; *list; list++) {
        const char *name = *list + (**list == '@');

        if (!strcmp(*list, "*") || (**list == '@' ? getgrnam(name) != NULL : getpwnam(name) != NULL))
            continue;
        if (**list == '@')
            doubt(config, setting, "there is no group %s here", name);
        else
            doubt(config, setting, "there is no user %s here%s", name,
                  getgrnam(name) ? "; for the group of that name, write @ before it" : "");
    }
}

/* ---- authentication ---- */

static bool can_prove(const struct config *config, const struct auth_plugin *plugin, const char *other, char *why,
                      size_t why_size)
{
    const struct auth_settings settings = {.key_file = config->key_file,
                                           .node = config->name,
                                           .other = other,
                                           .socket = config->munge_socket,
                                           .daemon = geteuid()};
    const uint8_t nonce[AUTH_NONCE] = {0};
    uint8_t key[AUTH_KEY], proof[AUTH_MOST];
    size_t length;

    return !plugin->prove(&settings, nonce, proof, &length, key, why, why_size);
}

/* Checks the node's own key, and those that it shares with all others. */
static void check_keys(const struct config *config, const struct auth_plugin *plugin, const struct poolfile *pool)
{
    const bool alone = pool->count < 2;
    char why[512];

    if (access(config->key_file, R_OK)) {
        mistake(config, "key-file", "%s: %s", config->key_file, strerror(errno));
        return;
    }
    if (!can_prove(config, plugin, config->name, why, sizeof(why))) {
        if (alone)
            doubt(config, "key-file", "%s", why);
        else
            mistake(config, "key-file", "%s", why);
        return;
    }
    for (unsigned i = 0; i < pool->count; i++) {
        if (!can_prove(config, plugin, pool->nodes[i].name, why, sizeof(why)))
            doubt(config, "key-file", "%s", why);
    }
}

static void check_auth(const struct config *config, const struct poolfile *pool)
{
    char why[512];
    const struct auth_plugin *plugin = auth_open(config->method, why, sizeof(why));

    if (!plugin)
        mistake(config, "auth", "%s", why);
    else if (!strcmp(config->method, "key"))
        check_keys(config, plugin, pool);
    else if (!serving && !can_prove(config, plugin, config->name, why, sizeof(why)))
        doubt(config, "munge-socket", "%s: no client can authenticate until munged runs on this host", why);
}

/* ---- directories ---- */

static void folder_of(const char *path, char *folder, size_t size)
{
    const char *slash = strrchr(path, '/');

    if (slash)
        snprintf(folder, size, "%.*s", slash > path ? (int)(slash - path) : 1, path);
    else
        snprintf(folder, size, ".");
}

/* Checks a directory in which the daemon creates files. */
static bool check_folder(const struct config *config, const char *setting, const char *folder)
{
    struct stat status;

    if (stat(folder, &status) || (S_ISDIR(status.st_mode) && access(folder, W_OK | X_OK)))
        mistake(config, setting, "%s: %s", folder, strerror(errno));
    else if (!S_ISDIR(status.st_mode))
        mistake(config, setting, "%s is not a directory", folder);
    else
        return true;
    return false;
}

static void check_state(const struct config *config)
{
    char folder[4096];

    if (strlen(config->state) + strlen("/control") >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
        mistake(config, "state-directory", "the path %s is too long for a socket in this directory", config->state);
    if (!access(config->state, F_OK) || errno != ENOENT) {
        check_folder(config, "state-directory", config->state);
    } else { /* the daemon creates it */
        folder_of(config->state, folder, sizeof(folder));
        check_folder(config, "state-directory", folder);
    }
}

static void check_accounting(const struct config *config)
{
    char folder[4096];
    struct stat status;

    if (!*config->accounting)
        return;
    folder_of(config->accounting, folder, sizeof(folder));
    if (!check_folder(config, "accounting", folder) || stat(config->accounting, &status))
        return;
    if (S_ISDIR(status.st_mode))
        mistake(config, "accounting", "%s is a directory, not a file", config->accounting);
    else if (access(config->accounting, R_OK | W_OK))
        mistake(config, "accounting", "%s: %s", config->accounting, strerror(errno));
}

/* ---- limits ---- */

static void check_limits(const struct config *config)
{
    const struct {
        const char *setting, *controller;
        bool wanted;
    } limits[] = {
        {"worker-memory", "memory", config->worker_memory > 0},
        {"worker-cpu-percent", "cpu", config->worker_cpus > 0},
        {"worker-processes", "pids", config->worker_processes && config_line(config, "worker-processes")},
    };
    char why[512];

    if (!group_is_good(config, why, sizeof(why)))
        mistake(config, "cgroup", "%s", why);
    for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
        if (limits[i].wanted && !group_has(config, limits[i].controller, why, sizeof(why)))
            doubt(config, limits[i].setting, "workers are not limited: %s", why);
    }
}

/* ---- the whole check ---- */

static void check_announce(const struct config *config)
{
    if (!config->announce)
        return;
    if (!announce_is_built())
        doubt(config, "announce",
              "the daemon is not announced: this VOCL was built without Avahi, or lacks vocl-announce");
    else if (is_own_only(config->listen))
        doubt(config, "announce", "the daemon listens at %s, which no other host can reach", config->listen);
}

/* Checks what may change while the daemon runs, and would otherwise not be noticed. */
static void check_rest(const struct config *config, const struct poolfile *pool)
{
    check_people(config, "allow", config->allow);
    check_people(config, "deny", config->deny);
    check_people(config, "admins", config->admins);
    for (unsigned i = 0; i < config->limit_count; i++)
        check_people(config, "limits", config->limits[i].users);
    check_auth(config, pool);
    check_accounting(config);
    if (config_line(config, "powercap") && access(config->powercap, R_OK | X_OK))
        doubt(config, "powercap", "%s: %s", config->powercap, strerror(errno));
    check_limits(config);
    check_announce(config);
}

static void check_there(const struct daemon *d, void *bytes)
{
    (void)bytes;
    serving = true;
    check_rest(d->config, &d->pool);
    check_reach(d->config, &d->pool);
}

static void checked(void *argument, void *bytes)
{
    (void)argument;
    if (!bytes)
        daemon_log("warning", "the configuration could not be checked: the name or directory service does not answer");
}

/* Runs in a helper process, since names of users and hosts are looked up. */
void check_serving(struct daemon *d)
{
    if (!question_ask(d, QUESTION_CHECK, check_there, "", 1, checked, NULL))
        checked(NULL, NULL);
}

int check_config(const char *path)
{
    struct poolfile pool = {.count = 0};
    char why[512];
    struct config *config = config_load(path, why, sizeof(why));

    if (!config) {
        journal_print("error", why);
        return 2;
    }
    check_own(config, "listen", config->listen);
    if (*config->http)
        check_own(config, "http", config->http);
    if (!strcmp(config->http, config->listen))
        mistake(config, "http", "the daemon listens at %s already", config->listen);
    check_state(config);
    check_pool(config, &pool);
    check_rest(config, &pool);
    if (!failed) /* last, since it takes long if they do not answer */
        try_peers(config, &pool);
    if (!failed && doubts)
        printf("%s: valid, but see the %s above\n", path, doubts == 1 ? "warning" : "warnings");
    else if (!failed)
        printf("%s: valid\n", path);
    poolfile_free(&pool);
    config_free(config);
    return failed ? 2 : 0;
}
