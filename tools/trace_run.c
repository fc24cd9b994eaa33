/*
 * vocl run --trace and --report, vocl trace, vocl explain. While programs run, their records are in the folder
 * FILE.parts; vocl-trace makes FILE from it, and the report.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/requests.h"
#include "base/spawn.h"
#include "base/text.h"
#include "tools/progress.h"
#include "tools/tools.h"

#define PARTS ".parts"
#define LARGE (4 << 20) /* bytes of records whose processing takes seconds */

static pid_t child;

/* ---- folders ---- */

static void parts_of(const char *file, char path[PATH_MAX])
{
    if (snprintf(path, PATH_MAX, "%s" PARTS, file) >= PATH_MAX)
        fail(EXIT_BROKEN, "%s: the name is too long", file);
}

/* Removes only files that programs left there. */
static void empty_folder(const char *path)
{
    DIR *folder = opendir(path);
    struct dirent *entry;

    while (folder && (entry = readdir(folder))) {
        const char *dot = strrchr(entry->d_name, '.');

        if (dot && !strcmp(dot, ".timeline"))
            unlinkat(dirfd(folder), entry->d_name, 0);
    }
    if (folder)
        closedir(folder);
}

/* Creates the folder, and returns its absolute path. */
static void make_folder(const char *file, char path[PATH_MAX])
{
    char parts[PATH_MAX];

    parts_of(file, parts);
    if (mkdir(parts, 0700) && errno != EEXIST)
        fail(EXIT_BROKEN, "%s: %m", parts);
    empty_folder(parts);
    if (!realpath(parts, path))
        fail(EXIT_BROKEN, "%s: %m", parts);
}

static off_t bytes_in(const char *path)
{
    DIR *folder = opendir(path);
    struct dirent *entry;
    struct stat file;
    off_t bytes = 0;

    while (folder && (entry = readdir(folder))) {
        if (!fstatat(dirfd(folder), entry->d_name, &file, AT_SYMLINK_NOFOLLOW) && S_ISREG(file.st_mode))
            bytes += file.st_size;
    }
    if (folder)
        closedir(folder);
    return bytes;
}

static void remove_folder(const char *path)
{
    empty_folder(path);
    rmdir(path);
}

/* ---- the helper ---- */

static int helper(const char *what, const char *from, const char *to)
{
    char *words[] = {helper_path("vocl-trace"), (char *)what, (char *)from, (char *)to, NULL};
    const pid_t pid = spawn(&(struct spawn){.arguments = words});

    free(words[0]);
    return pid > 0 ? spawn_wait(pid) : 1;
}

/* ---- vocl run --trace, --report ---- */

static void pass_on(int number)
{
    if (child > 0)
        kill(child, number);
}

/* Signals of the terminal reach both processes; the others are passed on to the program. */
static void stand_by(void)
{
    static const int passed[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGCONT};
    struct sigaction action = {.sa_handler = SIG_IGN, .sa_flags = SA_RESTART};

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGQUIT, &action, NULL);
    action.sa_handler = pass_on;
    for (size_t i = 0; i < sizeof(passed) / sizeof(*passed); i++)
        sigaction(passed[i], &action, NULL);
}

static int start(const struct choices *choices, char **program)
{
    sigset_t all, before;
    int status;

    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    child = fork();
    if (child < 0)
        fail(EXIT_BROKEN, "fork: %m");
    if (!child) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        environment_set_interposition(choices);
        execvp(*program, program);
        fail(errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_EXECUTE, "%s: %m", *program);
    }
    stand_by();
    sigprocmask(SIG_SETMASK, &before, NULL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    child = 0;
    return status;
}

/* Ends this process in the same way as the program. */
static int end_as(int status)
{
    const struct rlimit none = {0, 0};

    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    setrlimit(RLIMIT_CORE, &none);
    signal(WTERMSIG(status), SIG_DFL);
    kill(getpid(), WTERMSIG(status));
    return 128 + WTERMSIG(status);
}

static void check_writable(const char *path)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

    if (fd < 0)
        fail(EXIT_USAGE, "%s: %m", path);
    close(fd);
}

