/* vocl checkpoint: writes the contents of a session's memory objects to files; and the checks for vocl run
 * --restore. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/process.h"
#include "base/spawn.h"
#include "tools/checkpoint.h"
#include "tools/progress.h"
#include "tools/tools.h"

/* Gives the descriptor to the program's owner, as the program opens it with that user's rights. */
static void give_to_owner(long program, int fd)
{
    struct stat owner;
    char path[64];

    snprintf(path, sizeof(path), "/proc/%ld", program);
    if (!geteuid() && !stat(path, &owner) && fchown(fd, owner.st_uid, owner.st_gid))
        fail(1, "%m");
}

/* Memory that this process and the one that asks share. */
struct asking {
    struct progress progress;
    char answer[SESSION_ANSWER];
};

/* Sends the request from a process of its own, whose pipe the program opens: when both have ended, this process
 * reads the end of the pipe. */
static pid_t ask(long program, const struct writing *writing, int ends[2], struct asking *asking)
{
    const pid_t pid = process_fork(SIGKILL);
    char words[64];

    if (pid)
        return pid;
    close(ends[0]);
    checkpoint_leave(writing);
    snprintf(words, sizeof(words), "checkpoint %d %d", (int)getpid(), ends[1]);
    session_answer(program, words, &asking->progress, asking->answer);
    exit(0);
}

static struct asking *asking_new(bool quiet)
{
    struct asking *asking = mmap(NULL, sizeof(*asking), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (asking == MAP_FAILED)
        fail(1, "%m");
    asking->progress = progress_new(quiet, true);
    return asking;
}

static bool commit(struct writing *writing, struct progress *progress, char *why, size_t size)
{
    bool good;

    progress_take(progress, "sync", 0, 0);
    good = checkpoint_commit(writing, why, size);
    progress_end(progress);
    return good;
}

static void print_pause(const char *answer)
{
    unsigned long long bytes;
    long us;

    if (sscanf(answer, "%*u objects, %*u bytes, %ld us of pause, %llu bytes", &us, &bytes) == 2)
        printf(", %.1f ms of pause, in which %llu bytes were read", (double)us / 1000, bytes);
}

static int write_down(long program, const char *directory, bool anew, bool quiet)
{
    struct writing *writing = checkpoint_begin(directory, anew);
    struct asking *asking = asking_new(quiet);
    char why[600] = "", text[300];
    int ends[2], status;
    FILE *from;
    pid_t pid;
    bool good;

    if (pipe2(ends, O_CLOEXEC))
        fail(1, "%m");
    give_to_owner(program, ends[1]);
    if ((pid = ask(program, writing, ends, asking)) < 0 || !(from = fdopen(ends[0], "r")))
        fail(1, "%m");
    close(ends[1]);
    good = checkpoint_take(writing, from, why, sizeof(why));
    fclose(from); /* a process that still writes gets an error */
    if (!good && *why)
        kill(pid, SIGKILL);
    status = spawn_wait(pid); /* the process has printed the reason */
    progress_clear(&asking->progress);
    if (good && !status)
        good = commit(writing, &asking->progress, why, sizeof(why));
    checkpoint_describe(writing, text, sizeof(text));
    checkpoint_end(writing);
    if (!good && *why)
        fail(1, "%s", why);
    if (status)
        return status;
    if (!good)
        fail(1, "the program sent incomplete contents");
    if (quiet)
        return 0;
    fputs(text, stdout);
    print_pause(asking->answer);
    putchar('\n');
    return 0;
}

int checkpoint_command(int count, char **words)
{
    static const struct option options[] = {{"full", no_argument, NULL, 'f'},
                                            {"quiet", no_argument, NULL, 'q'},
                                            {"list", no_argument, NULL, 'l'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    bool anew = false, quiet = false;
    int option;

    while ((option = session_option(count, words, ":fqlh", options)) != -1) {
        switch (option) {
        case 'f':
            anew = true;
            break;
        case 'q':
            quiet = true;
            break;
        }
    }
    if (count - optind != 2 || !*words[optind + 1])
        misuse("checkpoint takes one PID and a folder");
    return write_down(session_process(words[optind]), words[optind + 1], anew, quiet);
}

/* ---- vocl run --restore ---- */

static char *joined(const char *directory, unsigned which)
{
    char *whole = realpath(directory, NULL), *path;

    if (!whole || asprintf(&path, "%s/" SAVED_LIST, whole, which) < 0)
        fail(1, "%s: %m", directory);
    free(whole);
    return path;
}

/* Fails with the reason, and names an earlier checkpoint that is valid, if there is one. */
__attribute__((noreturn)) static void refuse(const char *path, const char *why)
{
    const int newest = saved_newest(path);
    char other[600];

    for (int which = newest - 1; which > 0 && which > newest - 100; which--) {
        char *before = joined(path, (unsigned)which);
        struct saved_list *saved = NULL;

        if (!saved_open(before, &saved, other, sizeof(other)) && !saved_check(saved, other, sizeof(other)))
            fail(1, "nothing can be restored: %s; the one before it is good: --restore=%s", why, before);
        saved_close(saved);
        free(before);
    }
    fail(1, "nothing can be restored: %s", why);
}

char *checkpoint_to_restore(const char *path)
{
    char why[600], *whole;
    struct saved_list *saved;

    if (saved_open(path, &saved, why, sizeof(why)) || saved_check(saved, why, sizeof(why)))
        refuse(path, why);
    whole = joined(saved->directory, saved->which);
    saved_close(saved);
    return whole;
}
