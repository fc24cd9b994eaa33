/* Runs hwloc in another process. See topology.h. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/settings.h"
#include "topology/topology.h"

extern char **environ;

static int start(const char *xml, int output, pid_t *pid)
{
    char path[4096], *words[] = {"vocl-topo", "import", "--topology", (char *)(size_t)(xml ? xml : "machine"), NULL};
    posix_spawn_file_actions_t actions;
    int error;

    snprintf(path, sizeof(path), "%s/vocl-topo", settings_string(SETTING_LIBEXECDIR));
    if (posix_spawn_file_actions_init(&actions))
        return -ENOMEM;
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    error = -posix_spawn(pid, path, &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* Reads the tree, or the first line of the output, which then begins with ! and says why there is none. */
static int read_tree(FILE *in, pid_t pid, const char *name, struct topology **out, char *why, size_t why_size)
{
    char line[512] = "";
    int status = 0, error, first = getc(in);

    ungetc(first, in);
    if (first == '!') {
        if (fgets(line, sizeof(line), in))
            snprintf(why, why_size, "%.*s", (int)strcspn(line, "\n") - 1, line + 1);
        error = -EINVAL;
    } else {
        error = topology_parse(in, name, out, why, why_size);
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!status || first == '!')
        return error;
    if (!error)
        free(*out);
    snprintf(why, why_size, "%s: hwloc crashed on it", name);
    return -EINVAL;
}

int topology_discover(const char *xml, struct topology **out, char *why, size_t why_size)
{
    const char *name = xml ? xml : "this machine";
    int output[2], error;
    pid_t pid;
    FILE *in;

    if (pipe2(output, O_CLOEXEC))
        return -errno;
    error = start(xml, output[1], &pid);
    close(output[1]);
    in = error ? NULL : fdopen(output[0], "r");
    if (in) {
        error = read_tree(in, pid, name, out, why, why_size);
        fclose(in);
        return error;
    }
    close(output[0]);
    if (!error)
        waitpid(pid, NULL, 0);
    error = error ? error : -ENOMEM;
    snprintf(why, why_size, "%s: vocl-topo: %s", name, strerror(-error));
    return error;
}
