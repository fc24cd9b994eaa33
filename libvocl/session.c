/*
 * The session: this process' job of workers, and who drives its transport.
 *
 * One lock guards the transport, the streams and the events. Whoever waits drives: one thread at a time, the leader,
 * polls and sleeps on the bells; others that wait sleep until the leader has news. While no application thread waits,
 * the session's own thread leads; when one comes, it steps aside for a while, so that a wait costs one wake-up.
 */
#include <errno.h>
#include <signal.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crowd.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/thread.h"
#include "libvocl/internal.h"
#include "wire/tables.h"

#define ASIDE_NS 20000000 /* how long the session's thread stays aside */
#define SLEEP_US 1000000
#define MOST_PLATFORMS 32 /* of one node */

struct session {
    struct transport *transport;
    pthread_mutex_t lock;
    pthread_cond_t news, aside;
    bool leading, own_thread_leads, stop;
    pthread_t ender; /* with stop: the thread that ended the session */
    unsigned waiters;
    pthread_t thread;
    unsigned node_count;
    struct node *nodes;
    unsigned device_count;
    cl_device_id *devices;
    struct _cl_platform_id *platform;
    unsigned described_count;
    struct described *described;
    long spin_ns;
    struct crowd crowd; /* the leader's */
};

/* A native platform, as a worker tells of it. */
struct described {
    const struct node *node;
    uint32_t number;
    struct info_table infos;
};

static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
static struct session *_Atomic current;
static bool start_failed, exiting;

void session_lock(struct session *session)
{
    pthread_mutex_lock(&session->lock);
}

void session_unlock(struct session *session)
{
    pthread_mutex_unlock(&session->lock);
}

pthread_mutex_t *session_mutex(struct session *session)
{
    return &session->lock;
}

bool session_stops(const struct session *session)
{
    return session->stop;
}

struct transport *session_transport(struct session *session)
{
    return session->transport;
}

cl_int node_lost_error(void)
{
    return CL_DEVICE_NOT_AVAILABLE;
}

/* ---- what arrives ---- */

static int on_frame(void *owner, unsigned peer, const void *bytes, size_t length)
{
    struct session *session = owner;
    struct wire_cursor frame = wire_cursor(bytes, length), fields;
    uint16_t number;
    int more;

    if (peer == 0 || peer > session->node_count)
        return -EBADMSG;
    wire_trace("<-", peer, bytes, length);
    while ((more = wire_next(&frame, &number, &fields)) == 1) {
        if (!note_take(&session->nodes[peer - 1], number, fields)) {
            vocl_log(LOG_ERROR, "worker %u sent a malformed %s", peer, wire_name(number));
            return -EBADMSG;
        }
    }
    return more < 0 ? -EBADMSG : 0;
}

static void on_lost(void *owner, unsigned peer, const char *why)
{
    struct session *session = owner;
    struct node *node;

    if (peer == 0 || peer > session->node_count)
        return;
    node = &session->nodes[peer - 1];
    vocl_log(why ? LOG_ERROR : LOG_DEBUG, "worker %u on %s is lost: %s", peer,
             transport_peer_host(session->transport, peer), why ? why : "this process ends");
    node->alive = false;
    wire_buffer_free(&node->batch);
    call_lose(node);
    transfer_lose(node);
    event_lose(node);
    dying_lose(node);
    block_lose(node);
}

/* ---- who drives ---- */

static _Thread_local bool polls;

bool session_polls(void)
{
    return polls;
}

static int progress(struct session *session)
{
    int count;

    polls = true;
    count = transport_poll(session->transport);
    for (unsigned i = 0; i < session->node_count; i++)
        stream_advance(&session->nodes[i]);
    polls = false;
    return count;
}

/* What comes in between is taken, too. */
static void announce(struct session *session)
{
    polls = true;
    transport_announce(session->transport);
    polls = false;
}

