/* vocl-poold, which vocl-proxy executes unless it is a worker: the daemon's life from reading the configuration to the
 * end. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "config.h"

#include "base/settings.h"
#include "proxy/daemon/internal.h"
#include "proxy/daemon/schedule/schedule.h"
#include "proxy/daemon/web/web.h"

#define DEFAULT_CONFIG SYSCONFDIR "/vocl/proxy.conf"
#define HEARTBEAT_MS 2000
#define SOON_MS 50

double wall_seconds(void)
{
    struct timeval now;

    gettimeofday(&now, NULL);
    return (double)now.tv_sec + (double)now.tv_usec / 1e6;
}

/* ---- periodic work ---- */

/* Returns a quarter of VOCL_PEER_TIMEOUT, but not more than most. */
static long quarter_ms(long most)
{
    const long quarter = settings_peer_ms() / 4;

    return quarter && quarter < most ? quarter : most;
}

static void tell_now(void *argument)
{
    struct daemon *d = argument;

    if (d->watchers)
        watchers_tell(d);
    gossip_tick(d);
    state_review(d);
    drain_review(d);
    d->scheduler->review(d);
    oversubscribe_review(d);
    account_review(d);
    energy_review(d);
    daemon_log_review();
    timer_set(&d->publish, d, tell_now, d, quarter_ms(HEARTBEAT_MS));
}

static void look_for_silence(void *argument)
{
    struct daemon *d = argument;

    silence_review(d);
    oversubscribe_review(d);
    timer_set(&d->looks, d, look_for_silence, d, quarter_ms(SILENCE_MOST_MS));
}

void daemon_changed(struct daemon *d)
{
    const long left = timer_left_ms(&d->publish);

    if (left < 0 || left > SOON_MS)
        timer_set(&d->publish, d, tell_now, d, SOON_MS);
}

/* ---- signals ---- */

/* Keeps the old value of a setting that cannot change while the daemon runs. */
static void keep(char **fresh, char **old, bool *differs)
{
    char *text = *fresh;

    *differs |= strcmp(text, *old) != 0;
    *fresh = *old;
    *old = text;
}

static void take_config(struct daemon *d, struct config *fresh, bool *restart)
{
    struct config *old = d->config;
    const bool http_changes = strcmp(fresh->http, old->http) != 0;
    char why[512];

    *restart = false;
    keep(&fresh->name, &old->name, restart);
    keep(&fresh->listen, &old->listen, restart);
    keep(&fresh->state, &old->state, restart);
    keep(&fresh->method, &old->method, restart);
    if (*restart)
        daemon_log("warning", "changes of name, listen, state-directory and auth need a restart");
    d->config = fresh;
    d->configured++;
    questions_renew();
    config_free(old);
    if (!http_changes)
        return;
    http_close(d);
    if (*d->config->http && http_open(d, why, sizeof(why)))
        daemon_log("error", "%s", why);
}

/* Opens the log again if the daemon is in the background: the old file may have been renamed. */
static int open_log(const struct daemon *d)
{
    char path[4096];
    int log;

    state_path(d, "log", path, sizeof(path));
    log = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (log < 0) {
        daemon_log("error", "%s: %s", path, strerror(errno));
        return -errno;
    }
    dup2(log, STDERR_FILENO);
    close(log);
    return 0;
}

static void say_ready(const struct daemon *d)
{
    notify_say("READY=1\nSTATUS=%s serves %u devices at %s", d->config->name, d->device_count, d->address);
}

