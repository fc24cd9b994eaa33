/* Messages that a peer may send on the doorbell (control socket), and those that it may not. */
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/core/link.h"
#include "transport/mpi/watch.h"

static int failures;

static void want(bool holds, const char *what)
{
    if (holds)
        return;
    printf("not so: %s\n", what);
    failures++;
}

static int ends[2] = {-1, -1};

/* A session with one peer, to which a number of frames were sent, and the peer's end of its doorbell. */
static struct peer peer;
static struct transport transport = {.peers = &peer, .job.size = 1};

static struct peer *peer_new(uint32_t sent)
{
    close(ends[0]);
    close(ends[1]);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
        perror("socketpair");
    peer = (struct peer){.alive = true, .provider = &provider_mpi, .sent = sent};
    stored_trust(&peer.bell.socket, ends[0]);
    return &peer;
}

static void say(uint32_t kind, uint32_t value)
{
    const struct bell_record record = {kind, value};

    if (send(ends[1], &record, sizeof(record), 0) != sizeof(record))
        perror("send");
}

static void confirms(void)
{
    struct peer *peer = peer_new(5);

    say(BELL_ACK, 3);
    say(BELL_SLEEP, 5);
    say(BELL_ACK, 4); /* overtaken by a frame's acknowledgement */
    link_hear(&transport, 0);
    want(!peer->bell.lost && peer->bell.acked == 5, "five frames are confirmed");
    say(BELL_ACK, 6);
    link_hear(&transport, 0);
    want(peer->bell.lost && peer->bell.why, "who confirms more than he was sent is lost");

    peer = peer_new(0xfffffffe);
    peer->bell.acked = 0xfffffff0;
    say(BELL_SLEEP, 0xfffffffe);
    link_hear(&transport, 0);
    want(!peer->bell.lost && peer->bell.acked == 0xfffffffe, "near the end of the numbers");
    peer->sent = 3;
    say(BELL_ACK, 2);
    link_hear(&transport, 0);
    want(!peer->bell.lost && peer->bell.acked == 2, "and behind it");
    say(BELL_ACK, 4);
    link_hear(&transport, 0);
    want(peer->bell.lost, "more than was sent, there");

    peer = peer_new(0);
    say(BELL_SLEEP, 1);
    link_hear(&transport, 0);
    want(peer->bell.lost, "one frame of none");
}

static void beats(void)
{
    struct peer *peer = peer_new(0);
    char unread[1 << 20];
    ssize_t left;

    say(BELL_BEAT, 0);
    link_hear(&transport, 0);
    want(!peer->bell.lost && peer->bell.heard == 1 && !peer->bell.stopped, "a heartbeat");
    bell_beat(ends[1], true);
    link_hear(&transport, 0);
    want(!peer->bell.lost && peer->bell.heard == 2 && peer->bell.stopped, "one for a program that is stopped");
    say(BELL_BEAT, 0);
    link_hear(&transport, 0);
    want(!peer->bell.stopped, "which goes on");
    for (int i = 0; i < 100000; i++)
        bell_beat(ends[0], false);
    bell_send(&peer->bell, BELL_RING, 0);
    left = recv(ends[1], unread, sizeof(unread), MSG_DONTWAIT);
    want(left >= 16 && left < 8192, "heartbeats that nobody reads do not pile up");
    want(((struct bell_record *)(unread + left))[-1].kind == BELL_RING, "and leave room for what matters");
    say(99, 0);
    link_hear(&transport, 0);
    want(peer->bell.lost && peer->bell.why, "an unknown record");
    shutdown(ends[1], SHUT_RDWR);
    peer = peer_new(0);
    close(ends[1]);
    link_hear(&transport, 0);
    want(peer->bell.lost && !peer->bell.why, "the end");
}

/* A hundred heartbeats before an answer, none of which is taken for it. */
static void awaits(void)
{
    struct bell_record record = {0, 0};

    peer_new(0);
    for (int i = 0; i < 100; i++)
        say(BELL_BEAT, 0);
    say(BELL_RANK, 7);
    want(!bell_await(ends[0], &record, clock_ms() + 10000, NULL) && record.kind == BELL_RANK && record.value == 7,
         "the rank behind heartbeats");
    say(BELL_BEAT, 0);
    want(bell_await(ends[0], &record, clock_ms() + 50, NULL) != 0, "nothing behind one");
}

int main(void)
{
    confirms();
    beats();
    awaits();
    return failures > 0;
}
