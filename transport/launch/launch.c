/* Starts vocl-launcher or vocl-join, which start the session's processes, and reads their messages. */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/settings.h"
#include "base/variable.h"
#include "transport/launch/launch.h"

#define LINE_MS 200

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

void strings_add(struct strings *strings, const char *format, ...)
{
    char **longer = realloc(strings->all, (strings->count + 2) * sizeof(*longer)), *text = NULL;
    va_list arguments;

    if (longer)
        strings->all = longer;
    va_start(arguments, format);
    if (!longer || vasprintf(&text, format, arguments) < 0)
        strings->failed = true;
    else
        longer[strings->count++] = text;
    va_end(arguments);
    if (longer)
        longer[strings->count] = NULL;
}

static void strings_free(struct strings *strings)
{
    for (size_t i = 0; i < strings->count; i++)
        free(strings->all[i]);
    free(strings->all);
}

/* LD_PRELOAD without this library. */
static void add_preload(struct strings *list)
{
    const char *value = getenv("LD_PRELOAD");
    char *copy = value ? strdup(value) : NULL, *kept = value ? calloc(1, strlen(value) + 2) : NULL, *save;

    list->failed |= value && (!copy || !kept);
    for (char *word = copy && kept ? strtok_r(copy, ": ", &save) : NULL; word; word = strtok_r(NULL, ": ", &save)) {
        if (strstr(word, "libvocl.so"))
            continue;
        if (*kept)
            strcat(kept, ":");
        strcat(kept, word);
    }
    if (kept && *kept)
        strings_add(list, "LD_PRELOAD=%s", kept);
    free(kept);
    free(copy);
}

const char *launch_ucx(void)
{
    return *settings_string(SETTING_RECOVER) ? "UCX_TLS=posix,sysv,self" : LAUNCH_UCX;
}

static void add_environment(const struct start *start, bool local, struct strings *list)
{
    const char *vendors = getenv("VOCL_NATIVE_ICD_VENDORS"), *given = getenv("OCL_ICD_VENDORS");

    for (char **at = environ; *at; at++) {
        if (!left_out(*at) && variable_has_value(*at))
            strings_add(list, "%s", *at);
    }
    add_preload(list);
    if (vendors && *vendors)
        strings_add(list, "OCL_ICD_VENDORS=%s", vendors);
    else if (!vendors && given && *given)
        strings_add(list, "OCL_ICD_VENDORS=%s", given);
    strings_add(list, "VOCL_LOG=%s", vocl_log_level());
    strings_add(list, "VOCL_MPI=%s", start->mpi); /* not always the one that was asked for: see enter_choose() */
    strings_add(list, "UCX_HANDLE_ERRORS=none");
    if (!getenv("UCX_LOG_LEVEL"))
        strings_add(list, "UCX_LOG_LEVEL=error");
    strings_add(list, "MPIR_CVAR_NOLOCAL=1");
    if (local && !getenv("UCX_TLS"))
        strings_add(list, "%s", launch_ucx());
}

struct launch launch_new(const struct start *start, const char *helper, bool local)
{
    struct launch launch = {0};

    strings_add(&launch.arguments, "%s/%s", settings_string(SETTING_LIBEXECDIR), helper);
    add_environment(start, local, &launch.environment);
    return launch;
}

void launch_keep_key(const struct start *start)
{
    struct newcomer_key *key = &start->job->newcomers;

    *key = (struct newcomer_key){.known = true, .ending = start->ending, .argument = start->argument};
    memcpy(key->secret, start->secret, sizeof(key->secret));
}

void launch_newcomers(const struct start *start, struct launch *launch)
{
    char text[2 * SECRET_BYTES + 1];

    if (!start->job->newcomers.known)
        return;
    hex_show(start->secret, SECRET_BYTES, text);
    strings_add(&launch->environment, SESSION_GUESTS "=%s", text);
}

