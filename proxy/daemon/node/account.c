/*
 * Writes a line of JSON for every session that is over. The file is opened for each line, so that it may be renamed at
 * any time (logrotate); lines that cannot be written wait in memory. history.c reads the file. A session's record in
 * the state directory stays until its line is written, so that a daemon that is killed meanwhile loses none; the next
 * one looks whether the line is there.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proxy/daemon/node/internal.h"

#define MOST_UNWRITTEN 100000
#define TAIL (1 << 20) /* bytes at the end of the account among which a line is looked for */

const double account_durations[DURATIONS] = {1, 10, 60, 600, 3600, 6 * 3600, 24 * 3600, 7 * 24 * 3600};

/* How the session ended, as one word for tables and sums; the reason is a separate member. */
static const char *end_of(const struct session *s, int status)
{
    if (status < 0)
        return "lost";
    if (s->state == SESSION_ENDING)
        return "ended";
    return status ? "failed" : "completed";
}

/* Events also tell apart what is no end of the session: its devices are another's, or nobody's. */
static void tell_end(const struct session *s, int status)
{
    const char *end = s->suspended ? "suspended" : s->leaving && s->move ? "moved" : end_of(s, status);

    event_note_session(
        s, s->held ? "hold-end" : "session-end",
        message_pack("{s:s, s:s, s:f}", "end", end, "why", s->why, "seconds", wall_seconds() - s->began));
}

static json_t *record_of(const struct session *s, int status)
{
    const double now = wall_seconds(), joules = energy_review(s->daemon);
    json_t *devices = json_array(), *used = NULL;

    for (unsigned i = 0; i < s->device_count; i++)
        message_append(&devices, json_string(s->daemon->devices[s->devices[i]].name));
    if (joules >= 0 && s->joules_before >= 0)
        used = json_real(joules - s->joules_before);
    return message_pack("{s:s, s:s, s:s, s:I, s:s, s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:I, s:o, s:s, s:s, "
                        "s:s, s:o*, s:s*, s:O*}",
                        "session", s->of, "node", s->daemon->config->name, "user", s->user, "uid", (json_int_t)s->uid,
                        "program", s->program, "job", s->job, "from", s->from, "began", s->began, "ended", now,
                        "seconds", now - s->began, "device_seconds", measure_device_seconds(s), "cpu_seconds",
                        s->cpu_seconds, "launches", (json_int_t)s->usage.launches, "bytes_in",
                        (json_int_t)s->usage.bytes_in, "bytes_out", (json_int_t)s->usage.bytes_out, "devices", devices,
                        "end", end_of(s, status), "why", s->why, "part", s->id, "node_joules", used, "replaces",
                        *s->replaces ? s->replaces : NULL, "move", s->move);
}

/* Whether the last line is incomplete, because its daemon was lost or there was no room. */
static bool is_torn(int fd)
{
    const off_t length = lseek(fd, 0, SEEK_END);
    char last = '\n';

    return length > 0 && pread(fd, &last, 1, length - 1) == 1 && last != '\n';
}

/* Writes the whole line. Returns 0 or an errno. A line that cannot be completed is removed. */
static int write_line(int fd, const char *text)
{
    const off_t before = lseek(fd, 0, SEEK_END);
    char *line = NULL;
    const int length = asprintf(&line, "%s%s\n", is_torn(fd) ? "\n" : "", text);
    const ssize_t written = length > 0 ? write(fd, line, (size_t)length) : -1;
    int error = written == length ? 0 : written < 0 ? errno : ENOSPC;

    if (error && before >= 0 && ftruncate(fd, before))
        error = errno;
    free(line);
    return error;
}

static int append(const char *path, const char *text)
{
    int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
    int error = fd < 0 ? errno : write_line(fd, text);

    if (fd >= 0)
        close(fd);
    return error;
}

/* Writes the lines that wait: pairs of the session's name in the state directory and its text. */
void account_review(struct daemon *d)
{
    const char *path = d->config->accounting;
    int error = 0;

    while (*path && !error && json_array_size(d->unaccounted)) {
        const json_t *one = json_array_get(d->unaccounted, 0);

        error = append(path, json_string_value(json_array_get(one, 1)));
        if (error)
            break;
        state_remove(d, json_string_value(json_array_get(one, 0)));
        json_array_remove(d->unaccounted, 0);
    }
    if (error)
        daemon_log("error", "accounting: %s: %s; %zu records wait", path, strerror(error),
                   json_array_size(d->unaccounted));
}

bool account_has(const struct daemon *d, const char *id)
{
    int fd = open(d->config->accounting, O_RDONLY | O_CLOEXEC);
    const off_t length = fd < 0 ? 0 : lseek(fd, 0, SEEK_END), from = length > TAIL ? length - TAIL : 0;
    char *text = length > 0 ? malloc(TAIL) : NULL, member[128];
    const ssize_t got = text ? pread(fd, text, TAIL, from) : 0;
    bool found;

    snprintf(member, sizeof(member), "\"part\":\"%s\"", id);
    found = got > 0 && memmem(text, (size_t)got, member, strlen(member));
    free(text);
    if (fd >= 0)
        close(fd);
    return found;
}

static void count(struct daemon *d, double seconds)
{
    unsigned i = 0;

    while (i < DURATIONS && seconds > account_durations[i])
        i++;
    d->totals.lasted[i]++;
    d->totals.lasted_seconds += seconds;
}

void sessions_account(struct session *s, int status)
{
    struct daemon *d = s->daemon;
    json_t *record = record_of(s, status);
    char *text = json_dumps(record, JSON_COMPACT | JSON_PRESERVE_ORDER);
    const bool waits = text && *d->config->accounting && json_array_size(d->unaccounted) < MOST_UNWRITTEN;

    json_decref(record);
    tell_end(s, status);
    if (s->started)
        count(d, wall_seconds() - s->began);
    daemon_log("info", "session %s ends: user=%s seconds=%.1f device-seconds=%.3f cpu-seconds=%.2f launches=%llu%s%s",
               s->of, s->user, wall_seconds() - s->began, measure_device_seconds(s), s->cpu_seconds,
               (unsigned long long)s->usage.launches, *s->why ? ": " : "", s->why);
    if (!d->unaccounted)
        d->unaccounted = json_array();
    if (!waits || json_array_append_new(d->unaccounted, message_pack("[s, s]", s->id, text)))
        state_remove(d, s->id);
    free(text);
    account_review(d);
}