/* A daemon that is alone in its pool needs no pool file. */
bool daemon_reload(struct daemon *d, bool *restart, char *why, size_t why_size)
{
    struct poolfile pool = {.count = 0};
    struct config *fresh;
    int error = -EINVAL;

    notify_reloading();
    if (d->detached)
        open_log(d);
    fresh = config_load(d->config->path, why, why_size);
    if (fresh)
        error = poolfile_read_file(&pool, fresh->pool_file, why, why_size);
    if (error && (!fresh || error != -ENOENT || d->pool.count)) {
        daemon_log("error", "the configuration stays as it was: %s", why);
        notify_say("READY=1\nSTATUS=The configuration stays as it was: %s", why);
        poolfile_free(&pool);
        if (fresh)
            config_free(fresh);
        return false;
    }
    take_config(d, fresh, restart);
    poolfile_free(&d->pool);
    d->pool = pool;
    fork_server_open(d);
    peers_open(d);
    announce_review(d);
    check_serving(d);
    daemon_log("notice", "read %s again", d->config->path);
    event_note(d, "daemon-reload", NULL, message_pack("{s:s}", "version", PACKAGE_VERSION));
    say_ready(d);
    daemon_changed(d);
    return true;
}

static void hang_up(evutil_socket_t number, short what, void *argument)
{
    bool restart;
    char why[512];

    (void)number;
    (void)what;
    daemon_reload(argument, &restart, why, sizeof(why));
}

/* The sessions continue; the next daemon adopts them. */
static void terminate(evutil_socket_t number, short what, void *argument)
{
    struct daemon *d = argument;

    (void)number;
    (void)what;
    notify_say("STOPPING=1");
    event_base_loopexit(d->base, NULL);
}

static void watch_signals(struct daemon *d)
{
    signal(SIGPIPE, SIG_IGN);
    signal(SIGUSR1, SIG_IGN); /* mpiexec's signal that another daemon is lost */
    event_add(evsignal_new(d->base, SIGHUP, hang_up, d), NULL);
    event_add(evsignal_new(d->base, SIGTERM, terminate, d), NULL);
    event_add(evsignal_new(d->base, SIGINT, terminate, d), NULL);
}

/* ---- start ---- */

/* Closes inherited descriptors: mpiexec, for example, waits until no process holds its pipes. */
static void close_inherited(void)
{
    const char *text = getenv("PMI_FD"); /* MPI needs it until exchange_endpoints() is done */
    const unsigned pmi = text ? (unsigned)atoi(text) : 2;

    if (pmi > 3)
        close_range(3, pmi - 1, 0);
    close_range(pmi > 2 ? pmi + 1 : 3, ~0u, 0);
}

static void raise_limits(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files))
        return;
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
}

static int open_all(struct daemon *d, char *why, size_t why_size)
{
    int error;

    d->plugin = auth_open(d->config->method, why, why_size);
    if (!d->plugin)
        return -ENOENT;
    error = channel_prepare();
    if (!error)
        error = state_open(d, why, why_size);
    if (!error)
        error = probe_devices(d, why, why_size);
    if (!error)
        error = share_listen(d, why, why_size);
    if (!error)
        error = connection_listen(d, dispatch_take, why, why_size);
    if (!error)
        error = exchange_endpoints(d, why, why_size);
    if (!error && *d->config->http)
        error = http_open(d, why, why_size);
    return error;
}

/* The log then goes to the state directory, so that the process which started the daemon need not wait for its end. */
static int go_to_background(struct daemon *d)
{
    int error = daemon(0, 1) ? -errno : 0, null;

    if (error) {
        daemon_log("error", "%s", strerror(-error));
        return error;
    }
    null = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    close(null);
    d->detached = true;
    error = open_log(d);
    return error ? error : event_reinit(d->base);
}

