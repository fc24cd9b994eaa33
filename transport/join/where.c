/*
 * Which sessions members can join, and how: see where.h. Between hosts newcomers connect over TLS, also in a session
 * whose first members have MPI between them, or are all on one host: those keep what they have, and get connections
 * with the newcomer in addition. For that each member got a secret when the session began.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/core/link.h"
#include "transport/join/where.h"
#include "transport/rendezvous/rendezvous.h"
#include "transport/stream/stream.h"

static bool is_this_host(const char *host)
{
    char own[65] = "";

    gethostname(own, sizeof(own) - 1);
    return !host || !*host || !strcmp(host, "localhost") || !strcmp(host, own);
}

bool where_is_here(const struct transport *t, const char *host)
{
    return t->job.started == STARTED_HERE && is_this_host(host);
}

/* Whether a member can join depends on how the session was started. */
static const char *refuse(const struct transport *t, const char *host)
{
    if (!t->client || t->ended || t->job.starter.fd < 0 || t->job.started == STARTED_OTHERWISE)
        return "the starter of this session's workers cannot start more";
    if (!where_is_here(t, host) && (!host || !*host || strpbrk(host, ", \t")))
        return "no host was given, or its name is invalid";
    return NULL;
}

static int check(const struct transport *t, const char *host, char *why, size_t why_size)
{
    const char *reason = refuse(t, host);

    if (reason)
        snprintf(why, why_size, "%s", reason);
    return reason ? -ENOTSUP : 0;
}

/* Any host where the pool has a place. */
static bool is_any(const char *host)
{
    return host && *host == '#';
}

void transport_place(const struct transport *t, unsigned peer, char *place, size_t size)
{
    if (t->job.started == STARTED_POOL)
        snprintf(place, size, "#%u", peer);
    else
        snprintf(place, size, "%s",
                 peer < t->width && *t->peers[peer].place ? t->peers[peer].place : transport_peer_host(t, peer));
}

bool transport_is_away(const struct transport *t, const char *place)
{
    return t->job.started == STARTED_HERE && !is_this_host(place);
}

int where_prepare(const struct transport *t, char *why, size_t why_size)
{
    const struct newcomer_key *key = &t->job.newcomers;

    if (tls_plugin)
        return 0;
    if (!key->known) {
        snprintf(why, why_size, "the session has no secret for workers that join");
        return -ENOTSUP;
    }
    return rendezvous_prepare(key->secret, key->ending, key->argument, why, why_size);
}

int transport_may_add_member(const struct transport *t, const char *host, char *why, size_t why_size)
{
    int error = check(t, host, why, why_size);

    /* A pool moves workers by itself, and then has a place for the new one. */
    if (!error && t->job.started == STARTED_POOL && !is_any(host)) {
        snprintf(why, why_size, "in a pool the pool chooses the host of a new worker");
        error = -ENOTSUP;
    }
    return error || where_is_here(t, host) ? error : where_prepare(t, why, why_size);
}

int where_may_come(struct transport *t, const char *host, char *why, size_t why_size)
{
    int error = check(t, host, why, why_size);

    return error || where_is_here(t, host) ? error : where_prepare(t, why, why_size);
}

void where_to_come(const struct transport *t, const char *host, struct endpoint *own)
{
    char address[256];

    snprintf(own->text, sizeof(own->text), "%s", TUNNEL_ENDPOINT);
    if (network_is_ssh() || endpoint_own_address(is_any(host) ? t->job.place : host, address, sizeof(address)))
        return;
    if (endpoint_listen_tcp(own, address)) {
        own->fd = -1;
        snprintf(own->text, sizeof(own->text), "%s", TUNNEL_ENDPOINT);
    }
}

/* Writes this host's address by which the host of endpoint is reached. */
static int address_towards(const char *endpoint, char *address, size_t size)
{
    const char *port;
    char host[128];

    if (strncmp(endpoint, "tcp:", 4) || address_split(endpoint + 4, host, sizeof(host), &port))
        return -EADDRNOTAVAIL;
    return endpoint_own_address(host, address, size);
}

void where_to_come_beside(struct transport *t, const char *endpoint, struct endpoint *own)
{
    struct peer *program = &t->peers[0];
    struct streams *streams = program->way;
    struct stored_fd *line = program->provider == &provider_tls ? &streams->frames.socket : &program->bell.socket;
    struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
    socklen_t length = sizeof(address);
    char text[256];
    int error;

    if (!getsockname(stored_fd(line), (struct sockaddr *)&address, &length) && address.ss_family != AF_UNIX)
        error = endpoint_listen_beside(own, "tcp:", stored_fd(line));
    else
        error = address_towards(endpoint, text, sizeof(text)) || endpoint_listen_tcp(own, text);
    if (error)
        own->fd = -1;
}
