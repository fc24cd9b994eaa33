/* The nodes that pool_nodes simulates: their connections with the real daemon, and their messages. */
#include <arpa/inet.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/socket.h"
#include "benchmarks/played_nodes.h"

struct node nodes[MOST];
struct link links[CONNECTIONS];
unsigned node_count = MOST, link_count;
const struct auth_plugin *plugin;
char keys[64], real_address[32];
unsigned long long bytes_in, bytes_out, messages_in, messages_out, records;
atomic_bool over;
atomic_uint changes;
_Atomic long stir_us;
static long long real_version;

static long long wall_ms(void)
{
    struct timeval now;

    gettimeofday(&now, NULL);
    return (long long)now.tv_sec * 1000 + now.tv_usec / 1000;
}

/* ---- connections with the real daemon ---- */

static void say(struct link *link, json_t *message)
{
    size_t length;
    uint8_t *record = channel_seal(&link->channel, message, &length);

    json_decref(message);
    bytes_in += length; /* counted as the daemon's */
    messages_in++;
    if (!record || socket_write_all(link->fd, record, length))
        fail("the daemon does not take a message");
    free(record);
}

static struct link *link_new(int fd, unsigned node)
{
    struct link *link = &links[link_count++];

    if (link_count == CONNECTIONS)
        fail("the daemon makes too many connections");
    *link = (struct link){.fd = fd, .node = node};
    socket_tune(fd);
    return link;
}

static void accept_link(unsigned number)
{
    const struct auth_settings settings = {.key_file = keys, .node = nodes[number].name};
    struct channel_greeting greeting;
    struct channel_reply reply = {.accepted = 1};
    struct channel_proof proof;
    struct auth_peer peer;
    uint8_t bytes[AUTH_MOST];
    char why[256] = "";
    int fd = accept(nodes[number].listener, NULL, NULL);
    struct link *link = link_new(fd, number);

    link->channel.is_daemon = true;
    channel_greet(&greeting, "key");
    if (fd < 0 || socket_write_all(fd, &greeting, sizeof(greeting)) ||
        socket_read_all(fd, &proof, sizeof(proof), 5000) || proof.length > AUTH_MOST ||
        socket_read_all(fd, bytes, proof.length, 5000) ||
        plugin->check(&settings, greeting.nonce, bytes, proof.length, link->channel.key, &peer, why, sizeof(why)) ||
        socket_write_all(fd, &reply, sizeof(reply)))
        fail(*why ? why : "the daemon does not prove who it is");
}

void make_link(unsigned number)
{
    const struct auth_settings settings = {.key_file = keys, .node = nodes[number].name, .other = nodes[0].name};
    struct channel_proof proof = {.magic = CHANNEL_MAGIC, .version = CHANNEL_VERSION};
    struct channel_greeting greeting;
    struct channel_reply reply;
    uint8_t bytes[AUTH_MOST];
    char why[256] = "", endpoint[64];
    struct link *link;
    size_t length;
    int fd;

    snprintf(endpoint, sizeof(endpoint), "tcp:%s", real_address);
    fd = endpoint_connect(endpoint);
    if (fd < 0 || socket_read_all(fd, &greeting, sizeof(greeting), 5000))
        fail("the daemon is not to be reached");
    link = link_new(fd, number);
    if (plugin->prove(&settings, greeting.nonce, bytes, &length, link->channel.key, why, sizeof(why)))
        fail(why);
    proof.length = (uint32_t)length;
    if (socket_write_all(fd, &proof, sizeof(proof)) || socket_write_all(fd, bytes, length) ||
        socket_read_all(fd, &reply, sizeof(reply), 5000) || !reply.accepted)
        fail("the daemon refuses another");
    link->watches = true;
    say(link, json_pack("{s:s, s:s}", "do", "watch", "news", "all"));
}

/* ---- the nodes' messages ---- */

static json_t *describe(const struct node *node)
{
    json_t *devices = json_array(), *sessions = json_array();

    for (unsigned i = 0; i < GPUS; i++) {
        const unsigned users = node->sessions[i];

        json_array_append_new(devices,
                              json_pack("{s:i, s:i, s:s, s:s, s:I, s:I, s:I, s:i, s:s, s:i, s:i, s:b, s:f, s:f}",
                                        "index", (int)i, "leaf", -1, "name", "Played GPU", "type", "gpu", "memory",
                                        (json_int_t)16 << 30, "limit", (json_int_t)16 << 30, "free",
                                        (json_int_t)16 << 30, "units", 80, "mode", "shared", "most", 2, "sessions",
                                        (int)users, "taken", 0, "load", users * 0.25, "busy", 0.0));
        for (unsigned k = 0; k < users; k++)
            json_array_append_new(sessions, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:[i], s:i, s:i, s:f}", "id",
                                                      "0123456789abcdef0123456789abcdef", "part",
                                                      "0123456789abcdef0123456789abcdef", "user", "somebody", "program",
                                                      "app", "job", "", "state", "running", "devices", (int)i, "share",
                                                      100, "slot", (int)k, "began", 0.0));
    }
    return json_pack("{s:s, s:s, s:s, s:s, s:[], s:f, s:o, s:o, s:[], s:s}", "name", node->name, "address",
                     node->address, "state", "up", "why", "", "drains", "time", (double)wall_ms() / 1e3, "devices",
                     devices, "sessions", sessions, "queue", "policy", "pack");
}

