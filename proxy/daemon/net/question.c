/*
 * Look-ups that other services answer, or do not: a directory service looks up users, a name server hosts, and munged
 * checks credentials. Child processes of the daemon (child.c), copies of it at the other end of a socket, ask them; a
 * question is some bytes and a function that changes them there. The asker continues when the answer arrives, all
 * others at once. A process that has no answer in time is killed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proxy/daemon/net/child.h"
#include "proxy/daemon/net/question.h"
#include "proxy/supervisor.h"

#define QUESTION_SECONDS 4 /* less than PROOF_SECONDS, and than a broker waits for a node */
#define MOST_AT_ONCE 8     /* of each kind, so that no kind delays another */
#define MOST_BYTES (16u << 10)

struct question {
    TAILQ_ENTRY(question) in;
    struct daemon *daemon;
    enum question_kind kind;
    void (*find)(const struct daemon *d, void *bytes);
    void (*answered)(void *argument, void *bytes); /* NULL: the answer is no longer wanted */
    void *argument;
    struct helper *helper; /* that works on it, or NULL */
    bool same;             /* as the question that is being answered */
    struct timer late;
    size_t size;
    _Alignas(max_align_t) uint8_t bytes[];
};

struct helper {
    LIST_ENTRY(helper) in;
    struct child *child;
    struct event *ready;
    struct question *question; /* that it works on, or NULL */
    bool outdated;             /* its configuration is not the daemon's current one */
};

static TAILQ_HEAD(, question) questions = TAILQ_HEAD_INITIALIZER(questions);
static LIST_HEAD(, helper) helpers = LIST_HEAD_INITIALIZER(helpers);

/* ---- in the helper process ---- */

struct wire {
    void (*find)(const struct daemon *d, void *bytes);
    _Alignas(max_align_t) uint8_t bytes[MOST_BYTES];
};

static void help(const void *argument)
{
    static struct wire wire;
    ssize_t got;

    prctl(PR_SET_NAME, "vocl-helper");
    while ((got = recv(CHILD_FD, &wire, sizeof(wire), 0)) > (ssize_t)offsetof(struct wire, bytes)) {
        wire.find(argument, wire.bytes);
        if (send(CHILD_FD, wire.bytes, (size_t)got - offsetof(struct wire, bytes), MSG_NOSIGNAL) < 0)
            break;
        explicit_bzero(wire.bytes, sizeof(wire.bytes));
    }
    _exit(0);
}

/* ---- in the daemon ---- */

static void question_free(struct question *q)
{
    TAILQ_REMOVE(&questions, q, in);
    timer_stop(&q->late);
    explicit_bzero(q->bytes, q->size);
    free(q);
}

static void answer(struct question *q, void *bytes)
{
    void (*answered)(void *, void *) = q->answered;
    void *argument = q->argument;

    question_free(q);
    if (answered)
        answered(argument, bytes);
}

static bool is_same(const struct question *q, const struct question *other)
{
    return q->find == other->find && q->size == other->size && !memcmp(q->bytes, other->bytes, q->size);
}

static void helper_end(struct helper *h)
{
    LIST_REMOVE(h, in);
    event_free(h->ready);
    child_kill(h->child);
    free(h);
}

/* Gives the answer also to those who have meanwhile asked the same. */
static void answer_same(struct question *first, const void *bytes)
{
    uint8_t *own = malloc(first->size);
    struct question *q;

    TAILQ_FOREACH (q, &questions, in)
        q->same = !q->helper && is_same(q, first);
    q = TAILQ_FIRST(&questions);
    while (q) {
        if (!q->same || q->helper) { /* an asker that was answered may have asked more, and a helper may have begun */
            q = TAILQ_NEXT(q, in);
            continue;
        }
        if (own)
            memcpy(own, bytes, q->size);
        answer(q, own);
        q = TAILQ_FIRST(&questions); /* the list may have changed */
    }
    free(own);
}

static void on_answer(evutil_socket_t fd, short what, void *argument);

static struct helper *helper_new(struct daemon *d)
{
    struct helper *h = calloc(1, sizeof(*h));

