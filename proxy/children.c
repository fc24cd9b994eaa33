/* The end of all processes below this one: see children.h. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "proxy/children.h"

#define GRACE_MS 300
#define KILL_MS 1000

static void kill_children(pid_t parent, int number)
{
    char path[64], text[8192];
    size_t length;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)parent, (int)parent);
    file = fopen(path, "re");
    if (!file)
        return;
    length = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[length] = '\0';
    for (char *save = NULL, *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        pid_t pid = (pid_t)atoi(word);

        if (pid <= 1)
            continue;
        kill_children(pid, number);
        kill(pid, number);
    }
}

/* Reap for so long; true when no child is left. */
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
    kill_children(getpid(), SIGTERM);
    if (reap(GRACE_MS))
        return;
    kill_children(getpid(), SIGKILL);
    if (!reap(KILL_MS))
        vocl_log(LOG_ERROR, "processes of the session could not be killed");
}
