/*
 * spank_vocl.so, a plugin for Slurm: `srun --vocl=2 program` gives each task of the job devices of a pool.
 *
 * A task needs what `vocl run --hold` would set in its environment. So the plugin runs that command (task_init), which
 * holds the devices until the task's process has ended. A batch job's script, and the shell of an interactive job, hold
 * nothing: they would keep the devices from their own steps. Sessions and holds carry the name job.step.task. By this
 * name they are accounted for, and those that remain at the end of the step or the job are ended, whatever happened to
 * their program (exit, job_epilog).
 *
 * Arguments in plugstack.conf: vocl=PATH of the command, pool=WHERE as for `vocl run --pool`, and wait=SECONDS, used if
 * --vocl-wait is not given.
 */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Slurm looks these up by name. */
#pragma GCC visibility push(default)
#include <slurm/spank.h>
SPANK_PLUGIN(vocl, 1)
#pragma GCC visibility pop

#include "base/settings.h"
#include "base/spawn.h"
#include "base/text.h"
#include "proxy/slurm/ask.h"

#define MOST_OUTPUT (1u << 20)
#define MOST_TASKS 4096
#define SECONDS 10 /* time limit of a command of vocl's */
#define BATCH_STEP 0xfffffffbu
#define INTERACTIVE_STEP 0xfffffffau

/* ---- options ---- */

enum { DEVICES, GPUS, MEMORY, NAME, EXCLUSIVE, SHARE, WAIT, OPTIONS };

/* The value given for each option, "" if it takes none, or NULL. */
static char *given[OPTIONS];

static bool is_good(int which, const char *value)
{
    uint64_t number;

    switch (which) {
    case DEVICES:
        return text_read_number(value, 1, SETTINGS_MOST_COUNT, &number);
    case MEMORY:
        return text_read_bytes(value, &number);
    case SHARE:
        return text_read_number(value, 1, 10000, &number);
    case WAIT:
        return text_read_number(value, 0, 1000000, &number);
    case NAME:
        return *value != '\0';
    default:
        return true;
    }
}

static int take(int which, const char *value, int remote);

static struct spank_option options[OPTIONS] = {
    {"vocl", "N", "devices of the VOCL pool for each task", 1, DEVICES, take},
    {"vocl-gpus", NULL, "with --vocl: they are to be GPUs", 0, GPUS, take},
    {"vocl-mem", "BYTES", "with --vocl: memory of each, such as 8G", 1, MEMORY, take},
    {"vocl-name", "PATTERN", "with --vocl: their names", 1, NAME, take},
    {"vocl-exclusive", NULL, "with --vocl: nobody else uses them meanwhile", 0, EXCLUSIVE, take},
    {"vocl-share", "N", "with --vocl: the weight of each task where others use them, too", 1, SHARE, take},
    {"vocl-wait", "SECONDS", "with --vocl: how long a task waits for them", 1, WAIT, take},
};

/* Their names in `vocl run`. */
static const char *const names[OPTIONS] = {"--count", NULL, "--mem", "--name", "--exclusive", "--weight", "--wait"};

static int take(int which, const char *value, int remote)
{
    if (!is_good(which, value ? value : "")) {
        if (!remote)
            slurm_error("--%s=%s makes no sense", options[which].name, value ? value : "");
        return -1;
    }
    free(given[which]);
    given[which] = strdup(value ? value : "");
    return given[which] ? 0 : -1;
}

/* ---- arguments of the plugin ---- */

static const char *argument(int count, char **words, const char *name, const char *fallback)
{
    const size_t length = strlen(name);

    for (int i = 0; i < count; i++) {
        if (!strncmp(words[i], name, length) && words[i][length] == '=')
            return words[i] + length + 1;
    }
    return fallback;
}

/* ---- the environment of a task ---- */

static void name_step(uint32_t step, char text[16])
{
    if (step == BATCH_STEP)
        strcpy(text, "batch");
    else if (step == INTERACTIVE_STEP)
        strcpy(text, "interactive");
    else
        snprintf(text, 16, "%u", step);
}

