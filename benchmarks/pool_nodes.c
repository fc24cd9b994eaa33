/*
 * pool_nodes VOCL-PROXY [NODES [REQUESTS]]: a pool of 1,000 nodes of 4 GPUs each. One node has a real daemon, which
 * this program starts, and the others are simulated: to that daemon they are daemons, each with its own address on the
 * loopback device and its own key. The real daemon gets requests, and places them on the others, which change meanwhile
 * as they do when 10,000 sessions an hour begin and end. Prints figures on standard output.
 *
 * The gossip among the other nodes, which a single real daemon does not see, is left out: each of them knows at once
 * what another knows. tests/pool/gossip.sh has real daemons.
 */
#include <pthread.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "benchmarks/played_nodes.h"

static struct poolfile pool;
static char folder[] = "/tmp/vocl-pool-nodes-XXXXXX";
static unsigned port;
static pid_t daemon_pid;

__attribute__((noreturn)) void fail(const char *what)
{
    fprintf(stderr, "pool_nodes: %s\n", what);
    if (daemon_pid > 0)
        kill(daemon_pid, SIGKILL);
    exit(1);
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

/* ---- requests ---- */

enum { HELD = 64 };

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

/* Measures from a client's connecting until it has its devices. */
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

/* Returns how many nodes the daemon takes for up; *sessions is how many sessions it sees. */
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

/* Measures the daemon's traffic for some seconds, with so many changes a second at other nodes. */
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
    listen_all(port);
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
