/*
 * Why the node takes no new sessions: its drains. Each has an owner, and only that owner lifts it. So a resource
 * manager's drain for a job and an administrator's for a repair are independent. They are recorded in one file of the
 * state directory. A drain may be for a window of time. If sessions have a time limit, it begins so early that those
 * which begin before it are over.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "proxy/daemon/node/internal.h"

#define FILE_NAME "drains"
#define MOST_DRAINS 32

static double time_of(const json_t *drain, const char *name)
{
    return json_number_value(json_object_get(drain, name));
}

static bool holds(const struct daemon *d, const json_t *drain)
{
    return wall_seconds() >= time_of(drain, "from") - d->config->session_seconds;
}

static bool is_over(const json_t *drain)
{
    return time_of(drain, "until") > 0 && wall_seconds() >= time_of(drain, "until");
}

/* Returns a new list, without the drain of this owner. */
static json_t *without(const json_t *drains, const char *owner)
{
    json_t *list = json_array(), *drain;
    size_t i;

    json_array_foreach(drains, i, drain)
    {
        if (strcmp(message_text(drain, "owner", ""), owner))
            message_append(&list, json_incref(drain));
    }
    return list;
}

static int change(struct daemon *d, json_t *list, char *why, size_t why_size)
{
    int error = list ? state_write(d, FILE_NAME, list) : -ENOMEM;

    if (error) {
        text_print(why, why_size, "it cannot be recorded: %s", strerror(-error));
        json_decref(list);
        return error;
    }
    json_decref(d->drains);
    d->drains = list;
    daemon_changed(d);
    return 0;
}

int drain_add(struct daemon *d, const char *owner, const char *by, const char *reason, double from, double until,
              char *why, size_t why_size)
{
    json_t *list = without(d->drains, owner), *drain;

    if (json_array_size(list) >= MOST_DRAINS) {
        text_print(why, why_size, "the node already has %d drains", MOST_DRAINS);
        json_decref(list);
        return -ENOSPC;
    }
    drain = message_pack("{s:s, s:s, s:s, s:f}", "owner", owner, "by", by, "reason", reason, "since", wall_seconds());
    if (from > 0)
        message_set(&drain, "from", json_real(from));
    if (until > 0)
        message_set(&drain, "until", json_real(until));
    message_append(&list, drain);
    return change(d, list, why, why_size);
}

int drain_lift(struct daemon *d, const char *owner, char *why, size_t why_size)
{
    json_t *list = without(d->drains, owner);

    if (json_array_size(list) == json_array_size(d->drains)) {
        const char *other = message_text(json_array_get(d->drains, 0), "owner", "");

        json_decref(list);
        if (!*other)
            return 0; /* it is not drained at all */
        text_print(why, why_size, "the node is not drained by %s, but by %s", owner, other);
        return -EPERM;
    }
    return change(d, list, why, why_size);
}

bool is_draining(const struct daemon *d)
{
    const json_t *drain;
    size_t i;

    json_array_foreach(d->drains, i, drain)
    {
        if (holds(d, drain) && !is_over(drain))
            return true;
    }
    return false;
}

void drain_review(struct daemon *d)
{
    json_t *list = NULL, *drain;
    char why[256];
    size_t i;

    json_array_foreach(d->drains, i, drain)
    {
        const char *owner = message_text(drain, "owner", "");

        if (!is_over(drain))
            continue;
        daemon_log("notice", "the time of %s's drain is over", owner);
        event_note(d, "node-resume", NULL,
                   message_pack("{s:s, s:s, s:s, s:b}", "owner", owner, "by", "", "reason",
                                message_text(drain, "reason", ""), "draining", json_array_size(d->drains) > 1));
        list = without(d->drains, owner);
        break; /* another one the next time */
    }
    if (list && change(d, list, why, sizeof(why)))
        daemon_log("error", "the end of a drain: %s", why);
}

/* " from 2026-11-30 08:00 until 2026-11-30 12:00" */
static void tell_window(const json_t *drain, char *text, size_t size)
{
    static const char *const names[] = {"from", "until"};
    size_t length = 0;
    struct tm local;

    *text = '\0';
    for (size_t i = 0; i < 2; i++) {
        const time_t when = (time_t)time_of(drain, names[i]);
        char shown[32];

        if (when <= 0 || !localtime_r(&when, &local) || !strftime(shown, sizeof(shown), "%Y-%m-%d %H:%M", &local))
            continue;
        length += (size_t)snprintf(text + length, size - length, " %s %s", names[i], shown);
    }
}

const char *drain_describe(const struct daemon *d)
{
    static char text[512];
    const json_t *drain;
    size_t i, length;

    *text = '\0';
    json_array_foreach(d->drains, i, drain)
    {
        const char *reason = message_text(drain, "reason", "");
        char window[80];

        length = strlen(text);
        tell_window(drain, window, sizeof(window));
        text_print(text + length, sizeof(text) - length, "%s%s%s%s%s", i ? "; " : "", message_text(drain, "owner", ""),
                   *reason ? ": " : "", reason, window);
    }
    return text;
}

void drain_open(struct daemon *d)
{
    char path[4096];

    state_path(d, FILE_NAME, path, sizeof(path));
    json_decref(d->drains);
    d->drains = json_load_file(path, 0, NULL);
    if (!json_is_array(d->drains)) {
        json_decref(d->drains);
        d->drains = json_array();
    }
    if (is_draining(d))
        daemon_log("notice", "still drained by %s", drain_describe(d));
}
