/*
 * Members join a running session and leave it, without OpenCL: frames and bulk data between all of them. The same
 * program is the worker (--worker) and the process that starts it on another host (--remote); tests/session/members.sh
 * puts it in place of vocl-proxy.
 *
 *     members ROUNDS [HOST]          ROUNDS times a member joins, is tested, and leaves
 *     members killed ROUNDS [HOST]   the new member is killed at any time; no other member is lost
 *     members fail TEXT [HOST]       a member fails to join, with TEXT in the reason; the session stays as it was
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "proxy/fork_server.h"
#include "proxy/launch/remote.h"
#include "transport/rendezvous/pending.h"
#include "transport/transport.h"
#include "wire/frame.h"

#define MOST_BYTES (3u << 20)
#define PATIENCE_MS 200000 /* longer than VOCL_START_TIMEOUT */

enum { ECHO = 1, PASS, PASSED, GIVE, TAKE, MOVED, FILES, END };

struct order {
    uint32_t kind, peer, tag, length;
    int32_t status;
};

static struct transport *t;
static bool over, failed;
static struct order answer; /* the last one */
static unsigned answers, lost_count, moved_count;
static unsigned first_members; /* members with smaller numbers were there from the beginning */
static bool newcomer_lost;
static uint8_t *buffer;
static uint8_t frame[300 << 10];

static uint8_t pattern(uint32_t tag, size_t at)
{
    return (uint8_t)(tag * 31 + at + (at >> 8) * 7 + (at >> 16));
}

static void fill(uint8_t *bytes, uint32_t tag, size_t length)
{
    for (size_t i = 0; i < length; i++)
        bytes[i] = pattern(tag, i);
}

static bool is_filled(const uint8_t *bytes, uint32_t tag, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] != pattern(tag, i))
            return false;
    }
    return true;
}

static unsigned open_files(void)
{
    DIR *folder = opendir("/proc/self/fd");
    unsigned count = 0;

    while (folder && readdir(folder))
        count++;
    if (folder)
        closedir(folder);
    return count;
}

static void turn(int milliseconds)
{
    if (transport_poll(t))
        return;
    transport_announce(t);
    if (!transport_poll(t))
        transport_sleep(t, -1, milliseconds * 1000l);
}

/* Messages that a worker's loop sends, as a callback must not wait. */
static struct waiting {
    struct waiting *next;
    unsigned peer;
    size_t length;
    uint8_t bytes[];
} * first_waiting, **last_waiting = &first_waiting;

static void send_waiting(void)
{
    struct waiting *one;

    while ((one = first_waiting)) {
        if (transport_peer_alive(t, one->peer) && transport_send(t, one->peer, one->bytes, one->length) == -EAGAIN)
            return;
        first_waiting = one->next;
        if (!first_waiting)
            last_waiting = &first_waiting;
        free(one);
    }
}

static void wait_to_send(unsigned peer, size_t length)
{
    struct waiting *one = malloc(sizeof(*one) + length);

    *one = (struct waiting){.peer = peer, .length = length};
    memcpy(one->bytes, frame, length);
    *last_waiting = one;
    last_waiting = &one->next;
}

static void send_order(unsigned peer, const struct order *order, size_t length)
{
    int error = 0;

    memcpy(frame, order, sizeof(*order));
    if (!transport_peer_alive(t, peer))
        return;
    if (transport_rank(t)) {
        wait_to_send(peer, length);
        return;
    }
    while ((error = transport_send(t, peer, frame, length)) == -EAGAIN)
        turn(1);
    if (error)
        fprintf(stderr, "%d: to %u: %s\n", (int)transport_rank(t), peer, strerror(-error));
}

/* ---- the worker ---- */

struct work {
    struct order order;
    uint8_t *bytes;
};

static void moved(void *argument, int status)
{
    struct work *work = argument;
    struct order reply = work->order;

    reply.status = status;
    if (!status && work->order.kind == TAKE && !is_filled(work->bytes, work->order.tag, work->order.length))
        reply.status = -EBADMSG;
    reply.kind = MOVED;
    send_order(0, &reply, sizeof(reply));
    free(work->bytes);
    free(work);
}

