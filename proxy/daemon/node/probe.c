/*
 * Finds this node's devices in a short-lived process of its own, because a native OpenCL may crash, hang, or not
 * release what it has opened.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process.h"
#include "base/settings.h"
#include "base/text.h"
#include "base/variable.h"
#include "proxy/daemon/node/internal.h"

#define PROBE_MS 30000
#define TRIES 3 /* the process may have been killed */

#define MOST_TREE (64 << 10) /* bytes of text that other nodes are sent */

static int read_tree(struct daemon *d, const char *line)
{
    const size_t length = d->tree ? strlen(d->tree) : 0;
    char *more = length + strlen(line) + 2 > MOST_TREE ? NULL : realloc(d->tree, length + strlen(line) + 2);

    if (!more) {
        daemon_log("warning", "the PCIe tree is too large to send");
        free(d->tree);
        d->tree = NULL;
        return 1;
    }
    d->tree = more;
    sprintf(more + length, "%s\n", line);
    return 0;
}

static int read_line(struct daemon *d, char *line)
{
    struct device *device = &d->devices[d->device_count];
    unsigned long long memory;
    int at = 0;

    if (d->device_count == MOST_DEVICES)
        return 0;
    memset(device, 0, sizeof(*device));
    if (sscanf(line, "%u %15s %u %llu %d %n", &device->index, device->type, &device->units, &memory, &device->leaf,
               &at) != 5 ||
        !at || device->index != d->device_count)
        return -EBADMSG;
    device->memory = memory;
    text_visible(line + at, device->name, sizeof(device->name)); /* drivers may put anything there */
    d->device_count++;
    return 0;
}

/* Removes empty variables, as for workers. */
static void drop_empty(void)
{
    char **to = environ;

    for (char **at = environ; *at; at++) {
        if (variable_has_value(*at))
            *to++ = *at;
    }
    *to = NULL;
}

static pid_t start(struct daemon *d, int output)
{
    const char *folder = settings_string(SETTING_LIBEXECDIR);
    char path[4096];
    pid_t pid;

    snprintf(path, sizeof(path), "%s/vocl-proxy", folder);
    pid = process_fork(SIGKILL);
    if (pid)
        return pid;
    dup2(output, 1);
    close_range(3, ~0u, 0);
    for (char **at = d->config->environment; *at; at++)
        putenv(*at);
    drop_empty();
    execl(path, path, "--probe", NULL);
    _exit(127);
}

/* Reads the whole output, with a time limit. */
static int read_output(int fd, char *text, size_t size, size_t *length)
{
    const long until = clock_ms() + PROBE_MS;

    for (*length = 0; *length + 1 < size;) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        const long left = until - clock_ms();
        ssize_t got;

        if (poll(&ready, 1, left > 0 ? (int)left : 0) <= 0)
            return -ETIMEDOUT;
        got = read(fd, text + *length, size - *length - 1);
        if (got < 0)
            return -errno;
        if (!got)
            break;
        *length += (size_t)got;
    }
    text[*length] = '\0';
    return 0;
}

struct topology *tree_of_text(const char *text, const char *node)
{
    FILE *file = *text ? fmemopen((void *)(uintptr_t)text, strlen(text), "r") : NULL;
    struct topology *tree = NULL;
    char why[256];

    if (!file)
        return NULL;
    if (topology_parse(file, node, &tree, why, sizeof(why))) {
        daemon_log("warning", "a PCIe tree: %s", why);
        tree = NULL;
    }
    fclose(file);
    return tree;
}

static int probe_once(struct daemon *d, char *why, size_t why_size)
{
    static char text[MOST_DEVICES * 256 + 2 * MOST_TREE];
    bool whole = true;
    int output[2], status = 0, error;
    size_t length;
    pid_t pid;

    d->device_count = 0;
    free(d->tree);
    d->tree = NULL;
    if (pipe(output))
        return -errno;
    pid = start(d, output[1]);
    close(output[1]);
    error = pid < 0 ? -errno : read_output(output[0], text, sizeof(text), &length);
    close(output[0]);
    if (error && pid > 0)
        kill(pid, SIGKILL);
    if (pid > 0)
        waitpid(pid, &status, 0);
    if (!error && status)
        error = -EIO;
    for (char *save = NULL, *line = strtok_r(text, "\n", &save); !error && line; line = strtok_r(NULL, "\n", &save)) {
        if (!strncmp(line, "loader ", 7) || !strncmp(line, "driver ", 7))
            continue; /* for vocl doctor */
        if (strncmp(line, "tree ", 5))
            error = read_line(d, line);
        else if (whole)
            whole = !read_tree(d, line + 5);
    }
    free(d->known_tree);
    d->known_tree = d->tree ? tree_of_text(d->tree, d->config->name) : NULL;
    if (error)
        text_print(why, why_size, "asking for this node's devices: %s",
                   WIFSIGNALED(status) && error == -EIO ? "the native OpenCL crashed" : strerror(-error));
    return error;
}

int probe_devices(struct daemon *d, char *why, size_t why_size)
{
    int error = -EIO;

    d->devices = calloc(MOST_DEVICES, sizeof(*d->devices));
    if (!d->devices)
        return -ENOMEM;
    for (int tries = 0; error && tries < TRIES; tries++) {
        error = probe_once(d, why, why_size);
        if (error)
            daemon_log("warning", "%s", why);
    }
    return error;
}
