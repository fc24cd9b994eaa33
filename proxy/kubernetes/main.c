/* vocl-kubernetes: see kubernetes.h, and doc/admin/kubernetes.md. */
#include <errno.h>
#include <getopt.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "config.h"
#include "proxy/kubernetes/kubernetes.h"
#include "proxy/kubernetes/rpc.h"

#define TURN_MS 250

struct options options = {.resource = "vocl.io/device",
                          .places = 1,
                          .keep_seconds = 300,
                          .poll_seconds = 5,
                          .grace_seconds = 30,
                          .wait_seconds = 5,
                          .interpose = "preload",
                          .plugins = "/var/lib/kubelet/device-plugins",
                          .pod_resources = "/var/lib/kubelet/pod-resources/kubelet.sock",
                          .state = "/var/lib/vocl-kubernetes/claims.json"};
struct poolfile pool;

static volatile sig_atomic_t stops;

static const char help[] =
    "vocl-kubernetes offers the devices of a VOCL pool to the kubelet of this node (doc/admin/kubernetes.md).\n"
    "\n"
    "  --pool WHERE          the pool file, or addresses of daemons [" SETTINGS_POOL_FILE "]; with auth key\n"
    "  --user NAME           the pool's user that all containers are [the user that runs this]\n"
    "  --resource NAME       the resource in pods [vocl.io/device]\n"
    "  --type, --name, --mem only such devices, as for vocl run\n"
    "  --devices N           how many to offer on this node [all of the pool]\n"
    "  --places N            how many containers may have a device at a time [1: each for itself]\n"
    "  --bundle HOST[:INSIDE] a folder of the host with VOCL's bundle, and where containers see it [/opt/vocl]\n"
    "  --interpose METHOD    preload, icd or none: how programs find that bundle [preload]\n"
    "  --env NAME=VALUE      a further variable for containers; may be repeated\n"
    "  --wait SECONDS        how long a pod's start may wait for devices [5]\n"
    "  --keep SECONDS        how long devices remain held while this program is restarted [300]\n"
    "  --grace SECONDS       how old a claim must be before it may be over [30]\n"
    "  --poll SECONDS        between looks at the pool, and at the kubelet's pods [5]\n"
    "  --kubelet FOLDER      [/var/lib/kubelet/device-plugins]\n"
    "  --pod-resources FILE  [/var/lib/kubelet/pod-resources/kubelet.sock]\n"
    "  --state FILE          the claims of containers [/var/lib/vocl-kubernetes/claims.json]\n";

void say(const char *format, ...)
{
    char text[1000], line[1024];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    fprintf(stderr, "vocl-kubernetes: %s\n", text_visible(text, line, sizeof(line)));
}

__attribute__((noreturn, format(printf, 1, 2))) static void give_up(const char *format, ...)
{
    char text[900];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    say("%s", text);
    exit(2);
}

/* ---- options ---- */

enum {
    POOL = 256,
    USER,
    RESOURCE,
    TYPE,
    NAME,
    MEMORY,
    DEVICES,
    PLACES,
    BUNDLE,
    INTERPOSE,
    VARIABLE,
    WAIT,
    KEEP,
    GRACE,
    POLL,
    KUBELET,
    POD_RESOURCES,
    STATE,
    HELP,
    SHOW_VERSION
};

static const struct option known[] = {{"pool", 1, NULL, POOL},
                                      {"user", 1, NULL, USER},
                                      {"resource", 1, NULL, RESOURCE},
                                      {"type", 1, NULL, TYPE},
                                      {"name", 1, NULL, NAME},
                                      {"mem", 1, NULL, MEMORY},
                                      {"devices", 1, NULL, DEVICES},
                                      {"places", 1, NULL, PLACES},
                                      {"bundle", 1, NULL, BUNDLE},
                                      {"interpose", 1, NULL, INTERPOSE},
                                      {"env", 1, NULL, VARIABLE},
                                      {"wait", 1, NULL, WAIT},
                                      {"keep", 1, NULL, KEEP},
                                      {"grace", 1, NULL, GRACE},
                                      {"poll", 1, NULL, POLL},
                                      {"kubelet", 1, NULL, KUBELET},
                                      {"pod-resources", 1, NULL, POD_RESOURCES},
                                      {"state", 1, NULL, STATE},
                                      {"help", 0, NULL, HELP},
                                      {"version", 0, NULL, SHOW_VERSION},
                                      {NULL, 0, NULL, 0}};

static unsigned number(int option, unsigned least, unsigned most)
{
    const char *name = "";
    uint64_t value;

    for (const struct option *o = known; o->name; o++)
        name = o->val == option ? o->name : name;
    if (!text_read_number(optarg, least, most, &value))
        give_up("--%s takes a number from %u to %u, not \"%s\"", name, least, most, optarg);
    return (unsigned)value;
}