/* Lead for a turn: until something happened, at most for one sleep. The lock is let go in between. */
static void lead(struct session *session, bool own_thread)
{
    long until = clock_ns() + (own_thread || crowd_here(&session->crowd) ? 0 : session->spin_ns);
    long timeout = SLEEP_US;

    session->leading = true;
    session->own_thread_leads = own_thread;
    if (progress(session))
        goto done;
    while (clock_ns() < until || (transport_bulk_pending(session->transport) && !(own_thread && session->waiters))) {
        session_unlock(session);
        crowd_yield(&session->crowd);
        session_lock(session);
        if (progress(session) || session->stop)
            goto done;
    }
    announce(session);
    if (progress(session) || session->stop || (own_thread && session->waiters))
        goto done;
    for (unsigned i = 0; i < session->node_count; i++) {
        if (session->nodes[i].batch.length && session->nodes[i].alive)
            timeout = 10000;
    }
    session_unlock(session);
    transport_sleep(session->transport, -1, timeout);
    session_lock(session);
    progress(session);
done:
    session->leading = false;
    session->own_thread_leads = false;
    if (session->waiters > (own_thread ? 0 : 1))
        pthread_cond_broadcast(&session->news);
}

/* The process ends, by another thread: as natively, a wait goes on until that takes this thread with it. */
static void wait_after_end(struct session *session)
{
    if (pthread_equal(session->ender, pthread_self()))
        return;
    session->leading = false;
    session_unlock(session);
    for (;;)
        pause();
}

void session_wait(struct session *session, bool (*ready)(void *), void *argument)
{
    /* what is waited for may need what is to happen on another node */
    for (unsigned i = 0; i < session->node_count; i++)
        stream_push(&session->nodes[i]);
    if (ready(argument))
        return;
    deliver_away(session);
    session->waiters++;
    while (!ready(argument)) {
        if (session->stop)
            wait_after_end(session);
        if (session->stop && !session->leading)
            break;
        if (!session->leading) {
            lead(session, false);
            continue;
        }
        if (session->own_thread_leads)
            transport_wake(session->transport);
        pthread_cond_wait(&session->news, &session->lock);
    }
    session->waiters--;
    deliver_back();
    if (session->waiters && !session->leading)
        pthread_cond_signal(&session->news);
}

bool session_wait_on(struct session *session, pthread_cond_t *condition)
{
    if (session->stop)
        wait_after_end(session);
    if (session->stop)
        return false;
    pthread_cond_wait(condition, &session->lock);
    return true;
}

void session_news(struct session *session)
{
    if (session->waiters)
        pthread_cond_broadcast(&session->news);
    if (session->leading && !session->own_thread_leads)
        transport_wake(session->transport);
}

static void *session_thread(void *argument)
{
    struct session *session = argument;
    struct timespec until;

    session_lock(session);
    while (!session->stop) {
        if (!session->waiters && !session->leading)
            lead(session, true);
        if (!session->waiters && !session->leading)
            continue;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += ASIDE_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&session->aside, &session->lock, &until);
    }
    session_unlock(session);
    return NULL;
}

void session_need_progress(struct session *session)
{
    if (!session->leading)
        pthread_cond_signal(&session->aside);
}

/* ---- start ---- */

static cl_int describe_devices(struct session *session, struct node *node, uint32_t platform, unsigned version,
                               const uint32_t *ids, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        cl_device_id *devices = realloc(session->devices, (session->device_count + 1) * sizeof(*devices));
        cl_int error;

        if (!devices)
            return CL_OUT_OF_HOST_MEMORY;
        session->devices = devices;
        error = device_new(node, platform, ids[i], &devices[session->device_count]);
        if (error)
            return error;
        devices[session->device_count]->version = version;
        session->device_count++;
    }
    return CL_SUCCESS;
}

static cl_int keep_platform(struct session *session, const struct node *node, uint32_t number, const void *infos,
                            uint32_t length, unsigned *version)
{
    struct described *more = realloc(session->described, (session->described_count + 1) * sizeof(*more));

    if (!more)
        return CL_OUT_OF_HOST_MEMORY;
    session->described = more;
    more[session->described_count] = (struct described){.node = node, .number = number};
    if (!info_table_take(&more[session->described_count].infos, infos, length))
        return CL_OUT_OF_RESOURCES;
    *version = platform_version(&more[session->described_count++].infos);
    return CL_SUCCESS;
}

