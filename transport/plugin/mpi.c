/* The MPI plugin: see mpi_plugin.h. The only file of VOCL proper that knows mpi.h. */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "transport/plugin/mpi_plugin.h"

_Static_assert(sizeof(MPI_Request) <= sizeof(uintptr_t), "a request fits a word");

/* Two channels in one communicator, distinguished by a bit of the tag: to make communicators takes all ranks, and could
 * not be given up when one of them has ended. */
#define CHANNEL_BIT 24
#define LAST_TAG ((1u << CHANNEL_BIT) - 1)

static void (*call_ending)(void *);
static void *ending_argument;

/*
 * MPI ends the process when it meets an error that it considers fatal, which a library must not do to an application.
 * This library comes first in its own lookup scope, so MPI's exit() and abort() are these, and jump back to the guard.
 */
static __thread sigjmp_buf *guard;
static volatile int dead, running; /* running: MPI is initialized, and the process does not end yet */
static char complaint[512];

static void leave(void)
{
    dead = 1;
    if (guard)
        siglongjmp(*guard, 1);
}

__attribute__((visibility("default"), noreturn)) void exit(int status)
{
    leave();
    _exit(status);
}

/* In a thread of MPI's own abort() just stops the thread, for instance UCX's when its descriptors are closed. */
__attribute__((visibility("default"), noreturn)) void abort(void)
{
    leave();
    while (running)
        pause();
    for (;;)
        __builtin_trap();
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
/* With a sanitizer's library this one does not come first, so MPI's abort() is libc's, which raises a signal. */
static struct sigaction abort_before;

static void on_abort(int number)
{
    leave();
    sigaction(number, &abort_before, NULL);
    raise(number);
}

static void catch_abort(void)
{
    const struct sigaction action = {.sa_handler = on_abort, .sa_flags = SA_NODEFER};

    sigaction(SIGABRT, &action, &abort_before);
}
#else
static void catch_abort(void)
{
}
#endif

/* MPICH's MPID_Abort prints to stderr, which is the application's, and then may return and crash: its message is kept
 * instead. */
__attribute__((visibility("default"))) int fputs(const char *text, FILE *stream)
{
    if (guard && !strncmp(text, "Abort(", 6)) {
        snprintf(complaint, sizeof(complaint), "%s", text);
        leave();
    }
    return fwrite(text, 1, strlen(text), stream) == strlen(text) ? 1 : EOF;
}

/*
 * UCX creates its shared memory under a name that it removes at once, since others find it by /proc. A process that is
 * killed in between would leave the name behind; so these objects have no name from the beginning.
 */
static int is_ucx(const char *name)
{
    return !strncmp(name, "/ucx_shm_posix", 14);
}

__attribute__((visibility("default"))) int shm_open(const char *name, int flags, mode_t mode)
{
    char path[256];

    if (is_ucx(name) && flags & O_CREAT)
        return memfd_create(name + 1, MFD_CLOEXEC);
    if (snprintf(path, sizeof(path), "/dev/shm/%s", name + (*name == '/')) >= (int)sizeof(path))
        return -1;
    return open(path, flags | O_NOFOLLOW | O_CLOEXEC, mode);
}

__attribute__((visibility("default"))) int shm_unlink(const char *name)
{
    char path[256];

    if (is_ucx(name))
        return 0;
    if (snprintf(path, sizeof(path), "/dev/shm/%s", name + (*name == '/')) >= (int)sizeof(path))
        return -1;
    return unlink(path);
}

/* The thread that starts MPI may have a descriptor table of its own: other processes find UCX's memory in /proc under
 * that thread's TID, so UCX has to take the TID for the PID. */
static __thread bool here_apart;

__attribute__((visibility("default"))) pid_t getpid(void)
{
    return here_apart ? gettid() : (pid_t)syscall(SYS_getpid);
}

/* Processes that the program starts must not inherit MPI's descriptors. */
__attribute__((visibility("default"))) int socket(int domain, int type, int protocol)
{
    return (int)syscall(SYS_socket, domain, type | SOCK_CLOEXEC, protocol);
}

/* UCX has Unix sockets by which it could be woken, which never happens here: they get no name at which any process, of
 * whichever user, could reach them. */
__attribute__((visibility("default"))) int bind(int fd, const struct sockaddr *address, socklen_t length)
{
    if (address->sa_family == AF_UNIX && length <= sizeof(sa_family_t))
        return 0;
    return (int)syscall(SYS_bind, fd, address, length);
}

__attribute__((visibility("default"))) int accept(int listener, struct sockaddr *address, socklen_t *length)
{
    return accept4(listener, address, length, SOCK_CLOEXEC);
}

__attribute__((visibility("default"))) int pipe(int ends[2])
{
    return pipe2(ends, O_CLOEXEC);
}

__attribute__((visibility("default"))) int epoll_create(int size)
{
    (void)size;
    return epoll_create1(EPOLL_CLOEXEC);
}

__attribute__((visibility("default"))) int eventfd(unsigned count, int flags)
{
    return (int)syscall(SYS_eventfd2, count, flags | EFD_CLOEXEC);
}

#define GUARDED(result, call)                                                                                          \
    do {                                                                                                               \
        sigjmp_buf here;                                                                                               \
        if (dead)                                                                                                      \
            return -1;                                                                                                 \
        if (sigsetjmp(here, 0)) {                                                                                      \
            guard = NULL;                                                                                              \
            return -1;                                                                                                 \
        }                                                                                                              \
        guard = &here;                                                                                                 \
        (result) = (call);                                                                                             \
        guard = NULL;                                                                                                  \
    } while (0)

/* Whether a variable belongs to an MPI job, of which the program may be a rank. */
static bool is_of_job(const char *variable)
{
    static const char *const prefixes[] = {"PMI_", "PMIX_", "OMPI_", "MPIR_CVAR_NOLOCAL="};

    for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
        if (!strncmp(variable, prefixes[i], strlen(prefixes[i])))
            return true;
    }
    return false;
}