static bool name_task(spank_t spank, char name[64])
{
    uint32_t job, step, task;
    char step_name[16];

    if (spank_get_item(spank, S_JOB_ID, &job) || spank_get_item(spank, S_JOB_STEPID, &step) ||
        spank_get_item(spank, S_TASK_GLOBAL_ID, &task))
        return false;
    name_step(step, step_name);
    snprintf(name, 64, "%u.%s.%u", job, step_name, task);
    return true;
}

static bool is_of_steps(spank_t spank)
{
    uint32_t step;

    return !spank_get_item(spank, S_JOB_STEPID, &step) && step != BATCH_STEP && step != INTERACTIVE_STEP;
}

/* Makes the command line of `vocl run` in words, by the options given. hold: another option, or NULL. */
static void make_command(const char **words, int count, char **arguments, const char *pool, const char *hold)
{
    const char *wait = argument(count, arguments, "wait", NULL);
    unsigned at = 0;

    words[at++] = argument(count, arguments, "vocl", BINDIR "/vocl");
    words[at++] = "run";
    words[at++] = "--pool";
    words[at++] = pool;
    if (hold)
        words[at++] = hold;
    for (int i = 0; i < OPTIONS; i++) {
        const char *value = i == WAIT && !given[i] ? wait : given[i];

        if (!value || !names[i])
            continue;
        words[at++] = i == DEVICES && given[GPUS] ? "--gpus" : names[i];
        if (options[i].has_arg)
            words[at++] = value;
    }
    words[at++] = "--";
    words[at++] = "/usr/bin/env";
    words[at++] = "-0";
    words[at] = NULL;
}

/* Sets in the task's environment what differs from it. */
static int take_environment(spank_t spank, char *text, const char *end)
{
    for (char *value; text < end; text = value + strlen(value) + 1) {
        char before[4096];

        value = strchr(text, '=');
        if (!value) {
            value = text;
            continue;
        }
        *value++ = '\0';
        if (spank_getenv(spank, text, before, sizeof(before)) == ESPANK_SUCCESS && !strcmp(before, value))
            continue;
        if (spank_setenv(spank, text, value, 1) != ESPANK_SUCCESS)
            return -1;
    }
    return 0;
}

static int prepare_task(spank_t spank, int count, char **arguments, char *output)
{
    const char *wait = given[WAIT] ? given[WAIT] : argument(count, arguments, "wait", "0"), *words[2 * OPTIONS + 9];
    char pool[4096] = "", name[64], hold[32], **environment;
    const bool holds = is_of_steps(spank);
    size_t length = 0;
    int status;

    if (!name_task(spank, name) || spank_setenv(spank, "VOCL_POOL_JOB", name, 1) ||
        spank_get_item(spank, S_JOB_ENV, &environment))
        return -1;
    if (spank_getenv(spank, "VOCL_POOL", pool, sizeof(pool)) || !*pool)
        snprintf(pool, sizeof(pool), "%s", SETTINGS_POOL_FILE);
    snprintf(hold, sizeof(hold), "--hold=%d", (int)getpid()); /* the PID that the task will have */
    make_command(words, count, arguments, argument(count, arguments, "pool", pool), holds ? hold : NULL);
    status = ask((char *const *)(uintptr_t)words, environment, output, MOST_OUTPUT, &length,
                 SECONDS + (holds ? atoi(wait) : 0));
    if (status) {
        slurm_error("vocl: %s run: %s", words[0], status < 0 ? strerror(-status) : "it failed");
        return -1;
    }
    return take_environment(spank, output, output + length);
}

/* ---- ending what is left ---- */

static uint32_t tasks[MOST_TASKS];
static unsigned task_count;

