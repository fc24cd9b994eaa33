/*
 * What a session costs its host, by the kernel's account, not by the worker's word: the processor time of its control
 * group, or else of the worker and what it waited for.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "proxy/daemon.h"

static double group_seconds(const struct session *s)
{
    const char *root = s->daemon->config->cgroup;
    unsigned long long microseconds = 0;
    char path[4096], line[128];
    FILE *file;

    if (!*root || (size_t)snprintf(path, sizeof(path), "%s/vocl-%s/cpu.stat", root, s->id) >= sizeof(path))
        return 0;
    file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file)) {
        if (sscanf(line, "usage_usec %llu", &microseconds) == 1)
            break;
    }
    if (file)
        fclose(file);
    return (double)microseconds / 1e6;
}

static double process_seconds(pid_t pid)
{
    unsigned long long ticks[4] = {0};
    char path[64], text[1024];
    const char *at;
    size_t length;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    length = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
    if (file)
        fclose(file);
    text[length] = '\0';
    at = strrchr(text, ')'); /* the name before it may hold anything */
    if (at)
        sscanf(at + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu", &ticks[0], &ticks[1],
               &ticks[2], &ticks[3]);
    return (double)(ticks[0] + ticks[1] + ticks[2] + ticks[3]) / (double)sysconf(_SC_CLK_TCK);
}

void measure_session(struct session *s)
{
    const double group = group_seconds(s), process = s->pid > 1 ? process_seconds(s->pid) : 0;
    const double seconds = group > process ? group : process;

    if (seconds > s->cpu_seconds)
        s->cpu_seconds = seconds;
}

double measure_device_seconds(const struct session *s)
{
    const double told = (double)s->usage.device_ns / 1e9;
    const double most = (wall_seconds() - s->began) * s->device_count;

    return told < most ? told : most > 0 ? most : 0;
}