static void move(const struct order *order)
{
    struct work *work = calloc(1, sizeof(*work));
    int error;

    work->order = *order;
    work->bytes = calloc(1, order->length + 1);
    if (order->kind == GIVE)
        fill(work->bytes, order->tag, order->length);
    error = order->kind == GIVE ? transport_give(t, order->peer, order->tag, work->bytes, order->length, moved, work)
                                : transport_take(t, order->peer, order->tag, work->bytes, order->length, moved, work);
    if (error)
        moved(work, error);
}

static int worker_frame(void *owner, unsigned peer, const void *bytes, size_t length)
{
    struct order order;

    (void)owner;
    if (length < sizeof(order) || length > sizeof(frame))
        return -EBADMSG;
    memcpy(&order, bytes, sizeof(order));
    memcpy(frame, bytes, length);
    if (order.kind == ECHO) {
        send_order(0, &order, length);
    } else if (order.kind == PASS && !peer) {
        const unsigned to = order.peer;

        order.kind = PASSED;
        order.peer = transport_rank(t);
        send_order(to, &order, length);
    } else if (order.kind == PASSED) {
        order.status = order.peer == peer ? 0 : -EBADMSG;
        send_order(0, &order, length);
    } else if (order.kind == GIVE || order.kind == TAKE) {
        move(&order);
    } else if (order.kind == FILES) {
        order.status = (int)open_files();
        send_order(0, &order, sizeof(order));
    }
    return 0;
}

static void worker_lost(void *owner, unsigned peer, const char *why)
{
    (void)owner, (void)why;
    over |= !peer;
}

/* Plays a member of another version of VOCL on this host, which sends only its greeting. */
static int say_wrong_version(unsigned number)
{
    const struct tunnel_call call = {0};
    struct greeting greeting;
    char identity[TLS_IDENTITY];
    int ends[2];

    identity_write(identity, number, 0, 0, "");
    greeting_fill(&greeting, number);
    greeting.version++;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) ||
        socket_send_descriptors(atoi(getenv(SESSION_TUNNEL)), &call, sizeof(call), &ends[1], 1) ||
        socket_write_all(ends[0], identity, sizeof(identity)) || socket_write_all(ends[0], &greeting, sizeof(greeting)))
        return 1;
    sleep(1000);
    return 0;
}

static void stop(int number)
{
    (void)number;
    raise(SIGSTOP);
}

static int work(void)
{
    const struct transport_callbacks callbacks = {.frame = worker_frame, .lost = worker_lost};
    const char *how = getenv("MEMBERS_HOW"), *joins = getenv("VOCL_SESSION_JOINS");
    char why[512] = "";

    if (joins && how && !strcmp(how, "exit"))
        return 7;
    if (joins && how && !strcmp(how, "hang"))
        sleep(1000);
    if (joins && how && !strcmp(how, "version"))
        return say_wrong_version((unsigned)atoi(joins));
    if (joins && how && !strcmp(how, "stop"))
        signal(SIGALRM, stop);
    if (joins && how && (!strcmp(how, "die") || !strcmp(how, "stop")))
        ualarm(1000 + (unsigned)(clock_ns() / 1000) % 25000, 0);
    if (transport_open_worker(&callbacks, why, sizeof(why), &t)) {
        fprintf(stderr, "members: %s\n", why);
        return 1;
    }
    while (!over) {
        send_waiting();
        turn(first_waiting ? 1 : 1000);
    }
    if (how && !strcmp(how, "stay"))
        sleep(1000);
    transport_close(t);
    _exit(0);
}

/* ---- the program ---- */

static int on_frame(void *owner, unsigned peer, const void *bytes, size_t length)
{
    (void)owner, (void)peer;
    memcpy(&answer, bytes, length < sizeof(answer) ? length : sizeof(answer));
    failed |= length > sizeof(answer) && (answer.length != length || !is_filled((const uint8_t *)bytes + sizeof(answer),
                                                                                answer.tag, length - sizeof(answer)));
    answers++;
    return 0;
}

static void on_lost(void *owner, unsigned peer, const char *why)
{
    (void)owner;
    newcomer_lost |= peer >= first_members;
    if (why && peer < first_members)
        fprintf(stderr, "lost %u: %s\n", peer, why);
    lost_count += why && peer < first_members;
}