static int run(const char *path, bool detach)
{
    struct daemon *d = calloc(1, sizeof(*d));
    char why[512] = "";

    if (!d)
        return 1;
    close_inherited();
    notify_open();
    d->requests_last = &d->requests;
    d->scheduler = &scheduler;
    d->config = config_load(path, why, sizeof(why));
    d->base = d->config ? event_base_new() : NULL;
    if (!d->base) {
        daemon_log("error", "%s", why);
        return 2;
    }
    raise_limits();
    watch_signals(d);
    if (open_all(d, why, sizeof(why))) {
        daemon_log("error", "%s", *why ? why : "cannot start");
        return 1;
    }
    if (poolfile_read_file(&d->pool, d->config->pool_file, why, sizeof(why)))
        daemon_log("notice", "alone in its pool: %s", why);
    if (detach && go_to_background(d))
        return 1;
    event_note(d, "daemon-start", NULL, message_pack("{s:s}", "version", PACKAGE_VERSION));
    drain_open(d);
    state_adopt(d);
    look_for_silence(d);
    fork_server_open(d);
    peers_open(d);
    announce_review(d);
    check_serving(d);
    daemon_log("notice", "%s serves %u devices at %s", d->config->name, d->device_count, d->address);
    say_ready(d);
    daemon_changed(d);
    event_base_dispatch(d->base);
    for (struct session *s = d->sessions; s; s = s->next) {
        if (s->start) /* the next daemon would not know it */
            worker_contained(s, SIGKILL);
        else if (s->started)
            state_save(s); /* records what it has used until now */
    }
    daemon_log("notice", "%s ends%s", d->config->name, d->sessions ? "; its sessions go on" : "");
    http_close(d);
    peers_close(d);
    events_close(d);
    connections_close(d);
    return 0;
}

static void usage(FILE *to)
{
    fputs("usage: vocl-proxy [--config=FILE] [--check-config] [--detach]\n"
          "       vocl-proxy --make-key=NODE\n"
          "       vocl-proxy --worker\n"
          "       vocl-proxy pool|top ...\n"
          "Serves the OpenCL devices of this node to a pool: the daemon, see vocl-proxy(1).\n"
          "  --config=FILE    the configuration, default " DEFAULT_CONFIG "\n"
          "  --check-config   check the configuration, and exit: 0 if the daemon can start with it, otherwise 2\n"
          "  --make-key=NODE  print the node's line of its own key file, which ends with its secret key\n"
          "  --detach         go to the background when the daemon is ready\n"
          "  --worker         serve one session; VOCL starts workers itself, and mpiexec in a job with the program\n"
          "  pool, top        what vocl pool and vocl top do, on a node without the command vocl\n"
          "  --help           print this text\n"
          "  --version        print the version\n",
          to);
}

static int make_key(const char *node)
{
    uint8_t public[crypto_box_PUBLICKEYBYTES], secret[crypto_box_SECRETKEYBYTES];
    char public_text[2 * sizeof(public) + 1], secret_text[2 * sizeof(secret) + 1];

    if (channel_prepare() || crypto_box_keypair(public, secret))
        return 1;
    printf("@%s %s %s\n", node, sodium_bin2hex(public_text, sizeof(public_text), public, sizeof(public)),
           sodium_bin2hex(secret_text, sizeof(secret_text), secret, sizeof(secret)));
    return 0;
}

int main(int count, char **words)
{
    static const struct option options[] = {{"config", required_argument, NULL, 'c'},
                                            {"check-config", no_argument, NULL, 'k'},
                                            {"make-key", required_argument, NULL, 'm'},
                                            {"detach", no_argument, NULL, 'd'},
                                            {"help", no_argument, NULL, 'h'},
                                            {"version", no_argument, NULL, 'v'},
                                            {NULL, 0, NULL, 0}};
    const char *path = DEFAULT_CONFIG;
    bool check = false, detach = false;
    int option;

    while ((option = getopt_long(count, words, "c:hV", options, NULL)) != -1) {
        switch (option) {
        case 'c':
            path = optarg;
            break;
        case 'k':
            check = true;
            break;
        case 'd':
            detach = true;
            break;
        case 'm':
            return make_key(optarg);
        case 'h':
            usage(stdout);
            return 0;
        case 'v':
        case 'V':
            puts("vocl-proxy " PACKAGE_VERSION);
            return 0;
        default:
            usage(stderr);
            return 2;
        }
    }
    if (optind < count) {
        usage(stderr);
        return 2;
    }
    return check ? check_config(path) : run(path, detach);
}
