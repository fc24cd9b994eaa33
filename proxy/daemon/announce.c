/* Starts and ends the process that announces this daemon in the local network (proxy/announce/). */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/settings.h"
#include "proxy/daemon/internal.h"
#include "proxy/daemon/net/child.h"

static struct child *announcer;
static char announced[160]; /* the address */

static void announce_path(char *path, size_t size)
{
    snprintf(path, size, "%s/vocl-announce", settings_string(SETTING_LIBEXECDIR));
}

bool announce_is_built(void)
{
    char path[4096];

    announce_path(path, sizeof(path));
    return !access(path, X_OK);
}

/* The pool file says how others reach this daemon, which may listen at all addresses. */
static const char *own_address(const struct daemon *d)
{
    for (unsigned i = 0; i < d->pool.count; i++) {
        if (!strcmp(d->pool.nodes[i].name, d->config->name))
            return d->pool.nodes[i].address;
    }
    return d->address;
}

static void become_announcer(const void *argument)
{
    const struct daemon *d = argument;
    char path[4096], devices[16];

    announce_path(path, sizeof(path));
    snprintf(devices, sizeof(devices), "%u", d->device_count);
    execl(path, "vocl-announce", d->config->name, announced, d->config->method, devices, (char *)NULL);
}

static void announcer_over(struct child *child, int status)
{
    if (child != announcer)
        return;
    announcer = NULL;
    daemon_log("warning", "vocl-announce has ended, status %d: this daemon is not announced any more", status);
}

void announce_review(struct daemon *d)
{
    struct child *old = announcer;

    if (old && (!d->config->announce || strcmp(announced, own_address(d)) != 0)) {
        announcer = NULL;
        child_kill(old);
    }
    if (!d->config->announce || announcer || !announce_is_built())
        return;
    snprintf(announced, sizeof(announced), "%s", own_address(d));
    announcer = child_fork(d, become_announcer, d, announcer_over);
}
