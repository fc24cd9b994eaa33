/* Which provider a session uses, and at which interface it listens. */
#include <errno.h>
#include <dirent.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/settings.h"
#include "transport/launch/network.h"
#include "transport/starter.h"

/* Whether UCX is restricted to transports of which all that leave the host are verbs: processes outside of the job
 * cannot reach their queues. A list of excluded names (^) leaves others that nobody has named. */
static bool protects_itself(const char *transports)
{
    static const char *const verbs[] = {"rc",      "rc_x", "rc_v", "rc_verbs", "rc_mlx5",  "dc",      "dc_x",
                                        "dc_mlx5", "ud",   "ud_x", "ud_v",     "ud_verbs", "ud_mlx5", "ib"};
    static const char *const inside[] = {"self",     "sm",    "shm",       "posix",   "sysv",      "cma",
                                         "knem",     "xpmem", "mm",        "cuda",    "cuda_copy", "cuda_ipc",
                                         "gdr_copy", "rocm",  "rocm_copy", "rocm_ipc"};
    char names[512], *save;
    bool found = false;

    if (!transports || strlen(transports) >= sizeof(names))
        return false;
    strcpy(names, transports);
    for (char *name = strtok_r(names, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
        bool known = false;

        for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs) && !known; i++)
            known = found |= !strcmp(name, verbs[i]);
        for (size_t i = 0; i < sizeof(inside) / sizeof(*inside) && !known; i++)
            known = !strcmp(name, inside[i]);
        if (!known)
            return false;
    }
    return found;
}

bool network_is_ssh(void)
{
    return !strcmp(settings_string(SETTING_NETWORK), "ssh");
}

/* The program that stands for ssh has encrypted the connection already, and was told the secret: to encrypt once more
 * would cost a third of the rate (benchmarks/through_ssh). */
bool network_is_plain(void)
{
    return !strcmp(settings_string(SETTING_NETWORK), "plain") || network_is_ssh();
}

/* A user who chooses an MPI, or its transports, wants MPI; but with many workers each would make it slower. */
static bool wants_mpi(unsigned workers)
{
    return workers < WORKERS_LATER && (getenv("VOCL_MPI") || getenv("UCX_TLS"));
}

bool network_is_pairs(bool by_hosts, unsigned workers)
{
    const char *wanted = settings_string(SETTING_NETWORK);

    return !strcmp(wanted, "pairs") || (!strcmp(wanted, "auto") && !by_hosts && !wants_mpi(workers));
}

int network_choose(bool by_hosts, const char *pool, bool *tls, char *why, size_t why_size)
{
    const char *wanted = settings_string(SETTING_NETWORK);

    const bool pairs = !strcmp(wanted, "pairs");

    if (strcmp(wanted, "auto") && strcmp(wanted, "mpi") && strcmp(wanted, "tls") && !network_is_plain() && !pairs &&
        !network_is_ssh()) {
        snprintf(why, why_size, "VOCL_NETWORK takes auto, mpi, pairs, tls, plain or ssh, not \"%s\"", wanted);
        return -EINVAL;
    }
    if (pairs && (pool || by_hosts)) {
        snprintf(why, why_size, "VOCL_NETWORK=pairs is for workers of the program's own host, without a pool");
        return -EINVAL;
    }
    if (network_is_ssh() && (pool || !by_hosts)) {
        snprintf(why, why_size, "VOCL_NETWORK=ssh is for workers that ssh starts: VOCL_HOSTS");
        return -EINVAL;
    }
    if (pool && !strcmp(pool, "tls") && (!strcmp(wanted, "mpi") || network_is_plain())) {
        snprintf(why, why_size, "the pool's network is tls, and VOCL_NETWORK says %s", wanted);
        return -EPERM;
    }
    if (pool && !strcmp(wanted, "auto"))
        *tls = !strcmp(pool, "tls");
    else if (strcmp(wanted, "auto"))
        *tls = strcmp(wanted, "mpi") && !pairs;
    else
        *tls = by_hosts && !protects_itself(getenv("UCX_TLS"));
    return 0;
}

static bool is_address(const struct ifaddrs *at, const char *address)
{
    char text[NI_MAXHOST];
    const int family = at->ifa_addr ? at->ifa_addr->sa_family : AF_UNSPEC;
    const socklen_t length = family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);

    return (family == AF_INET || family == AF_INET6) &&
           !getnameinfo(at->ifa_addr, length, text, sizeof(text), NULL, 0, NI_NUMERICHOST) && !strcmp(text, address);
}

/* With InfiniBand the setting would exclude it. */
static bool has_verbs(void)
{
    DIR *folder = opendir("/sys/class/infiniband");
    const struct dirent *entry = NULL;

    while (folder && (entry = readdir(folder)) && *entry->d_name == '.')
        ;
    if (folder)
        closedir(folder);
    return entry != NULL;
}

const char *network_bind(const char *address, char *line, size_t size)
{
    struct ifaddrs *all = NULL;
    bool found = false;

    if (getenv("UCX_NET_DEVICES") || has_verbs() || getifaddrs(&all))
        return NULL;
    for (const struct ifaddrs *at = all; at && !found; at = at->ifa_next) {
        found = is_address(at, address);
        if (found)
            snprintf(line, size, "UCX_NET_DEVICES=%s", at->ifa_name);
    }
    freeifaddrs(all);
    return found ? line : NULL;
}
