/* See process.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/process.h"

/* Reads what follows the name: the state, and numbers. Empty if there is no such process. */
static void read_stat(int directory, const char *name, char text[512])
{
    char path[300];
    const char *at;
    ssize_t got;
    int fd;

    snprintf(path, sizeof(path), "%s/stat", name);
    fd = openat(directory, path, O_RDONLY | O_CLOEXEC);
    got = fd < 0 ? 0 : read(fd, text, 511);
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = '\0';
    at = strrchr(text, ')');
    memmove(text, at ? at + 1 : "", at ? strlen(at + 1) + 1 : 1);
}

static char state_at(int directory, const char *name)
{
    char text[512];

    read_stat(directory, name, text);
    return *text ? text[1] : '\0';
}

struct stat_numbers {
    int parent;
    long user, system, of_children[2];
    unsigned long start; /* all in clock ticks */
};

static bool read_numbers(pid_t pid, struct stat_numbers *numbers)
{
    char path[64], text[512];

    snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    read_stat(AT_FDCWD, path, text);
    return sscanf(text, " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld %ld %ld %*d %*d %*d %*d %lu",
                  &numbers->parent, &numbers->user, &numbers->system, &numbers->of_children[0],
                  &numbers->of_children[1], &numbers->start) == 6;
}

long process_worked_ms(pid_t pid, bool with_children)
{
    struct stat_numbers numbers;
    long ticks;

    if (!read_numbers(pid, &numbers))
        return 0;
    ticks = numbers.user + numbers.system + (with_children ? numbers.of_children[0] + numbers.of_children[1] : 0);
    return ticks * 1000 / sysconf(_SC_CLK_TCK);
}

unsigned long process_start_time(pid_t pid)
{
    struct stat_numbers numbers;

    return read_numbers(pid, &numbers) ? numbers.start : 0;
}

pid_t process_parent(pid_t pid)
{
    struct stat_numbers numbers;

    return read_numbers(pid, &numbers) ? numbers.parent : 0;
}

char process_state(pid_t pid)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    return state_at(AT_FDCWD, path);
}

/* A zombie has ended, too: its parent may be slow. */
bool process_gone(pid_t pid)
{
    const char state = process_state(pid);

    return kill(pid, 0) ? errno == ESRCH : state == 'Z' || state == 'X';
}

static bool stands(char state)
{
    return state == 'T' || state == 't';
}

/* If the first thread has ended, asks for the others. */
bool process_is_stopped(pid_t pid)
{
    const char first = process_state(pid);
    bool one = false, all = true;
    char path[64];
    DIR *threads;

    if (first != 'Z')
        return stands(first);
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    threads = opendir(path);
    if (!threads)
        return false;
    for (struct dirent *entry; (entry = readdir(threads));) {
        char state = *entry->d_name == '.' ? 'Z' : state_at(dirfd(threads), entry->d_name);

        one |= stands(state);
        all &= stands(state) || state == 'Z' || !state;
    }
    closedir(threads);
    return one && all;
}

/* The true parent is passed in: the one after its end, init or a subreaper, cannot be told from it by its PID alone. */
void process_end_with(pid_t parent, int signal)
{
    prctl(PR_SET_PDEATHSIG, signal);
    if (getppid() != parent)
        _exit(127);
}

pid_t process_fork(int signal)
{
    const pid_t parent = getpid(), pid = fork();

    if (!pid)
        process_end_with(parent, signal);
    return pid;
}

int process_open(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

int process_signal(int descriptor, int number)
{
    return (int)syscall(SYS_pidfd_send_signal, descriptor, number, NULL, 0);
}

/* The descriptor comes first: while it is open, what the PID names cannot change unnoticed. */
int process_kill(pid_t pid, unsigned long start_time)
{
    const int fd = process_open(pid);
    int result = -1;

    if (process_start_time(pid) != start_time)
        errno = ESRCH;
    else if (fd < 0) /* an old kernel, or a container that forbids it */
        result = kill(pid, SIGKILL);
    else
        result = process_signal(fd, SIGKILL);
    if (fd >= 0)
        close(fd);
    return result;
}
