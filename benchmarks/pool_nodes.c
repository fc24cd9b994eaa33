/*
 * pool_nodes VOCL-PROXY [NODES [REQUESTS]]: a pool of 1,000 nodes of 4 GPUs each, of which one has a real daemon, that
 * is started here, and the others are played: as far as that daemon sees they are daemons, each at an address of its
 * own on the loopback device, with a key of its own. Requests come to the real one, which places them with the others,
 * while these change as they do when 10,000 sessions an hour begin and end. Figures on standard output.
 *
 * What a real daemon cannot tell, how news spreads among the others, is left out: each of the others knows at once what
 * another knows. tests/pool/news.sh has real daemons.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/socket.h"
#include "pool/client.h"

enum { GPUS = 4, MOST = 1000, CONNECTIONS = 1100, HELD = 64 };

struct node {
    char name[16], address[32];
    int listener;
    long long version;
    unsigned sessions[GPUS];
    bool told; /* to who watches it: its present version */
};

/* Of the real daemon's: it came, or was made by a node that watches it. */
struct link {
    int fd;
    unsigned node;
    bool hears_all, watches;
    struct channel channel;
};

static struct node nodes[MOST];
static struct link links[CONNECTIONS];
static unsigned node_count = MOST, link_count;
static long long real_version;
static struct poolfile pool;
static const struct auth_plugin *plugin;
static char folder[] = "/tmp/vocl-pool-nodes-XXXXXX", keys[64], real_address[32];
static unsigned port;
static pid_t daemon_pid;
static unsigned long long bytes_in, bytes_out, messages_in, messages_out, records, wants;
static atomic_bool over;
static atomic_uint changes;

__attribute__((noreturn)) static void fail(const char *what)
{
    fprintf(stderr, "pool_nodes: %s\n", what);
    if (daemon_pid > 0)
        kill(daemon_pid, SIGKILL);
    exit(1);
}

static long long wall_ms(void)
{
    struct timeval now;

    gettimeofday(&now, NULL);
    return (long long)now.tv_sec * 1000 + now.tv_usec / 1000;
}

/* ---- files ---- */

static FILE *begin_file(const char *name, char *path, size_t size)
{
    FILE *file;

    snprintf(path, size, "%s/%s", folder, name);
    file = fopen(path, "we");
    if (!file)
        fail(path);
    fchmod(fileno(file), 0600);
    return file;
}

static void make_key(FILE *file, const char *node)
{
    uint8_t public[crypto_box_PUBLICKEYBYTES], secret[crypto_box_SECRETKEYBYTES];
    char public_text[2 * sizeof(public) + 1], secret_text[2 * sizeof(secret) + 1];

    crypto_box_keypair(public, secret);
    fprintf(file, "@%s %s %s\n", node, sodium_bin2hex(public_text, sizeof(public_text), public, sizeof(public)),
            sodium_bin2hex(secret_text, sizeof(secret_text), secret, sizeof(secret)));
}

static void make_files(void)
{
    uint8_t secret[AUTH_KEY];
    char text[2 * AUTH_KEY + 1], path[64], why[256];
    const char *user = getenv("USER") && *getenv("USER") ? getenv("USER") : "root";
    FILE *key_file, *pool_file, *conf;

    if (!mkdtemp(folder))
        fail(folder);
    randombytes_buf(secret, sizeof(secret));
    sodium_bin2hex(text, sizeof(text), secret, sizeof(secret));
    key_file = begin_file("keys", keys, sizeof(keys));
    pool_file = begin_file("pool", path, sizeof(path));
    fprintf(key_file, "%s %s\n", user, text);
    fprintf(pool_file, "auth key\nkey-file %s\n", keys);
    for (unsigned i = 0; i < node_count; i++) {
        struct node *node = &nodes[i];

        snprintf(node->name, sizeof(node->name), "n%04u", i);
        snprintf(node->address, sizeof(node->address), "127.1.%u.%u:%u", i / 200, i % 200 + 1, port);
        make_key(key_file, node->name);
        fprintf(pool_file, "node %s %s\n", node->name, node->address);
    }
    fclose(key_file);
    fclose(pool_file);
    if (poolfile_read_file(&pool, path, why, sizeof(why)))
        fail(why);
    snprintf(real_address, sizeof(real_address), "%s", nodes[0].address);
    conf = begin_file("conf", path, sizeof(path));
    fprintf(conf,
            "name = \"n0000\";\nlisten = \"%s\";\npool-file = \"%s/pool\";\nauth = \"key\";\nkey-file = \"%s\";\n"
            "state-directory = \"%s/state\";\nleast-uid = 0;\naccounting = \"\";\nconnections-per-user = 1000;\n",
            real_address, folder, keys, folder);
    fclose(conf);
}

