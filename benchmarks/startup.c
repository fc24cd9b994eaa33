/*
 * The first query of an OpenCL program, ms: clGetPlatformIDs and clGetDeviceIDs in fresh processes, and the lifetime of
 * such a process. The reporting process never calls OpenCL itself; it runs itself again.
 */
#include "bench.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Run in a fresh process: prints the time and then the names. */
static int query_once(void)
{
    cl_platform_id platform;
    cl_device_id device;
    char name[256];

    double start = bench_now();
    CHECK(clGetPlatformIDs(1, &platform, NULL));
    double middle = bench_now();
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    double end = bench_now();
    CHECK(clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(name), name, NULL));
    printf("%.0f %.0f %s\n", middle - start, end - start, name);
    return 0;
}

static void fresh_process(const struct round *round, char *program, struct series *platforms, struct series *query,
                          struct series *process)
{
    posix_spawn_file_actions_t actions;
    char *words[] = {program, "--once", NULL}, name[256];
    double platforms_ns = 0, query_ns = 0;
    int ends[2], status;
    pid_t child;

    double start = bench_now();
    EXPECT(!pipe(ends));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    EXPECT(!posix_spawn(&child, "/proc/self/exe", &actions, NULL, words, environ));
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);

    FILE *output = fdopen(ends[0], "r");
    EXPECT(output && fscanf(output, "%lf %lf %255[^\n]", &platforms_ns, &query_ns, name) == 3);
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
    fclose(output);
    round_add(round, process, (bench_now() - start) / 1e6);
    round_add(round, platforms, platforms_ns / 1e6);
    round_add(round, query, query_ns / 1e6);
    if (!round->number)
        printf("# platform: %s\n", name);
}

int main(int count, char **words)
{
    struct series platforms = {0}, query = {0}, process = {0};
    bool quick = count == 2 && !strcmp(words[1], "--quick");

    if (count == 2 && !strcmp(words[1], "--once"))
        return query_once();
    EACH_ROUND (round, 0, quick ? 3 : 5)
        fresh_process(&round, words[0], &platforms, &query, &process);
    series_report(&platforms, "startup_platforms", "ms");
    series_report(&query, "startup_platforms_and_devices", "ms");
    series_report(&process, "startup_whole_process", "ms");
    return 0;
}
