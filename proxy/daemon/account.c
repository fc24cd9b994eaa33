/* A line of JSON for every session that is over. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proxy/daemon/daemon.h"

void sessions_account(struct session *s)
{
    const char *path = s->daemon->config->accounting;
    json_t *devices = json_array(), *record;
    char *text;
    int fd;

    for (unsigned i = 0; i < s->device_count; i++)
        json_array_append_new(devices, json_string(s->daemon->devices[s->devices[i]].name));
    record = json_pack("{s:s, s:s, s:s, s:i, s:s, s:s, s:f, s:f, s:f, s:f, s:I, s:I, s:I, s:o, s:s}", "session", s->of,
                       "node", s->daemon->config->name, "user", s->user, "uid", (int)s->uid, "program", s->program,
                       "from", s->from, "began", s->began, "seconds", wall_seconds() - s->began, "device_seconds",
                       measure_device_seconds(s), "cpu_seconds", s->cpu_seconds, "launches",
                       (json_int_t)s->usage.launches, "bytes_in", (json_int_t)s->usage.bytes_in, "bytes_out",
                       (json_int_t)s->usage.bytes_out, "devices", devices, "why", s->why);
    json_object_set_new(record, "part", json_string(s->id));
    if (*s->replaces)
        json_object_set_new(record, "replaces", json_string(s->replaces));
    if (s->move)
        json_object_set(record, "move", s->move);
    text = json_dumps(record, JSON_COMPACT | JSON_PRESERVE_ORDER);
    json_decref(record);
    if (!text)
        return;
    daemon_log("info", "session %s ends: user=%s seconds=%.1f device-seconds=%.3f cpu-seconds=%.2f launches=%llu%s%s",
               s->of, s->user, wall_seconds() - s->began, measure_device_seconds(s), s->cpu_seconds,
               (unsigned long long)s->usage.launches, *s->why ? ": " : "", s->why);
    fd = *path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640) : -1;
    if (*path && (fd < 0 || dprintf(fd, "%s\n", text) < 0))
        daemon_log("error", "%s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    free(text);
}