static void take_bundle(void)
{
    char *colon;

    options.bundle = strdup(optarg);
    colon = options.bundle ? strchr(options.bundle, ':') : NULL;
    if (colon)
        *colon++ = '\0';
    options.bundle_inside = colon ? colon : strdup("/opt/vocl");
    if (!options.bundle || !options.bundle_inside || *options.bundle != '/' || *options.bundle_inside != '/' ||
        strpbrk(options.bundle_inside, " :"))
        give_up("--bundle takes /HOST or /HOST:/INSIDE, without further colons and spaces, not \"%s\"", optarg);
}

static void take_variable(void)
{
    char *value, *text = strdup(optarg);

    value = text ? strchr(text, '=') : NULL;
    if (!value || value == text || options.variables == MOST_VARIABLES)
        give_up("--env takes NAME=VALUE, at most %d times, not \"%s\"", MOST_VARIABLES, optarg);
    *value++ = '\0';
    options.names[options.variables] = text;
    options.values[options.variables++] = value;
}

static void take_interpose(void)
{
    if (strcmp(optarg, "preload") && strcmp(optarg, "icd") && strcmp(optarg, "none"))
        give_up("--interpose takes preload, icd or none, not \"%s\"", optarg);
    options.interpose = optarg;
}

static void take_memory(void)
{
    uint64_t bytes;

    if (!text_read_bytes(optarg, &bytes))
        give_up("--mem takes bytes, such as 8G, not \"%s\"", optarg);
    options.memory = optarg;
}

static void take_texts(int option)
{
    const char **text = option == POOL            ? &options.pool
                        : option == USER          ? &options.user
                        : option == RESOURCE      ? &options.resource
                        : option == TYPE          ? &options.type
                        : option == NAME          ? &options.name
                        : option == KUBELET       ? &options.plugins
                        : option == POD_RESOURCES ? &options.pod_resources
                                                  : &options.state;

    *text = optarg;
}

static void take_option(int option)
{
    switch (option) {
    case DEVICES:
        options.devices = number(option, 1, MOST_PLACES);
        break;
    case PLACES:
        options.places = number(option, 1, 1000);
        break;
    case WAIT:
        options.wait_seconds = number(option, 0, 20);
        break;
    case KEEP:
        options.keep_seconds = number(option, 0, 3600);
        break;
    case GRACE:
        options.grace_seconds = number(option, 0, 3600);
        break;
    case POLL:
        options.poll_seconds = number(option, 1, 3600);
        break;
    case BUNDLE:
        take_bundle();
        break;
    case INTERPOSE:
        take_interpose();
        break;
    case VARIABLE:
        take_variable();
        break;
    case MEMORY:
        take_memory();
        break;
    case HELP:
        fputs(help, stdout);
        exit(0);
    case SHOW_VERSION:
        puts("vocl-kubernetes " PACKAGE_VERSION);
        exit(0);
    default:
        take_texts(option);
    }
}

static void read_options(int count, char **words)
{
    int option;

    while ((option = getopt_long(count, words, "", known, NULL)) != -1) {
        if (option == '?')
            exit(2);
        take_option(option);
    }
    if (words[optind])
        give_up("no argument is expected, such as \"%s\"", words[optind]);
    if (strlen(options.plugins) > 60 || strlen(options.pod_resources) > 100)
        give_up("the paths of the kubelet's sockets are too long");
    if (!strchr(options.resource, '/') || strlen(options.resource) > 45)
        give_up("--resource takes DOMAIN/NAME of at most 45 letters, not \"%s\"", options.resource);
}

/* ---- the pool ---- */

static void open_pool(void)
{
    const struct passwd *user = getpwuid(geteuid());
    char why[512];

    if (poolfile_read(&pool, options.pool, why, sizeof(why)))
        give_up("%s", why);
    if (!options.user)
        options.user = *settings_string(SETTING_POOL_USER) ? settings_string(SETTING_POOL_USER)
                       : user                              ? user->pw_name
                                                           : "";
    pool.user = strdup(options.user);
    if (*pool.method && strcmp(pool.method, "key"))
        give_up("the pool authenticates by %s; containers need one with auth key", pool.method);
    if (!*options.user || strchr(options.user, '/') || strlen(options.user) > 31)
        give_up("--user takes a user's name of at most 31 letters, not \"%s\"", options.user);
    if (offer_open(why, sizeof(why)))
        give_up("%s", why);
}

static void on_signal(int signal)
{
    (void)signal;
    stops = 1;
}

int main(int count, char **words)
{
    char why[512];
    int error;

    read_options(count, words);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGTERM, on_signal); /* without this the first process of a container would ignore them */
    signal(SIGINT, on_signal);
    umask(077);
    open_pool();
    if (claims_open(why, sizeof(why)))
        give_up("%s", why);
    rpc_open();
    error = kubelet_open();
    if (error)
        give_up("%s: %s", options.plugins, strerror(-error));
    watch_begin();
    while (!stops) {
        kubelet_turn();
        holders_turn();
        claims_turn();
        offer_turn();
        rpc_turn(TURN_MS);
    }
    rpc_stop();
    say("ends; the devices of containers remain held for %u seconds", options.keep_seconds);
    return 0;
}