/* The one platform of the program: the newest, whose calls can be made, or that of the first device, if its name is to
 * be seen. */
static void choose_platform(struct session *session)
{
    const bool native = platform_is_native();
    unsigned newest = 0;

    for (unsigned i = 0; i < session->described_count && session->device_count; i++) {
        const struct described *described = &session->described[i];
        const bool first =
            described->node == session->devices[0]->node && described->number == session->devices[0]->platform;

        if (native ? first : platform_version(&described->infos) > newest) {
            session->platform->infos = described->infos;
            newest = platform_version(&described->infos);
        }
    }
}

static cl_int describe_platform(struct session *session, struct node *node, uint32_t number)
{
    struct wire_describe_platform m = {.platform = number};
    struct wire_describe_platform_reply reply;
    struct call call;
    unsigned version;
    cl_int error = call_describe_platform(node, &m, &reply, &call);

    if (error)
        return error;
    if (reply.error) {
        call_free(&call);
        return CL_OUT_OF_RESOURCES;
    }
    error = keep_platform(session, node, number, reply.infos, reply.infos_length, &version);
    if (!error)
        error = describe_devices(session, node, number, version, reply.devices, reply.devices_count);
    call_free(&call);
    return error;
}

static cl_int ask_devices(struct session *session, struct node *node)
{
    struct wire_list_platforms m;
    struct wire_list_platforms_reply reply;
    struct call call;
    cl_int error = call_list_platforms(node, &m, &reply, &call);

    if (error)
        return error;
    call_free(&call);
    if (reply.count > MOST_PLATFORMS)
        return CL_OUT_OF_RESOURCES;
    for (uint32_t i = 0; !error && i < reply.count; i++)
        error = describe_platform(session, node, i);
    return error;
}

static void describe_node(struct session *session, struct node *node)
{
    const unsigned before = session->device_count;

    if (ask_devices(session, node))
        vocl_log(LOG_ERROR, "worker %u does not tell its devices", node->peer);
    else if (session->device_count == before)
        vocl_log(LOG_ERROR, "%s has no OpenCL device: no driver in /etc/OpenCL/vendors (or OCL_ICD_VENDORS) gives one",
                 transport_peer_host(session->transport, node->peer));
}

static void init_lock(struct session *session)
{
    pthread_mutexattr_t mutex;
    pthread_condattr_t cond;

    pthread_mutexattr_init(&mutex);
    pthread_mutexattr_settype(&mutex, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&session->lock, &mutex);
    pthread_condattr_init(&cond);
    pthread_condattr_setclock(&cond, CLOCK_MONOTONIC);
    pthread_cond_init(&session->news, &cond);
    pthread_cond_init(&session->aside, &cond);
}

/*
 * The process exits: what was enqueued is sent, then the session ends. What is left for its own devices is nothing that
 * anybody saw, and their drivers may have been taken down already.
 */
static void on_ending(void *owner)
{
    struct session *session = owner;

    session_lock(session);
    if (session->stop) {
        session_unlock(session);
        return;
    }
    for (unsigned i = 0; i < session->node_count; i++) {
        if (!session->nodes[i].in_process)
            stream_push(&session->nodes[i]);
    }
    deliver_stop(session);
    if (session->stop) { /* by another thread meanwhile */
        session_unlock(session);
        return;
    }
    session->stop = true;
    session->ender = pthread_self();
    transport_wake(session->transport);
    pthread_cond_broadcast(&session->aside);
    deliver_wake();
    session_unlock(session);
    pthread_join(session->thread, NULL);
    session_lock(session);
    for (unsigned i = 0; i < session->node_count; i++)
        session->nodes[i].alive = false;
    transport_close(session->transport);
    session_unlock(session);
}

