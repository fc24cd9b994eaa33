/* What a session's processes are started with: vocl-launcher, which runs mpiexec, which starts the others. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config.h"

#include "base/log.h"
#include "base/settings.h"
#include "transport/internal.h"

#define OPENMPI_SHARED "OMPI_MCA_btl_vader_backing_directory"

extern char **environ;

static bool starts(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

/* An enclosing MPI job's variables would make mpiexec and the workers believe they belong to it. */
static bool left_out(const char *variable)
{
    static const char *const prefixes[] = {"PMI_",
                                           "PMIX_",
                                           "OMPI_",
                                           "HYDI_",
                                           "MPI_LOCAL",
                                           "PRTE_",
                                           "ORTE_",
                                           "LD_PRELOAD=",
                                           "OCL_ICD_VENDORS=",
                                           "OPENCL_LAYERS=",
                                           "VOCL_SESSION_",
                                           "VOCL_MPI=",
                                           "VOCL_LOG=",
                                           "MPIR_CVAR_NOLOCAL=",
                                           "UCX_HANDLE_ERRORS="};

    for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
        if (starts(variable, prefixes[i]))
            return !starts(variable, "OMPI_MCA_");
    }
    return false;
}

__attribute__((format(printf, 2, 3))) static bool add(char ***list, const char *format, ...)
{
    size_t count = 0;
    char **longer, *text;
    va_list arguments;
    int length;

    while (*list && (*list)[count])
        count++;
    va_start(arguments, format);
    length = vasprintf(&text, format, arguments);
    va_end(arguments);
    longer = length < 0 ? NULL : realloc(*list, (count + 2) * sizeof(*longer));
    if (!longer)
        return false;
    longer[count] = text;
    longer[count + 1] = NULL;
    *list = longer;
    return true;
}

static void free_list(char **list)
{
    for (size_t i = 0; list && list[i]; i++)
        free(list[i]);
    free(list);
}

/* LD_PRELOAD without this library. */
static void add_preload(char ***list)
{
    const char *value = getenv("LD_PRELOAD");
    char *copy, *kept, *save;

    if (!value || !(copy = strdup(value)))
        return;
    kept = calloc(1, strlen(value) + 2);
    for (char *word = strtok_r(copy, ": ", &save); kept && word; word = strtok_r(NULL, ": ", &save)) {
        if (strstr(word, "libvocl.so"))
            continue;
        if (*kept)
            strcat(kept, ":");
        strcat(kept, word);
    }
    if (kept && *kept)
        add(list, "LD_PRELOAD=%s", kept);
    free(kept);
    free(copy);
}

const char *launch_ucx(const struct setup *setup)
{
    return setup->remote.fd >= 0 || getenv("UCX_TLS") ? NULL : "UCX_TLS=posix,sysv,cma,self";
}

static char **make_environment(const struct setup *setup, const char *mpi)
{
    const char *vendors = getenv("VOCL_NATIVE_ICD_VENDORS"), *given = getenv("OCL_ICD_VENDORS");
    const char *ucx = launch_ucx(setup);
    char token[2 * TOKEN_BYTES + 1], secret[2 * SECRET_BYTES + 1], **list = NULL;

    for (char **at = environ; *at; at++) {
        if (!left_out(*at))
            add(&list, "%s", *at);
    }
    add_preload(&list);
    if (vendors && *vendors)
        add(&list, "OCL_ICD_VENDORS=%s", vendors);
    else if (!vendors && given)
        add(&list, "OCL_ICD_VENDORS=%s", given);
    token_show(setup->token, token);
    add(&list, "VOCL_LOG=%s", vocl_log_level());
    add(&list, "VOCL_MPI=%s", mpi); /* not always the one that was asked for: see load_plugin() */
    hex_show(setup->secret, SECRET_BYTES, secret);
    if (setup->tls)
        add(&list, "VOCL_SESSION_SECRET=%s", secret);
    else
        add(&list, "VOCL_SESSION_TOKEN=%s", token);
    if (!strcmp(mpi, "openmpi") && setup->remote.fd < 0) /* it leaves its files behind when a rank is killed */
        add(&list, OPENMPI_SHARED "=/dev/shm/vocl-%.16s", token);
    add(&list, "VOCL_SESSION_LOCAL=%s", setup->local.text);
    add(&list, "VOCL_SESSION_ENDPOINT=%s", setup->remote.fd >= 0 ? setup->remote.text : setup->local.text);
    add(&list, "UCX_HANDLE_ERRORS=none");
    if (!getenv("UCX_LOG_LEVEL"))
        add(&list, "UCX_LOG_LEVEL=error");
    add(&list, "MPIR_CVAR_NOLOCAL=1");
    if (ucx)
        add(&list, "%s", ucx);
    return list;
}

