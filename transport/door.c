/* Connections of those who have not said yet who they are: see internal.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/socket.h"
#include "transport/internal.h"

#define HELLO_MS 10000
#define MOST_STRANGERS 64

static bool make_room(struct door *door)
{
    unsigned room = door->room ? 2 * door->room : 16;
    struct caller *callers;
    struct pollfd *fds;

    if (door->count < door->room)
        return true;
    callers = realloc(door->callers, room * sizeof(*callers));
    if (callers)
        door->callers = callers;
    fds = realloc(door->fds, (room + MOST_WATCHED) * sizeof(*fds));
    if (fds)
        door->fds = fds;
    if (!callers || !fds)
        return false;
    door->room = room;
    return true;
}

static void caller_end(struct caller *caller)
{
    close(caller->fd);
    free(caller->extra);
}

/* In order, so that the first stranger is the one that has been here longest. */
static void take_out(struct door *door, unsigned at, struct caller *caller)
{
    *caller = door->callers[at];
    door->count--;
    door->strangers -= !caller->rank;
    memmove(&door->callers[at], &door->callers[at + 1], (door->count - at) * sizeof(*door->callers));
}

static void forget_oldest(struct door *door)
{
    struct caller oldest;

    for (unsigned i = 0; i < door->count; i++) {
        if (!door->callers[i].rank) {
            take_out(door, i, &oldest);
            caller_end(&oldest);
            return;
        }
    }
}

static int add(struct door *door, int fd, uint32_t rank)
{
    if (!rank && door->strangers == MOST_STRANGERS)
        forget_oldest(door);
    if (!make_room(door))
        return -ENOMEM;
    door->callers[door->count++] = (struct caller){.fd = fd, .rank = rank, .until = clock_ms() + HELLO_MS};
    door->strangers += !rank;
    return 0;
}

int door_expect(struct door *door, int fd, uint32_t rank)
{
    return add(door, fd, rank);
}

static bool is_unix(int fd)
{
    int domain = 0;
    socklen_t length = sizeof(domain);

    return !getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) && domain == AF_UNIX;
}

int door_open(struct door *door, int listener)
{
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

    if (fd < 0)
        return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -errno : 0;
    if (is_unix(fd) && !socket_same_user(fd)) {
        if (!door->refused) /* once: they may be many */
            vocl_log(LOG_ERROR, "refused a process of another user");
        door->refused = true;
        close(fd);
        return 0;
    }
    socket_tune(fd);
    if (add(door, fd, 0)) {
        close(fd);
        return -ENOMEM;
    }
    return 0;
}

unsigned door_wait(struct door *door, const int *watched, unsigned count, long milliseconds)
{
    struct pollfd few[MOST_WATCHED], *fds = door->fds ? door->fds : few;
    const long now = clock_ms();
    unsigned ready = 0;

    for (unsigned i = 0; i < count; i++)
        fds[i] = (struct pollfd){watched[i], POLLIN, 0};
    for (unsigned i = 0; i < door->count; i++) {
        const struct caller *caller = &door->callers[i];

        fds[count + i] = (struct pollfd){caller->fd, POLLIN, 0};
        if (!caller->rank && caller->until - now < milliseconds)
            milliseconds = caller->until > now ? caller->until - now : 0;
    }
    if (poll(fds, count + door->count, (int)milliseconds) <= 0)
        return 0;
    for (unsigned i = 0; i < count; i++)
        ready |= fds[i].revents ? 1u << i : 0;
    return ready;
}

static size_t extra_of(const struct caller *caller)
{
    return caller->rank || caller->hello.role == HELLO_PEER ? 0 : caller->hello.extra;
}

/* 1: all of it is here; 0: not yet; or negative errno. */
static int read_more(struct caller *caller, const uint8_t *token, const char **refused)
{
    for (;;) {
        size_t whole = sizeof(caller->hello), left;
        ssize_t got;

        if (caller->got >= whole) {
            *refused = hello_check(&caller->hello, caller->rank ? caller->hello.token : token);
            caller->hello.host[sizeof(caller->hello.host) - 1] = '\0';
            if (!*refused && extra_of(caller) > MOST_EXTRA)
                *refused = "it has too much to say";
            if (*refused)
                return 1;
            whole += extra_of(caller);
            if (caller->got == whole)
                return 1;
            if (!caller->extra && !(caller->extra = calloc(1, extra_of(caller) + 2)))
                return -ENOMEM;
        }
        left = whole - caller->got;
        got = socket_receive_of(caller->fd,
                                caller->extra ? caller->extra + (caller->got - sizeof(caller->hello))
                                              : (char *)&caller->hello + caller->got,
                                left, &caller->process);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 && errno == EAGAIN ? 0 : -ECONNRESET;
        caller->got += (size_t)got;
    }
}

bool door_hear(struct door *door, struct caller *caller, const char **refused)
{
    for (unsigned i = 0; i < door->count; i++) {
        int status;

        *refused = NULL;
        status = read_more(&door->callers[i], door->token, refused);
        if (!status && (door->callers[i].rank || clock_ms() < door->callers[i].until))
            continue;
        take_out(door, i--, caller);
        if (status > 0)
            return true;
        if (caller->rank) {
            *refused = "its process is gone";
            return true;
        }
        caller_end(caller);
    }
    return false;
}

void door_answer(struct caller *caller, const char *refused)
{
    struct hello_reply reply = {.magic = HELLO_MAGIC, .accepted = !refused};

    if (refused)
        memccpy(reply.why, refused, '\0', sizeof(reply.why) - 1);
    if (send(caller->fd, &reply, sizeof(reply), MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof(reply))
        vocl_log(LOG_DEBUG, "no reply for %s: %s", caller->hello.host, strerror(errno));
    free(caller->extra);
    caller->extra = NULL;
    if (refused)
        close(caller->fd);
}

void door_close(struct door *door)
{
    for (unsigned i = 0; i < door->count; i++)
        caller_end(&door->callers[i]);
    free(door->callers);
    free(door->fds);
    *door = (struct door){.count = 0};
}
