/*
 * The session's job (DESIGN section 1): how its processes come into being and find each other. Everybody says hello on
 * the bell before anybody enters MPI_Init, so that a process that is missing is an error and not a hang.
 */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config.h"

#include "base/log.h"
#include "base/settings.h"
#include "transport/internal.h"
#include "transport/meeting.h"

#define HELLO_MS 10000
#define MAX_ENVIRONMENT (256u << 10)
#define MAX_WORKERS 1024

static bool forked_session; /* this process is the child of one that had MPI inside */

/* ---- the application's side ---- */

static int setup_open(struct setup *setup, bool hosts, char *why, size_t why_size)
{
    char address[256];
    int error;

    *setup = (struct setup){.local.fd = -1, .remote.fd = -1};
    if (getrandom(setup->token, sizeof(setup->token), 0) != sizeof(setup->token) ||
        getrandom(setup->secret, sizeof(setup->secret), 0) != sizeof(setup->secret))
        return -EIO;
    error = endpoint_listen_unix(&setup->local);
    if (error) {
        snprintf(why, why_size, "listening: %s", strerror(-error));
        return error;
    }
    setup->workers = (unsigned)settings_workers();
    if (hosts) {
        snprintf(setup->hosts, sizeof(setup->hosts), "%s", settings_string(SETTING_HOSTS));
        setup->workers = 1;
        for (const char *at = setup->hosts; *at; at++)
            setup->workers += *at == ',';
        error = endpoint_own_address(setup->hosts, address, sizeof(address));
        if (!error)
            error = endpoint_listen_tcp(&setup->remote, address);
        if (error) {
            setup->remote.fd = -1;
            snprintf(why, why_size, "no address to reach %s from (VOCL_ADDRESS): %s", setup->hosts,
                     address_error(error));
            return error;
        }
    }
    if (!setup->workers || setup->workers > MAX_WORKERS) {
        snprintf(why, why_size, "%u workers: between 1 and %u are possible", setup->workers, MAX_WORKERS);
        return -EINVAL;
    }
    return 0;
}

static void setup_close(struct setup *setup)
{
    if (setup->local.fd >= 0)
        close(setup->local.fd);
    if (setup->remote.fd >= 0)
        close(setup->remote.fd);
    free(setup->environment);
}

static int take_environment(struct setup *setup, int fd, uint32_t length)
{
    if (setup->environment || !length || length > MAX_ENVIRONMENT)
        return -EBADMSG;
    setup->environment = malloc(length + 2);
    if (!setup->environment)
        return -ENOMEM;
    setup->environment_length = length;
    setup->environment[length] = setup->environment[length + 1] = '\0';
    return socket_read_all(fd, setup->environment, length, HELLO_MS);
}

/* One connection: a worker or the placeholder, if it may join. An error, and why, when it was to be a worker of this
 * session and does not fit: nobody else will come in its place. */
static int accept_one(struct job *job, struct setup *setup, int listener, char *why, size_t why_size)
{
    struct verdict verdict = {.magic = HELLO_MAGIC, .accepted = 1};
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    const char *refused = NULL;
    struct hello hello;

    if (fd < 0) {
        snprintf(why, why_size, "%s", strerror(errno));
        return errno == EMFILE || errno == ENFILE ? -errno : 0;
    }
    socket_tune(fd);
    if (socket_read_all(fd, &hello, sizeof(hello), HELLO_MS)) {
        close(fd);
        return 0;
    }
    hello.host[sizeof(hello.host) - 1] = '\0';
    refused = hello_check(&hello, setup->token);
    if (!refused && hello.role == HELLO_PLACEHOLDER && job->placeholder.fd < 0) {
        if (take_environment(setup, fd, hello.extra))
            refused = "no environment came";
        else
            kept_trust(&job->placeholder, fd);
    } else if (!refused && hello.role == HELLO_WORKER && job->member_count < setup->workers) {
        struct member *member = &job->members[job->member_count++];

        member->fd = fd;
        memcpy(member->host, hello.host, sizeof(member->host));
        if (hello.extra != sizeof(member->endpoint) ||
            socket_read_all(fd, member->endpoint, sizeof(member->endpoint), HELLO_MS))
            refused = "it expects its fellows nowhere";
        member->endpoint[sizeof(member->endpoint) - 1] = '\0';
    } else if (!refused) {
        refused = "not expected";
    }
    if (refused) {
        vocl_log(LOG_ERROR, "refused a process on %s: %s", hello.magic == HELLO_MAGIC ? hello.host : "?", refused);
        snprintf(verdict.why, sizeof(verdict.why), "%s", refused);
        verdict.accepted = 0;
    }
    socket_write_all(fd, &verdict, sizeof(verdict));
    if (!refused)
        return 0;
    close(fd);
    if (memcmp(hello.token, setup->token, TOKEN_BYTES))
        return 0;
    snprintf(why, why_size, "a worker on %s: %s", hello.host, refused);
    return -EPROTO;
}