/* What mpiexec calls this host: the address that workers come to; it knows IPv4 alone. */
static void own_name(const struct setup *setup, char name[128])
{
    const char *port;

    if (address_split(setup->remote.text + 4, name, 128, &port) || !strcmp(name, "::1"))
        strcpy(name, "127.0.0.1");
    else if (strchr(name, ':') && gethostname(name, 128))
        strcpy(name, "localhost");
    name[127] = '\0';
}

/* All ranks are placeholders on this host; the workers' daemons get what these get. */
static void add_stand_ins(char ***list, const struct setup *setup, const char *folder)
{
    char address[128];

    own_name(setup, address);
    add(list, "-localhost");
    add(list, "%s", address);
    add(list, "-hosts");
    add(list, "%s", address);
    add(list, "-n");
    add(list, "1");
    add(list, "%s/vocl-placeholder", folder);
    add(list, ":");
    add(list, "-n");
    add(list, "%u", setup->workers);
    add(list, "-env");
    add(list, "VOCL_SESSION_LOCAL");
    add(list, "%s", setup->stand_in);
    add(list, "%s/vocl-placeholder", folder);
}

static char **make_arguments(const struct setup *setup, const char *mpi)
{
    const char *folder = settings_string(SETTING_LIBEXECDIR), *mpiexec = settings_string(SETTING_MPIEXEC);
    bool openmpi = !strcmp(mpi, "openmpi");
    char **list = NULL;

    if (!*mpiexec)
        mpiexec = openmpi ? VOCL_MPIEXEC_OPENMPI : VOCL_MPIEXEC_MPICH;
    add(&list, "%s/vocl-launcher", folder);
    add(&list, "%s", mpiexec);
    if (openmpi) {
        add(&list, "--allow-run-as-root");
        add(&list, "--oversubscribe");
        add(&list, "--enable-recovery");
        add(&list, "--bind-to");
        add(&list, "none");
    } else {
        add(&list, "-disable-auto-cleanup"); /* the loss of one worker is not that of the others */
        if (!setup->tls)
            add(&list, "-pmi-port");
        add(&list, "-bind-to");
        add(&list, "none");
    }
    if (*setup->stand_in && !openmpi) {
        add_stand_ins(&list, setup, folder);
        return list;
    }
    if (setup->remote.fd >= 0) {
        char address[128];

        own_name(setup, address);
        if (openmpi) {
            add(&list, "-host");
            add(&list, "%s%s%s", setup->tls ? "" : address, setup->tls ? "" : ",", setup->hosts);
        } else {
            add(&list, "-localhost");
            add(&list, "%s", address);
            add(&list, "-hosts");
            add(&list, "%s%s%s", setup->tls ? "" : address, setup->tls ? "" : ",", setup->hosts);
            add(&list, "-ppn");
            add(&list, "1");
        }
    }
    if (!setup->tls) {
        add(&list, "-n");
        add(&list, "1");
        add(&list, "%s/vocl-placeholder", folder);
        add(&list, ":");
    }
    add(&list, "-n");
    add(&list, "%u", setup->workers);
    add(&list, "%s/vocl-proxy", folder);
    add(&list, "--worker");
    return list;
}

static int launch(char **arguments, char **environment, int *lifeline)
{
    int pair[2], error;

    error = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) ? -errno : 0;
    if (!error) {
        error = spawn_apart(arguments[0], arguments, environment, pair[1]);
        close(pair[1]);
        if (error)
            close(pair[0]);
        else
            *lifeline = pair[0];
    }
    free_list(arguments);
    free_list(environment);
    return error;
}

int launch_session(const struct setup *setup, const char *mpi, int *lifeline)
{
    return launch(make_arguments(setup, mpi), make_environment(setup, mpi), lifeline);
}

int launch_join(const struct setup *setup, int *lifeline)
{
    char **arguments = NULL, **environment = make_environment(setup, "mpich");

    add(&arguments, "%s/vocl-join", settings_string(SETTING_LIBEXECDIR));
    add(&environment, "VOCL_POOL_PROGRAM=%s", program_invocation_short_name);
    return launch(arguments, environment, lifeline);
}
