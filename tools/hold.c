/* vocl run --hold: vocl-join keeps devices of the pool while the program, which becomes of this process, is there. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/tools.h"

#define LIFELINE 3

/* Not a child of the program's, and with nothing of it open. */
__attribute__((noreturn)) static void become(const char *helper, int lifeline, const char *process)
{
    int nothing;

    if (fork())
        _exit(0);
    setsid();
    if (lifeline != LIFELINE) {
        dup2(lifeline, LIFELINE);
        close(lifeline);
    } else {
        fcntl(lifeline, F_SETFD, 0);
    }
    nothing = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3 && nothing >= 0; fd++)
        dup2(nothing, fd);
    close_range(LIFELINE + 1, ~0u, 0);
    execl(helper, "vocl-join", "--hold", process, NULL);
    _exit(127);
}

void hold_devices(const char *process)
{
    char own[24], *helper = helper_path("vocl-join"), line[1100];
    const bool asked_for = getenv("VOCL_POOL_WAIT") != NULL;
    int ends[2];
    FILE *lines;
    pid_t pid;

    snprintf(own, sizeof(own), "%d", (int)getpid());
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        fail(EXIT_BROKEN, "no devices are held: %m");
    pid = fork();
    if (pid == 0)
        become(helper, ends[1], *process ? process : own);
    close(ends[1]);
    waitpid(pid, NULL, 0);
    lines = fdopen(ends[0], "r");
    while (lines && fgets(line, sizeof(line), lines)) {
        line[strcspn(line, "\n")] = '\0';
        if (!strncmp(line, "failed ", 7))
            fail(EXIT_BROKEN, "no devices are held: the pool: %s", line + 7);
        if (!strncmp(line, "queued ", 7) && asked_for)
            fprintf(stderr, "vocl: waiting for devices, position %s\n", line + 7);
        if (strncmp(line, "held ", 5))
            continue;
        if (setenv("VOCL_POOL_HOLD", line + 5, 1))
            break;
        fclose(lines);
        free(helper);
        return;
    }
    fail(EXIT_BROKEN, "no devices are held: vocl-join has ended");
}
