/*
 * The worker's process: the session's user's, in a session, process group and, where there are, control groups of its
 * own, with nothing of the daemon's and nothing from outside but what session_start() let through. Between it and the
 * daemon is its keeper (proxy/keep.c), which is what the daemon sees of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/settings.h"
#include "base/socket.h"
#include "base/variable.h"
#include "proxy/daemon/daemon.h"

#define START_MS 5000
#define PMI_FD 4 /* the worker's */

/* ---- control groups (v2), below the folder that the configuration names, or below one that is found ---- */

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

/* "": there are none. */
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

    return worker_group_path(s, "", path, sizeof(path)) && keep_write_group(path, file, text);
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
            errno = 0; /* the limit that needs it will say so */
        if (fd >= 0)
            close(fd);
    }
}

/* The folder, which passes memory, cpu and pids on to those in it. */
static void group_prepare(const char *root)
{
    char above[4096];

    snprintf(above, sizeof(above), "%.*s", (int)(strrchr(root, '/') ? strrchr(root, '/') - root : 0), root);
    delegate(above);
    mkdir(root, 0755);
    delegate(root);
}

static bool group_make(const struct session *s)
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
        rmdir(group_root(s->daemon->config)); /* with the last one */
}

bool worker_kill_group(const struct session *s)
{
    return group_write(s, "cgroup.kill", "1");
}

/* The keeper passes it on. */
bool worker_contained(const struct session *s, int number)
{
    const bool killed = number == SIGKILL && worker_kill_group(s);

    return (s->pid > 1 && s->keeper > 1 && !kill(s->keeper, number == SIGKILL ? SIGQUIT : number)) || killed;
}

/* ---- the process ---- */

struct plan {
    struct keep_plan keep;
    char *environment[KEEP_ENVIRONMENT];
};

__attribute__((format(printf, 2, 3))) static void add(struct plan *plan, const char *format, ...)
{
    va_list arguments;

    if (plan->keep.count + 1 >= KEEP_ENVIRONMENT)
        return;
    va_start(arguments, format);
    if (vasprintf(&plan->environment[plan->keep.count], format, arguments) < 0)
        plan->environment[plan->keep.count] = NULL;
    else
        plan->keep.count++;
    va_end(arguments);
}

static void add_variables(struct plan *plan, char *const *variables)
{
    for (; *variables; variables++) {
        if (variable_has_value(*variables))
            add(plan, "%s", *variables);
    }
}

/* What all workers have; it is there when their drivers are loaded. */
static void add_common(struct plan *plan, const struct daemon *d)
{
    const char *log = getenv("VOCL_LOG");

    add(plan, "PATH=/usr/local/bin:/usr/bin:/bin");
    add(plan, "VOCL_LIBEXECDIR=%s", settings_string(SETTING_LIBEXECDIR));
    add(plan, "VOCL_LOG=%s", log ? log : "error");
    add(plan, "VOCL_MPI=mpich");
    add(plan, "MPIR_CVAR_NOLOCAL=1");
    add(plan, "UCX_HANDLE_ERRORS=none");
    add(plan, "UCX_LOG_LEVEL=error");
    add_variables(plan, d->config->environment);
}

static void make_plan(const struct session *s, char *const *environment, struct plan *plan)
{
    char list[MOST_DEVICES * 4] = "", path[4096];
    struct passwd *user = getpwuid(s->uid);
    struct keep_plan *keep = &plan->keep;

    *keep = (struct keep_plan){.uid = s->uid, .gid = s->gid, .drop = geteuid() == 0};
    snprintf(keep->session, sizeof(keep->session), "%s", s->id);
    snprintf(keep->user, sizeof(keep->user), "%s", s->user);
    snprintf(keep->folder, sizeof(keep->folder), "%s", user ? user->pw_dir : "/");
    snprintf(keep->program, sizeof(keep->program), "%s/vocl-proxy", settings_string(SETTING_LIBEXECDIR));
    add_common(plan, s->daemon);
    add(plan, "HOME=%s", keep->folder);
    add(plan, "USER=%s", keep->user);
    add(plan, "PMI_FD=%d", PMI_FD);
    for (unsigned i = 0; i < s->device_count; i++)
        snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%u", i ? "," : "", s->devices[i]);
    add(plan, "VOCL_WORKER_DEVICES=%s", list);
    add(plan, "VOCL_WORKER_MEMORY=%llu", (unsigned long long)s->memory);
    add(plan, "VOCL_WORKER_SCRUB=%s", s->daemon->config->scrub);
    state_path(s->daemon, "control", path, sizeof(path));
    add(plan, "VOCL_WORKER_CONTROL=%s", path);
    add_variables(plan, environment);
}

static void free_plan(struct plan *plan)
{
    for (unsigned i = 0; i < plan->keep.count; i++)
        free(plan->environment[i]);
}

/* ---- the nursery: a process in which the drivers are loaded already, and workers begin as copies of it ---- */

#define NURSERY_MS 30000 /* after one that failed another is tried */

struct nursery {
    pid_t pid;
    int fd;
    long tried_ms;
    char **environment; /* the configuration's, that it has */
    bool useless;       /* with these drivers */
};

static struct nursery nursery = {.fd = -1};