    if (!h)
        return NULL;
    h->child = child_fork(d, help, d, NULL);
    h->ready = h->child ? event_new(d->base, h->child->fd, EV_READ | EV_PERSIST, on_answer, h) : NULL;
    if (h->ready && !event_add(h->ready, NULL)) {
        LIST_INSERT_HEAD(&helpers, h, in);
        return h;
    }
    if (h->child)
        child_kill(h->child);
    free(h);
    return NULL;
}

/* Whether a helper may begin: not if there are enough of this kind, or one already works on the same question. */
static bool may_ask(const struct question *q)
{
    const struct helper *h;
    unsigned count = 0;

    LIST_FOREACH (h, &helpers, in) {
        if (h->question && is_same(h->question, q))
            return false;
        count += h->question && h->question->kind == q->kind;
    }
    return count < MOST_AT_ONCE;
}

static void serve(struct question *q)
{
    static struct wire wire;
    struct helper *h;

    LIST_FOREACH (h, &helpers, in) {
        if (!h->question)
            break;
    }
    if (!h)
        h = helper_new(q->daemon);
    if (!h)
        return; /* tried again later */
    wire.find = q->find;
    memcpy(wire.bytes, q->bytes, q->size);
    if (send(h->child->fd, &wire, offsetof(struct wire, bytes) + q->size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
        helper_end(h);
    } else {
        h->question = q;
        q->helper = h;
    }
    explicit_bzero(wire.bytes, q->size);
}

static void serve_waiting(void)
{
    struct question *q;

    TAILQ_FOREACH (q, &questions, in) {
        if (!q->helper && may_ask(q))
            serve(q);
    }
}

/* Keeps one idle helper for the next question, and ends the others. */
static void end_idle(void)
{
    struct helper *h, *next;
    bool one = false;

    for (h = LIST_FIRST(&helpers); h; h = next) {
        next = LIST_NEXT(h, in);
        if (!h->question && one)
            helper_end(h);
        else
            one |= !h->question;
    }
}

static void on_answer(evutil_socket_t fd, short what, void *argument)
{
    static _Alignas(max_align_t) uint8_t bytes[MOST_BYTES];
    struct helper *h = argument;
    struct question *q = h->question;
    const ssize_t got = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);

    (void)what;
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    h->question = NULL;
    if (q)
        q->helper = NULL;
    if (got <= 0 || h->outdated)
        helper_end(h);
    if (q && got == (ssize_t)q->size)
        answer_same(q, bytes);
    else if (q)
        answer(q, NULL);
    explicit_bzero(bytes, sizeof(bytes));
    serve_waiting();
    end_idle();
}

static void on_late(void *argument)
{
    struct question *q = argument;

    if (q->helper)
        helper_end(q->helper);
    answer(q, NULL);
    serve_waiting();
}

struct question *question_ask(struct daemon *d, enum question_kind kind,
                              void (*find)(const struct daemon *d, void *bytes), const void *bytes, size_t size,
                              void (*answered)(void *argument, void *bytes), void *argument)
{
    struct question *q = size <= MOST_BYTES ? calloc(1, sizeof(*q) + size) : NULL;

    if (!q)
        return NULL;
    q->kind = kind;
    q->daemon = d;
    q->find = find;
    q->answered = answered;
    q->argument = argument;
    q->size = size;
    memcpy(q->bytes, bytes, size);
    TAILQ_INSERT_TAIL(&questions, q, in);
    if (!timer_set(&q->late, d, on_late, q, 1000 * QUESTION_SECONDS)) {
        question_free(q);
        return NULL;
    }
    serve_waiting();
    return q;
}

void question_drop(struct question *q)
{
    if (q && q->helper)
        q->answered = NULL;
    else if (q)
        question_free(q);
}

void questions_renew(void)
{
    struct helper *h, *next;

    for (h = LIST_FIRST(&helpers); h; h = next) {
        next = LIST_NEXT(h, in);
        h->outdated = true;
        if (!h->question)
            helper_end(h);
    }
}
