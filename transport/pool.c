/* A session on the devices of a pool: vocl-join gets them, and the daemons start the workers. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/settings.h"
#include "transport/internal.h"

#define ANSWER_MS 30000 /* it says something at least so often, unless the request waits */

bool pool_wanted(void)
{
    const char *pool = settings_string(SETTING_POOL);

    if (!strcmp(pool, "none") || *settings_string(SETTING_HOSTS) || *settings_string(SETTING_WORKERS) ||
        settings_number(SETTING_LOCAL))
        return false;
    return *pool || !access(SETTINGS_POOL_FILE, R_OK);
}

/* A line that vocl-join says; -ETIMEDOUT after so long. */
static int read_line(int fd, char *line, size_t size, long milliseconds)
{
    const long until = clock_ms() + milliseconds;
    size_t length = 0;

    while (length + 1 < size) {
        int error = socket_read_all(fd, line + length, 1, until - clock_ms());

        if (error)
            return error;
        if (line[length] == '\n')
            break;
        length++;
    }
    line[length] = '\0';
    return 0;
}

static void show_queue(const char *line)
{
    const bool asked_for = settings_number(SETTING_POOL_WAIT) != 0;
    unsigned position = 0;
    int at = 0;

    sscanf(line, "queued %u %n", &position, &at);
    if (asked_for) /* who said that he would wait wants to know for what */
        dprintf(STDERR_FILENO, "vocl: waiting for devices, position %u: %s\n", position, line + at);
    else
        vocl_log(LOG_INFO, "waiting for devices, position %u: %s", position, line + at);
}

/* Until the devices are granted. */
static int wait_for_devices(int join, char *line, size_t size, char *why, size_t why_size)
{
    const long most = ANSWER_MS + settings_number(SETTING_POOL_WAIT) * 1000, until = clock_ms() + most;

    for (;;) {
        int error = read_line(join, line, size, until - clock_ms());

        if (error) {
            snprintf(why, why_size, "vocl-join: %s", strerror(-error));
            return error;
        }
        if (!strncmp(line, "granted ", 8))
            return 0;
        if (!strncmp(line, "failed ", 7)) {
            snprintf(why, why_size, "the pool: %s", line + 7);
            return -ENODEV;
        }
        if (!strncmp(line, "queued ", 7))
            show_queue(line);
    }
}

int pool_join(struct setup *setup, int *join, char *why, size_t why_size)
{
    char line[1024], address[160], host[128], own[256], network[8], secret[2 * SECRET_BYTES + 1];
    const char *port;
    int error;

    error = launch_join(setup, join);
    if (error) {
        snprintf(why, why_size, "%s/vocl-join: %s", settings_string(SETTING_LIBEXECDIR), strerror(-error));
        return error;
    }
    error = wait_for_devices(*join, line, sizeof(line), why, why_size);
    if (error)
        return error;
    if (sscanf(line, "granted %u %159s %127s %7s", &setup->workers, address, setup->stand_in, network) != 4 ||
        !setup->workers || setup->workers > 64)
        return -EPROTO;
    error = network_choose(true, network, &setup->tls, why, why_size);
    if (error)
        return error;
    if (!setup->tls && strcmp(settings_string(SETTING_MPI), "mpich")) {
        snprintf(why, why_size, "sessions of a pool over MPI need MPICH");
        return -ENOTSUP;
    }
    error = address_split(address, host, sizeof(host), &port);
    if (!error)
        error = endpoint_own_address(host, own, sizeof(own));
    if (!error)
        error = endpoint_listen_tcp(&setup->remote, own);
    if (error) {
        setup->remote.fd = -1;
        snprintf(why, why_size, "no address to reach %s from (VOCL_ADDRESS): %s", address, address_error(error));
        return error;
    }
    hex_show(setup->tls ? setup->secret : setup->token, setup->tls ? SECRET_BYTES : TOKEN_BYTES, secret);
    snprintf(line, sizeof(line), "session %s %s\n", setup->remote.text, secret);
    return socket_write_all(*join, line, strlen(line));
}

void pool_hear(int join, char *why, size_t why_size)
{
    char line[1024];
    struct pollfd ready = {join, POLLIN, 0};

    *why = '\0';
    while (poll(&ready, 1, 0) > 0 && !read_line(join, line, sizeof(line), 100)) {
        const char *space = strncmp(line, "ended ", 6) ? NULL : strchr(line + 6, ' ');

        if (!strncmp(line, "failed ", 7))
            snprintf(why, why_size, "%s", line + 7);
        else if (space)
            snprintf(why, why_size, "%s", space + 1);
    }
}