int trace_run(const struct choices *choices, char **program)
{
    const char *temporary = getenv("TMPDIR");
    char own[PATH_MAX], folder[PATH_MAX];
    const char *file = choices->trace ? choices->trace : own;
    int status, bad;

    free(helper_path("vocl-trace"));
    snprintf(own, sizeof(own), "%s/vocl-report-XXXXXX", temporary && *temporary ? temporary : "/tmp");
    if (!choices->trace) {
        const int fd = mkostemp(own, O_CLOEXEC);

        if (fd < 0)
            fail(EXIT_BROKEN, "%s: %m", own);
        close(fd);
    }
    check_writable(file);
    if (choices->report && strcmp(choices->report, "-"))
        check_writable(choices->report);
    make_folder(file, folder);
    if (setenv("VOCL_TIMELINE", folder, 1))
        fail(EXIT_BROKEN, "out of memory");
    status = start(choices, program);
    if (bytes_in(folder) >= LARGE)
        fprintf(stderr, "vocl: the program has ended; %lld MiB of records become its %s, which takes a while\n",
                (long long)bytes_in(folder) >> 20, choices->report ? "report" : "trace");
    bad = helper("make", folder, file);
    if (!bad)
        remove_folder(folder);
    if (!bad && choices->report)
        helper("explain", file, choices->report);
    if (!choices->trace)
        unlink(file);
    return end_as(status);
}

/* ---- vocl trace ---- */

/* Makes the trace of a folder that was left when the program, or the process that started it, had no time to do so. */
static int make_of(const char *file)
{
    char folder[PATH_MAX];
    int bad;

    parts_of(file, folder);
    if (access(folder, R_OK | X_OK))
        fail(1, "%s: %m", folder);
    bad = helper("make", folder, file);
    if (!bad)
        remove_folder(folder);
    return bad;
}

/* Removes the file and folder if the request to the program failed. */
static char unused_file[PATH_MAX], unused_folder[PATH_MAX];
static void remove_unused(void)
{
    if (!*unused_file)
        return;
    unlink(unused_file);
    remove_folder(unused_folder);
}

static int start_tracing(long program, const char *file)
{
    char folder[PATH_MAX], request[REQUESTS_MOST / 2], answer[SESSION_ANSWER];

    free(helper_path("vocl-trace"));
    parts_of(file, folder);
    if (!access(folder, F_OK))
        fail(1, "%s exists: the program is being traced, or was; in the latter case `vocl trace %s` writes the file",
             folder, file);
    check_writable(file);
    make_folder(file, folder);
    snprintf(unused_file, sizeof(unused_file), "%s", file);
    snprintf(unused_folder, sizeof(unused_folder), "%s", folder);
    atexit(remove_unused);
    if (strchr(folder, '\n') || snprintf(request, sizeof(request), "trace start %s", folder) >= (int)sizeof(request))
        misuse("%s: the name is too long", folder);
    session_answer(program, request, &(struct progress){.where = PROGRESS_NOWHERE}, answer);
    *unused_file = '\0';
    return 0;
}

static int stop_tracing(long program)
{
    char folder[SESSION_ANSWER], file[SESSION_ANSWER];
    size_t length;

    session_answer(program, "trace stop", &(struct progress){.where = PROGRESS_NOWHERE}, folder);
    length = strlen(folder);
    if (length <= strlen(PARTS) || strcmp(folder + length - strlen(PARTS), PARTS))
        fail(1, "the records of the trace are in %s", folder);
    snprintf(file, sizeof(file), "%.*s", (int)(length - strlen(PARTS)), folder);
    if (helper("make", folder, file))
        return 1;
    remove_folder(folder);
    printf("%s\n", file);
    return 0;
}

int trace_command(int count, char **words)
{
    uint64_t program;

    if (count == 2 && (!strcmp(words[1], "--help") || !strcmp(words[1], "-h"))) {
        help_show("trace");
        return 0;
    }
    if (count == 2)
        return make_of(words[1]);
    if (count < 3 || !text_read_number(words[1], 1, 1u << 30, &program))
        misuse("trace takes a PID and `start FILE` or `stop`, or a FILE");
    if (count == 4 && !strcmp(words[2], "start"))
        return start_tracing((long)program, words[3]);
    if (count == 3 && !strcmp(words[2], "stop"))
        return stop_tracing((long)program);
    misuse("trace takes a PID and `start FILE` or `stop`, or a FILE");
}

/* ---- vocl explain ---- */

int explain_command(int count, char **words)
{
    if (count == 2 && (!strcmp(words[1], "--help") || !strcmp(words[1], "-h"))) {
        help_show("explain");
        return 0;
    }
    if (count != 2 && count != 3)
        misuse("explain takes the file of a trace, and maybe one for the report");
    return helper("explain", words[1], count == 3 ? words[2] : NULL);
}
