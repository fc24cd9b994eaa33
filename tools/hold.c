/* vocl run --hold: vocl-join holds devices of the pool for the life of the program, which this process becomes. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/spawn.h"
#include "tools/tools.h"

void hold_devices(const char *process)
{
    const char *words[] = {NULL, "--hold", NULL, NULL};
    char own[24], *helper = helper_path("vocl-join"), line[1100];
    const bool asked_for = getenv("VOCL_POOL_WAIT") != NULL;
    int ends[2];
    FILE *lines;

    snprintf(own, sizeof(own), "%d", (int)getpid());
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        fail(EXIT_BROKEN, "no devices are held: %m");
    words[0] = helper;
    words[2] = *process ? process : own;
    spawn(&(struct spawn){.arguments = (char *const *)(uintptr_t)words, /* with none of the program's descriptors */
                          .descriptors = (int[]){-1, -1, -1, ends[1]},
                          .count = 4,
                          .session = true,
                          .apart = true});
    close(ends[1]);
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
