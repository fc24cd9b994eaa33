/*
 * Why the node takes no new sessions: its drains. Each has an owner, and only that owner lifts it. So a resource
 * manager's drain for a job and an administrator's for a repair are independent. They are recorded in one file of the
 * state directory.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "proxy/daemon/node/internal.h"

#define FILE_NAME "drains"
#define MOST_DRAINS 32

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

int drain_add(struct daemon *d, const char *owner, const char *by, const char *reason, char *why, size_t why_size)
{
    json_t *list = without(d->drains, owner);

    if (json_array_size(list) >= MOST_DRAINS) {
        text_print(why, why_size, "the node already has %d drains", MOST_DRAINS);
        json_decref(list);
        return -ENOSPC;
    }
    message_append(&list, message_pack("{s:s, s:s, s:s, s:f}", "owner", owner, "by", by, "reason", reason, "since",
                                       wall_seconds()));
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
    return json_array_size(d->drains) > 0;
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

        length = strlen(text);
        text_print(text + length, sizeof(text) - length, "%s%s%s%s", i ? "; " : "", message_text(drain, "owner", ""),
                   *reason ? ": " : "", reason);
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