/* What the launcher says when mpiexec ended early, and until then nothing. */
static int read_obituary(int lifeline, char *why, size_t why_size)
{
    ssize_t got = recv(lifeline, why, why_size - 1, MSG_DONTWAIT);

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (got > 0)
        why[got] = '\0';
    else
        snprintf(why, why_size, "vocl-launcher ended without a word");
    return -ECHILD;
}

static int gather(struct job *job, struct setup *setup, long until, bool placeholder, char *why, size_t why_size)
{
    while (job->member_count < setup->workers || (placeholder && job->placeholder.fd < 0)) {
        struct pollfd ready[] = {{setup->local.fd, POLLIN, 0},
                                 {setup->remote.fd, POLLIN, 0},
                                 {job->lifeline, POLLIN, 0},
                                 {job->join, POLLIN, 0}};
        long left = until - clock_ms();
        int error = 0;

        if (left <= 0) {
            snprintf(why, why_size, "%u of %u workers came within VOCL_START_TIMEOUT seconds", job->member_count,
                     setup->workers);
            return -ETIMEDOUT;
        }
        if (poll(ready, 4, (int)left) <= 0)
            continue;
        if (ready[0].revents)
            error = accept_one(job, setup, setup->local.fd, why, why_size);
        if (!error && ready[1].revents)
            error = accept_one(job, setup, setup->remote.fd, why, why_size);
        if (error)
            return error;
        if (ready[2].revents && read_obituary(job->lifeline, why, why_size))
            return -ECHILD;
        if (ready[3].revents) {
            pool_hear(job->join, why, why_size);
            return -ECHILD;
        }
    }
    return 0;
}

static int gather_ranks(struct job *job, long until, char *why, size_t why_size)
{
    for (unsigned i = 0; i < job->member_count; i++) {
        struct bell_record record;
        int error = socket_read_all(job->members[i].fd, &record, sizeof(record), until - clock_ms());

        if (!error && (record.kind != BELL_RANK || record.value == 0 || record.value >= (uint32_t)job->size))
            error = -EBADMSG;
        if (error) {
            snprintf(why, why_size, "a worker on %s did not come through MPI_Init: %s", job->members[i].host,
                     strerror(-error));
            return error;
        }
        job->members[i].rank = record.value;
    }
    if (fellows_introduce(job)) {
        snprintf(why, why_size, "a worker was lost while the others were introduced to it");
        return -ECONNRESET;
    }
    return 0;
}

/* Whether who starts the workers says that there is nothing to wait for any more, and why. */
static int starter_ended(const struct job *job, char *why, size_t why_size)
{
    struct pollfd ready[] = {{job->lifeline, POLLIN, 0}, {job->join, POLLIN, 0}};

    if (poll(ready, 2, 0) <= 0)
        return 0;
    if (ready[0].revents && read_obituary(job->lifeline, why, why_size))
        return -ECHILD;
    if (ready[1].revents)
        pool_hear(job->join, why, why_size);
    return ready[1].revents ? -ECHILD : 0;
}

static const char **environment_list(const struct setup *setup)
{
    const char **list = calloc(setup->environment_length + 8, sizeof(*list));
    size_t count = 0;

    if (!list)
        return NULL;
    for (const char *at = setup->environment; at < setup->environment + setup->environment_length;
         at += strlen(at) + 1) {
        if (strchr(at, '='))
            list[count++] = at;
    }
    list[count++] = "MPIR_CVAR_NOLOCAL=1";
    list[count++] = launch_ucx(setup) ? launch_ucx(setup) : *setup->devices ? setup->devices : NULL;
    return list;
}

