/* The workers' control groups (v2), in the folder that the configuration names, or one that is found. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "proxy/daemon/node/internal.h"

static bool mount_of_groups(char *path, size_t size)
{
    FILE *mounts = fopen("/proc/self/mountinfo", "re");
    char line[4096], mounted[4096];
    bool found = false;

    while (mounts && !found && fgets(line, sizeof(line), mounts)) {
        found = strstr(line, " - cgroup2 ") && sscanf(line, "%*s %*s %*s %*s %4095s", mounted) == 1 &&
                snprintf(path, size, "%s", mounted) < (int)size;
    }
    if (mounts)
        fclose(mounts);
    return found;
}

/* Returns the folder, or "" if there are no groups. */
static const char *group_root(const struct config *config)
{
    static char found[4096];
    static bool looked;
    char mount[4000];

    if (strcmp(config->cgroup, "auto"))
        return strcmp(config->cgroup, "none") ? config->cgroup : "";
    if (looked)
        return found;
    looked = true;
    if (geteuid() != 0 || !mount_of_groups(mount, sizeof(mount)))
        return found;
    snprintf(found, sizeof(found), "%s/vocl", mount);
    if (mkdir(found, 0755) && errno != EEXIST)
        *found = '\0';
    return found;
}

bool worker_group_path(const struct session *s, const char *file, char *path, size_t size)
{
    const char *root = group_root(s->daemon->config);

    return *root && snprintf(path, size, "%s/vocl-%s%s%s", root, s->id, *file ? "/" : "", file) < (int)size;
}

static bool group_write(const struct session *s, const char *file, const char *text)
{
    char path[4096];

    return worker_group_path(s, "", path, sizeof(path)) && supervisor_write_group(path, file, text);
}

static void group_limit(const struct session *s, const char *file, const char *format, unsigned long long value)
{
    char text[64];

    snprintf(text, sizeof(text), format, value);
    if (!group_write(s, file, text))
        daemon_log("warning", "session %s: %s cannot be set to %s", s->id, file, text);
}

static void delegate(const char *folder)
{
    static const char *const controllers[] = {"+memory", "+cpu", "+pids"};
    char path[4096];

    if ((size_t)snprintf(path, sizeof(path), "%s/cgroup.subtree_control", folder) >= sizeof(path))
        return;
    for (size_t i = 0; i < sizeof(controllers) / sizeof(*controllers); i++) {
        int fd = open(path, O_WRONLY | O_CLOEXEC);

        if (fd >= 0 && write(fd, controllers[i], strlen(controllers[i])) < 0)
            errno = 0; /* the limit that needs it will be reported */
        if (fd >= 0)
            close(fd);
    }
}

/* Makes the folder, and enables memory, cpu and pids for the groups in it. */
static void group_prepare(const char *root)
{
    char above[4096];

    snprintf(above, sizeof(above), "%.*s", (int)(strrchr(root, '/') ? strrchr(root, '/') - root : 0), root);
    delegate(above);
    mkdir(root, 0755);
    delegate(root);
}

bool worker_group_make(const struct session *s)
{
    const struct config *config = s->daemon->config;
    char path[4096];

    if (!worker_group_path(s, "", path, sizeof(path)))
        return false;
    group_prepare(group_root(config));
    if (mkdir(path, 0755) && errno != EEXIST) {
        daemon_log("warning", "session %s has no control group: %s: %s", s->id, path, strerror(errno));
        return false;
    }
    if (config->worker_memory)
        group_limit(s, "memory.max", "%llu", config->worker_memory);
    if (config->worker_cpus)
        group_limit(s, "cpu.max", "%llu 100000", config->worker_cpus * 1000ull);
    if (config->worker_processes && worker_group_path(s, "pids.max", path, sizeof(path)) && !access(path, W_OK))
        group_limit(s, "pids.max", "%llu", config->worker_processes);
    return true;
}

void worker_clean(struct session *s)
{
    char path[4096];

    if (!worker_group_path(s, "", path, sizeof(path)))
        return;
    rmdir(path);
    if (!strcmp(s->daemon->config->cgroup, "auto"))
        rmdir(group_root(s->daemon->config)); /* succeeds with the last group */
}

bool worker_kill_group(const struct session *s)
{
    return group_write(s, "cgroup.kill", "1");
}

/* ---- checks ---- */

static bool is_group(const char *folder)
{
    struct statfs status;

    return !statfs(folder, &status) && status.f_type == CGROUP2_SUPER_MAGIC;
}

/* Finds the folder that the configuration wants, and the one above. Returns false, with the reason in why, if there is
 * none. */
static bool find_folders(const struct config *config, char *root, char *above, size_t size, char *why, size_t why_size)
{
    if (!strcmp(config->cgroup, "none"))
        snprintf(why, why_size, "cgroup is none");
    else if (strcmp(config->cgroup, "auto"))
        snprintf(root, size, "%s", config->cgroup);
    else if (geteuid())
        snprintf(why, why_size,
                 "the daemon is not root's, and cgroup names no folder where it may make control groups");
    else if (!mount_of_groups(above, size))
        snprintf(why, why_size, "no control groups (v2) are mounted here");
    else
        snprintf(root, size, "%s/vocl", above);
    if (*root == '/')
        snprintf(above, size, "%.*s", strrchr(root, '/') > root ? (int)(strrchr(root, '/') - root) : 1, root);
    return *root != '\0';
}

bool group_is_good(const struct config *config, char *why, size_t why_size)
{
    char root[4096] = "", above[4096] = "";

    if (!strcmp(config->cgroup, "auto") || !find_folders(config, root, above, sizeof(root), why, why_size))
        return true;
    if (*root != '/')
        snprintf(why, why_size, "auto, none or a folder with all of its path is needed");
    else if (access(root, F_OK) && access(above, F_OK))
        snprintf(why, why_size, "%s: %s", above, strerror(errno));
    else if (!is_group(access(root, F_OK) ? above : root))
        snprintf(why, why_size, "%s is in no file system of control groups (v2)", root);
    else
        return true;
    return false;
}

static bool lists(const char *folder, const char *controller)
{
    char path[4200], word[32];
    bool found = false;
    FILE *file;

    snprintf(path, sizeof(path), "%s/cgroup.controllers", folder);
    file = fopen(path, "re");
    while (file && !found && fscanf(file, "%31s", word) == 1)
        found = !strcmp(word, controller);
    if (file)
        fclose(file);
    return found;
}

bool group_has(const struct config *config, const char *controller, char *why, size_t why_size)
{
    char root[4096] = "", above[4096] = "", path[4200];

    if (!find_folders(config, root, above, sizeof(root), why, why_size))
        return false;
    if (lists(root, controller))
        return true;
    snprintf(path, sizeof(path), "%s/cgroup.subtree_control", above);
    if (!lists(above, controller))
        snprintf(why, why_size, "there is no controller \"%s\" for %s", controller, root);
    else if (access(path, W_OK))
        snprintf(why, why_size, "%s: %s", path, strerror(errno));
    else
        return true;
    return false;
}
