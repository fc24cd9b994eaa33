/* vocl sessions, and requests to one session: vocl move, suspend, resume. See base/requests.h. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process.h"
#include "base/requests.h"
#include "base/text.h"
#include "tools/progress.h"
#include "tools/tools.h"

/* Milliseconds in which the process that started a session's workers has to answer, and the program has to confirm
 * the request. On a busy machine nothing may happen for seconds. Processes that end or are stopped are not waited
 * for. */
#define ANSWER_MS 10000

struct question {
    int out;   /* where requests are written */
    int in[2]; /* the pipe for answers */
    char waiting[2 * REQUESTS_MOST];
    size_t length;
};

/* ---- finding sessions ---- */

static bool is_starter(const char *pid)
{
    char path[300], name[32] = "";
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%s/comm", pid);
    file = fopen(path, "re");
    if (!file)
        return false;
    if (fscanf(file, "%31s", name) != 1)
        *name = '\0';
    fclose(file);
    return !strcmp(name, REQUESTS_LAUNCHER) || !strcmp(name, REQUESTS_JOIN);
}

/* For root: becomes the session's user, as only that user's processes may answer. */
static bool become_user_of(pid_t starter)
{
    struct stat owner;
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d", (int)starter);
    if (stat(path, &owner))
        return false;
    if (owner.st_uid == geteuid())
        return true;
    return !geteuid() && !setgroups(0, NULL) && !setresgid(owner.st_gid, owner.st_gid, owner.st_gid) &&
           !setresuid(owner.st_uid, owner.st_uid, owner.st_uid) && !prctl(PR_SET_DUMPABLE, 1);
}

