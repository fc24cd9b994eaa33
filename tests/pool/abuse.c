/*
 * abuse POOLFILE [TIMES]: sends the daemon everything that it must withstand. First without authentication: silence,
 * bytes that are not the protocol, invalid lengths, incomplete messages, a thousand connections at once; then
 * authenticated: forged and huge records, and messages of every kind with members of every wrong type. Random messages
 * are sent TIMES as often. Exits with 0 if the daemon still answers.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/socket.h"
#include "pool/client.h"
#include "tests/draw.h"

enum { CROWD = 1000 };

static struct poolfile pool;
static uint64_t seed = 1;
static int times = 1;

static unsigned pick(unsigned below)
{
    return draw_below(&seed, below);
}

static int dial(void)
{
    char endpoint[160];

    snprintf(endpoint, sizeof(endpoint), "tcp:%s", pool.nodes[0].address);
    return endpoint_connect(endpoint);
}

static bool answers(char *why, size_t why_size)
{
    json_t *question = json_pack("{s:s}", "do", "status"), *answer = NULL;
    struct client client;
    bool good = !client_connect(&client, &pool, pool.nodes[0].address, why, why_size);

    if (good) {
        good = !client_call(&client, question, &answer, why, why_size);
        client_close(&client);
        if (good)
            json_decref(answer);
    }
    json_decref(question);
    return good;
}

/* Waits until the daemon answers, which it does once it has noticed that the peers that used up its connections are
 * gone. */
static void must_answer(const char *after)
{
    char why[512];

    for (int tries = 0; tries < 100; tries++) {
        if (answers(why, sizeof(why)))
            return;
        usleep(100000);
    }
    fprintf(stderr, "after %s: %s\n", after, why);
    exit(1);
}

static void send_bytes(const void *bytes, size_t length)
{
    int fd = dial();

    if (fd < 0)
        return;
    socket_write_all(fd, bytes, length);
    close(fd);
}

static void be_nobody(void)
{
    struct channel_proof proof = {.magic = CHANNEL_MAGIC, .version = CHANNEL_VERSION};
    static uint8_t bytes[1 << 20];

    send_bytes("", 0);
    for (size_t length = 1; length <= sizeof(bytes); length *= 4) {
        for (size_t i = 0; i < length; i++)
            bytes[i] = (uint8_t)pick(256);
        send_bytes(bytes, length);
    }
    send_bytes("GET / HTTP/1.1\r\n\r\n", 18);
    for (unsigned i = 0; i < sizeof(proof); i++)
        send_bytes(&proof, i);
    proof.length = UINT32_MAX;
    send_bytes(&proof, sizeof(proof));
    proof.length = 0;
    send_bytes(&proof, sizeof(proof));
    proof.length = 100;
    proof.version = 77;
    memcpy(bytes, &proof, sizeof(proof));
    send_bytes(bytes, sizeof(proof) + 100);
    proof.version = CHANNEL_VERSION;
    memcpy(bytes, &proof, sizeof(proof));
    for (int i = 0; i < 20 * times; i++) {
        for (unsigned k = 0; k < 100; k++)
            bytes[sizeof(proof) + k] = (uint8_t)pick(256);
        send_bytes(bytes, sizeof(proof) + pick(101));
    }
}

/* Opens many silent connections at once; the daemon refuses those beyond its limit. */
static void be_a_crowd(void)
{
    static int fds[CROWD];

    for (int i = 0; i < CROWD; i++)
        fds[i] = dial();
    for (int i = 0; i < CROWD; i++) {
        if (fds[i] >= 0)
            close(fds[i]);
    }
}

/* ---- authenticated ---- */

static struct client connect_well(void)
{
    struct client client;
    char why[512];

    for (int tries = 0; tries < 100; tries++) {
        if (!client_connect(&client, &pool, pool.nodes[0].address, why, sizeof(why)))
            return client;
        usleep(100000);
    }
    fprintf(stderr, "%s\n", why);
    exit(1);
}

static void forge(void)
{
    static uint8_t bytes[4096];

    for (int i = 0; i < 10 * times; i++) {
        struct client client = connect_well();
        uint32_t length = i < 5 ? UINT32_MAX >> i : pick(4000);

        for (size_t k = 0; k < sizeof(bytes); k++)
            bytes[k] = (uint8_t)pick(256);
        memcpy(bytes, &length, sizeof(length));
        socket_write_all(client.fd, bytes, sizeof(bytes));
        client_close(&client);
    }
}

static json_t *any_value(int depth)
{
    json_t *list;

    switch (pick(depth > 2 ? 7 : 9)) {
    case 0:
        return json_null();
    case 1:
        return json_true();
    case 2:
        return json_integer((json_int_t)pick(10) - 5);
    case 3:
        return json_integer((json_int_t)((uint64_t)pick(1u << 24) << 39));
    case 4:
        return json_real(1e300 * pick(5));
    case 5:
        return json_string("n1");
    case 6:
        return json_sprintf("%0*d", (int)pick(3000) + 1, 7);
    case 7:
        list = json_array();
        for (unsigned i = pick(100); i; i--)
            json_array_append_new(list, any_value(depth + 1));
        return list;
    default:
        list = json_object();
        for (unsigned i = pick(5); i; i--)
            json_object_set_new(list, "session", any_value(depth + 1));
        return list;
    }
}

static void say_nonsense(void)
{
    static const char *const words[] = {"status", "request", "start",   "drain", "resume", "kill",
                                        "watch",  "reserve", "release", "",      "zzz"};
    static const char *const members[] = {"session", "count", "wait",   "share",   "memory",      "exclusive",
                                          "name",    "type",  "policy", "program", "environment", "endpoint",
                                          "token",   "user",  "uid",    "gid",     "devices",     "from"};

    for (int i = 0; i < 40 * times; i++) {
        struct client client = connect_well();

        for (unsigned k = pick(10) + 1; k; k--) {
            json_t *message = json_object();

            json_object_set_new(message, "do", pick(20) ? json_string(words[pick(11)]) : any_value(0));
            for (unsigned m = pick(8); m; m--)
                json_object_set_new(message, members[pick(18)], any_value(0));
            client_send(&client, message);
            json_decref(message);
        }
        client_close(&client);
    }
    /* The drains made above must not keep other clients waiting. */
    {
        struct client client = connect_well();
        json_t *message = json_pack("{s:s}", "do", "resume");

        client_send(&client, message);
        json_decref(message);
        client_receive(&client, &message, 5000);
        client_close(&client);
    }
}

int main(int count, char **words)
{
    struct rlimit files = {CROWD + 100, CROWD + 100};
    char why[512];

    setrlimit(RLIMIT_NOFILE, &files);
    if (count < 2 || poolfile_read_file(&pool, words[1], why, sizeof(why))) {
        fprintf(stderr, "%s\n", count < 2 ? "usage: abuse POOLFILE [TIMES]" : why);
        return 2;
    }
    times = count > 2 ? atoi(words[2]) : 1;
    must_answer("nothing");
    be_nobody();
    must_answer("nobody");
    be_a_crowd();
    must_answer("a crowd");
    forge();
    must_answer("forgeries");
    say_nonsense();
    must_answer("nonsense");
    return 0;
}
