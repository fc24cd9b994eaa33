/* See process.h. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/process.h"

/* Its parent, as mpiexec's daemon, may be slow. */
static bool is_zombie(pid_t pid)
{
    char path[64], line[256], *state;
    bool zombie = false;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    if (!file)
        return false;
    if (fgets(line, sizeof(line), file) && (state = strrchr(line, ')')) && state[1])
        zombie = state[2] == 'Z' || state[2] == 'X';
    fclose(file);
    return zombie;
}

bool process_gone(pid_t pid)
{
    return kill(pid, 0) ? errno == ESRCH : is_zombie(pid);
}