static void nursery_end(void)
{
    int status = 0;

    if (nursery.pid > 0) {
        close(nursery.fd);
        kill(nursery.pid, SIGKILL);
        waitpid(nursery.pid, &status, 0);
        nursery.useless = WIFEXITED(status) && WEXITSTATUS(status) == NURSERY_USELESS;
    }
    nursery.pid = 0;
    nursery.fd = -1;
}

static void nursery_become(const struct plan *plan, int fd)
{
    char *arguments[] = {(char *)(uintptr_t)plan->keep.program, (char *)(uintptr_t)NURSERY_WORD, NULL};
    int null = open("/dev/null", O_RDWR);

    keep_detach();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(null, 0);
    dup2(null, 1);
    dup2(fd, NURSERY_FD); /* without close-on-exec */
    fcntl(NURSERY_FD, F_SETFD, 0);
    close_range(NURSERY_FD + 1, ~0u, 0);
    execve(plan->keep.program, arguments, (char **)(uintptr_t)plan->environment);
    _exit(127);
}

void nursery_open(struct daemon *d)
{
    const char *journal = getenv("JOURNAL_STREAM");
    struct plan plan = {.keep = {.count = 0}};
    int ends[2];

    nursery_end();
    nursery.tried_ms = clock_ms();
    nursery.environment = d->config->environment;
    nursery.useless = false;
    if (!d->config->prefork || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        return;
    snprintf(plan.keep.program, sizeof(plan.keep.program), "%s/vocl-proxy", settings_string(SETTING_LIBEXECDIR));
    add_common(&plan, d);
    if (journal)
        add(&plan, "JOURNAL_STREAM=%s", journal);
    nursery.pid = fork();
    if (nursery.pid == 0)
        nursery_become(&plan, ends[1]);
    close(ends[1]);
    nursery.fd = ends[0];
    if (nursery.pid < 0)
        close(ends[0]);
    free_plan(&plan);
}

/* What the nursery is to make of a copy of itself: over a socket of its own, for there are secrets in it. The keeper's
 * number, a child of this process; or -1. */
static pid_t nursery_ask(struct daemon *d, struct plan *plan, int pmi, int problem)
{
    const int given[2] = {problem, pmi};
    char *bytes = NULL;
    size_t size = 0;
    FILE *text;
    pid_t keeper = -1;
    int ends[2];

    if (!nursery.pid || nursery.environment != d->config->environment) {
        if ((clock_ms() - nursery.tried_ms > NURSERY_MS && !nursery.useless) ||
            nursery.environment != d->config->environment)
            nursery_open(d);
        if (nursery.pid <= 0)
            return -1;
    }
    text = open_memstream(&bytes, &size);
    if (!text)
        return -1;
    for (unsigned i = 0; i < plan->keep.count; i++)
        fwrite(plan->environment[i], 1, strlen(plan->environment[i]) + 1, text);
    fclose(text);
    plan->keep.length = (uint32_t)size;
    if (bytes && !socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
        if (socket_send_descriptors(nursery.fd, "", 1, &ends[1], 1) ||
            socket_send_descriptors(ends[0], "", 1, given, pmi >= 0 ? 2 : 1) ||
            socket_write_all(ends[0], &plan->keep, sizeof(plan->keep)) || socket_write_all(ends[0], bytes, size))
            keeper = -1;
        close(ends[1]);
        if (socket_read_all(ends[0], &keeper, sizeof(keeper), START_MS))
            keeper = -1;
        close(ends[0]);
    }
    free(bytes);
    if (keeper <= 0) {
        nursery_end();
        if (!nursery.useless)
            daemon_log("warning", "the nursery does not answer: workers load their drivers themselves");
    }
    return keeper;
}

pid_t worker_start(struct session *s, char *const *environment, int pmi, char *why, size_t why_size)
{
    struct plan plan = {.keep = {.count = 0}};
    struct pollfd told = {.events = POLLIN};
    struct start_word word;
    int problem[2], error = 0;
    pid_t pid = -1;

    if (geteuid() != 0 && s->uid != geteuid()) {
        snprintf(why, why_size, "a daemon that is not root's serves its own user only");
        return -1;
    }
    if (pipe2(problem, O_CLOEXEC))
        return -1;
    make_plan(s, environment, &plan);
    if (group_make(s))
        worker_group_path(s, "", plan.keep.group, sizeof(plan.keep.group));
    s->keeper = nursery_ask(s->daemon, &plan, pmi, problem[1]);
    if (s->keeper < 0)
        s->keeper = fork();
    if (s->keeper == 0)
        keep_run(&plan.keep, plan.environment, pmi, problem[1], NULL);
    close(problem[1]);
    if (s->keeper < 0)
        error = errno;
    told.fd = problem[0];
    while (!error) {                     /* until exec closes it: at once */
        if (!poll(&told, 1, START_MS)) { /* a folder that does not answer, say: others are waiting */
            error = ETIMEDOUT;
            kill(s->keeper, SIGKILL);
        } else if (read(problem[0], &word, sizeof(word)) == sizeof(word)) {
            error = word.error;
            pid = word.worker;
        } else {
            break;
        }
    }
    if (error || pid < 0) {
        snprintf(why, why_size, "the worker does not start: %s", strerror(error));
        if (s->keeper > 0) /* it has nothing to keep */
            waitpid(s->keeper, NULL, 0);
        pid = -1;
    }
    close(problem[0]);
    free_plan(&plan);
    if (pid < 0)
        worker_clean(s);
    return pid;
}
