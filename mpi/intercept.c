/* See intercept.h: start and end, XTQ on communicators, and the XTQ equivalents of MPI's types and operations. */
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/settings.h"
#include "xtq/inside.h"
#include "mpi/device/device.h"
#include "mpi/collectives/jobs.h"
#include "mpi/collectives/meet.h"
#include "mpi/rma/window.h"

#define QUEUES 3
#define INDICES (FIRST_WINDOW_INDEX + WINDOWS + 1)
#define LANE_BYTES ((size_t)512 << 10)

/* Used under the lock, as several threads may use communicators of the process. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct link *links;
static int keyval = MPI_KEYVAL_INVALID;
static unsigned long collectives, accumulates;
static atomic_int windows;
static atomic_uint changes; /* changes of communicators' links: see link_find() */

void link_count_collective(void)
{
    __atomic_fetch_add(&collectives, 1, __ATOMIC_RELAXED);
}

void link_count_accumulate(void)
{
    __atomic_fetch_add(&accumulates, 1, __ATOMIC_RELAXED);
}

/* ---- XTQ on a communicator ---- */

/* Chooses the persistent kernel's device. If there is none, the CPU computes. */
static void choose_device(struct xtq_collectives_options *options)
{
    cl_platform_id platform;
    cl_int status = CL_SUCCESS;

    if (strcmp(settings_string(SETTING_XTQ_ENGINE), "device") != 0)
        return;
    if (clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &options->device, NULL))
        status = CL_DEVICE_NOT_FOUND;
    if (!status)
        options->context = clCreateContext(NULL, 1, &options->device, NULL, NULL, &status);
    if (status)
        vocl_log(LOG_WARN, "xtq: no device for reductions, using the CPU: OpenCL error %d", status);
    else
        options->engine = XTQ_DEVICE;
}

static void link_open(struct link *link, MPI_Comm comm)
{
    struct xtq_options xtq_options = {
        .queues = QUEUES, .kernels = INDICES, .functions = INDICES, .lane_bytes = LANE_BYTES};
    struct xtq_collectives_options options = {.queue = REDUCE_QUEUE};
    int error = xtq_init(comm, &xtq_options, &link->x);

    if (!error) {
        context_waits_in_mpi(link->x);
        choose_device(&options);
        error = xtq_collectives_open(link->x, &options, &link->c);
        if (options.context)
            clReleaseContext(options.context);
        if (error)
            xtq_finalize(link->x);
    }
    if (error) {
        vocl_log(LOG_WARN, "xtq: cannot be used on this communicator: %s", strerror(-error));
        link->x = NULL;
    }
    link->opened = true;
    pthread_mutex_lock(&lock);
    link->next = links;
    links = link;
    pthread_mutex_unlock(&lock);
}

static void link_close(struct link *link)
{
    if (link->x) {
        jobs_close(link);
        xtq_barrier(link->x);
        windows_close(link);
        xtq_collectives_close(link->c);
        xtq_finalize(link->x);
        meet_close(link);
    }
    link->x = NULL;
}

void link_keep(struct link *link)
{
    link->users++;
}