/* ---- into MPI ---- */

struct entry {
    struct job *job;
    const char **environment;
    void (*ending)(void *), *argument;
    bool apart;
    int error;
};

static void enter(void *argument)
{
    struct entry *entry = argument;
    struct job *job = entry->job;

    entry->error = job->plugin->init(entry->environment, entry->ending, entry->argument, entry->apart, &job->rank,
                                     &job->size, &job->last_tag);
}

/* The session ends with the process alone. */
static void keep_starter(struct job *job)
{
    if (job->keeper && job->lifeline >= 0 && keeper_take(job->keeper, job->lifeline))
        job->lifeline = -1;
    if (job->keeper && job->join >= 0 && keeper_take(job->keeper, job->join))
        job->join = -1;
}

/* On one host UCX, with its memory alone, needs its descriptors to connect and for its own thread: so they can be where
 * the program does not reach them. */
static int enter_mpi(struct entry *entry, bool apart, char *why, size_t why_size)
{
    struct job *job = entry->job;

    entry->apart = apart && job->plugin->over_ucx();
    job->keeper = keeper_start(entry->apart ? enter : NULL, entry);
    if (!job->keeper)
        entry->apart = false;
    if (!entry->apart)
        enter(entry);
    job->apart = entry->apart;
    if (entry->error) {
        snprintf(why, why_size, "MPI_Init_thread failed %s", job->plugin->complaint());
        return -EIO;
    }
    if (!job->keeper)
        return 0;
    keep_starter(job);
    kept_hold(&job->placeholder, job->keeper, job->placeholder.fd);
    return 0;
}

/* Which MPI the session uses, and whether it must be hidden from the program's own. */
static const struct mpi_plugin *load_plugin(const char **mpi, char *why, size_t why_size)
{
    const char *own = loader_program_mpi();
    bool same;

    *mpi = settings_string(SETTING_MPI);
    /* a second Open MPI does not survive in one process, also not in a namespace of its own */
    if (own && !strcmp(*mpi, "openmpi") && (!strcmp(own, "openmpi") || loader_foreign_memory()))
        *mpi = "mpich";
    same = own && !strcmp(own, *mpi);
    return loader_open(*mpi, same || forked_session, why, why_size);
}

static int start_workers(struct job *job, const struct setup *setup, const char *mpi, char *why, size_t why_size)
{
    int error = launch_session(setup, mpi, &job->lifeline);

    if (error)
        snprintf(why, why_size, "%s/vocl-launcher: %s", settings_string(SETTING_LIBEXECDIR), strerror(-error));
    return error;
}

/* MPI is to listen where the workers come to. */
static void listen_at_remote(struct setup *setup)
{
    char address[128];
    const char *port;

    if (!address_split(setup->remote.text + 4, address, sizeof(address), &port))
        network_bind(address, setup->devices, sizeof(setup->devices));
}

static int open_by_mpi(struct job *job, struct setup *setup, long until, void (*ending)(void *), void *argument,
                       char *why, size_t why_size)
{
    const char **environment = NULL, *mpi;
    struct watch watch;
    int error;

    if (setup->remote.fd >= 0)
        listen_at_remote(setup);
    job->plugin = load_plugin(&mpi, why, why_size);
    error = job->plugin ? start_workers(job, setup, mpi, why, why_size) : -ENOENT;
    if (!error)
        error = gather(job, setup, until, true, why, why_size);
    if (!error) {
        environment = environment_list(setup);
        error = environment ? 0 : -ENOMEM;
    }
    if (!error)
        error = watch_start(&watch, job, until - clock_ms());
    if (!error) {
        struct entry entry = {job, environment, ending, argument, false, 0};

        error = enter_mpi(&entry, launch_ucx(setup) && loader_comes_first(mpi), why, why_size);
        watch_stop(&watch);
    }
    free(environment);
    return error ? error : gather_ranks(job, until, why, why_size);
}

