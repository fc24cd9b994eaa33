/*
 * A session of Open MPI: its own mpiexec starts it, with a placeholder as rank 0, which hands the rank's environment to
 * this process.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"

#include "base/settings.h"
#include "transport/start.h"

#define SHARED "OMPI_MCA_btl_vader_backing_directory"

static char **make_environment(const struct start *start)
{
    char token[2 * TOKEN_BYTES + 1], **list = launch_environment(start, start->remote.fd < 0);

    hex_show(start->token, TOKEN_BYTES, token);
    list_add(&list, SESSION_LOCAL "=%s", start->local.text);
    launch_place(start, &list);
    if (start->remote.fd >= 0)
        return list;
    list_add(&list, SHARED "=/dev/shm/vocl-%.16s", token); /* it leaves its files behind when a rank is killed */
    /* Memory is enough here. What else there is would listen; and TCP, when the program closes its descriptors, would
       wait for ever for mpiexec to say so. */
    if (!getenv("OMPI_MCA_btl"))
        list_add(&list, "OMPI_MCA_btl=self,vader");
    return list;
}

/* What mpiexec calls this host: the address that workers come to; it knows IPv4 alone. */
static void own_name(const struct start *start, char name[128])
{
    const char *port;

    if (address_split(start->remote.text + 4, name, 128, &port) || !strcmp(name, "::1"))
        strcpy(name, "127.0.0.1");
    else if (strchr(name, ':') && gethostname(name, 128))
        strcpy(name, "localhost");
    name[127] = '\0';
}

static char **make_arguments(const struct start *start)
{
    const char *folder = settings_string(SETTING_LIBEXECDIR), *mpiexec = settings_string(SETTING_MPIEXEC);
    char **list = NULL, address[128];

    list_add(&list, "%s/vocl-launcher", folder);
    list_add(&list, "%s", *mpiexec ? mpiexec : VOCL_MPIEXEC_OPENMPI);
    list_add(&list, "--allow-run-as-root");
    list_add(&list, "--oversubscribe");
    list_add(&list, "--enable-recovery");
    list_add(&list, "--bind-to");
    list_add(&list, "none");
    if (start->remote.fd >= 0) {
        own_name(start, address);
        list_add(&list, "-host");
        list_add(&list, "%s,%s", address, settings_string(SETTING_HOSTS));
    }
    list_add(&list, "-n");
    list_add(&list, "1");
    list_add(&list, "%s/vocl-placeholder", folder);
    list_add(&list, ":");
    list_add(&list, "-n");
    list_add(&list, "%u", start->workers);
    list_add(&list, "%s/vocl-proxy", folder);
    list_add(&list, "--worker");
    return list;
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
        error = launch_helper(start, make_arguments(start), make_environment(start));
    if (!error)
        error = enter_load(start);
    if (!error)
        error = gather_workers(start);
    if (!error) {
        environment = environment_list(start, local);
        error = environment ? enter_mpi(start, environment, -1, local && !getenv("UCX_TLS")) : -ENOMEM;
    }
    free(environment);
    return error ? error : gather_ranks(start);
}
