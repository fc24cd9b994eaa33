/* Ends all descendants of this process: see children.h. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/children.h"

#define DEPTH 16 /* generations; deeper ones move up when those above have ended */
#define GRACE_MS 300
#define KILL_MS 50
#define KILL_TIMES 20

void children_kill(pid_t parent, int number, unsigned depth)
{
    char path[64];
    FILE *file;
    int pid;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)parent, (int)parent);
    file = fopen(path, "re");
    while (file && fscanf(file, "%d", &pid) == 1) {
        if (pid <= 1)
            continue;
        if (depth)
            children_kill((pid_t)pid, number, depth - 1);
        kill((pid_t)pid, number);
    }
    if (file)
        fclose(file);
}

/* Reaps children for that long. Returns 1 when no child is left. */
static int reap(int milliseconds)
{
    for (int waited = 0;; waited += 10) {
        pid_t pid;

        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
            ;
        if (pid < 0 && errno == ECHILD)
            return 1;
        if (waited >= milliseconds)
            return 0;
        usleep(10000);
    }
}

void children_end(void)
{
    if (reap(GRACE_MS))
        return;
    children_kill(getpid(), SIGTERM, DEPTH);
    if (reap(GRACE_MS))
        return;
    for (int i = 0; i < KILL_TIMES; i++) {
        children_kill(getpid(), SIGKILL, DEPTH);
        if (reap(KILL_MS))
            return;
    }
    vocl_log(LOG_ERROR, "processes of the session could not be killed");
}
