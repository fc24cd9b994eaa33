/*
 * reaper FILE COMMAND...: runs the command, and becomes the parent of all processes that it leaves behind, so that the
 * processor time of all of them is known, which goes to FILE, in seconds. Ends as the command does.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int write_cost(const char *path)
{
    struct rusage usage;
    FILE *file = fopen(path, "we");

    if (!file)
        return -1;
    getrusage(RUSAGE_CHILDREN, &usage);
    fprintf(file, "%ld\n",
            usage.ru_utime.tv_sec + usage.ru_stime.tv_sec +
                (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000000);
    return fclose(file);
}

int main(int count, char **words)
{
    int status = 0, one;
    pid_t command, ended;

    if (count < 3 || prctl(PR_SET_CHILD_SUBREAPER, 1))
        return 99;
    command = fork();
    if (command == 0) {
        execvp(words[2], words + 2);
        perror(words[2]);
        _exit(127);
    }
    if (command < 0)
        return 99;
    do {
        ended = wait(&one);
        if (ended == command)
            status = one;
    } while (ended != command && (ended > 0 || errno == EINTR));
    while (waitpid(-1, &one, WNOHANG) > 0)
        ;
    if (write_cost(words[1]))
        perror(words[1]);
    if (WIFSIGNALED(status))
        raise(WTERMSIG(status));
    return WEXITSTATUS(status);
}