static bool check(bool good, const char *what)
{
    if (!good || failed)
        fprintf(stderr, "FAILED: %s (status %d)\n", what, answer.status);
    failed |= !good;
    return !failed;
}

static void wait_for(unsigned *count, unsigned wanted)
{
    const long until = clock_ms() + PATIENCE_MS;

    while (*count < wanted && clock_ms() < until && !lost_count && !newcomer_lost)
        turn(100);
    check(*count == wanted || newcomer_lost, "waiting");
}

/* Sends a frame of length bytes to peer, which returns it, directly or through the member other. */
static void say(unsigned kind, unsigned peer, unsigned other, size_t length)
{
    const struct order order = {.kind = kind, .peer = other, .tag = peer * 7 + other, .length = (uint32_t)length};

    answers = 0;
    fill(frame + sizeof(order), order.tag, length - sizeof(order));
    send_order(peer, &order, length);
    wait_for(&answers, 1);
    check(newcomer_lost || (answer.kind == (kind == PASS ? PASSED : kind) && !answer.status), "a frame");
}

static void done(void *argument, int status)
{
    (void)argument;
    failed |= status != 0 && !newcomer_lost;
    moved_count++;
}

/* Moves bulk data from one member to another; 0 is the program. */
static void carry(unsigned from, unsigned to, uint32_t tag, uint32_t length)
{
    struct order order = {.kind = GIVE, .peer = to, .tag = tag, .length = length};

    answers = moved_count = 0;
    if (from)
        send_order(from, &order, sizeof(order));
    order.kind = TAKE;
    order.peer = from;
    if (to)
        send_order(to, &order, sizeof(order));
    memset(buffer, 0, length);
    if (!from) {
        fill(buffer, tag, length);
        check(!transport_give(t, to, tag, buffer, length, done, NULL), "give");
    }
    if (!to)
        check(!transport_take(t, from, tag, buffer, length, done, NULL), "take");
    wait_for(&answers, (from != 0) + (to != 0));
    wait_for(&moved_count, (from == 0) + (to == 0));
    check(newcomer_lost || (!answer.status && is_filled(buffer, tag, from && to ? 0 : length)), "bulk data");
}

static int came; /* 0: not yet; 1: joined; otherwise a negative errno */
static char came_why[256];

static void on_joined(void *argument, unsigned member, int error, const char *why)
{
    (void)argument, (void)member;
    came = error ? error : 1;
    snprintf(came_why, sizeof(came_why), "%s", why);
}

static unsigned add(const char *host)
{
    const long until = clock_ms() + PATIENCE_MS;
    int number;

    came = 0;
    newcomer_lost = false;
    do {
        number = transport_add_member(t, host, on_joined, NULL, came_why, sizeof(came_why));
        if (number == -ENOSPC)
            turn(10);
    } while (number == -ENOSPC && clock_ms() < until);
    if (number < 0) {
        came = number;
        return 0;
    }
    while (!came && clock_ms() < until)
        turn(100);
    return (unsigned)number;
}

static void try_all(unsigned newcomer, unsigned round)
{
    say(ECHO, newcomer, 0, 100);
    say(ECHO, newcomer, 0, 5000);
    say(ECHO, newcomer, 0, sizeof(frame));
    carry(0, newcomer, round + 1, MOST_BYTES);
    carry(newcomer, 0, round + 2, MOST_BYTES);
    carry(0, newcomer, round + 3, 100);
    for (unsigned old = 1; old < transport_peers(t) && !failed; old++) {
        if (old == newcomer || !transport_peer_alive(t, old))
            continue;
        say(ECHO, old, 0, 100);
        say(PASS, old, newcomer, 5000);
        say(PASS, newcomer, old, sizeof(frame));
        carry(old, newcomer, round + 4, MOST_BYTES / 2);
        carry(newcomer, old, round + 5, MOST_BYTES / 2);
    }
}

static unsigned files_of(unsigned peer)
{
    const struct order order = {.kind = FILES};

    answers = 0;
    send_order(peer, &order, sizeof(order));
    wait_for(&answers, 1);
    return (unsigned)answer.status;
}

/* Waits until the program has at most so many files open, which is when all members have noticed a loss. */
static bool few_files(unsigned most)
{
    const long until = clock_ms() + PATIENCE_MS;

    while (open_files() > most && clock_ms() < until)
        turn(5);
    return open_files() <= most;
}