static void tell_record(struct link *link, const char *name)
{
    unsigned number = (unsigned)atoi(name + 1);

    if (*name != 'n' || !number || number >= node_count)
        return;
    records++;
    say(link, json_pack("{s:s, s:I, s:I, s:I, s:o}", "record", name, "version", (json_int_t)nodes[number].version,
                        "age", (json_int_t)0, "tree", (json_int_t)0, "state", describe(&nodes[number])));
}

/* Sends new versions, or with all every version, to the real daemon. */
static void tell_news(struct link *link, bool all)
{
    json_t *have = json_object();

    for (unsigned i = 1; i < node_count; i++) {
        if (all || !nodes[i].told)
            json_object_set_new(have, nodes[i].name, json_integer(nodes[i].version));
    }
    say(link, json_pack("{s:o}", "have", have));
}

static void change(unsigned number)
{
    struct node *node = &nodes[number];
    const long long now = wall_ms();

    node->version = now > node->version ? now : node->version + 1;
    node->told = false;
    changes++;
}

static void reserve(struct link *link, const json_t *message, bool begins)
{
    const json_t *devices = json_object_get(message, "devices"), *device;
    struct node *node = &nodes[link->node];
    size_t i;

    json_array_foreach(devices, i, device)
    {
        unsigned *users = &node->sessions[json_integer_value(device) % GPUS];

        *users = begins ? *users + 1 : *users ? *users - 1 : 0;
    }
    if (begins)
        say(link,
            json_pack("{s:s, s:b}", "reserved", json_string_value(json_object_get(message, "session")), "good", 1));
    change(link->node);
}

static void hear(struct link *link, const json_t *message)
{
    const char *what = json_string_value(json_object_get(message, "do")), *name;
    json_t *value, *have = json_object_get(message, "have");

    what = what ? what : "";
    if (!strcmp(what, "watch")) {
        const char *news = json_string_value(json_object_get(message, "news"));

        link->hears_all = news && !strcmp(news, "all");
        if (link->hears_all)
            tell_news(link, true);
    } else if (!strcmp(what, "want")) {
        json_object_foreach(json_object_get(message, "nodes"), name, value)
        {
            tell_record(link, name);
        }
    } else if (!strcmp(what, "reserve") || !strcmp(what, "release")) {
        reserve(link, message, !strcmp(what, "reserve"));
    } else if (have) {
        const long long version = json_integer_value(json_object_get(have, nodes[0].name));

        if (version > real_version) { /* the first node to learn of it asks, and the others get it there */
            real_version = version;
            say(link, json_pack("{s:s, s:{s:I}}", "do", "want", "nodes", nodes[0].name, (json_int_t)version));
        }
    }
}

/* Returns false if the connection is closed. */
static bool read_link(struct link *link)
{
    static uint8_t box[CHANNEL_MOST];
    json_t *message;
    uint8_t head[4];
    long length;

    if (socket_read_all(link->fd, head, sizeof(head), 5000))
        return false;
    length = channel_length(head);
    if (length < 0 || socket_read_all(link->fd, box, (size_t)length, 5000))
        fail("what the daemon says is no message");
    bytes_out += (unsigned long long)length + 4;
    messages_out++;
    message = channel_open(&link->channel, box, (size_t)length);
    if (!message)
        fail("what the daemon says is sealed otherwise");
    hear(link, message);
    json_decref(message);
    return true;
}

/* ---- the simulated nodes, as a thread ---- */

void listen_all(unsigned port)
{
    struct rlimit files;

    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    for (unsigned i = 1; i < node_count; i++) {
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};

        address.sin_addr.s_addr = htonl(0x7f010000u + (i / 200 << 8) + i % 200 + 1);
        nodes[i].listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        nodes[i].version = wall_ms();
        if (nodes[i].listener < 0 || bind(nodes[i].listener, (struct sockaddr *)&address, sizeof(address)) ||
            listen(nodes[i].listener, 16))
            fail("an address for a node is taken");
    }
}

/* Makes sessions begin and end through other brokers, too. */
static void stir(long *next_us, long every_us)
{
    static unsigned turn;

    if (!every_us || clock_us() < *next_us)
        return;
    *next_us += every_us;
    turn++;
    nodes[1 + turn * 7919 % (node_count - 1)].sessions[turn % GPUS] = turn % 2;
    change(1 + turn * 7919 % (node_count - 1));
}

void *play(void *argument)
{
    struct pollfd fds[MOST + CONNECTIONS];
    long told_ms = 0, next_us = clock_us();

    (void)argument;
    while (!over) {
        unsigned count = 0;
        bool news = false;

        for (unsigned i = 1; i < node_count; i++)
            fds[count++] = (struct pollfd){.fd = nodes[i].listener, .events = POLLIN};
        for (unsigned i = 0; i < link_count; i++)
            fds[count++] = (struct pollfd){.fd = links[i].fd, .events = POLLIN};
        poll(fds, count, 5);
        for (unsigned i = link_count; i-- > 0;) {
            if (fds[node_count - 1 + i].revents && !read_link(&links[i])) {
                close(links[i].fd);
                links[i] = links[--link_count];
            }
        }
        for (unsigned i = 1; i < node_count; i++) {
            if (fds[i - 1].revents)
                accept_link(i);
        }
        if (!stir_us)
            next_us = clock_us();
        stir(&next_us, stir_us);
        for (unsigned i = 1; i < node_count; i++)
            news |= !nodes[i].told;
        if (!news && clock_ms() - told_ms < 1000)
            continue;
        for (unsigned i = 0; i < link_count; i++) {
            if (links[i].hears_all)
                tell_news(&links[i], false);
        }
        for (unsigned i = 1; i < node_count; i++)
            nodes[i].told = true;
        told_ms = clock_ms();
    }
    return NULL;
}
