/* Users' requests to a running session: see requests.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/process.h"
#include "base/requests.h"
#include "base/socket.h"
#include "base/text.h"
#include "proxy/launch/requests.h"

#define MOST_USERS 8   /* requests of users under way, at most */
#define MOST_ASKERS 17 /* the same, with those of this process */
#define ASIDE 2        /* descriptors polled besides theirs */

/* A request that waits for the program's answer, from a process at the end of a pipe, or from this process. */
struct asker {
    int out;    /* the end of that pipe, or -1 */
    int answer; /* the end of the socket on which the program answers; -1: this entry is unused */
    requests_answered *hear;
    void *owner;
};

static int control, to_program = -1, spare = -1;
static char session_nodes[REQUESTS_MOST / 2], session_network[16], session_state[32], session_name[64];
static struct asker askers[MOST_ASKERS];
static bool begun;                       /* the program has sent its packet socket */
static char waiting[16 * REQUESTS_MOST]; /* requests that have arrived */
static size_t waiting_length;
static bool (*own_answers)(const char *words, int out);

void requests_open(int program)
{
    int ends[2];

    control = program;
    for (unsigned i = 0; i < MOST_ASKERS; i++)
        askers[i] = (struct asker){.out = -1, .answer = -1};
    if (fcntl(REQUESTS_FD, F_GETFD) >= 0 || pipe2(ends, O_CLOEXEC | O_NONBLOCK)) {
        vocl_log(LOG_INFO, "nobody can ask anything of this session");
        return;
    }
    if (ends[0] != REQUESTS_FD && dup3(ends[0], REQUESTS_FD, O_CLOEXEC) == REQUESTS_FD)
        close(ends[0]);
    spare = ends[1]; /* a writing end that stays open, since other writers come and go */
}

void requests_describe(const char *nodes, const char *network, const char *name)
{
    char visible[sizeof(session_nodes)];

    snprintf(session_nodes, sizeof(session_nodes), "%s", text_visible(nodes, visible, sizeof(visible)));
    snprintf(session_network, sizeof(session_network), "%s", network);
    if (name && !*session_name)
        snprintf(session_name, sizeof(session_name), "%s", name);
}

void requests_connect(int fd)
{
    if (to_program >= 0)
        close(to_program);
    to_program = fd;
    begun = true;
}

/* ---- answers ---- */

/* A line is written whole or not at all: an asker that does not read loses it. */
void requests_answer(int out, const char *format, ...)
{
    char line[REQUESTS_MOST];
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    if (length >= (int)sizeof(line)) {
        length = sizeof(line) - 1;
        line[length - 1] = '\n';
    }
    if (write(out, line, (size_t)length) < 0)
        vocl_log(LOG_DEBUG, "the process that asked does not read its answer: %s", strerror(errno));
}

static void program_name(pid_t pid, char *name, size_t size)
{
    char path[64], text[64] = "?";
    int fd;
    ssize_t got;

    snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    if (got > 0)
        text[got - (text[got - 1] == '\n')] = '\0';
    text_visible(text, name, size);
}

static const char *state(void)
{
    if (to_program < 0)
        return begun ? REQUEST_ENDING : REQUEST_STARTING;
    return strcmp(session_state, "suspended") ? REQUEST_RUNNING : REQUEST_SUSPENDED;
}

static void answer_session(int out)
{
    const pid_t program = socket_process(control);
    char name[256];

    program_name(program, name, sizeof(name));
    requests_answer(out, REQUEST_DONE "%d\t%s\t%s\t%s%s%s\t%s\t%s\n", (int)program, name, session_network,
                    session_nodes, *session_state ? " " : "", session_state, session_name, state());
}

static void asker_end(struct asker *asker)
{
    close(asker->answer);
    if (asker->out >= 0)
        close(asker->out);
    *asker = (struct asker){.out = -1, .answer = -1};
}