static void set_variable(const char *variable)
{
    const char *equals = strchr(variable, '=');
    char *name = strndup(variable, (size_t)(equals - variable));

    if (name)
        setenv(name, equals + 1, 1);
    free(name);
}

/* Takes a job's variables out of the environment. Returns them. */
static char **take_job(void)
{
    size_t count = 0, all = 0;
    char **list;

    while (environ && environ[all])
        all++;
    list = calloc(all + 1, sizeof(*list));
    for (size_t i = 0; list && i < all; i++) {
        if (is_of_job(environ[i]) && (list[count] = strdup(environ[i])))
            count++;
    }
    for (size_t i = 0; i < count; i++) {
        char *equals = strchr(list[i], '=');

        *equals = '\0';
        unsetenv(list[i]);
        *equals = '=';
    }
    return list;
}

static void free_list(char **list)
{
    for (char **at = list; at && *at; at++)
        free(*at);
    free(list);
}

/* hwloc, below MPI, would ask OpenCL for its devices: here that is VOCL, or takes long. It would also examine the whole
 * machine, although MPI uses none of the result here: that takes longer than the rest of MPI_Init. */
static const char *const hwloc[][2] = {{"HWLOC_PLUGINS_BLACKLIST", "hwloc_opencl.so"},
                                       {"HWLOC_COMPONENTS", "no_os,stop"}};
#define HWLOCS (sizeof(hwloc) / sizeof(*hwloc))

/* The session's variables are set during MPI_Init only: in this namespace they may be the application's, too. */
static char **set_environment(const char *const *environment, bool added[HWLOCS])
{
    char **saved = *environment ? take_job() : NULL;

    for (; *environment; environment++)
        set_variable(*environment);
    for (size_t i = 0; i < HWLOCS; i++) {
        added[i] = !getenv(hwloc[i][0]);
        if (added[i])
            setenv(hwloc[i][0], hwloc[i][1], 1);
    }
    return saved;
}