static bool few_files_of(unsigned peer, unsigned most)
{
    const long until = clock_ms() + PATIENCE_MS;

    while (files_of(peer) > most && !failed && clock_ms() < until)
        turn(5);
    return files_of(peer) <= most;
}

static int come_and_go(unsigned rounds, const char *host)
{
    unsigned own = 0, others = 0;

    for (unsigned round = 0; round < rounds && !failed; round++) {
        unsigned number = add(host);

        check(came == 1, came_why);
        if (!failed)
            try_all(number, round);
        if (!failed)
            check(!transport_drop_member(t, number), "dropping it");
        check(!lost_count && !transport_peer_alive(t, number), "nobody is lost");
        for (int i = 0; i < 20; i++) /* until the others notice */
            turn(5);
        if (round == 2)
            own = open_files(), others = files_of(1);
        if (round > 2)
            check(few_files(own + 2), "descriptors of the program");
        if (round > 2 && round + 1 == rounds)
            check(few_files_of(1, others + 2), "descriptors of a worker");
    }
    return failed;
}

/* The new member kills or stops itself, as MEMBERS_HOW says. */
static int killed(unsigned rounds, const char *host)
{
    unsigned members = 0, losses = 0, own = 0;

    for (unsigned round = 0; round < rounds && !failed; round++) {
        const long until = clock_ms() + PATIENCE_MS;
        unsigned number = add(host);

        check(came != 0, "neither came nor not");
        members += came == 1;
        if (came == 1) {
            say(ECHO, number, 0, 5000);
            while (!newcomer_lost && clock_ms() < until)
                turn(5);
            losses += newcomer_lost;
            if (!newcomer_lost)
                check(!transport_drop_member(t, number), "dropping it");
        }
        newcomer_lost = false;
        for (int i = 0; i < 4; i++)
            turn(5);
        say(ECHO, 1, 0, 5000);
        carry(0, 1, 5, 10000);
        if (transport_peer_alive(t, 2))
            carry(1, 2, 6, 10000);
        check(!lost_count, "nobody else is lost");
        if (round == 3)
            own = open_files();
        if (round > 3)
            check(few_files(own + 10), "descriptors of the program");
    }
    printf("%u of %u came, %u of them were lost\n", members, rounds, losses);
    return failed;
}

static int not_come(const char *text, const char *host)
{
    const unsigned own = open_files();

    add(host);
    check(came < 0 && strstr(came_why, text), came_why);
    check(few_files(own), "descriptors of the program");
    say(ECHO, 1, 0, 5000);
    carry(0, 1, 5, MOST_BYTES);
    if (transport_peers(t) > 2 && transport_peer_alive(t, 2))
        carry(1, 2, 6, MOST_BYTES);
    check(!lost_count, "nobody is lost");
    return failed;
}

int main(int count, char **arguments)
{
    const struct transport_callbacks callbacks = {.frame = on_frame, .lost = on_lost};
    const char *what = count > 1 ? arguments[1] : "3";
    const char *patience = getenv("MEMBERS_PATIENCE"); /* for new members; those of the beginning have more time */
    char why[512] = "";
    int status;

    if (!strcmp(what, "--remote"))
        return remote_run();
    if (!strncmp(what, FORK_SERVER, strlen(FORK_SERVER))) /* there are no drivers to copy */
        return FORK_SERVER_USELESS;
    buffer = malloc(MOST_BYTES);
    if (!strcmp(what, "--worker"))
        return work();
    if (transport_open_client(&callbacks, why, sizeof(why), &t)) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    puts("ready");
    fflush(stdout);
    if (patience)
        setenv("VOCL_START_TIMEOUT", patience, 1);
    first_members = transport_peers(t);
    status = !strcmp(what, "killed") ? killed((unsigned)atoi(arguments[2]), count > 3 ? arguments[3] : NULL)
             : !strcmp(what, "fail") ? not_come(arguments[2], count > 3 ? arguments[3] : NULL)
                                     : come_and_go((unsigned)atoi(what), count > 2 ? arguments[2] : NULL);
    transport_close(t);
    free(buffer);
    if (!status)
        puts("right");
    return status;
}
