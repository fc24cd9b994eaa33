/*
 * What a session costs its host, as measured by the kernel, not as reported by the worker: the processor time of its
 * control group, or otherwise of the worker, its supervisor, and the children that these have waited for. When the
 * worker has ended, its time is part of the supervisor's.
 */
#include <stdio.h>

#include "base/clock.h"
#include "base/process.h"
#include "proxy/daemon/node/internal.h"

#define MEASURE_MS 500

static double group_seconds(const struct session *s)
{
    unsigned long long microseconds = 0;
    char path[4096], line[128];
    FILE *file;

    if (!worker_group_path(s, "cpu.stat", path, sizeof(path)))
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
    return pid > 1 ? (double)process_worked_ms(pid, true) / 1e3 : 0;
}

void measure_session(struct session *s)
{
    /* And not another process with its PID. */
    const bool is_there = s->pid > 1 && process_start_time(s->pid) == s->start_time;
    const double group = group_seconds(s);
    const double processes = (is_there ? process_seconds(s->pid) : 0) + process_seconds(s->supervisor);
    const double seconds = group > processes ? group : processes;

    if (seconds > s->cpu_seconds)
        s->cpu_seconds = seconds;
}

void measure_lately(struct session *s)
{
    if (clock_ms() - s->measured_ms < MEASURE_MS)
        return;
    measure_session(s);
    s->measured_ms = clock_ms();
}

double measure_device_seconds(const struct session *s)
{
    const double told = (double)s->usage.device_ns / 1e9;
    const double most = (wall_seconds() - s->began) * s->device_count;

    return told < most ? told : most > 0 ? most : 0;
}