/* Workers of a pool have been started by its daemons, the others are started as MPI's are: they do not enter it. */
static int open_by_tls(struct job *job, struct setup *setup, long until, void (*ending)(void *), void *argument,
                       char *why, size_t why_size)
{
    int error = meeting_prepare(setup->secret, ending, argument, why, why_size);

    if (!error && job->join < 0)
        error = start_workers(job, setup, settings_string(SETTING_MPI), why, why_size);
    if (!error)
        error = meeting_open(job, setup, until, starter_ended, why, why_size);
    if (error)
        return error;
    job->keeper = keeper_start(NULL, NULL);
    keep_starter(job);
    return 0;
}

static int open_own(struct job *job, void (*ending)(void *), void *argument, char *why, size_t why_size)
{
    const bool hosts = *settings_string(SETTING_HOSTS);
    struct setup setup;
    int error = setup_open(&setup, hosts, why, why_size);
    long until;

    if (!error && pool_wanted())
        error = pool_join(&setup, &job->join, why, why_size);
    else if (!error)
        error = network_choose(hosts, NULL, &setup.tls, why, why_size);
    until = clock_ms() + settings_number(SETTING_START_TIMEOUT) * 1000;
    if (!error) {
        job->members = calloc(setup.workers, sizeof(*job->members));
        error = job->members ? 0 : -ENOMEM;
    }
    if (!error)
        error = (setup.tls ? open_by_tls : open_by_mpi)(job, &setup, until, ending, argument, why, why_size);
    setup_close(&setup);
    return error;
}

/* ---- a whole MPMD job: rank 0 is this process, the others are workers ---- */

#define ENDPOINT_TAG 1

struct invitation {
    char endpoint[128];
    uint8_t token[TOKEN_BYTES];
};

/* Whether a process above this one is an mpiexec that also starts workers. */
static bool workers_above(void)
{
    pid_t pid = getppid();

    for (int depth = 0; pid > 1 && depth < 8; depth++) {
        char path[64], text[16384];
        size_t length;
        FILE *file;
        int parent = 0;

        snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
        file = fopen(path, "re");
        length = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
        if (file)
            fclose(file);
        if (length && memmem(text, length, "vocl-proxy", 10) && memmem(text, length, "--worker", 8) &&
            (memmem(text, length, "mpiexec", 7) || memmem(text, length, "mpirun", 6)))
            return true;
        snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
        file = fopen(path, "re");
        length = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
        if (file)
            fclose(file);
        text[length] = '\0';
        if (!strrchr(text, ')') || sscanf(strrchr(text, ')') + 1, " %*c %d", &parent) != 1)
            return false;
        pid = parent;
    }
    return false;
}

static bool in_mpmd_job(void)
{
    const char *wanted = settings_string(SETTING_JOB), *rank = getenv("PMI_RANK"), *size = getenv("PMI_SIZE");

    if (!rank) {
        rank = getenv("OMPI_COMM_WORLD_RANK");
        size = getenv("OMPI_COMM_WORLD_SIZE");
    }
    if (!strcmp(wanted, "off") || forked_session || !rank || !size || strcmp(rank, "0") || !strcmp(size, "1"))
        return false;
    return !strcmp(wanted, "mpmd") || (!loader_program_mpi() && workers_above());
}

static const char *job_mpi(void)
{
    return getenv("OMPI_COMM_WORLD_RANK") ? "openmpi" : getenv("PMI_RANK") ? "mpich" : settings_string(SETTING_MPI);
}

static int transfer_now(struct job *job, int peer, bool send, void *bytes, size_t length, long until)
{
    struct plugin_request request;
    size_t got;
    int done = 0;
    int error = send ? job->plugin->send(peer, PLUGIN_CONTROL, ENDPOINT_TAG, bytes, length, &request)
                     : job->plugin->receive(peer, PLUGIN_CONTROL, ENDPOINT_TAG, bytes, length, &request);

    while (!error && !done && clock_ms() < until)
        error = job->plugin->test(&request, &done, &got);
    return error ? -EIO : done ? 0 : -ETIMEDOUT;
}

