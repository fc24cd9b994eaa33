/* Checks other hosts: starts a vocl-doctor there in the same way as a worker, which reports that host's problems,
 * its version of VOCL, its time, and whether it can connect to this host. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "config.h"

#include "base/rsh.h"
#include "base/settings.h"
#include "base/socket.h"
#include "base/text.h"
#include "tools/doctor.h"
#include "tools/tools.h"
#include "wire/frame.h"

#define THERE_MS 90000
#define CLOCK_NOTED 1.0 /* seconds by which clocks differ */
#define CLOCK_WRONG 60.0
#define MOST_ENVIRONMENT (1u << 20)

extern char **environ;

/* ---- on the other host ---- */

static void take_environment(void)
{
    char *text = calloc(1, MOST_ENVIRONMENT + 1);
    const size_t length = text ? fread(text, 1, MOST_ENVIRONMENT, stdin) : 0;

    if (length)
        rsh_take_environment(text, length);
}

static void try_to_reach(const char *endpoint)
{
    const int fd = endpoint_connect(endpoint);

    if (fd >= 0)
        doctor_say(FINE, "ports", "it reaches %s", endpoint);
    else if (!strcmp(settings_string(SETTING_NETWORK), "mpi"))
        doctor_say(WRONG, "ports", "%s: %s; let a firewall open them, set VOCL_ADDRESS, or use --network ssh", endpoint,
                   strerror(-fd));
    else
        doctor_say(NOTE, "ports",
                   "%s: %s; sessions go through ssh, and are faster with ports open, or another VOCL_ADDRESS", endpoint,
                   strerror(-fd));
    if (fd >= 0)
        close(fd);
}

int doctor_be_node(const char *endpoint)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    printf("\nvocl-doctor %s %u %lld\n", PACKAGE_VERSION, WIRE_VERSION, now.tv_sec * 1000000000LL + now.tv_nsec);
    fflush(stdout);
    take_environment();
    doctor_look_here();
    if (endpoint)
        try_to_reach(endpoint);
    return 0;
}

/* ---- on this host ---- */

/* Makes the environment, as strings with their terminating zeros, like that for a worker's starter. */
static char *make_environment(size_t *length)
{
    char *text = NULL;
    FILE *file = open_memstream(&text, length);

    for (char **at = environ; file && *at; at++) {
        if (rsh_takes(*at))
            fprintf(file, "%s%c", *at, 0);
    }
    fprintf(file, "VOCL_HOSTS=%cVOCL_POOL=none%c", 0, 0); /* the host is a node, and has devices */
    fclose(file);
    return text;
}

static void compare_clocks(const char *topic, long long theirs, long long before, long long after)
{
    const double off = theirs < before  ? (double)(before - theirs) / 1e9
                       : theirs > after ? (double)(theirs - after) / 1e9
                                        : 0;

    if (off >= CLOCK_NOTED)
        doctor_say(
            off >= CLOCK_WRONG ? WRONG : NOTE, topic,
            "clocks: it is %.0f s %s this host: set up chrony or systemd-timesyncd; MUNGE refuses what is minutes old",
            off, theirs < before ? "behind" : "ahead of");
    else
        doctor_say(FINE, topic, "clocks: the same");
}

/* Prints a line of the other host, such as "ok     driver: ...", as one of its own. */
static void pass_on(const char *host, const char *line)
{
    static const char *const names[] = {"ok ", "note ", "wrong "};
    char visible[1024];

    for (int verdict = FINE; verdict <= WRONG; verdict++) {
        const size_t length = strlen(names[verdict]);

        if (!strncmp(line, names[verdict], length)) {
            line += length + strspn(line + length, " ");
            doctor_say((enum verdict)verdict, host, "%s", text_visible(line, visible, sizeof(visible)));
        }
    }
}

static void say_silence(const char *host, struct tried *tried, const char *program)
{
    const char *why = last_line(tried->errors);

    if (tried->status < 0)
        doctor_say(WRONG, host, "no answer for %d s: does `ssh %s true` work, without questions?", THERE_MS / 1000,
                   host);
    else if (tried->status == 127)
        doctor_say(WRONG, host, "no VOCL is at %s there: %s (%s)", program,
                   *settings_string(SETTING_PROXY) ? "correct VOCL_PROXY"
                                                   : "install it where it is here, or use `vocl run --deploy`",
                   why);
    else
        doctor_say(WRONG, host,
                   "%s (status %d); `ssh %s true` has to work without questions: ssh-copy-id, ssh-agent, or VOCL_RSH",
                   *why ? why : "ssh says nothing", tried->status, host);
}

