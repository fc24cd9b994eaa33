/* Processes that hold devices: vocl-join --keep. proxy/launch/join.c describes the lines that they send. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/place.h"
#include "base/spawn.h"
#include "base/text.h"
#include "proxy/kubernetes/kubernetes.h"

#define MOST_LINE 1200
#define CONTROL 3 /* descriptor of its control socket */

struct holder {
    LIST_ENTRY(holder) in;
    struct claim *claim;
    int fd;
    char line[MOST_LINE], why[256];
    size_t length;
    char **hold; /* as in struct claim */
    unsigned words;
};

static LIST_HEAD(, holder) holders = LIST_HEAD_INITIALIZER(holders);

/* ---- starting one ---- */

struct words {
    char **list;
    size_t count;
    bool bad;
};

__attribute__((format(printf, 2, 3))) static void add(struct words *words, const char *format, ...)
{
    char **longer = reallocarray(words->list, words->count + 2, sizeof(*longer));
    va_list arguments;

    va_start(arguments, format);
    if (longer) {
        words->list = longer;
        words->bad |= vasprintf(&longer[words->count++], format, arguments) < 0;
        longer[words->count] = NULL;
    }
    words->bad |= !longer;
    va_end(arguments);
}

static void words_free(char **list)
{
    for (char **word = list; word && *word; word++)
        free(*word);
    free(list);
}

static struct words make_command(const struct claim *claim)
{
    struct words words = {.list = NULL};

    add(&words, "%s/vocl-join", place_helpers() ? place_helpers() : settings_string(SETTING_LIBEXECDIR));
    add(&words, "--keep");
    add(&words, "%u", options.keep_seconds);
    for (char **word = claim->again ? claim->hold : NULL; word && *word; word++)
        add(&words, "%s", *word);
    return words;
}

/* This process' own environment, without its wishes to a pool. */
static struct words make_environment(const struct claim *claim)
{
    struct words words = {.list = NULL};

    for (char **variable = environ; *variable; variable++) {
        if (strncmp(*variable, "VOCL_POOL", 9))
            add(&words, "%s", *variable);
    }
    if (options.pool)
        add(&words, "VOCL_POOL=%s", options.pool);
    add(&words, "VOCL_POOL_USER=%s", options.user);
    add(&words, "VOCL_POOL_JOB=%s", claim->job);
    add(&words, "VOCL_POOL_PROGRAM=kubernetes");
    add(&words, "VOCL_POOL_COUNT=%u", claim->count);
    add(&words, "VOCL_POOL_WAIT=%u", options.wait_seconds);
    add(&words, "VOCL_POOL_EXCLUSIVE=%d", options.places == 1);
    if (options.type)
        add(&words, "VOCL_POOL_TYPE=%s", options.type);
    if (options.name)
        add(&words, "VOCL_POOL_NAME=%s", options.name);
    if (options.memory)
        add(&words, "VOCL_POOL_MEMORY=%s", options.memory);
    return words;
}

struct holder *holder_start(struct claim *claim)
{
    struct words command = make_command(claim), environment = make_environment(claim);
    struct holder *holder = calloc(1, sizeof(*holder));
    int ends[2] = {-1, -1};
    pid_t pid = -1;

    if (holder && !command.bad && !environment.bad && !socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        pid = spawn(&(struct spawn){.arguments = command.list,
                                    .environment = environment.list,
                                    .descriptors = (int[]){-1, 2, 2, ends[1]},
                                    .count = CONTROL + 1,
                                    .session = true,
                                    .fresh = true});
    words_free(command.list);
    words_free(environment.list);
    if (ends[1] >= 0)
        close(ends[1]);
    if (pid < 0) {
        if (ends[0] >= 0)
            close(ends[0]);
        free(holder);
        return NULL;
    }
    *holder = (struct holder){.claim = claim, .fd = ends[0]};
    LIST_INSERT_HEAD(&holders, holder, in);
    return holder;
}

void holder_end(struct holder *holder, bool returns)
{
    if (!holder)
        return;
    if (returns)
        send(holder->fd, "end\n", 4, MSG_NOSIGNAL | MSG_DONTWAIT);
    close(holder->fd);
    LIST_REMOVE(holder, in);
    words_free(holder->hold);
    free(holder);
}

/* ---- their lines ---- */

static void add_word(struct holder *holder, const char *word)
{
    struct words words = {.list = holder->hold, .count = holder->words};

    add(&words, "%s", word);
    holder->hold = words.list;
    holder->words = (unsigned)words.count;
}

/* The name of the hold comes last, and is to be the first word. */
static void held(struct holder *holder, const char *name)
{
    char **hold;

    add_word(holder, name);
    hold = holder->hold;
    for (unsigned i = holder->words - 1; i > 0; i--) {
        char *word = hold[i];

        hold[i] = hold[i - 1];
        hold[i - 1] = word;
    }
    holder->hold = NULL;
    holder->words = 0;
    claim_held(holder->claim, hold);
}

static void take_line(struct holder *holder, char *line)
{
    char part[64], address[128];

    if (sscanf(line, "part %63s %127s", part, address) == 2) {
        add_word(holder, part);
        add_word(holder, address);
    } else if (!strncmp(line, "held ", 5) && holder->words >= 2) {
        held(holder, line + 5);
    } else if (!strncmp(line, "failed ", 7)) {
        text_print(holder->why, sizeof(holder->why), "%s", line + 7);
    }
}

/* Returns false if the process is gone, and with it the holder. */
static bool read_some(struct holder *holder)
{
    const size_t room = sizeof(holder->line) - 1 - holder->length;
    ssize_t got = recv(holder->fd, holder->line + holder->length, room, MSG_DONTWAIT);
    struct claim *claim = holder->claim;
    char why[256], *end;

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (got <= 0) {
        text_print(why, sizeof(why), "%s", *holder->why ? holder->why : "its devices are not held any more");
        holder_end(holder, false);
        claim_lost(claim, why);
        return false;
    }
    holder->length += (size_t)got;
    holder->line[holder->length] = '\0';
    while ((end = strchr(holder->line, '\n'))) {
        *end++ = '\0';
        take_line(holder, holder->line);
        holder->length -= (size_t)(end - holder->line);
        memmove(holder->line, end, holder->length + 1);
    }
    if (holder->length == sizeof(holder->line) - 1)
        holder->length = 0; /* no line of vocl-join's */
    return read_some(holder);
}

void holders_turn(void)
{
    struct holder *next;

    for (struct holder *holder = LIST_FIRST(&holders); holder; holder = next) {
        next = LIST_NEXT(holder, in);
        read_some(holder);
    }
    while (waitpid(-1, NULL, WNOHANG) > 0) /* holders, and their children where this process has PID 1 */
        ;
}