static int join_mpmd(struct job *job, void (*ending)(void *), void *argument, char *why, size_t why_size)
{
    long until = clock_ms() + settings_number(SETTING_START_TIMEOUT) * 1000;
    static const char *const own[] = {NULL};
    struct invitation invitation = {.endpoint = ""};
    struct setup setup;
    char host[64] = "localhost";
    int error;

    job->plugin = loader_open(job_mpi(), loader_program_mpi() != NULL, why, why_size);
    if (!job->plugin)
        return -ENOENT;
    if (job->plugin->init(own, ending, argument, false, &job->rank, &job->size, &job->last_tag)) {
        snprintf(why, why_size, "MPI_Init_thread failed %s", job->plugin->complaint());
        return -EIO;
    }
    setup = (struct setup){.local.fd = -1, .remote.fd = -1, .workers = (unsigned)job->size - 1};
    if (getrandom(setup.token, sizeof(setup.token), 0) != sizeof(setup.token))
        return -EIO;
    gethostname(host, sizeof(host) - 1);
    job->members = calloc(setup.workers, sizeof(*job->members));
    error = job->members
                ? endpoint_listen_tcp(&setup.remote,
                                      *settings_string(SETTING_ADDRESS) ? settings_string(SETTING_ADDRESS) : host)
                : -ENOMEM;
    if (error)
        setup.remote.fd = -1;
    memcpy(invitation.token, setup.token, TOKEN_BYTES);
    memcpy(invitation.endpoint, setup.remote.text, sizeof(invitation.endpoint));
    for (int peer = 1; !error && peer < job->size; peer++)
        error = transfer_now(job, peer, true, &invitation, sizeof(invitation), until);
    if (!error)
        error = gather(job, &setup, until, false, why, why_size);
    if (!error)
        error = gather_ranks(job, until, why, why_size);
    else if (!*why)
        snprintf(why, why_size, "the job's workers cannot be reached: %s", strerror(-error));
    setup_close(&setup);
    job->whole = !error;
    return error;
}

static int open_here(struct job *job, void (*ending)(void *), void *argument, char *why, size_t why_size)
{
    struct rlimit limit;
    int error = host_lift_limit(&limit, why, why_size);

    if (error)
        return error;
    error = open_own(job, ending, argument, why, why_size);
    setrlimit(RLIMIT_NOFILE, &limit);
    if (error)
        host_explain(why, why_size);
    return error;
}

/* Only devices of this process are wanted. */
static bool no_workers(void)
{
    return !*settings_string(SETTING_HOSTS) && settings_number(SETTING_LOCAL) && !settings_workers();
}

int job_open_client(struct job *job, void (*ending)(void *), void *argument, char *why, size_t why_size)
{
    int error;

    *job = (struct job){.provider = &provider_mpi, .lifeline = -1, .placeholder.fd = -1, .join = -1};
    *why = '\0';
    if (in_mpmd_job()) {
        error = join_mpmd(job, ending, argument, why, why_size);
    } else if (no_workers()) {
        job->size = 1;
        error = 0;
    } else {
        error = open_here(job, ending, argument, why, why_size);
    }
    if (!error && !job->keeper)
        job->keeper = keeper_start(NULL, NULL);
    if (error) {
        if (!*why)
            snprintf(why, why_size, "%s", strerror(-error));
        job_close(job);
    }
    return error;
}

/* ---- a worker's side ---- */

/* MPI, too: at the address by which the application is reached. */
static void listen_there_only(const char *endpoint, int fd)
{
    static char line[64];
    struct sockaddr_storage own;
    socklen_t length = sizeof(own);
    char address[NI_MAXHOST];

    if (!strncmp(endpoint, "tcp:", 4) && !getsockname(fd, (struct sockaddr *)&own, &length) &&
        !getnameinfo((struct sockaddr *)&own, length, address, sizeof(address), NULL, 0, NI_NUMERICHOST) &&
        network_bind(address, line, sizeof(line)))
        putenv(line);
}

