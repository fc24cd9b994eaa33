/*
 * A worker's PMI on a node of a pool: an inherited socket pair, whose other side the session's vocl-join serves. The
 * text goes through the encrypted connection between vocl-join and this daemon: {"do": "pmi", "text": ...} and {"pmi":
 * ...}. Only printable text is passed on, and not more than MPI's start needs: anything else ends the PMI.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proxy/daemon/node/internal.h"

#define MOST_TEXT (2u << 20) /* in each direction */

struct relay {
    struct session *session;
    int fd;
    struct event *event;
    size_t from_worker, to_worker;
};

void relay_close(struct session *s)
{
    if (!s->relay)
        return;
    event_free(s->relay->event);
    close(s->relay->fd);
    free(s->relay);
    s->relay = NULL;
}

static void refuse(struct session *s, const char *who)
{
    daemon_log("warning", "session %s: %s sent something that is not PMI", s->id, who);
    relay_close(s);
}

static bool is_plain(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if ((text[i] < ' ' && text[i] != '\n') || text[i] > '~')
            return false;
    }
    return true;
}

static void worker_says(evutil_socket_t fd, short what, void *argument)
{
    struct relay *relay = argument;
    struct session *s = relay->session;
    char text[2048];
    ssize_t got = recv((int)fd, text, sizeof(text), MSG_DONTWAIT);

    (void)what;
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0 || !s->client) {
        relay_close(s);
        return;
    }
    relay->from_worker += (size_t)got;
    if (relay->from_worker > MOST_TEXT || !is_plain(text, (size_t)got))
        refuse(s, "its worker");
    else
        connection_send(s->client, message_pack("{s:s%}", "pmi", text, (size_t)got));
}

void relay_take(struct session *s, const char *text)
{
    const size_t length = strlen(text);

    if (!s->relay)
        return;
    s->relay->to_worker += length;
    if (s->relay->to_worker > MOST_TEXT || !is_plain(text, length))
        refuse(s, "its client");
    else if (send(s->relay->fd, text, length, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)length)
        relay_close(s);
}

int relay_open(struct session *s, int *worker)
{
    struct relay *relay = calloc(1, sizeof(*relay));
    int ends[2];

    if (!relay || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
        free(relay);
        return -ENOMEM;
    }
    *relay = (struct relay){.session = s, .fd = ends[0]};
    relay->event = event_new(s->daemon->base, ends[0], EV_READ | EV_PERSIST, worker_says, relay);
    if (!relay->event) {
        close(ends[0]);
        close(ends[1]);
        free(relay);
        return -ENOMEM;
    }
    event_add(relay->event, NULL);
    s->relay = relay;
    *worker = ends[1];
    return 0;
}
