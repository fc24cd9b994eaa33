/* A session on the devices of a pool: vocl-join requests them, and the daemons start the workers. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/settings.h"
#include "transport/start/start.h"

#define ANSWER_MS 30000 /* the longest silence of vocl-join, unless the request waits */

static bool refused; /* the program goes on without devices: when it looks again, it does not wait for them */

bool pool_wanted(void)
{
    const char *pool = settings_string(SETTING_POOL);

    if (!strcmp(pool, "none") || *settings_string(SETTING_HOSTS) || *settings_string(SETTING_WORKERS) ||
        settings_number(SETTING_LOCAL))
        return false;
    return *pool || !access(SETTINGS_POOL_FILE, R_OK);
}

static void show_queue(const char *line)
{
    const bool asked_for = settings_number(SETTING_POOL_WAIT) != 0;
    unsigned position = 0;
    int at = 0;

    sscanf(line, "queued %u %n", &position, &at);
    if (asked_for) /* a user who chose to wait is told for what */
        dprintf(STDERR_FILENO, "vocl: waiting for devices, position %u: %s\n", position, line + at);
    else
        vocl_log(LOG_INFO, "waiting for devices, position %u: %s", position, line + at);
}

/* Waits until the devices are granted. */
static int wait_for_devices(struct start *start, char *line, size_t size)
{
    const long most = ANSWER_MS + settings_number(SETTING_POOL_WAIT) * 1000, until = clock_ms() + most;

    for (;;) {
        int error = launch_line(start->job->control_socket, line, size, until - clock_ms());

        if (error) {
            snprintf(start->why, start->why_size, "vocl-join: %s", strerror(-error));
            return error;
        }
        if (!strncmp(line, "granted ", 8))
            return 0;
        if (!strncmp(line, "failed ", 7)) {
            snprintf(start->why, start->why_size, "the pool: %s", line + 7);
            refused = true;
            return -ENODEV;
        }
        if (!strncmp(line, "queued ", 7))
            show_queue(line);
    }
}

static int get_devices(struct start *start)
{
    struct launch launch = launch_new(start, "vocl-join", false);
    char line[1024], address[160], host[128], network[8];
    const char *port;
    int error;

    strings_add(&launch.environment, "VOCL_POOL_PROGRAM=%s", program_invocation_short_name);
    if (refused)
        strings_add(&launch.environment, "VOCL_POOL_NOW=1");
    error = launch_helper(start, &launch);
    if (!error)
        error = wait_for_devices(start, line, sizeof(line));
    if (error)
        return error;
    if (sscanf(line, "granted %u %159s %7s", &start->workers, address, network) != 3 || !start->workers ||
        start->workers > MAX_WORKERS || address_split(address, host, sizeof(host), &port))
        return -EPROTO;
    snprintf(start->job->place, sizeof(start->job->place), "%s", host);
    error = network_choose(true, network, &start->tls, start->why, start->why_size);
    if (!error && start->tls)
        error = enter_tls_load(start);
    if (error)
        return error;
    if (!start->tls && strcmp(start->mpi, "mpich")) {
        snprintf(start->why, start->why_size, "sessions of a pool over MPI need MPICH");
        return -ENOTSUP;
    }
    start->job->members = calloc(start->workers, sizeof(*start->job->members));
    return start->job->members ? hosts_listen(start, host) : -ENOMEM;
}

/* Tells the daemons where their workers connect. */
static int tell_place(struct start *start)
{
    char line[384], secret[2 * SECRET_BYTES + 1], token[2 * TOKEN_BYTES + 2] = "";

    hex_show(start->secret, SECRET_BYTES, secret);
    if (!start->tls) {
        *token = ' ';
        hex_show(start->token, TOKEN_BYTES, token + 1);
    }
    snprintf(line, sizeof(line), "session %s %s%s\n", start->remote.text, secret, token);
    return socket_write_all(start->job->control_socket, line, strlen(line));
}

int start_pool(struct start *start)
{
    int pmi = -1, error = get_devices(start);

    if (!error)
        vocl_log_stage("devices granted by the pool");
    start->until = clock_ms() + settings_number(SETTING_START_TIMEOUT) * 1000; /* the wait for devices does not count */
    if (!error)
        error = tell_place(start);
    start->job->started = STARTED_POOL;
    if (!start->tls)
        launch_keep_key(start);
    if (!error && !start->tls)
        error = enter_load(start);
    if (!error && !start->tls)
        error = launch_receive(start, &pmi, 1);
    return error ? error : enter_session(start, pmi, false);
}