void launch_place(const struct start *start, struct launch *launch)
{
    char text[2 * SECRET_BYTES + 1];

    hex_show(start->tls ? start->secret : start->token, start->tls ? SECRET_BYTES : TOKEN_BYTES, text);
    strings_add(&launch->environment, "%s=%s", start->tls ? SESSION_SECRET : SESSION_TOKEN, text);
    launch_newcomers(start, launch);
    strings_add(&launch->environment, SESSION_ENDPOINT "=%s",
                *start->remote.text ? start->remote.text : start->local.text);
}

int launch_helper(struct start *start, struct launch *launch)
{
    char **arguments = launch->arguments.all;
    int pair[2], error = 0;

    if (launch->arguments.failed || launch->environment.failed)
        error = -ENOMEM;
    else if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
        error = -errno;
    if (!error) {
        error = spawn_apart(arguments[0], arguments, launch->environment.all, pair[1]);
        close(pair[1]);
        if (error)
            close(pair[0]);
        else
            start->job->control_socket = pair[0];
    }
    if (error)
        snprintf(start->why, start->why_size, "%s: %s", arguments && *arguments ? *arguments : "a process of VOCL",
                 strerror(-error));
    strings_free(&launch->arguments);
    strings_free(&launch->environment);
    return error;
}

/* Whether the next byte begins a line, which says why no descriptors come; it is left there. Descriptors come with
 * zeros. */
static bool speaks(const struct start *start)
{
    char byte;

    return socket_wait(start->job->control_socket, POLLIN, start->until - clock_ms()) > 0 &&
           recv(start->job->control_socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1 && byte;
}

/* Receives at most `most` descriptors. Returns their number; 0: a line came instead, or none; or a negative errno. */
static int receive_some(const struct start *start, int *descriptors, unsigned most)
{
    unsigned count = most;
    char byte;
    ssize_t got;

    if (speaks(start))
        return 0;
    got = socket_receive_descriptors(start->job->control_socket, &byte, 1, descriptors, &count,
                                     start->until - clock_ms());
    return got < 0 ? (int)got : (int)count;
}

int launch_receive(struct start *start, int *descriptors, unsigned count)
{
    unsigned have = 0;

    while (have < count) {
        const int more = receive_some(start, descriptors + have, count - have);

        if (more > 0) {
            have += (unsigned)more;
            continue;
        }
        while (have)
            close(descriptors[--have]);
        if (more < 0 || !launch_hear(start))
            snprintf(start->why, start->why_size, "the session's processes were not started: %s",
                     more < 0 ? strerror(-more) : "no descriptors came");
        return more < 0 ? more : -ECHILD;
    }
    return 0;
}

int launch_line(int fd, char *line, size_t size, long milliseconds)
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

int launch_hear(struct start *start)
{
    struct pollfd ready = {start->job->control_socket, POLLIN, 0};
    char line[1024];
    int error = 0;

    while (poll(&ready, 1, 0) > 0) {
        const char *space;

        error = launch_line(start->job->control_socket, line, sizeof(line), LINE_MS);
        if (error) {
            if (!*start->why)
                snprintf(start->why, start->why_size, "the launcher ended without reporting an error");
            return -ECHILD;
        }
        space = strncmp(line, "ended ", 6) ? NULL : strchr(line + 6, ' ');
        if (!strncmp(line, "failed ", 7))
            snprintf(start->why, start->why_size, "%s", line + 7);
        else if (space)
            snprintf(start->why, start->why_size, "%s", space + 1);
    }
    return *start->why ? -ECHILD : 0;
}

void start_drop_born(struct start *start)
{
    for (unsigned i = 0; start->born && i < start->each * start->workers; i++) {
        if (start->born[i] >= 0)
            close(start->born[i]);
    }
    free(start->born);
    start->born = NULL;
    start->each = 0;
}

void start_stop_listening(struct start *start)
{
    if (start->local.fd >= 0)
        close(start->local.fd);
    if (start->remote.fd >= 0)
        close(start->remote.fd);
    start->local.fd = start->remote.fd = -1;
}
