/* Requests to daemons that are repeated after a loss: see inquiry.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"
#include "pool/inquiry.h"

void inquiry_open(struct inquiry *inquiry, struct inquiry_kind *kind, const struct poolfile *pool)
{
    *inquiry = (struct inquiry){.kind = kind, .pool = pool, .client.fd = -1};
}

void inquiry_say(struct inquiry *inquiry, json_t *message)
{
    int error = message ? 0 : -ENOMEM;

    if (!error && inquiry->client.fd >= 0)
        error = client_send(&inquiry->client, message);
    if (error == -ENOMEM || error == -EMSGSIZE)
        vocl_log(LOG_ERROR, "the pool: a message cannot be made: %s", strerror(-error));
    else if (error) /* part of it may be sent; the loss is noticed at the next receive */
        shutdown(inquiry->client.fd, SHUT_RDWR);
    json_decref(message);
}

static void lose(struct inquiry *inquiry, bool reached, const char *why)
{
    client_close(&inquiry->client);
    inquiry->lost = true;
    if (inquiry->kind->lost)
        inquiry->kind->lost(inquiry, reached, why);
}

static void lose_connection(struct inquiry *inquiry, int error)
{
    char why[256];

    client_explain(&inquiry->client, error, why, sizeof(why));
    lose(inquiry, true, why);
}

/* Attempts to connect. Returns false if no attempt is due or needed. */
static bool try(struct inquiry *inquiry)
{
    struct inquiry_kind *kind = inquiry->kind;
    char why[512];
    int error;

    if (!inquiry->question || inquiry->client.fd >= 0 || clock_ms() - kind->tried_ms < kind->again_ms ||
        (inquiry->lost && kind->change && !kind->change(inquiry)))
        return false;
    inquiry->lost = false;
    error = *inquiry->address ? client_connect_within(&inquiry->client, inquiry->pool, inquiry->address, kind->reach_ms,
                                                      why, sizeof(why))
                              : client_connect(&inquiry->client, inquiry->pool, NULL, why, sizeof(why));
    kind->tried_ms = clock_ms();
    if (error) {
        lose(inquiry, false, why);
        return true;
    }
    inquiry->asked = true;
    inquiry_say(inquiry, json_incref(inquiry->question));
    client_beat(&inquiry->client); /* from here on the daemon expects heartbeats */
    return true;
}

static void want(struct inquiry *inquiry, const char *address, json_t *question)
{
    snprintf(inquiry->address, sizeof(inquiry->address), "%s", address ? address : "");
    inquiry->question = question;
    inquiry->lost = !address;
}

void inquiry_begin(struct inquiry *inquiry, const char *address, json_t *question)
{
    inquiry_end(inquiry);
    inquiry->kind->tried_ms = 0;
    want(inquiry, address, question);
    if (question)
        try(inquiry);
    else
        lose(inquiry, false, "out of memory");
}

int inquiry_begin_with(struct inquiry *inquiry, json_t *first, const char *address, json_t *question, char *why,
                       size_t why_size)
{
    json_t *answer = NULL;
    int error;

    client_beat(&inquiry->client); /* from here on the daemon expects heartbeats */
    error = client_call(&inquiry->client, question ? first : NULL, &answer, why, why_size);
    json_decref(first);
    if (error) {
        client_close(&inquiry->client);
        json_decref(question);
        return error;
    }
    json_decref(answer);
    want(inquiry, address, question);
    return 0;
}

void inquiry_end(struct inquiry *inquiry)
{
    client_close(&inquiry->client);
    json_decref(inquiry->question);
    inquiry->question = NULL;
    inquiry->asked = inquiry->lost = false;
}

/* ---- all inquiries ---- */

bool inquiries_poll(struct inquiry *const *list, unsigned count, struct pollfd *fds)
{
    bool busy = settings_peer_ms() > 0;

    for (unsigned i = 0; i < count; i++) {
        fds[i] = (struct pollfd){list[i]->client.fd, POLLIN, 0};
        busy |= list[i]->question && list[i]->client.fd < 0;
    }
    return busy;
}

static void hear(struct inquiry *inquiry)
{
    json_t *message = NULL;
    int error = client_receive(&inquiry->client, &message, 100);

    if (!error && inquiry->question && json_object_get(message, "ticket") &&
        json_object_set(inquiry->question, "ticket", json_object_get(message, "ticket")))
        vocl_log(LOG_ERROR, "the pool: no memory for the place in its queue");
    if (!error)
        inquiry->kind->hear(inquiry, message);
    else if (error != -ETIMEDOUT)
        lose_connection(inquiry, error);
    json_decref(message);
}

void inquiries_beat(struct inquiry *const *list, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        int error = list[i]->client.fd >= 0 ? client_beat(&list[i]->client) : 0;

        if (error)
            lose_connection(list[i], error);
    }
}

/* If several of one kind are due, only one is tried, so the order rotates. */
void inquiries_turn(struct inquiry *const *list, unsigned count, const struct pollfd *fds)
{
    static unsigned next;

    for (unsigned i = 0; i < count; i++) {
        if (fds[i].revents && list[i]->client.fd == fds[i].fd)
            hear(list[i]);
    }
    inquiries_beat(list, count);
    for (unsigned i = 0, first = next; i < count; i++) {
        if (try(list[(first + i) % count]))
            next = (first + i + 1) % count;
    }
}