static bool ask(struct question *question, pid_t starter, const char *words)
{
    char line[REQUESTS_MOST];
    struct stat file;
    int length;

    snprintf(line, sizeof(line), "/proc/%d/fd/%d", (int)starter, REQUESTS_FD);
    if (stat(line, &file) || !S_ISFIFO(file.st_mode))
        return false;
    question->out = open(line, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (question->out < 0)
        return false;
    question->length = 0;
    if (pipe2(question->in, O_CLOEXEC | O_NONBLOCK)) {
        close(question->out);
        return false;
    }
    length = snprintf(line, sizeof(line), "%d %d %s\n", (int)getpid(), question->in[1], words);
    if (length < (int)sizeof(line) && write(question->out, line, (size_t)length) == length)
        return true;
    close(question->out);
    close(question->in[0]);
    close(question->in[1]);
    return false;
}

/* Returns the next line, without its newline; false if none comes within so many milliseconds (-1: no limit), or the
 * other side ends. After its first line the other side has the pipe open, so that the pipe's end is the end of its
 * answers. */
static bool next_line(struct question *question, char line[REQUESTS_MOST], int milliseconds)
{
    const long until = clock_ms() + milliseconds;

    for (;;) {
        struct pollfd ready[2] = {{question->in[0], POLLIN, 0}, {question->out, 0, 0}};
        char *end = memchr(question->waiting, '\n', question->length);
        ssize_t got;

        if (end) {
            const size_t length = (size_t)(end - question->waiting);
            const size_t shown = length < REQUESTS_MOST ? length : REQUESTS_MOST - 1;

            memcpy(line, question->waiting, shown);
            line[shown] = '\0';
            question->length -= length + 1;
            memmove(question->waiting, end + 1, question->length);
            if (question->in[1] >= 0)
                close(question->in[1]);
            question->in[1] = -1;
            return true;
        }
        if (question->length == sizeof(question->waiting))
            return false;
        if (poll(ready, 2, milliseconds < 0 ? -1 : (int)(until > clock_ms() ? until - clock_ms() : 0)) <= 0)
            return false;
        if (!ready[0].revents) /* nobody reads the request */
            return false;
        got = read(question->in[0], question->waiting + question->length, sizeof(question->waiting) - question->length);
        if (got <= 0 && !(got < 0 && (errno == EAGAIN || errno == EINTR)))
            return false;
        question->length += got > 0 ? (size_t)got : 0;
    }
}

static void question_end(struct question *question)
{
    close(question->out);
    close(question->in[0]);
    if (question->in[1] >= 0)
        close(question->in[1]);
}

/* Gets "PID<tab>PROGRAM<tab>NETWORK<tab>NODES<tab>SESSION<tab>STATE". */
static bool describe(pid_t starter, char line[REQUESTS_MOST])
{
    struct question question;
    bool good;

    if (process_is_stopped(starter) || !ask(&question, starter, REQUEST_SESSION))
        return false;
    good = next_line(&question, line, ANSWER_MS) && !strncmp(line, REQUEST_DONE, strlen(REQUEST_DONE));
    if (good)
        memmove(line, line + strlen(REQUEST_DONE), strlen(line) - strlen(REQUEST_DONE) + 1);
    question_end(&question);
    return good;
}

/* describe() as the session's user if need be, in a process of its own, so that this one's user does not change. */
static bool describe_as(pid_t starter, char line[REQUESTS_MOST])
{
    ssize_t got;
    int ends[2];
    pid_t pid;

    if (geteuid())
        return describe(starter, line);
    if (pipe2(ends, O_CLOEXEC))
        return false;
    pid = fork();
    if (pid == 0) {
        if (become_user_of(starter) && describe(starter, line) && write(ends[1], line, strlen(line) + 1) > 0)
            _exit(0);
        _exit(1);
    }
    close(ends[1]);
    got = read(ends[0], line, REQUESTS_MOST);
    close(ends[0]);
    if (pid > 0)
        waitpid(pid, NULL, 0);
    return got > 0 && !line[got - 1];
}

/* Whether the process exists and could be asked, but does not answer. */
static bool is_silent(pid_t starter)
{
    char path[64];
    struct stat owner;

    snprintf(path, sizeof(path), "/proc/%d", (int)starter);
    return !stat(path, &owner) && (!geteuid() || owner.st_uid == geteuid()) && !process_gone(starter) &&
           !process_is_stopped(starter);
}

void sessions_each(bool (*found)(void *context, pid_t starter, const char *line), void *context)
{
    DIR *processes = opendir("/proc");
    struct dirent *entry;

    while (processes && (entry = readdir(processes))) {
        char line[REQUESTS_MOST];
        pid_t starter;
        bool answers;

        if (!isdigit((unsigned char)*entry->d_name) || !is_starter(entry->d_name))
            continue;
        starter = atoi(entry->d_name);
        answers = describe_as(starter, line);
        if ((answers || is_silent(starter)) && !found(context, starter, answers ? line : NULL))
            break;
    }
    if (processes)
        closedir(processes);
}

/* ---- vocl sessions ---- */

struct printing {
    bool json, any;
};

/* Splits a line into PID, program, network, nodes, name in the pool, state. Returns false if it is incomplete. */
static bool split(char *line, char *fields[6])
{
    unsigned count = 0;

    while (line && count < 6)
        fields[count++] = strsep(&line, "\t");
    return count == 6;
}

static void print_row(const struct printing *printing, char *const fields[6])
{
    if (!printing->any)
        printf("%8s  %-16s %-8s %s\n", "PID", "PROGRAM", "NETWORK", "NODES");
    printf("%8s  %-16s %-8s %s\n", fields[0], fields[1], fields[2], fields[3]);
}

static void print_member(const struct printing *printing, char *const fields[6])
{
    static const char *const names[] = {NULL, "program", "network", "nodes", "session", "state"};

    printf("%s{\"pid\": %ld", printing->any ? ",\n " : "[", atol(fields[0]));
    for (unsigned i = 1; i < 6; i++) {
        printf(", \"%s\": ", names[i]);
        json_text(fields[i]);
    }
    putchar('}');
}

static bool print_one(void *context, pid_t starter, const char *line)
{
    struct printing *printing = context;
    char copy[REQUESTS_MOST], *fields[6];

    (void)starter;
    if (!line)
        return true;
    snprintf(copy, sizeof(copy), "%s", line);
    if (!split(copy, fields))
        return true;
    (printing->json ? print_member : print_row)(printing, fields);
    printing->any = true;
    return true;
}

int sessions_list(bool json)
{
    struct printing printing = {.json = json};

    sessions_each(print_one, &printing);
    if (json)
        puts(printing.any ? "]" : "[]");
    return 0;
}

/* ---- requests to one session ---- */

struct named {
    const char *name;
    long program;
};

/* Finds the session by its name in `vocl pool sessions`, or the beginning of that. */
static bool has_name(void *context, pid_t starter, const char *line)
{
    struct named *named = context;
    const char *at = line;

    (void)starter;
    for (int tabs = 0; at && tabs < 4; tabs++)
        at = (at = strchr(at, '\t')) ? at + 1 : NULL;
    if (!at || strncmp(at, named->name, strlen(named->name)))
        return true;
    if (named->program)
        fail(1, "more than one session here begins with %s", named->name);
    named->program = atol(line);
    return true;
}

long session_process(const char *text)
{
    struct named named = {text, 0};
    uint64_t number;

    if (text_read_number(text, 1, 1u << 30, &number))
        return (long)number;
    if (strlen(text) >= 4 && strspn(text, "0123456789abcdef-") == strlen(text))
        sessions_each(has_name, &named);
    if (!named.program)
        misuse("\"%s\" is neither the PID of a program nor the name of a session here; `vocl sessions` lists them",
               text);
    return named.program;
}

struct wanted {
    long program;
    pid_t starter;
};

static bool is_wanted(void *context, pid_t starter, const char *line)
{
    struct wanted *wanted = context;

    if (!line || atol(line) != wanted->program)
        return true;
    wanted->starter = starter;
    return false;
}

/* Ends with the reason why a program cannot be asked. */
__attribute__((noreturn)) static void explain(long program)
{
    char path[64], line[4096];
    bool uses = false;
    FILE *maps;

    snprintf(path, sizeof(path), "/proc/%ld", program);
    if (access(path, F_OK))
        fail(1, "there is no process %ld", program);
    snprintf(path, sizeof(path), "/proc/%ld/maps", program);
    maps = fopen(path, "re");
    if (!maps)
        fail(1, "process %ld is another user's: %m", program);
    while (!uses && fgets(line, sizeof(line), maps))
        uses = strstr(line, "libvocl.so");
    fclose(maps);
    if (uses)
        fail(
            1,
            "process %ld uses VOCL, but has no session that can be asked: it has not begun one, has devices of its own "
            "process alone, is part of a job that mpiexec started, or what started its workers is stopped",
            program);
    fail(1, "process %ld does not use VOCL", program);
}

/* A report on the way: how far it is, or what is done. */
static void show_report(struct progress *progress, const char *words)
{
    char visible[SESSION_ANSWER];
    struct request_phase phase;

    if (request_read_phase(words, &phase)) {
        progress_take(progress, phase.name, phase.bytes, phase.total);
        return;
    }
    progress_clear(progress);
    puts(text_visible(words, visible, sizeof(visible)));
    fflush(stdout);
}

void session_answer(long program, const char *words, struct progress *progress, char answer[SESSION_ANSWER])
{
    struct wanted wanted = {program, 0};
    struct question question;
    char line[REQUESTS_MOST], visible[SESSION_ANSWER];
    bool heard = false;

    sessions_each(is_wanted, &wanted);
    if (!wanted.starter)
        explain(program);
    signal(SIGPIPE, SIG_IGN);
    if (!become_user_of(wanted.starter) || !ask(&question, wanted.starter, words))
        fail(1, "process %ld cannot be asked: %m", program);
    while (next_line(&question, line, heard ? -1 : ANSWER_MS)) {
        const char *space = strchr(line, ' '), *rest = space ? space + 1 : "";
        const bool failed = !strncmp(line, REQUEST_FAILED, strlen(REQUEST_FAILED));

        if (failed || !strncmp(line, REQUEST_DONE, strlen(REQUEST_DONE))) {
            progress_end(progress);
            text_visible(rest, visible, sizeof(visible));
            if (failed)
                fail(1, "process %ld: %s", program, visible);
            snprintf(answer, SESSION_ANSWER, "%s", visible);
            question_end(&question);
            return;
        }
        if (heard && progress->where != PROGRESS_NOWHERE)
            show_report(progress, rest);
        heard = true; /* the first line confirms that it has begun */
    }
    progress_end(progress);
    if (heard)
        fail(1, "process %ld has ended", program);
    fail(1, "process %ld does not answer", program);
}

int session_ask(long program, const char *words, bool quiet)
{
    struct progress progress = progress_new(quiet, true);
    char answer[SESSION_ANSWER];

    session_answer(program, words, &progress, answer);
    if (*answer)
        printf("%s\n", answer);
    return 0;
}

int session_option(int count, char **words, const char *letters, const struct option *options)
{
    int option;

    opterr = 0;
    option = getopt_long(count, words, letters, options, NULL);
    check_value(words);
    switch (option) {
    case 'l':
        exit(sessions_list(false));
    case 'h':
        help_show(words[0]);
        exit(0);
    case ':':
        misuse("%s needs a value", words[optind - 1]);
    case '?':
        misuse("unknown option %s", words[optind - 1]);
    }
    return option;
}

/* ---- vocl move ---- */

int sessions_move(int count, char **words)
{
    static const struct option options[] = {{"to", required_argument, NULL, 't'},
                                            {"from", required_argument, NULL, 'f'},
                                            {"quiet", no_argument, NULL, 'q'},
                                            {"any", no_argument, NULL, 'a'},
                                            {"list", no_argument, NULL, 'l'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    const char *to = NULL, *from = NULL;
    char request[REQUESTS_MOST / 2];
    bool quiet = false, any = false;
    int option;

    while ((option = session_option(count, words, ":t:f:aqlh", options)) != -1) {
        switch (option) {
        case 't':
            to = optarg;
            break;
        case 'f':
            from = optarg;
            break;
        case 'a':
            any = true;
            break;
        case 'q':
            quiet = true;
            break;
        }
    }
    if (count - optind != 1)
        misuse("move takes one PID");
    if (!to || !*to || strpbrk(to, " \t\n") || (from && (!*from || strpbrk(from, " \t\n"))))
        misuse("move needs --to=HOST");
    if (snprintf(request, sizeof(request), "move %sto %s%s%s", any ? "any " : "", to, from ? " from " : "",
                 from ? from : "") >= (int)sizeof(request))
        misuse("these names are too long");
    return session_ask(session_process(words[optind]), request, quiet);
}

/* ---- vocl suspend, vocl resume ---- */

int sessions_suspend(int count, char **words)
{
    static const struct option options[] = {{"quiet", no_argument, NULL, 'q'},
                                            {"list", no_argument, NULL, 'l'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    bool quiet = false;

    while (session_option(count, words, ":qlh", options) != -1)
        quiet = true;
    if (count - optind != 1)
        misuse("%s takes one PID", words[0]);
    return session_ask(session_process(words[optind]), words[0], quiet);
}