static int say_hello(const char *endpoint, const uint8_t *token, struct endpoint *own, char *why, size_t why_size)
{
    struct verdict verdict;
    struct hello hello;
    int fd = endpoint_connect(endpoint), error;

    if (fd < 0) {
        snprintf(why, why_size, "%s: %s", endpoint, strerror(-fd));
        return fd;
    }
    socket_tune(fd);
    hello_fill(&hello, HELLO_WORKER, token, sizeof(own->text));
    listen_there_only(endpoint, fd);
    error = fellows_listen(own, endpoint, fd);
    if (error)
        own->fd = -1;
    if (!error)
        error = socket_write_all(fd, &hello, sizeof(hello));
    if (!error)
        error = socket_write_all(fd, own->text, sizeof(own->text));
    if (!error)
        error = socket_read_all(fd, &verdict, sizeof(verdict), HELLO_MS);
    if (!error && (verdict.magic != HELLO_MAGIC || !verdict.accepted)) {
        verdict.why[sizeof(verdict.why) - 1] = '\0';
        snprintf(why, why_size, "refused: %s", verdict.magic == HELLO_MAGIC ? verdict.why : "not a VOCL program");
        error = -EPROTO;
    } else if (error) {
        snprintf(why, why_size, "hello: %s", strerror(-error));
    }
    if (error)
        close(fd);
    return error ? error : fd;
}

static int worker_init(struct job *job, void (*ending)(void *), void *argument, char *why, size_t why_size)
{
    static const char *const own[] = {NULL};

    job->plugin = loader_open(job_mpi(), false, why, why_size);
    if (!job->plugin)
        return -ENOENT;
    if (job->plugin->init(own, ending, argument, false, &job->rank, &job->size, &job->last_tag)) {
        snprintf(why, why_size, "MPI_Init_thread failed %s", job->plugin->complaint());
        return -EIO;
    }
    return 0;
}

int job_open_worker(struct job *job, void (*ending)(void *), void *argument, char *why, size_t why_size)
{
    long until = clock_ms() + settings_number(SETTING_START_TIMEOUT) * 1000;
    const char *endpoint = getenv("VOCL_SESSION_ENDPOINT");
    struct invitation invitation = {.endpoint = ""};
    struct endpoint own = {.fd = -1};
    struct bell bell = {.socket.fd = -1};
    uint8_t secret[SECRET_BYTES];
    int error = 0;

    *job = (struct job){.provider = &provider_mpi, .lifeline = -1, .placeholder.fd = -1, .join = -1};
    if (endpoint && hex_read(getenv("VOCL_SESSION_SECRET"), secret, sizeof(secret)))
        return meeting_join(job, endpoint, secret, until, ending, argument, why, why_size);
    if (endpoint && token_read(getenv("VOCL_SESSION_TOKEN"), invitation.token)) {
        bell.socket.fd = say_hello(endpoint, invitation.token, &own, why, why_size);
        error = bell.socket.fd < 0 ? bell.socket.fd : worker_init(job, ending, argument, why, why_size);
    } else {
        error = worker_init(job, ending, argument, why, why_size);
        if (!error && (job->rank == 0 || job->size < 2)) {
            snprintf(why, why_size, "a worker is started by VOCL, or by mpiexec beside the program that it serves");
            error = -EINVAL;
        }
        if (!error)
            error = transfer_now(job, 0, false, &invitation, sizeof(invitation), until);
        invitation.endpoint[sizeof(invitation.endpoint) - 1] = '\0';
        if (!error) {
            bell.socket.fd = say_hello(invitation.endpoint, invitation.token, &own, why, why_size);
            error = bell.socket.fd < 0 ? bell.socket.fd : 0;
        }
    }
    if (!error) {
        job->members = calloc((size_t)job->size, sizeof(*job->members));
        error = job->members ? 0 : -ENOMEM;
    }
    if (!error) {
        bell_send(&bell, BELL_RANK, (uint32_t)job->rank);
        job->members[0].fd = bell.socket.fd;
        job->member_count = 1;
        job->whole = !endpoint;
        error = fellows_join(job, &own, invitation.token, until);
        if (error)
            snprintf(why, why_size, "the other workers: %s", strerror(-error));
    }
    if (own.fd >= 0)
        close(own.fd);
    return error;
}

void job_close(struct job *job)
{
    for (unsigned i = 0; i < job->member_count; i++) {
        if (job->members[i].fd >= 0)
            close(job->members[i].fd);
        job->members[i].fd = -1;
    }
    if (job->keeper)
        keeper_end(job->keeper);
    job->keeper = NULL;
    kept_close(&job->placeholder);
    if (job->lifeline >= 0)
        close(job->lifeline);
    if (job->join >= 0)
        close(job->join);
    job->lifeline = job->join = -1;
    forked_session = true; /* whatever comes next in this process needs a fresh MPI */
}
