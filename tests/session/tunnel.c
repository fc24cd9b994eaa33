/*
 * Connections through another connection (proxy/launch/tunnel.c), with both ends in one process: data arrive as sent; a
 * reader that does not read delays no other and is sent no more than there is room for; a dead peer is noticed; and a
 * peer that violates the protocol is refused.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proxy/launch/tunnel.h"

#define MOST 8
#define CHUNK (256u << 10)

enum { CALL = 1, DATA, ROOM, CLOSE, BEAT };

static int failures;

static void check(bool holds, const char *what)
{
    if (holds)
        return;
    printf("FAILED: %s\n", what);
    failures++;
}

/* ---- two ends ---- */

static int callees[MOST];
static unsigned called, caller, callee;

static bool on_call(void *owner, unsigned from, unsigned to, int fd)
{
    (void)owner;
    caller = from;
    callee = to;
    if (called == MOST)
        return false;
    callees[called] = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    fcntl(callees[called++], F_SETFL, O_NONBLOCK);
    return true;
}

static void pair(int ends[2])
{
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends))
        exit(99);
}

static int turn(struct tunnel *tunnel)
{
    struct pollfd fds[MOST * 2 + 2];
    unsigned count = tunnel_poll(tunnel, fds);

    poll(fds, count, 1);
    return tunnel_turn(tunnel, fds, count);
}

static void open_two(struct tunnel *two[2])
{
    int ends[2];

    pair(ends);
    called = 0;
    two[0] = tunnel_open(ends[0], ends[0], true, MOST, on_call, NULL, 0);
    two[1] = tunnel_open(ends[1], ends[1], false, MOST, on_call, NULL, 5);
}

static int call(struct tunnel *two[2])
{
    const unsigned before = called;
    int ends[2];

    pair(ends);
    check(tunnel_call(two[0], 3, ends[1]), "a call");
    for (int i = 0; i < 10 && called == before; i++)
        check(!turn(two[0]) && !turn(two[1]), "turns of a call");
    check(called == before + 1 && caller == 5 && callee == 3, "it arrives");
    return ends[0];
}

/* ---- data through the tunnel ---- */

struct flow {
    int from, to;
    size_t sent, got, most;
    bool takes, right;
};

static uint8_t byte_at(size_t at)
{
    return (uint8_t)(at ^ at >> 8 ^ at >> 16);
}

static void flow_on(struct flow *flow)
{
    static uint8_t bytes[CHUNK];
    size_t length = flow->most - flow->sent < CHUNK ? flow->most - flow->sent : CHUNK;
    ssize_t moved;

    for (size_t i = 0; i < length; i++)
        bytes[i] = byte_at(flow->sent + i);
    moved = length ? send(flow->from, bytes, length, MSG_NOSIGNAL) : 0;
    flow->sent += moved > 0 ? (size_t)moved : 0;
    moved = flow->takes ? recv(flow->to, bytes, CHUNK, 0) : 0;
    for (ssize_t i = 0; i < moved; i++)
        flow->right &= bytes[i] == byte_at(flow->got + (size_t)i);
    flow->got += moved > 0 ? (size_t)moved : 0;
}

static void test_flows(void)
{
    struct tunnel *two[2];
    struct flow flows[3];
    char byte;

    open_two(two);
    for (unsigned i = 0; i < 3; i++) {
        int near = call(two);

        flows[i] = (struct flow){near, callees[i], 0, 0, 16u << 20, i != 1, true};
    }
    flows[2] = (struct flow){callees[2], flows[2].from, 0, 0, 16u << 20, true, true}; /* in the other direction */
    while (!failures && (flows[0].got < flows[0].most || flows[2].got < flows[2].most)) {
        for (unsigned i = 0; i < 3; i++)
            flow_on(&flows[i]);
        check(!turn(two[0]) && !turn(two[1]), "a turn");
    }
    check(flows[0].right && flows[2].right, "what went through is what was sent");
    check(flows[1].sent < 2u << 20, "nobody takes it, and it goes on");
    flows[1].takes = true;
    while (!failures && flows[1].got < flows[1].most) {
        flow_on(&flows[1]);
        check(!turn(two[0]) && !turn(two[1]), "a turn of the third");
    }
    check(flows[1].right, "what was held up");
    /* The end of a connection arrives after the data sent before it, and ends the other side, too. */
    check(send(flows[0].from, "e", 1, 0) == 1, "last words");
    close(flows[0].from);
    for (int i = 0; i < 20; i++)
        check(!turn(two[0]) && !turn(two[1]), "turns of an end");
    check(recv(flows[0].to, &byte, 1, 0) == 1 && byte == 'e' && recv(flows[0].to, &byte, 1, 0) == 0, "an end");
    close(callees[1]);
    close(callees[2]);
    close(flows[1].from);
    for (int i = 0; i < 20; i++)
        check(!turn(two[0]) && !turn(two[1]), "turns of all ends");
    check(tunnel_is_idle(two[0]) && tunnel_is_idle(two[1]), "nothing is left");
    tunnel_close(two[0]);
    tunnel_close(two[1]);
}