static void remove_files(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        execlp("rm", "rm", "-rf", folder, (char *)NULL);
        _exit(127);
    }
    waitpid(pid, NULL, 0);
}

/* ---- connections with the real daemon ---- */

static void say(struct link *link, json_t *message)
{
    size_t length;
    uint8_t *record = channel_seal(&link->channel, message, &length);

    json_decref(message);
    bytes_in += length; /* the daemon's */
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

/* One of those that watch the real daemon. */
static void make_link(unsigned number)
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

/* ---- what the nodes say ---- */

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

/* What is new, or with everything all, to those that the daemon watches. */
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
        wants++;
        json_object_foreach(json_object_get(message, "nodes"), name, value)
        {
            tell_record(link, name);
        }
    } else if (!strcmp(what, "reserve") || !strcmp(what, "release")) {
        reserve(link, message, !strcmp(what, "reserve"));
    } else if (have) {
        const long long version = json_integer_value(json_object_get(have, nodes[0].name));

        if (version > real_version) { /* the first that hears of it asks, and the others have it from there */
            real_version = version;
            say(link, json_pack("{s:s, s:{s:I}}", "do", "want", "nodes", nodes[0].name, (json_int_t)version));
        }
    }
}

/* False: it is closed. */
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

/* ---- the others, as a thread ---- */

static void listen_all(void)
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

/* Sessions begin and end at other brokers, too. */
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

static _Atomic long stir_us;

static void *play(void *argument)
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

/* ---- requests ---- */

static struct client held[HELD];

static void ask_for(struct client *client, const char *type, unsigned count, json_t **answer)
{
    json_t *question = json_pack("{s:s, s:i, s:s, s:i, s:s}", "do", "request", "count", (int)count, "type", type,
                                 "wait", 0, "program", "pool_nodes");
    char why[256];

    if (client_connect(client, &pool, real_address, why, sizeof(why)) || client_send(client, question) ||
        client_receive(client, answer, 20000))
        fail("a request is not answered");
    json_decref(question);
}

static int by_size(const void *one, const void *other)
{
    const double a = *(const double *)one, b = *(const double *)other;

    return (a > b) - (a < b);
}

static void report(const char *name, double *values, unsigned count)
{
    qsort(values, count, sizeof(*values), by_size);
    printf("%s_median %.3f ms\n%s_p99 %.3f ms\n", name, values[count / 2], name, values[count * 99 / 100]);
}

static double processor_seconds(void)
{
    char path[64], text[512] = "";
    unsigned long user = 0, system = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)daemon_pid);
    file = fopen(path, "re");
    if (file && fgets(text, sizeof(text), file) && strrchr(text, ')'))
        sscanf(strrchr(text, ')'), ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system);
    if (file)
        fclose(file);
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static unsigned long memory_kb(void)
{
    char path[64], line[128];
    unsigned long kb = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)daemon_pid);
    file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file))
        sscanf(line, "VmRSS: %lu", &kb);
    if (file)
        fclose(file);
    return kb;
}

/* From a client's connecting to its having them. */
static void request_often(unsigned count, const char *name, unsigned devices)
{
    double *took = calloc(count, sizeof(*took)), processor = processor_seconds();
    char text[64];

    for (unsigned i = 0; i < count; i++) {
        struct client *client = &held[i % HELD];
        json_t *answer = NULL;
        long began;

        if (client->fd > 0)
            client_close(client);
        began = clock_us();
        ask_for(client, "gpu", devices, &answer);
        took[i] = (double)(clock_us() - began) / 1e3;
        if (!json_object_get(answer, "granted"))
            fail("a request is not granted");
        json_decref(answer);
        usleep(3000);
    }
    report(name, took, count);
    snprintf(text, sizeof(text), "%s_processor", name);
    printf("%s %.3f ms\n", text, (processor_seconds() - processor) * 1e3 / count);
    for (unsigned i = 0; i < HELD; i++) {
        if (held[i].fd > 0)
            client_close(&held[i]);
        held[i].fd = 0;
    }
    free(took);
}