static void hear(const char *host, struct tried *tried, long long before)
{
    char *save = NULL, *line, version[32] = "?";
    unsigned wire = 0;
    long long theirs = 0;

    for (line = strtok_r(tried->output, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        if (sscanf(line, DOCTOR_GREETING, version, &wire, &theirs) == 3)
            break; /* after the output of the host's shell */
    }
    if (strcmp(version, PACKAGE_VERSION) || wire != WIRE_VERSION)
        doctor_say(WRONG, host, "VOCL %s there (protocol %u), %s here (%u): install the same on both", version, wire,
                   PACKAGE_VERSION, WIRE_VERSION);
    else
        doctor_say(FINE, host, "VOCL %s there, too, started in %.0f ms", version, tried->first_ms);
    compare_clocks(host, theirs, before, tried->first_ns);
    while ((line = strtok_r(NULL, "\n", &save)))
        pass_on(host, line);
}

/* Where VOCL lies elsewhere (VOCL_PROXY), vocl-proxy knows where vocl-doctor is. */
static char *make_command(const char *program, const char *endpoint)
{
    char *quoted, *command = NULL, *arguments = NULL;

    if (*settings_string(SETTING_PROXY)) {
        if (asprintf(&arguments, "--doctor %s", endpoint) >= 0)
            command = rsh_proxy(program, arguments);
        free(arguments);
        return command;
    }
    quoted = text_quote(program);
    if (!quoted || asprintf(&command, "%s " DOCTOR_NODE " %s", quoted, endpoint) < 0)
        command = NULL;
    free(quoted);
    return command;
}

static void look_at(const char *host, const char *endpoint)
{
    const char *proxy = settings_string(SETTING_PROXY);
    char program[4096], *command, *local[] = {program, strdup(DOCTOR_NODE), NULL}, *words[RSH_WORDS];
    struct tried tried;
    struct timespec now;
    size_t length = 0;
    char *environment = make_environment(&length);

    snprintf(program, sizeof(program), "%s/vocl-doctor", settings_string(SETTING_LIBEXECDIR));
    command = make_command(program, endpoint);
    if (!command)
        fail(EXIT_BROKEN, "out of memory");
    clock_gettime(CLOCK_REALTIME, &now);
    if (rsh_is_here(host))
        tried = doctor_try(local, environment, length, THERE_MS);
    else if (rsh_words(host, command, words))
        tried = doctor_try(words, environment, length, THERE_MS);
    else
        fail(EXIT_BROKEN, rsh_is_host(host) ? "out of memory" : "VOCL_HOSTS: no host's name begins with -");
    if (strstr(tried.output, "vocl-doctor "))
        hear(host, &tried, now.tv_sec * 1000000000LL + now.tv_nsec);
    else
        say_silence(host, &tried, *proxy ? proxy : program);
    tried_free(&tried);
    free(environment);
    free(local[1]);
    free(command);
}

/* Listens where workers would connect to. Accepts nobody: the check is only whether a host can connect. */
static const char *listen_for(const char *hosts, struct endpoint *endpoint)
{
    char address[128];
    int error;

    if (!strcmp(settings_string(SETTING_NETWORK), "ssh"))
        return "";
    error = endpoint_own_address(hosts, address, sizeof(address));
    if (!error)
        error = endpoint_listen_tcp(endpoint, address);
    if (!error)
        return endpoint->text;
    if (error == -ADDRESS_PORTS || error == -EADDRINUSE)
        doctor_say(WRONG, "ports", "%s", address_error(error));
    else
        doctor_say(NOTE, "ports", "no address of this host leads to %s: sessions go through ssh, or to VOCL_ADDRESS",
                   hosts);
    return "";
}

void doctor_look_there(const char *hosts)
{
    struct endpoint endpoint = {.fd = -1};
    const char *text = listen_for(hosts, &endpoint);
    char *list = strdup(hosts), *save = NULL;

    for (char *host = list ? strtok_r(list, ",", &save) : NULL; host; host = strtok_r(NULL, ",", &save))
        look_at(host, text);
    free(list);
    if (endpoint.fd >= 0)
        close(endpoint.fd);
}