/* Runs the command as this user, or as root if uid is 0. */
static int end_sessions(const char **words, const char *pool, uid_t uid)
{
    const struct passwd *user = getpwuid(uid);
    char home[4200], where[4200], path[] = "PATH=/usr/local/bin:/usr/bin:/bin";
    char *environment[] = {path, home, pool ? where : NULL, NULL};
    pid_t pid;

    snprintf(home, sizeof(home), "HOME=%s", user ? user->pw_dir : "/");
    snprintf(where, sizeof(where), "VOCL_POOL=%s", pool ? pool : "");
    pid = fork();
    if (pid == 0) {
        if (uid && (!user || setgroups(0, NULL) || setresgid(user->pw_gid, user->pw_gid, user->pw_gid) ||
                    setresuid(uid, uid, uid)))
            _exit(1);
        _exit(ask((char *const *)(uintptr_t)words, environment, NULL, 0, NULL, SECONDS) ? 1 : 0);
    }
    return pid > 0 ? spawn_wait(pid) : 1;
}

/* Ends sessions of the job: those of the tasks of its step that ran here, or, with step NULL, all. Root may do so if
 * the pool accepts root; otherwise it is done as the job's user, who owns the sessions. */
static void end_job(spank_t spank, const char *step, int count, char **arguments)
{
    const char *pool = argument(count, arguments, "pool", NULL);
    const char *words[] = {argument(count, arguments, "vocl", BINDIR "/vocl"), "pool", "kill", "--job", NULL, NULL};
    char *jobs = calloc(task_count + 1, 64);
    uint32_t job;
    uid_t uid;

    if (!jobs || spank_get_item(spank, S_JOB_ID, &job) || spank_get_item(spank, S_JOB_UID, &uid)) {
        free(jobs);
        return;
    }
    if (!step)
        sprintf(jobs, "%u", job);
    for (unsigned i = 0; step && i < task_count; i++)
        sprintf(jobs + strlen(jobs), "%s%u.%s.%u", i ? "," : "", job, step, tasks[i]);
    words[4] = jobs;
    if (end_sessions(words, pool, 0) && (!uid || end_sessions(words, pool, uid)))
        slurm_info("vocl: %s cannot end what job %u may have left in the pool", words[0], job);
    free(jobs);
}

/* ---- called by Slurm ---- */

int slurm_spank_init(spank_t spank, int count, char **arguments)
{
    (void)count;
    (void)arguments;
    for (int i = 0; i < OPTIONS; i++) {
        if (spank_option_register(spank, &options[i]) != ESPANK_SUCCESS)
            return -1;
    }
    return 0;
}

/* Errors are reported only in srun, sbatch and salloc, where a user sees them. */
int slurm_spank_init_post_opt(spank_t spank, int count, char **arguments)
{
    (void)count;
    (void)arguments;
    for (int i = 0; i < OPTIONS && !spank_remote(spank); i++) {
        if (given[i] && !given[DEVICES]) {
            slurm_error("--%s needs --vocl", options[i].name);
            return -1;
        }
    }
    return 0;
}

int slurm_spank_task_init(spank_t spank, int count, char **arguments)
{
    char *output;
    int error;

    if (!given[DEVICES])
        return 0;
    output = malloc(MOST_OUTPUT);
    error = output ? prepare_task(spank, count, arguments, output) : -1;
    free(output);
    return error;
}

int slurm_spank_task_post_fork(spank_t spank, int count, char **arguments)
{
    (void)count;
    (void)arguments;
    if (given[DEVICES] && task_count < MOST_TASKS && !spank_get_item(spank, S_TASK_GLOBAL_ID, &tasks[task_count]))
        task_count++;
    return 0;
}

int slurm_spank_exit(spank_t spank, int count, char **arguments)
{
    char step_name[16];
    uint32_t step;

    if (spank_remote(spank) == 1 && task_count && !spank_get_item(spank, S_JOB_STEPID, &step)) {
        name_step(step, step_name);
        end_job(spank, step_name, count, arguments);
    }
    return 0;
}

/* Always succeeds: the node is fit for the next job. */
int slurm_spank_job_epilog(spank_t spank, int count, char **arguments)
{
    end_job(spank, NULL, count, arguments);
    return 0;
}
