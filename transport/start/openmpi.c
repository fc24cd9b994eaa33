/*
 * A session of Open MPI: its own mpiexec starts it, with a placeholder as rank 0, which sends the rank's environment to
 * this process.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"

#include "base/settings.h"
#include "transport/start/start.h"

#define SHARED "OMPI_MCA_btl_vader_backing_directory"

static void add_environment(const struct start *start, struct launch *launch)
{
    char token[2 * TOKEN_BYTES + 1];

    hex_show(start->token, TOKEN_BYTES, token);
    strings_add(&launch->environment, SESSION_LOCAL "=%s", start->local.text);
    launch_place(start, launch);
    if (start->remote.fd >= 0)
        return;
    strings_add(&launch->environment, SHARED "=/dev/shm/vocl-%.16s",
                token); /* Open MPI leaves its files behind when a rank is killed */
    /* Shared memory is enough here. Other transports would listen; and TCP, when the program closes its descriptors,
     * would wait for ever for mpiexec to report it. */
    if (!getenv("OMPI_MCA_btl"))
        strings_add(&launch->environment, "OMPI_MCA_btl=self,vader");
}

/* The name of this host for mpiexec: the address that workers connect to. mpiexec supports only IPv4. */
static void own_name(const struct start *start, char name[128])
{
    const char *port;

    if (address_split(start->remote.text + 4, name, 128, &port) || !strcmp(name, "::1"))
        strcpy(name, "127.0.0.1");
    else if (strchr(name, ':') && gethostname(name, 128))
        strcpy(name, "localhost");
    name[127] = '\0';
}

static void add_arguments(const struct start *start, struct strings *list)
{
    const char *folder = settings_string(SETTING_LIBEXECDIR), *mpiexec = settings_string(SETTING_MPIEXEC);
    char address[128];

    strings_add(list, "%s", *mpiexec ? mpiexec : VOCL_MPIEXEC_OPENMPI);
    strings_add(list, "--allow-run-as-root");
    strings_add(list, "--oversubscribe");
    strings_add(list, "--enable-recovery");
    strings_add(list, "--bind-to");
    strings_add(list, "none");
    if (start->remote.fd >= 0) {
        own_name(start, address);
        strings_add(list, "-host");
        strings_add(list, "%s,%s", address, settings_string(SETTING_HOSTS));
    }
    strings_add(list, "-n");
    strings_add(list, "1");
    strings_add(list, "%s/vocl-placeholder", folder);
    strings_add(list, ":");
    strings_add(list, "-n");
    strings_add(list, "%u", start->workers);
    strings_add(list, "%s/vocl-proxy", folder);
    strings_add(list, "--worker");
}

static int launch_mpiexec(struct start *start)
{
    struct launch launch = launch_new(start, "vocl-launcher", start->remote.fd < 0);

    add_arguments(start, &launch.arguments);
    add_environment(start, &launch);
    return launch_helper(start, &launch);
}

static const char **environment_list(const struct start *start, bool local)
{
    const char **list = calloc(start->environment_length + 8, sizeof(*list));
    size_t count = 0;

    if (!list)
        return NULL;
    for (const char *at = start->environment; at < start->environment + start->environment_length;
         at += strlen(at) + 1) {
        if (strchr(at, '='))
            list[count++] = at;
    }
    if (local && !getenv("UCX_TLS"))
        list[count++] = LAUNCH_UCX;
    return list;
}

int start_openmpi(struct start *start)
{
    const bool local = !*settings_string(SETTING_HOSTS);
    const char **environment = NULL;
    int error = endpoint_listen_unix(&start->local);

    start->wants_placeholder = true;
    if (error)
        start->local.fd = -1;
    if (!error && !local)
        error = hosts_listen(start, settings_string(SETTING_HOSTS));
    if (!error)
        error = launch_mpiexec(start);
    if (!error)
        error = enter_load(start);
    if (!error)
        error = rendezvous_open(start);
    if (!error) {
        environment = environment_list(start, local);
        error = environment ? enter_mpi(start, environment, -1, local && !getenv("UCX_TLS")) : -ENOMEM;
    }
    free(environment);
    return error ? error : enter_await(start);
}
