/*
 * unread POOLFILE hold|queue: a connection does not read its answers until the daemon buffers nearly as much for it as
 * it keeps (4 MiB). Then another event makes the daemon send it one message more, and close it.
 *
 *     hold   it holds devices, and another connection of the same user ends that
 *     queue  it waits for devices, and the request before it leaves: its position changes
 *
 * Runs until standard input ends, and ends with 0 if the daemon answers then.
 */
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "pool/client.h"

enum { MOST_UNSENT = 4 << 20, UNDER = 60, BURST = 20000, PATIENCE_MS = 120000, STILL_MS = 10000 };

static struct poolfile pool;

static void die(const char *what, const char *why)
{
    fprintf(stderr, "unread: %s: %s\n", what, why);
    exit(1);
}

static void open_client(struct client *client)
{
    const int little = 1 << 12;
    char why[512];

    if (client_connect(client, &pool, pool.nodes[0].address, why, sizeof(why)))
        die("connect", why);
    setsockopt(client->fd, SOL_SOCKET, SO_RCVBUF, &little, sizeof(little));
}

static void tell(struct client *client, json_t *message)
{
    if (client_send(client, message))
        die("the daemon", "gone");
    json_decref(message);
}

static json_t *ask(struct client *client, json_t *message)
{
    json_t *answer = NULL;

    tell(client, message);
    if (client_receive(client, &answer, PATIENCE_MS))
        die("the daemon", "does not answer");
    return answer;
}

/* Gets the sizes of the daemon's kernel queues for this connection: bytes that are not acknowledged by this side, and
 * bytes that the daemon has not read. */
static bool queues_there(int fd, unsigned *unacknowledged, unsigned *unread)
{
    bool open = false;
    struct sockaddr_in own;
    socklen_t length = sizeof(own);
    FILE *file = fopen("/proc/net/tcp", "r");
    unsigned theirs, state, sent, read;
    char line[512];

    *unacknowledged = *unread = 0;
    getsockname(fd, (struct sockaddr *)&own, &length);
    while (file && fgets(line, sizeof(line), file)) {
        if (sscanf(line, " %*d: %*8x:%*x %*8x:%x %x %x:%x", &theirs, &state, &sent, &read) == 4 &&
            theirs == ntohs(own.sin_port) && state == 1) {
            open = true;
            *unacknowledged = sent;
            *unread = read;
        }
    }
    if (file)
        fclose(file);
    return open;
}

/* Returns how many bytes of the answers the daemon has not given its kernel yet, once it has read everything. Below 0:
 * the connection stands still, since Linux drops packets to a full socket together with their acknowledgements, on both
 * sides. */
static long unsent(struct client *client, long answers)
{
    const long until = clock_ms() + STILL_MS;
    unsigned unacknowledged, unread;
    int here, under_way;

    do {
        if (clock_ms() > until)
            return -1;
        usleep(20000);
        ioctl(client->fd, TIOCOUTQ, &under_way);
        if (!queues_there(client->fd, &unacknowledged, &unread))
            return MOST_UNSENT; /* closed: the news of the queue were enough */
    } while (under_way || unread);
    usleep(20000);
    ioctl(client->fd, FIONREAD, &here);
    queues_there(client->fd, &unacknowledged, &unread);
    return answers - here - (long)unacknowledged;
}

/* Returns false if unsent() reports that the connection stands still. */
static bool fill(struct client *client)
{
    json_t *pulse = json_pack("{s:s}", "do", "pulse");
    long answers, room, left = 0;
    int one = 0;

    tell(client, json_incref(pulse));
    while (one <= 0) {
        usleep(10000);
        ioctl(client->fd, FIONREAD, &one);
    }
    answers = one;
    for (int full = 0; full < 3 && left >= 0; full++) { /* the kernel may still take more */
        while ((left = unsent(client, answers)) >= 0 && (room = (MOST_UNSENT - UNDER - left) / one) > 0) {
            full = 0;
            if (room > BURST)
                room = BURST;
            for (long i = 0; i < room; i++)
                client_send(client, pulse);
            answers += room * one;
        }
        usleep(300000);
    }
    fprintf(stderr, "%ld of %d bytes are unsent\n", left, MOST_UNSENT);
    json_decref(pulse);
    return left >= 0;
}

/* Whether the daemon has closed the connection, once it has done its work. */
static bool is_closed(const struct client *client)
{
    struct client other;
    unsigned unacknowledged, unread;

    open_client(&other);
    json_decref(ask(&other, json_pack("{s:s}", "do", "status")));
    client_close(&other);
    return !queues_there(client->fd, &unacknowledged, &unread);
}

static bool fill_hold(void)
{
    struct client asker, holder, other;
    json_t *answer;
    const char *id;
    bool closed;

    open_client(&asker);
    answer = ask(&asker, json_pack("{s:s}", "do", "request"));
    id = json_string_value(json_object_get(answer, "granted"));
    if (!id)
        die("request", "nothing is granted");
    open_client(&holder);
    json_decref(ask(&holder, json_pack("{s:s, s:s}", "do", "hold", "session", id)));
    closed = fill(&holder);
    open_client(&other);
    json_decref(ask(&other, json_pack("{s:s, s:s}", "do", "kill", "session", id)));
    json_decref(answer);
    closed = closed && is_closed(&holder);
    client_close(&asker);
    client_close(&holder);
    client_close(&other);
    return closed;
}

static void fill_queue(void)
{
    static struct client clients[3];

    for (int i = 0; i < 3; i++) { /* the first request gets the device */
        open_client(&clients[i]);
        json_decref(
            ask(&clients[i], json_pack("{s:s, s:b, s:i}", "do", "request", "exclusive", 1, "wait", i ? 600 : 0)));
    }
    if (!fill(&clients[2]))
        die("the connection", "stands still");
    client_close(&clients[1]);
}

int main(int count, char **words)
{
    json_t *question = json_pack("{s:s}", "do", "status"), *answer;
    char why[512];

    if (count < 3 || poolfile_read_file(&pool, words[1], why, sizeof(why)))
        die("usage", "unread POOLFILE hold|queue");
    if (!strcmp(words[2], "hold"))
        while (!fill_hold()) /* it stood still, or the daemon's kernel had just taken more */
            ;
    else
        fill_queue();
    while (getchar() != EOF)
        ;
    if (client_ask(&(struct client){.fd = -1}, &pool, NULL, question, &answer, why, sizeof(why)))
        die("afterwards", why);
    return 0;
}