/* The user's settings name what is loaded and started, which must not be with the rights of a setuid program. */
static bool gains_rights(void)
{
    bool gains = getauxval(AT_SECURE) != 0;

    if (gains)
        vocl_log(LOG_ERROR, "no session: the program has rights that its user has not (setuid, setgid, capabilities)");
    return gains;
}

static struct session *session_start(void)
{
    struct session *session = calloc(1, sizeof(*session));
    struct transport_callbacks callbacks = {session, on_frame, on_lost, on_ending};
    char why[512] = "";
    bool has_local;
    int error;

    if (!session || gains_rights()) {
        free(session);
        return NULL;
    }
    init_lock(session);
    session->spin_ns = settings_number(SETTING_SPIN_US) * 1000;
    session->platform = handle_new(KIND_PLATFORM);
    error = transport_open_client(&callbacks, why, sizeof(why), &session->transport);
    if (error) {
        vocl_log(LOG_ERROR, "no session: %s", why);
        free(session);
        return NULL;
    }
    has_local = settings_number(SETTING_LOCAL) && local_open(session->transport);
    session->node_count = transport_peers(session->transport) - 1;
    session->nodes = calloc(session->node_count + 1, sizeof(*session->nodes));
    for (unsigned i = 0; session->nodes && i < session->node_count; i++)
        session->nodes[i] = (struct node){.session = session,
                                          .peer = i + 1,
                                          .index = i % MOST_NODES,
                                          .alive = true,
                                          .in_process = has_local && i + 1 == session->node_count};
    if (!session->nodes || !session->platform || thread_start(&session->thread, session_thread, session)) {
        transport_close(session->transport);
        return NULL;
    }
    if (has_local)
        session->nodes[session->node_count - 1].in_process = true;
    if (has_local) /* the last member, but its devices come first */
        describe_node(session, &session->nodes[session->node_count - 1]);
    for (unsigned i = 0; i < session->node_count - has_local; i++)
        describe_node(session, &session->nodes[i]);
    session->device_count = choose_devices(session->devices, session->device_count);
    choose_platform(session);
    return session;
}

static void before_fork(void)
{
    exchange_before_fork();
}

static void after_fork_in_parent(void)
{
    exchange_after_fork(false);
}

/* The child of a fork has no session: it may start its own. The parent's goes on undisturbed. */
static void after_fork(void)
{
    struct session *session = atomic_load(&current);

    exchange_after_fork(true);
    hostptr_after_fork();
    pthread_mutex_init(&start_lock, NULL);
    handle_after_fork();
    arena_after_fork();
    arrival_after_fork();
    transfer_after_fork();
    deliver_after_fork();
    start_failed = false;
    if (!session)
        return;
    init_lock(session);
    session->stop = true;
    session->ender = pthread_self();
    for (unsigned i = 0; i < session->node_count; i++)
        session->nodes[i].alive = false;
    transport_forget(session->transport);
    atomic_store(&current, NULL);
}

struct session *session_get(void)
{
    struct session *session = atomic_load(&current);
    static bool watched;

    if (session)
        return session;
    pthread_mutex_lock(&start_lock);
    session = atomic_load(&current);
    /* a worker's own OpenCL must not find workers */
    if (!session && !start_failed && !exiting && !getenv("VOCL_WORKER")) {
        if (!watched)
            pthread_atfork(before_fork, after_fork_in_parent, after_fork);
        watched = true;
        session = session_start();
        start_failed = !session;
        atomic_store(&current, session);
    }
    pthread_mutex_unlock(&start_lock);
    return session;
}

unsigned session_device_count(struct session *session)
{
    return session->device_count;
}

cl_device_id session_device(struct session *session, unsigned index)
{
    return session->devices[index];
}

cl_platform_id session_platform(struct session *session)
{
    return session->platform;
}

/* Runs when the process exits or the library is unloaded; the MPI library may have gone before. */
__attribute__((destructor)) static void session_end(void)
{
    struct session *session = atomic_load(&current);

    exiting = true;
    if (session)
        on_ending(session);
}
