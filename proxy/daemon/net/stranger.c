/*
 * Connections before authentication. Until a first message under the connection's key has proved who the other end is,
 * it gets little time and little memory. Such connections have slots of their own, at most half of them for one
 * address. If these are taken, the oldest of the address, or of the addresses with the most, loses its slot to a new
 * connection. So they do not delay authenticated clients.
 */
#include <netinet/in.h>
#include <sodium.h>
#include <string.h>
#include <sys/resource.h>

#include "proxy/daemon/net/internal.h"

/* Half of them for one address: all processes of a job array start on one node, at the same moment. */
#define STRANGERS 1024
#define GROUPS 256
#define STRANGER_UNREAD (64u << 10)

/* If there are few descriptors, unauthenticated connections get a quarter of them. */
unsigned strangers_room(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur / 4 >= STRANGERS)
        return STRANGERS;
    return (unsigned)files.rlim_cur / 4;
}

static bool is_stranger_of(const struct connection *c, const uint8_t *address)
{
    return c->stranger && !c->dropped && (!address || !memcmp(c->address, address, sizeof(c->address)));
}

/* Returns how many there are from this address, or, with NULL, in all, and which is the oldest. */
static unsigned count_strangers(const struct daemon *d, const uint8_t *address, struct connection **oldest)
{
    struct connection *c;
    unsigned count = 0;

    LIST_FOREACH (c, &d->connections, in) {
        if (!is_stranger_of(c, address))
            continue;
        *oldest = c;
        count++;
    }
    return count;
}

/* Addresses are counted by groups; nobody outside can know which addresses share a group. */
static unsigned group_of(const struct connection *c)
{
    static unsigned char key[crypto_shorthash_KEYBYTES];
    static bool has_key;
    unsigned char hash[crypto_shorthash_BYTES];

    if (!has_key)
        crypto_shorthash_keygen(key);
    has_key = true;
    crypto_shorthash(hash, c->address, sizeof(c->address), key);
    return hash[0] % GROUPS;
}

/* Returns the oldest connection of the group of addresses that has the most. */
static struct connection *find_excess(const struct daemon *d)
{
    struct {
        struct connection *oldest;
        unsigned count;
    } groups[GROUPS] = {0};
    struct connection *c;
    unsigned most = 0;

    LIST_FOREACH (c, &d->connections, in) {
        const unsigned group = group_of(c);

        if (!is_stranger_of(c, NULL))
            continue;
        groups[group].oldest = c;
        groups[group].count++;
    }
    for (unsigned group = 1; group < GROUPS; group++)
        most = groups[group].count > groups[most].count ? group : most;
    return groups[most].oldest;
}

static void turn_away(struct connection *c, const char *why)
{
    c->daemon->totals.refused++;
    daemon_log("warning", "%s was disconnected before authentication: %s", c->remote, why);
    connection_drop(c);
}

static void make_room(struct daemon *d, const uint8_t *address)
{
    struct connection *oldest = NULL;

    if (count_strangers(d, address, &oldest) >= d->strangers_most / 2 + 1)
        turn_away(oldest, "another one of its address has its place");
    else if (count_strangers(d, NULL, &oldest) >= d->strangers_most)
        turn_away(find_excess(d), "another one has its place");
}

static void time_is_up(void *argument)
{
    turn_away(argument, "its time is up");
}

void stranger_begin(struct connection *c, const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        memcpy(c->address, &((const struct sockaddr_in *)address)->sin_addr, 4);
    else if (address->sa_family == AF_INET6) /* whoever has one IPv6 address has all of its network */
        memcpy(c->address, &((const struct sockaddr_in6 *)address)->sin6_addr, 8);
    make_room(c->daemon, c->address);
    c->stranger = true;
    timer_set(&c->deadline, c->daemon, time_is_up, c, 1000 * PROOF_SECONDS);
    bufferevent_setwatermark(c->stream, EV_READ, 0, STRANGER_UNREAD);
}

/* Other daemons and root are always accepted. */
static bool has_place(const struct connection *c, char *why, size_t why_size)
{
    const struct config *config = c->daemon->config;
    const struct connection *other;
    unsigned all = 0, own = 0;

    if (c->peer.is_daemon || !c->peer.uid)
        return true;
    LIST_FOREACH (other, &c->daemon->connections, in) {
        const bool counts = !other->outgoing && !other->stranger && other->phase == PHASE_OPEN;

        all += counts;
        own += counts && other->peer.uid == c->peer.uid;
    }
    if (own >= config->connections_per_user)
        snprintf(why, why_size, "you have as many connections as you may: %u", config->connections_per_user);
    else if (all >= config->connection_limit)
        snprintf(why, why_size, "the daemon has reached its limit of %u connections", config->connection_limit);
    return own < config->connections_per_user && all < config->connection_limit;
}

void stranger_known(struct connection *c)
{
    timer_stop(&c->deadline);
}

bool stranger_end(struct connection *c)
{
    char why[128];
    bool good = has_place(c, why, sizeof(why));

    c->stranger = false;
    bufferevent_setwatermark(c->stream, EV_READ, 0, MOST_UNREAD);
    connection_set_seconds(c, IDLE_SECONDS);
    if (good)
        return true;
    connection_refuse(c, why);
    return false;
}