static void reset_environment(bool changed, char **saved, const bool added[HWLOCS])
{
    if (changed)
        free_list(take_job());
    for (char **at = saved; at && *at; at++)
        set_variable(*at);
    free_list(saved);
    for (size_t i = 0; i < HWLOCS; i++) {
        if (added[i])
            unsetenv(hwloc[i][0]);
    }
}

static int start(int *rank, int *size, uint32_t *last_tag)
{
    int provided, *bound, found, error;

    error = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided);
    if (error || provided < MPI_THREAD_SERIALIZED)
        return -1;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    error = MPI_Comm_rank(MPI_COMM_WORLD, rank) || MPI_Comm_size(MPI_COMM_WORLD, size) ||
            MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &found);
    *last_tag = LAST_TAG;
    return error || !found || (unsigned)*bound < 2 * LAST_TAG ? -1 : 0;
}

/* MPI writes to its mpiexec, which may have ended; SIGPIPE must not end the application. */
static void hold_pipe_signal(sigset_t *old, bool *pending)
{
    sigset_t set;

    sigpending(&set);
    *pending = sigismember(&set, SIGPIPE);
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &set, old);
}

static void drop_pipe_signal(const sigset_t *old, bool pending)
{
    const struct timespec now = {0, 0};
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    if (!pending)
        sigtimedwait(&set, NULL, &now);
    pthread_sigmask(SIG_SETMASK, old, NULL);
}

static __attribute__((noinline)) int guarded_start(int *rank, int *size, uint32_t *last_tag)
{
    int error;

    GUARDED(error, start(rank, size, last_tag));
    return error;
}

extern const struct mpi_plugin vocl_mpi_plugin;

static bool in_own_namespace(void)
{
    struct link_map *map = NULL;
    Lmid_t id = LM_ID_BASE;
    Dl_info info;

    return dladdr1(&vocl_mpi_plugin, &info, (void **)&map, RTLD_DL_LINKMAP) && map && !dlinfo(map, RTLD_DI_LMID, &id) &&
           id != LM_ID_BASE;
}

/* A program with a copy of environ of its own hides libc's. MPI, which is bound to its own libraries first, reads
 * libc's. */
static void align_environ(void)
{
    void *program = in_own_namespace() ? NULL : dlopen(NULL, RTLD_LAZY | RTLD_NOLOAD);
    char ***seen = program ? dlsym(program, "environ") : NULL;

    if (seen && seen != &environ)
        environ = *seen;
}

/* In a namespace of its own this library has its own environ, but the array is the application's: it gets a copy. */
static void own_environment(void)
{
    size_t count = 0;
    char **copy;

    while (environ && environ[count])
        count++;
    copy = in_own_namespace() ? calloc(count + 1, sizeof(*copy)) : NULL;
    if (copy && count)
        memcpy(copy, environ, count * sizeof(*copy));
    if (copy)
        environ = copy;
}

static int plugin_init(const char *const *environment, void (*ending)(void *), void *argument, bool apart, int *rank,
                       int *size, uint32_t *last_tag)
{
    sigset_t old;
    char **saved;
    bool added[HWLOCS], ucx, devices, threshold, pending;
    int error;

    align_environ();
    own_environment();
    threshold = !getenv("UCX_RNDV_THRESH");
    ucx = !getenv("UCX_TLS");
    devices = !getenv("UCX_NET_DEVICES");
    saved = set_environment(environment, added);
    if (threshold) /* above the size of every frame, and of every piece of bulk data that must not wait for an answer */
        setenv("UCX_RNDV_THRESH", "80k", 1);
    align_environ();
    hold_pipe_signal(&old, &pending);
    here_apart = apart;
    catch_abort();
    error = guarded_start(rank, size, last_tag);
    drop_pipe_signal(&old, pending);
    reset_environment(*environment != NULL, saved, added);
    if (ucx)
        unsetenv("UCX_TLS");
    if (devices && *environment)
        unsetenv("UCX_NET_DEVICES");
    if (threshold)
        unsetenv("UCX_RNDV_THRESH");
    align_environ();
    if (!error) {
        call_ending = ending;
        ending_argument = argument;
        running = 1;
    }
    return error;
}