/* Removes the link from the list before it is closed, as another thread may drive the listed links: link_progress(). */
void link_release(struct link *link)
{
    if (--link->users)
        return;
    pthread_mutex_lock(&lock);
    for (struct link **at = &links; *at; at = &(*at)->next) {
        if (*at == link) {
            *at = link->next;
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    link_close(link);
    free(link);
}

bool link_serves(void)
{
    return atomic_load_explicit(&windows, memory_order_relaxed) > 0;
}

void link_windows(int change)
{
    atomic_fetch_add(&windows, change);
}

/* Drives all links, unless another thread is doing it. */
void link_progress(void)
{
    if (pthread_mutex_trylock(&lock))
        return;
    for (struct link *link = links; link; link = link->next) {
        if (link->x)
            xtq_progress(link->x);
    }
    pthread_mutex_unlock(&lock);
}

static int on_comm_free(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm;
    (void)key;
    (void)extra;
    atomic_fetch_add(&changes, 1);
    link_release(value);
    return MPI_SUCCESS;
}

static struct link *link_ask(MPI_Comm comm, bool make)
{
    struct link *link = NULL;
    int found, inter, size;

    pthread_mutex_lock(&lock);
    if (keyval == MPI_KEYVAL_INVALID)
        PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_comm_free, &keyval, NULL);
    pthread_mutex_unlock(&lock);
    if (PMPI_Comm_get_attr(comm, keyval, &link, &found) || found || !make)
        return found ? link : NULL;
    PMPI_Comm_test_inter(comm, &inter);
    PMPI_Comm_size(comm, &size);
    if (inter || size == 1)
        return NULL;
    link = calloc(1, sizeof(*link));
    if (!link) /* the other ranks expect a link here */
        PMPI_Abort(comm, 1);
    link->users = 1;
    link->meeting = MPI_COMM_NULL;
    PMPI_Comm_set_attr(comm, keyval, link);
    atomic_fetch_add(&changes, 1);
    return link;
}

/* Returns the link of a communicator; make: makes one. NULL: it has none, or cannot have one. A query of MPI takes a
 * third of the time of a small reduction, so the last answer is kept until any communicator gets a link, or loses it.
 */
static struct link *link_find(MPI_Comm comm, bool make)
{
    static _Thread_local struct {
        MPI_Comm comm;
        struct link *link;
        unsigned changes;
        bool known;
    } last;
    unsigned now = atomic_load_explicit(&changes, memory_order_acquire);

    if (!last.known || last.comm != comm || last.changes != now || (make && !last.link)) {
        last.link = link_ask(comm, make);
        last.comm = comm;
        last.changes = now; /* the value from before the query */
        last.known = true;
    }
    return last.link;
}

struct link *link_all_serve(MPI_Comm comm)
{
    struct link *link = link_serves() && comm != MPI_COMM_NULL ? link_find(comm, false) : NULL;

    return link && link->exposed ? link : NULL;
}

struct link *link_of(MPI_Comm comm)
{
    struct link *link = link_find(comm, true);

    if (link && !link->opened)
        link_open(link, comm);
    return link && link->x ? link : NULL;
}

struct link *link_if_open(MPI_Comm comm)
{
    struct link *link = link_find(comm, true);

    if (link)
        link->wanted = true;
    return link && link->x && link_threads() ? link : NULL;
}

void link_open_wanted(MPI_Comm comm)
{
    struct link *link = keyval != MPI_KEYVAL_INVALID && comm != MPI_COMM_NULL ? link_find(comm, false) : NULL;

    if (link && link->wanted && !link->opened)
        link_open(link, comm);
}

bool link_threads(void)
{
    int level;

    return !PMPI_Query_thread(&level) && level == MPI_THREAD_MULTIPLE;
}

/* ---- start and end ---- */

/* XTQ has threads of its own, which call MPI if ranks are on several hosts. */
INTERCEPT MPI_Init(int *count, char ***words)
{
    int level;

    return PMPI_Init_thread(count, words, MPI_THREAD_MULTIPLE, &level);
}

INTERCEPT MPI_Init_thread(int *count, char ***words, int required, int *provided)
{
    (void)required;
    return PMPI_Init_thread(count, words, MPI_THREAD_MULTIPLE, provided);
}

/* Closes links in the order in which they were made, which is the same on all ranks that have them. */
static void close_oldest(struct link *link)
{
    if (!link)
        return;
    close_oldest(link->next);
    link_close(link);
}

INTERCEPT MPI_Finalize(void)
{
    vocl_log(LOG_INFO, "xtq: %lu collectives, %lu accumulates", collectives, accumulates);
    pending_reap(true);
    pipes_reap(true);
    close_oldest(links);
    persistents_close();
    return PMPI_Finalize();
}

/* ---- types and operations ---- */

#define SIGNED(c_type)                                                                                                 \
    (sizeof(c_type) == 8 ? XTQ_INT64 : sizeof(c_type) == 4 ? XTQ_INT32 : sizeof(c_type) == 2 ? XTQ_INT16 : XTQ_INT8)
#define UNSIGNED(c_type) ((enum xtq_type)(SIGNED(c_type) + 1))

/* Returns the type of a Fortran datatype, by its size. Without Fortran, MPI's constants are MPI_DATATYPE_NULL. */
static bool fortran_type(MPI_Datatype datatype, enum xtq_type *type)
{
    const MPI_Datatype integers[] = {MPI_INTEGER, MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8};
    const MPI_Datatype reals[] = {MPI_REAL, MPI_DOUBLE_PRECISION, MPI_REAL4, MPI_REAL8};
    int bytes = 0;

    if (datatype == MPI_DATATYPE_NULL)
        return false;
    for (size_t i = 0; i < sizeof(integers) / sizeof(*integers); i++) {
        if (integers[i] == datatype && !PMPI_Type_size(datatype, &bytes)) {
            *type = bytes == 8 ? XTQ_INT64 : bytes == 4 ? XTQ_INT32 : bytes == 2 ? XTQ_INT16 : XTQ_INT8;
            return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
        }
    }
    for (size_t i = 0; i < sizeof(reals) / sizeof(*reals); i++) {
        if (reals[i] == datatype && !PMPI_Type_size(datatype, &bytes)) {
            *type = bytes == 4 ? XTQ_FLOAT : XTQ_DOUBLE;
            return bytes == 4 || bytes == 8;
        }
    }
    return false;
}

bool intercept_type(MPI_Datatype datatype, enum xtq_type *type)
{
    static const struct {
        MPI_Datatype datatype;
        enum xtq_type type;
    } types[] = {
        {MPI_CHAR, CHAR_MIN < 0 ? XTQ_INT8 : XTQ_UINT8},
        {MPI_SIGNED_CHAR, XTQ_INT8},
        {MPI_UNSIGNED_CHAR, XTQ_UINT8},
        {MPI_SHORT, XTQ_INT16},
        {MPI_UNSIGNED_SHORT, XTQ_UINT16},
        {MPI_INT, XTQ_INT32},
        {MPI_UNSIGNED, XTQ_UINT32},
        {MPI_LONG, SIGNED(long)},
        {MPI_UNSIGNED_LONG, UNSIGNED(long)},
        {MPI_LONG_LONG, XTQ_INT64},
        {MPI_UNSIGNED_LONG_LONG, XTQ_UINT64},
        {MPI_INT8_T, XTQ_INT8},
        {MPI_UINT8_T, XTQ_UINT8},
        {MPI_INT16_T, XTQ_INT16},
        {MPI_UINT16_T, XTQ_UINT16},
        {MPI_INT32_T, XTQ_INT32},
        {MPI_UINT32_T, XTQ_UINT32},
        {MPI_INT64_T, XTQ_INT64},
        {MPI_UINT64_T, XTQ_UINT64},
        {MPI_FLOAT, XTQ_FLOAT},
        {MPI_DOUBLE, XTQ_DOUBLE},
        {MPI_AINT, SIGNED(MPI_Aint)},
        {MPI_OFFSET, SIGNED(MPI_Offset)},
        {MPI_COUNT, SIGNED(MPI_Count)},
    };

    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        if (types[i].datatype == datatype) {
            *type = types[i].type;
            return true;
        }
    }
    return fortran_type(datatype, type);
}

bool intercept_op(MPI_Op mpi_op, enum xtq_op *op)
{
    const MPI_Op ops[] = {[XTQ_SUM] = MPI_SUM, [XTQ_PROD] = MPI_PROD, [XTQ_MIN] = MPI_MIN, [XTQ_MAX] = MPI_MAX};

    for (unsigned i = 0; i < sizeof(ops) / sizeof(*ops); i++) {
        if (ops[i] == mpi_op) {
            *op = (enum xtq_op)i;
            return true;
        }
    }
    return false;
}
