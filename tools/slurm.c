/* --slurm: the hosts are the nodes of the job's allocation, and srun starts the workers there, as steps of the job. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tools/tools.h"

#define MOST_COMPONENTS 1024

/* Returns the value of a variable that Slurm sets, or NULL. */
static const char *told(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : NULL;
}

/* Returns how many components the job has; 0: it is not heterogeneous. */
static uint64_t component_count(void)
{
    uint64_t count = 0;

    return told("SLURM_HET_SIZE") && text_read_number(told("SLURM_HET_SIZE"), 1, MOST_COMPONENTS, &count) ? count : 0;
}

/* Chooses the component that the user named; else the second, since the program runs on the first. */
static uint64_t choose_component(const char *named, uint64_t count)
{
    uint64_t component = 1;

    if (*named && !text_read_number(named, 0, MOST_COMPONENTS, &component))
        misuse("--slurm takes the number of a component of a heterogeneous job, not \"%s\"", named);
    if (component >= count)
        misuse("--slurm=%llu: this job has the components 0 to %llu", (unsigned long long)component,
               (unsigned long long)count - 1);
    return component;
}

/* The options that a step gets do not depend on those of the job: SLURM_LABELIO and the like would change what passes
 * between the worker's starter and the program. --overlap: the program's own steps use the same CPUs and memory. */
static char *launcher(const char *component, const char *gres)
{
    char *command;

    if (asprintf(
            &command,
            "env -u SLURM_LABELIO -u SLURM_STDINMODE -u SLURM_STDOUTMODE -u SLURM_STDERRMODE srun --quiet --unbuffered"
            " --nodes=1 --ntasks=1 --nodelist={host} --overlap --mpi=none%s%s%s /bin/sh -c",
            component, gres ? " --gres=" : "", gres ? gres : "") < 0)
        fail(EXIT_BROKEN, "out of memory");
    return command;
}

void slurm_choose(struct choices *choices)
{
    const uint64_t components = component_count();
    const char *nodes = told("SLURM_JOB_NODELIST");
    char name[64], option[64] = "";

    if (!told("SLURM_JOB_ID"))
        misuse("--slurm: this is no job of Slurm (SLURM_JOB_ID is not set); begin one with salloc or sbatch");
    if (choices->gres && strpbrk(choices->gres, " \t\n"))
        misuse("--gres takes a list such as gpu:2, not \"%s\"", choices->gres);
    if (components) {
        const unsigned long long component = choose_component(choices->slurm, components);

        snprintf(name, sizeof(name), "SLURM_JOB_NODELIST_HET_GROUP_%llu", component);
        snprintf(option, sizeof(option), " --het-group=%llu", component);
        nodes = told(name);
    } else if (*choices->slurm) {
        misuse("--slurm=%s: this job has no components", choices->slurm);
    }
    if (!nodes)
        misuse("--slurm: Slurm does not say which nodes the job has (%s is not set)",
               components ? name : "SLURM_JOB_NODELIST");
    choices->hosts = hosts_expand(nodes);
    choices->launcher = launcher(option, choices->gres);
}