static bool plugin_over_ucx(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;

    return !MPI_Get_library_version(text, &length) && strstr(text, "ch4:ucx");
}

/* "MPICH Version: 4.0.2 ... MPICH Device: ch4:ucx ...", or "Open MPI v4.1.4, ..." */
static void plugin_library(char *text, size_t size)
{
    char whole[MPI_MAX_LIBRARY_VERSION_STRING] = "", device[32] = "";
    const char *version, *at;
    unsigned major = 0, minor = 0;
    int length;

    MPI_Get_library_version(whole, &length);
    version = strpbrk(whole, "0123456789");
    at = strstr(whole, "Device:");
    if (at)
        sscanf(at, "Device: %31s", device);
    if (version)
        sscanf(version, "%u.%u", &major, &minor);
    snprintf(text, size, "%.*s %u.%u%s%s", strncmp(whole, "MPICH", 5) ? 8 : 5, whole, major, minor, *device ? " " : "",
             device);
}

static int full_tag(uint32_t tag, enum plugin_channel channel)
{
    return (int)(tag | (uint32_t)channel << CHANNEL_BIT);
}

static int plugin_send(int peer, enum plugin_channel channel, uint32_t tag, const void *bytes, size_t length,
                       struct plugin_request *request)
{
    MPI_Request native;
    int error;

    GUARDED(error, MPI_Isend(bytes, (int)length, MPI_BYTE, peer, full_tag(tag, channel), MPI_COMM_WORLD, &native));
    memcpy(&request->word, &native, sizeof(native));
    return error ? -1 : 0;
}

static int plugin_receive(int peer, enum plugin_channel channel, uint32_t tag, void *bytes, size_t length,
                          struct plugin_request *request)
{
    MPI_Request native;
    int error;

    GUARDED(error, MPI_Irecv(bytes, (int)length, MPI_BYTE, peer, full_tag(tag, channel), MPI_COMM_WORLD, &native));
    memcpy(&request->word, &native, sizeof(native));
    return error ? -1 : 0;
}

static int plugin_test(struct plugin_request *request, int *done, size_t *length)
{
    MPI_Request native;
    MPI_Status status;
    int error, count = 0;

    memcpy(&native, &request->word, sizeof(native));
    GUARDED(error, MPI_Test(&native, done, &status));
    memcpy(&request->word, &native, sizeof(native));
    if (!error && *done) {
        MPI_Get_count(&status, MPI_BYTE, &count);
        *length = count > 0 ? (size_t)count : 0;
    }
    return error ? -1 : 0;
}

static __attribute__((noinline)) int guarded_finish(void)
{
    int error;

    GUARDED(error, MPI_Finalize());
    return error ? -1 : 0;
}

static int plugin_finish(void)
{
    sigset_t old;
    bool pending;
    int error;

    hold_pipe_signal(&old, &pending);
    error = guarded_finish();
    drop_pipe_signal(&old, pending);
    return error;
}

static const char *plugin_complaint(void)
{
    return complaint;
}

/* Runs before the destructors of the MPI library that this one depends on. */
__attribute__((destructor)) static void plugin_end(void)
{
    if (call_ending)
        call_ending(ending_argument);
    dead = 1;
    running = 0;
}

__attribute__((visibility("default"))) const struct mpi_plugin vocl_mpi_plugin = {
    .version = PLUGIN_VERSION,
    .init = plugin_init,
    .library = plugin_library,
    .over_ucx = plugin_over_ucx,
    .send = plugin_send,
    .receive = plugin_receive,
    .test = plugin_test,
    .finish = plugin_finish,
    .complaint = plugin_complaint,
};