/* Returns false if that was the last answer. */
static bool tell_owner(const struct asker *asker, char *line)
{
    const char *text;

    line[strcspn(line, "\n")] = '\0';
    text = strchr(line, ' ') ? strchr(line, ' ') + 1 : "";
    if (!strncmp(line, REQUEST_PROGRESS, strlen(REQUEST_PROGRESS))) {
        asker->hear(asker->owner, ANSWER_PROGRESS, text);
        return true;
    }
    asker->hear(asker->owner, strncmp(line, REQUEST_DONE, strlen(REQUEST_DONE)) ? ANSWER_FAILED : ANSWER_DONE, text);
    return false;
}

/* Passes on the program's answer, or its end. */
static void asker_turn(struct asker *asker, bool gone)
{
    char line[REQUESTS_MOST + 1];
    ssize_t got = gone ? 0 : recv(asker->answer, line, REQUESTS_MOST, MSG_DONTWAIT);

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    line[got > 0 ? got : 0] = '\0';
    if (got <= 0 && asker->hear)
        asker->hear(asker->owner, ANSWER_GONE, "the program has ended, or does not answer");
    if (got <= 0 || (asker->hear && !tell_owner(asker, line)))
        asker_end(asker);
    else if (!asker->hear && write(asker->out, line, (size_t)got) < 0)
        vocl_log(LOG_DEBUG, "the process that asked does not read its answer: %s", strerror(errno));
}

/* ---- requests ---- */

bool requests_has_program(void)
{
    return to_program >= 0;
}

bool requests_tell(const struct starter_message *message, int fd)
{
    struct pollfd ready = {to_program, POLLOUT, 0};

    return to_program >= 0 && poll(&ready, 1, 0) == 1 && ready.revents == POLLOUT &&
           !socket_send_descriptors(to_program, message, sizeof(*message), &fd, fd >= 0);
}

void tell_program(enum starter_kind kind, unsigned number, const char *text)
{
    struct starter_message message = {.kind = kind, .number = number};

    snprintf(message.text, sizeof(message.text), "%s", text);
    if (requests_has_program() && !requests_tell(&message, -1))
        vocl_log(LOG_DEBUG, "the program is not told of worker %u: %s", number, text);
}

/* Returns the descriptor on which the answers arrive, or -1 with the reason in *why. */
static int ask(const char *words, const struct asker *by, const char **why)
{
    struct starter_message message = {.kind = STARTER_REQUEST};
    struct asker *asker = NULL;
    unsigned users = 0;
    int ends[2];
    bool told;

    for (unsigned i = 0; i < MOST_ASKERS; i++) {
        users += askers[i].out >= 0;
        asker = askers[i].answer < 0 ? &askers[i] : asker;
    }
    *why = !asker || (by->out >= 0 && users == MOST_USERS) ? "too many requests are under way"
           : to_program < 0                              ? "its session is still starting, or cannot be asked anything"
           : process_is_stopped(socket_process(control)) ? "the program is stopped"
                                                         : NULL;
    if (!*why && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends))
        *why = strerror(errno);
    if (*why)
        return -1;
    snprintf(message.text, sizeof(message.text), "%s", words);
    told = requests_tell(&message, ends[1]);
    close(ends[1]);
    if (told) {
        *asker = *by;
        return asker->answer = ends[0];
    }
    close(ends[0]);
    *why = "the program does not take requests";
    return -1;
}

int requests_ask(const char *words, requests_answered *hear, void *owner, const char **why)
{
    return ask(words, &(struct asker){.out = -1, .hear = hear, .owner = owner}, why);
}

void requests_on(bool (*asked)(const char *words, int out))
{
    own_answers = asked;
}

/* Opens the pipe of the process that asks, which the kernel permits only if it belongs to the same user. */
static int open_answer(int pid, int fd)
{
    char path[64];
    struct stat file;
    int out;

    snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
    if (stat(path, &file) || !S_ISFIFO(file.st_mode)) /* opening other kinds of files might have effects */
        return -1;
    out = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (out >= 0 && !fstat(out, &file) && S_ISFIFO(file.st_mode))
        return out;
    if (out >= 0)
        close(out);
    return -1;
}

