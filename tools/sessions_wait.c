/* vocl sessions --wait: waits until the session of a program on this host is in a state. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process.h"
#include "base/requests.h"
#include "base/text.h"
#include "tools/look.h"
#include "tools/tools.h"

#define MOST_SECONDS 1000000

/* The result of one look at all sessions of this host. */
struct seen {
    const char *text; /* the word on the command line */
    long program;     /* the PID that it is, or 0: it is the name of a session in a pool */
    pid_t starter;    /* 0: no such session */
    char state[16];
    bool silent; /* some session does not answer, which may be the one */
};

/* Copies a field, counted from 0. Returns false if there is none. */
static bool field(const char *line, int number, char *text, size_t size)
{
    for (; line && number; number--)
        line = (line = strchr(line, '\t')) ? line + 1 : NULL;
    if (line)
        snprintf(text, size, "%.*s", (int)strcspn(line, "\t"), line);
    return line;
}

static bool look_at(void *context, pid_t starter, const char *line)
{
    struct seen *seen = context;
    char name[64] = "", state[16] = REQUEST_RUNNING;

    if (!line) {
        seen->silent = true;
        return true;
    }
    field(line, 4, name, sizeof(name));
    if (seen->program ? atol(line) != seen->program : strncmp(name, seen->text, strlen(seen->text)))
        return true;
    field(line, 5, state, sizeof(state));
    seen->starter = starter;
    snprintf(seen->state, sizeof(seen->state), "%s", state);
    return false;
}

static void look_for_session(struct seen *seen)
{
    seen->starter = 0;
    seen->silent = false;
    strcpy(seen->state, "");
    sessions_each(look_at, seen);
}

/* Waits for the end of the process that started the session, which ends last, at most for the time left. */
static void await_end(pid_t starter, const struct look *look)
{
    struct pollfd end = {process_open(starter), POLLIN, 0};
    const long left = look->until_ms - clock_ms();

    if (end.fd < 0)
        return;
    poll(&end, 1, look->until_ms < 0 ? -1 : left > 0 ? (int)left : 0);
    close(end.fd);
}

static bool has_ended(const struct seen *seen)
{
    return seen->program && process_gone((pid_t)seen->program) && !seen->starter && !seen->silent;
}

static int await(const char *text, const char *state, long milliseconds)
{
    struct look look = look_for(milliseconds);
    const bool end = !strcmp(state, "ended");
    struct seen seen = {.text = text};
    uint64_t number;

    if (text_read_number(text, 1, 1u << 30, &number))
        seen.program = (long)number;
    else if (strlen(text) < 4 || strspn(text, "0123456789abcdef-") != strlen(text))
        misuse("--wait takes the PID of a program on this host, or the name of its session in a pool, not \"%s\"",
               text);
    while (look_again(&look)) {
        look_for_session(&seen);
        if (end ? !seen.starter && !seen.silent : !strcmp(seen.state, state))
            return 0;
        if (!end && has_ended(&seen))
            fail(1, "process %ld has ended", seen.program);
        if (end && seen.starter)
            await_end(seen.starter, &look);
    }
    if (seen.starter)
        fail(1, "the session of %s is %s, not %s", text, seen.state, state);
    fail(1, "%s has no session%s", text, seen.silent ? " that answers" : "");
}

int sessions_command(int count, char **words)
{
    static const struct option options[] = {{"wait", required_argument, NULL, 'W'},
                                            {"timeout", required_argument, NULL, 'T'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    const char *state = NULL;
    long milliseconds = -1;
    bool json = false;
    uint64_t seconds;
    int option;

    while ((option = session_option(count, words, ":w:W:T:jh", options)) != -1) {
        if (option == 'w' || option == 'W') { /* -w is the former letter */
            state = optarg;
        } else if (option == 'j') {
            json = true;
        } else if (text_read_number(optarg, 0, MOST_SECONDS, &seconds)) {
            milliseconds = (long)seconds * 1000;
        } else {
            misuse("--timeout takes a number of seconds, not \"%s\"", optarg);
        }
    }
    if (!state && optind < count)
        misuse("sessions takes no argument such as \"%s\"", words[optind]);
    if (!state)
        return sessions_list(json);
    if (strcmp(state, REQUEST_RUNNING) && strcmp(state, REQUEST_SUSPENDED) && strcmp(state, "ended"))
        misuse("--wait takes running, suspended or ended, not \"%s\"", state);
    if (count - optind != 1)
        misuse("--wait needs one PID");
    return await(words[optind], state, milliseconds);
}
