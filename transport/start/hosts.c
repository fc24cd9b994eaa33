/*
 * A session with a worker on each of several hosts. vocl-launcher starts them by ssh, or the user's replacement, and
 * that connection carries their settings and PMI. They connect to the program's own address. Over TLS, workers that
 * cannot connect there, or must not, have the ssh connection carry theirs to the program, too.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/settings.h"
#include "transport/start/start.h"

int hosts_listen(struct start *start, const char *hosts)
{
    char address[256];
    int error = endpoint_own_address(hosts, address, sizeof(address));

    if (!error)
        error = endpoint_listen_tcp(&start->remote, address);
    if (!error && !start->tls)
        network_bind(address, start->devices, sizeof(start->devices));
    if (error) {
        start->remote.fd = -1;
        snprintf(start->why, start->why_size, "no address to reach %s from (VOCL_ADDRESS, VOCL_PORTS): %s", hosts,
                 address_error(error));
    }
    return error;
}

/* Listens; failure does no harm if the starter of the workers can carry their connections. */
static int listen_or_not(struct start *start)
{
    const char *hosts = settings_string(SETTING_HOSTS);
    int error = start->tls && network_is_ssh() ? -EPERM : hosts_listen(start, hosts);

    if (!error || error == -ADDRESS_PORTS || !start->tls || (*settings_string(SETTING_ADDRESS) && !network_is_ssh()))
        return error;
    if (*start->why)
        vocl_log(LOG_INFO, "%s", start->why);
    *start->why = '\0';
    strcpy(start->remote.text, TUNNEL_ENDPOINT);
    return 0;
}

static int launch_workers(struct start *start)
{
    struct launch launch = launch_new(start, "vocl-launcher", false);

    launch_place(start, &launch);
    strings_add(&launch.arguments, "--hosts");
    strings_add(&launch.arguments, "%s", settings_string(SETTING_HOSTS));
    return launch_helper(start, &launch);
}

int start_hosts(struct start *start)
{
    int pmi = -1, error = listen_or_not(start);

    start->job->started = STARTED_THERE;
    if (!start->tls)
        launch_keep_key(start);
    if (!error)
        error = launch_workers(start);
    if (!error && !start->tls)
        error = enter_load(start);
    if (!error)
        error = launch_receive(start, start->tls ? &start->tunnel : &pmi, 1);
    if (!error)
        return enter_session(start, start->tls ? -1 : pmi, false);
    if (pmi >= 0)
        close(pmi);
    return error;
}