static void take_request(const char *line)
{
    int pid, fd, length = 0, out;
    const char *why = NULL;

    if (sscanf(line, "%d %d %n", &pid, &fd, &length) != 2 || !length || (out = open_answer(pid, fd)) < 0) {
        vocl_log(LOG_DEBUG, "a request that cannot be answered");
        return;
    }
    if (!strcmp(line + length, REQUEST_SESSION))
        answer_session(out);
    else if ((own_answers && own_answers(line + length, out)) ||
             ask(line + length, &(struct asker){.out = out}, &why) >= 0)
        return;
    else
        requests_answer(out, REQUEST_FAILED "%s\n", why);
    close(out);
}

static void hear_requests(void)
{
    ssize_t got = read(REQUESTS_FD, waiting + waiting_length, sizeof(waiting) - waiting_length - 1);
    char *at = waiting, *end;

    if (got <= 0)
        return;
    waiting_length += (size_t)got;
    waiting[waiting_length] = '\0';
    while ((end = memchr(at, '\n', waiting_length - (size_t)(at - waiting)))) {
        *end = '\0';
        if (end - at < REQUESTS_MOST)
            take_request(at);
        at = end + 1;
    }
    waiting_length -= (size_t)(at - waiting);
    memmove(waiting, at, waiting_length);
    if (waiting_length >= REQUESTS_MOST) /* no request is that long */
        waiting_length = 0;
}

/* ---- a turn ---- */

void requests_poll(struct pollfd *fds)
{
    fds[0] = (struct pollfd){spare >= 0 ? REQUESTS_FD : -1, POLLIN, 0};
    fds[1] = (struct pollfd){to_program, POLLIN, 0};
    for (unsigned i = 0; i < MOST_ASKERS; i++) {
        fds[ASIDE + 2 * i] = (struct pollfd){askers[i].answer, POLLIN, 0};
        fds[ASIDE + 2 * i + 1] = (struct pollfd){askers[i].out, 0, 0};
    }
}

static void hear_program(requests_heard *hear, void *owner)
{
    struct starter_message message;
    unsigned count = 1;
    int fd = -1;
    ssize_t got = socket_receive_descriptors(to_program, &message, sizeof(message), &fd, &count, 1);

    if (got == -EAGAIN || got == -EINTR || got == -ETIMEDOUT)
        return;
    message.text[sizeof(message.text) - 1] = '\0';
    if (got == (ssize_t)sizeof(message) && message.kind == STARTER_STATE) {
        text_visible(message.text, session_state, sizeof(session_state));
    }
    if (got == (ssize_t)sizeof(message) && hear) {
        hear(owner, &message, fd);
        return;
    }
    if (fd >= 0)
        close(fd);
    if (got == (ssize_t)sizeof(message))
        return;
    close(to_program);
    to_program = -1;
}

void requests_turn(const struct pollfd *fds, requests_heard *hear, void *owner)
{
    for (unsigned i = 0; i < MOST_ASKERS; i++) {
        const struct pollfd *at = fds + ASIDE + 2 * i;

        if (askers[i].answer >= 0 && askers[i].answer == at->fd && (at[0].revents || at[1].revents))
            asker_turn(&askers[i], at[1].revents);
    }
    if (to_program >= 0 && to_program == fds[1].fd && fds[1].revents)
        hear_program(hear, owner);
    if (fds[0].revents)
        hear_requests();
}

void requests_close(void)
{
    for (unsigned i = 0; i < MOST_ASKERS; i++) {
        if (askers[i].answer >= 0)
            asker_end(&askers[i]);
    }
    if (to_program >= 0)
        close(to_program);
    to_program = -1;
}