static void test_silence(void)
{
    struct tunnel *two[2];
    int error = 0;

    open_two(two);
    call(two);
    for (int i = 0; i < 1000 && !error; i++) /* nobody serves the other end */
        error = turn(two[0]) ? -ETIMEDOUT : 0, usleep(5000);
    check(error == -ETIMEDOUT, "silence");
    tunnel_close(two[1]);
    check(turn(two[0]) != 0, "the other end is gone");
    tunnel_close(two[0]);
}

/* ---- peers that violate the protocol ---- */

struct word {
    uint32_t kind, channel, value;
};

static void test_rules(void)
{
    static const struct {
        const char *what;
        struct word words[4];
        bool good;
    } cases[] = {{"a connection that ends", {{CALL, 1, 3}, {CLOSE, 1, 0}}, true},
                 {"more room", {{CALL, 1, 3}, {ROOM, 1, 65536}}, true},
                 {"a heartbeat", {{BEAT, 77, 3}}, true},
                 {"no such word", {{9, 1, 1}}, false},
                 {"data of nobody", {{DATA, 1, 0}}, false},
                 {"an end of nobody", {{CLOSE, 1, 0}}, false},
                 {"a number of the other side's", {{CALL, 2, 3}}, false},
                 {"two of one number", {{CALL, 1, 3}, {CALL, 1, 3}}, false},
                 {"a frame that is too long", {{CALL, 1, 3}, {DATA, 1, 1u << 20}}, false},
                 {"too much room", {{CALL, 1, 3}, {ROOM, 1, 1u << 20}}, false},
                 {"a great deal of room", {{CALL, 1, 3}, {ROOM, 1, ~0u}}, false},
                 {"data after the end", {{CALL, 1, 3}, {CLOSE, 1, 0}, {DATA, 1, 0}}, false}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct tunnel *tunnel;
        int ends[2], error = 0;

        pair(ends);
        called = 0;
        tunnel = tunnel_open(ends[0], ends[0], false, MOST, on_call, NULL, 5);
        for (unsigned j = 0; j < 4 && cases[i].words[j].kind; j++)
            check(write(ends[1], &cases[i].words[j], sizeof(struct word)) == sizeof(struct word), "a word");
        for (int turns = 0; turns < 3 && !error; turns++)
            error = turn(tunnel);
        check((error == -EPROTO) == !cases[i].good && (error == 0) == cases[i].good, cases[i].what);
        tunnel_close(tunnel);
        close(ends[1]);
    }
}

/* Sends calls without end, or more data than there is room for, which nobody reads. */
static void test_greed(void)
{
    static const uint8_t bytes[4096];
    struct tunnel *tunnel;
    int ends[2], error = 0;
    size_t sent = 0;

    for (unsigned what = 0; what < 2; what++, error = 0) {
        pair(ends);
        called = 0;
        tunnel = tunnel_open(ends[0], ends[0], false, MOST, on_call, NULL, 5);
        for (uint32_t i = 0; i < 1000 && !error; i++) {
            const struct word first = {CALL, 1, 3}, next = {CALL, 2 * i + 1, 3}, data = {DATA, 1, sizeof(bytes)};

            if (!what)
                check(write(ends[1], &next, sizeof(next)) == sizeof(next), "calls");
            if (what && !i)
                check(write(ends[1], &first, sizeof(first)) == sizeof(first), "a call");
            if (what && write(ends[1], &data, sizeof(data)) == sizeof(data) &&
                write(ends[1], bytes, sizeof(bytes)) == sizeof(bytes))
                sent += sizeof(bytes);
            error = turn(tunnel);
        }
        check(error == -EPROTO, what ? "data without room" : "calls without end");
        tunnel_close(tunnel);
        close(ends[1]);
    }
    check(sent < 2u << 20, "how much of it was taken");
}

static void test_noise(void)
{
    srand(1);
    for (int round = 0; round < 2000; round++) {
        struct tunnel *tunnel;
        int ends[2], error = 0;

        pair(ends);
        called = 0;
        tunnel = tunnel_open(ends[0], ends[0], false, MOST, on_call, NULL, 5);
        for (int i = 0; i < 20 && !error; i++) {
            const struct word word = {(uint32_t)(rand() % 6), (uint32_t)(rand() % 4), (uint32_t)(rand() % 100)};
            uint8_t bytes[100];

            for (size_t j = 0; j < sizeof(bytes); j++)
                bytes[j] = (uint8_t)rand();
            if (write(ends[1], &word, sizeof(word)) < 0 || (word.kind == DATA && write(ends[1], bytes, word.value) < 0))
                break;
            error = turn(tunnel);
        }
        while (called)
            close(callees[--called]);
        tunnel_close(tunnel);
        close(ends[1]);
    }
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN); /* as all programs with tunnels do */
    setenv("VOCL_PEER_TIMEOUT", "1", 1);
    test_flows();
    test_silence();
    test_rules();
    test_greed();
    test_noise();
    return failures ? 1 : 0;
}