/* How many nodes the daemon takes for up, and how many sessions it sees. */
static unsigned count_up(unsigned *sessions)
{
    json_t *question = json_pack("{s:s}", "do", "status"), *answer = NULL, *node;
    struct client client;
    unsigned up = 0;
    char why[256];
    size_t i;

    if (client_connect(&client, &pool, real_address, why, sizeof(why)) || client_send(&client, question) ||
        client_receive(&client, &answer, 20000))
        fail("the daemon does not say how the pool is");
    *sessions = 0;
    json_array_foreach(json_object_get(answer, "nodes"), i, node)
    {
        up += !strcmp(json_string_value(json_object_get(node, "state")), "up");
        *sessions += (unsigned)json_array_size(json_object_get(node, "sessions"));
    }
    json_decref(question);
    json_decref(answer);
    client_close(&client);
    return up;
}

static void start_daemon(char *program)
{
    char path[64], *words[] = {program, "--config", path, NULL};
    struct client client;
    char why[256];

    snprintf(path, sizeof(path), "%s/conf", folder);
    daemon_pid = fork();
    if (daemon_pid == 0) {
        snprintf(why, sizeof(why), "%s/log", folder);
        if (!freopen(why, "w", stderr))
            _exit(126);
        execvp(program, words);
        _exit(127);
    }
    for (int tries = 0; client_connect(&client, &pool, real_address, why, sizeof(why)); tries++) {
        if (tries == 100)
            fail(why);
        usleep(100000);
    }
    client_close(&client);
}

static void converge(void)
{
    const long began = clock_ms();
    unsigned sessions, links_now = 0;

    while (count_up(&sessions) < node_count) {
        if (clock_ms() - began > 60000)
            fail("the daemon does not learn of all nodes");
        usleep(20000);
    }
    printf("nodes %u number\nall_known_after %.0f ms\n", node_count, (double)(clock_ms() - began));
    for (unsigned i = 0; i < link_count; i++)
        links_now += links[i].hears_all || links[i].watches;
    printf("connections %u number\nfirst_bytes %.1f KiB\n", links_now, (double)(bytes_in + bytes_out) / 1024);
}

/* What comes and goes in some seconds, with so many changes a second elsewhere. */
static void traffic(const char *name, double changes_a_second, unsigned seconds)
{
    const double processor = processor_seconds();
    const unsigned long long in = bytes_in, out = bytes_out, messages = messages_in + messages_out;
    const unsigned before = changes;

    stir_us = changes_a_second > 0 ? (long)(1e6 / changes_a_second) : 0;
    sleep(seconds);
    stir_us = 0;
    printf("%s_changes %.1f /s\n", name, (double)(changes - before) / seconds);
    printf("%s_received %.2f KiB/s\n%s_sent %.2f KiB/s\n%s_messages %.1f /s\n%s_processor %.2f %%\n", name,
           (double)(bytes_in - in) / 1024 / seconds, name, (double)(bytes_out - out) / 1024 / seconds, name,
           (double)(messages_in + messages_out - messages) / seconds, name,
           (processor_seconds() - processor) * 100 / seconds);
}

int main(int count, char **words)
{
    const unsigned requests = count > 3 ? (unsigned)atoi(words[3]) : 300;
    char why[256];
    pthread_t thread;

    if (count < 2)
        fail("usage: pool_nodes VOCL-PROXY [NODES [REQUESTS]]");
    node_count = count > 2 ? (unsigned)atoi(words[2]) : MOST;
    if (node_count < 2 || node_count > MOST)
        fail("2 to 1000 nodes");
    signal(SIGPIPE, SIG_IGN);
    json_object_seed(0);
    plugin = channel_prepare() ? NULL : auth_open("key", why, sizeof(why));
    if (!plugin)
        fail("no keys");
    port = 20000 + (unsigned)getpid() % 10000;
    make_files();
    listen_all();
    start_daemon(words[1]);
    for (unsigned step = 1; step < node_count; step *= 2)
        make_link(node_count - step);
    if (pthread_create(&thread, NULL, play, NULL))
        fail("no thread");
    converge();
    sleep(1);
    request_often(requests, "granted", 1);
    request_often(requests, "granted_8", 8);
    traffic("quiet", 0, 4);
    traffic("10000_an_hour", 4 * 10000 / 3600.0, 4);
    printf("daemon %.1f MB\nrecords %llu number\n", (double)memory_kb() / 1e3, records);
    over = true;
    pthread_join(thread, NULL);
    kill(daemon_pid, SIGTERM);
    waitpid(daemon_pid, NULL, 0);
    remove_files();
    return 0;
}
