/*
 * The worker's process: the session's user's, in a session, process group and, where there are, control groups of its
 * own, with nothing of the daemon's and nothing from outside but what session_start() let through. Between it and the
 * daemon is its keeper (keep.c), which is what the daemon sees of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/settings.h"
#include "proxy/daemon/daemon.h"

#define MOST_ENVIRONMENT 128
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
    int fd = worker_group_path(s, file, path, sizeof(path)) ? open(path, O_WRONLY | O_CLOEXEC) : -1;
    bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

    if (fd >= 0)
        close(fd);
    return good;
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
    char *arguments[3], *environment[MOST_ENVIRONMENT];
    unsigned count;
    char name[64], folder[256];
    const struct session *session;
    bool grouped;
    int pmi; /* or -1 */
};

__attribute__((format(printf, 2, 3))) static void add(struct plan *plan, const char *format, ...)
{
    va_list arguments;

    if (plan->count + 1 >= MOST_ENVIRONMENT)
        return;
    va_start(arguments, format);
    if (vasprintf(&plan->environment[plan->count], format, arguments) < 0)
        plan->environment[plan->count] = NULL;
    else
        plan->count++;
    va_end(arguments);
}

static void make_plan(const struct session *s, char *const *environment, struct plan *plan)
{
    const char *folder = settings_string(SETTING_LIBEXECDIR), *log = getenv("VOCL_LOG");
    char list[MOST_DEVICES * 4] = "", path[4096];
    struct passwd *user = getpwuid(s->uid);

    snprintf(plan->name, sizeof(plan->name), "%s", s->user);
    snprintf(plan->folder, sizeof(plan->folder), "%s", user ? user->pw_dir : "/");
    if (asprintf(&plan->arguments[0], "%s/vocl-proxy", folder) < 0)
        plan->arguments[0] = NULL;
    plan->arguments[1] = strdup("--worker");
    add(plan, "PATH=/usr/local/bin:/usr/bin:/bin");
    add(plan, "HOME=%s", plan->folder);
    add(plan, "USER=%s", plan->name);
    add(plan, "VOCL_LIBEXECDIR=%s", folder);
    add(plan, "VOCL_LOG=%s", log ? log : "error");
    add(plan, "VOCL_MPI=mpich");
    add(plan, "MPIR_CVAR_NOLOCAL=1");
    add(plan, "PMI_FD=%d", PMI_FD);
    add(plan, "UCX_HANDLE_ERRORS=none");
    add(plan, "UCX_LOG_LEVEL=error");
    for (unsigned i = 0; i < s->device_count; i++)
        snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%u", i ? "," : "", s->devices[i]);
    add(plan, "VOCL_WORKER_DEVICES=%s", list);
    add(plan, "VOCL_WORKER_MEMORY=%llu", (unsigned long long)s->memory);
    add(plan, "VOCL_WORKER_SCRUB=%s", s->daemon->config->scrub);
    state_path(s->daemon, "control", path, sizeof(path));
    add(plan, "VOCL_WORKER_CONTROL=%s", path);
    for (char **at = s->daemon->config->environment; *at; at++)
        add(plan, "%s", *at);
    for (; *environment; environment++)
        add(plan, "%s", *environment);
}

static void free_plan(struct plan *plan)
{
    for (unsigned i = 0; i < plan->count; i++)
        free(plan->environment[i]);
    free(plan->arguments[0]);
    free(plan->arguments[1]);
}

/* Between fork and exec. Does not return. */
static void become(void *argument, int log, int problem)
{
    const struct plan *plan = argument;
    const struct session *s = plan->session;
    struct start_word word = {.worker = -1};
    int null = open("/dev/null", O_RDWR), pmi, error = 0;
    sigset_t none;

    setsid();
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    dup2(null, 0);
    dup2(null, 1);
    dup2(log, 2);
    if (plan->grouped && !group_write(s, "cgroup.procs", "0"))
        error = errno;
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (!error && geteuid() == 0 &&
        (initgroups(plan->name, s->gid) || setresgid(s->gid, s->gid, s->gid) || setresuid(s->uid, s->uid, s->uid)))
        error = errno;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* without its keeper nobody would see to it */
    if (!error && chdir(plan->folder) && chdir("/"))
        error = errno;
    pmi = fcntl(plan->pmi, F_DUPFD, PMI_FD + 1); /* out of the way of the other */
    dup2(problem, 3);
    fcntl(3, F_SETFD, FD_CLOEXEC);
    if (pmi < 0 || dup2(pmi, PMI_FD) < 0)
        close(PMI_FD);
    close_range(PMI_FD + 1, ~0u, 0);
    if (!error) {
        execve(plan->arguments[0], plan->arguments, plan->environment);
        error = errno;
    }
    word.error = error;
    if (write(3, &word, sizeof(word)) < 0)
        _exit(126);
    _exit(127);
}

pid_t worker_start(struct session *s, char *const *environment, int pmi, char *why, size_t why_size)
{
    struct plan plan = {.count = 0};
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
    plan.session = s;
    plan.pmi = pmi;
    plan.grouped = group_make(s);
    s->keeper = fork();
    if (s->keeper == 0)
        keeper_run(s, become, &plan, problem[1]);
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
