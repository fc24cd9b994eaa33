/*
 * A checkpoint for files: the contents of all memory objects are taken into a store, as for a suspension, but the
 * workers stay; calls continue, and what was taken goes through a pipe to the process that asked, which writes the
 * files.
 */
#include "client/survive/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"
#include "client/core/halt.h"
#include "client/core/per_process.h"
#include "client/core/session.h"
#include "client/data/coherence.h"
#include "client/memory/memory.h"
#include "client/memory/svm.h"
#include "client/survive/moving.h"
#include "client/survive/pause.h"
#include "client/survive/recover.h"
#include "client/survive/store.h"

#define PIPE_BYTES (1 << 20)

struct kept { /* a memory object, as it was at that moment */
    cl_mem memory;
    uint64_t number;
    bool linear; /* a buffer: offsets in it are those of its contents */
    char what[SAVED_WHAT];
};

struct save {
    struct pause pause;
    struct held held;
    struct kept *kept; /* the objects of held, in the order of their addresses */
    unsigned kept_count;
    struct store *store;
    size_t paused; /* bytes taken in the pause */
    int pipe;
};

static PER_PROCESS atomic_int svm; /* SVM allocations */

bool checkpoint_any_svm(void)
{
    return atomic_load(&svm) > 0;
}

void checkpoint_count_svm(int more)
{
    atomic_fetch_add(&svm, more);
}

void checkpoint_describe(const struct _cl_mem *memory, char what[SAVED_WHAT])
{
    const cl_image_desc *d = &memory->desc;
    size_t extent[3];

    if (memory->type == CL_MEM_OBJECT_BUFFER) {
        snprintf(what, SAVED_WHAT, "buffer %zu", memory->size);
        return;
    }
    image_extent(d, extent);
    snprintf(what, SAVED_WHAT, "image 0x%x %zux%zux%zu format 0x%x 0x%x", d->image_type, extent[0], extent[1],
             extent[2], memory->format.image_channel_order, memory->format.image_channel_data_type);
}

/* ---- planning and taking the contents ---- */

static void collect(struct object *object, void *argument)
{
    struct save *s = argument;

    if (!((const struct _cl_mem *)object)->parent)
        held_add(&s->held, object);
}

static int check_node(struct save *s, const struct node *node)
{
    if (!node->alive)
        return pause_refuse(&s->pause, -ECONNRESET, "a worker is lost");
    if (checkpoint_any_svm() || svm_remote_any(node))
        return pause_refuse(&s->pause, -ENOTSUP, "shared virtual memory, which another program has at other addresses");
    if (usm_any(node))
        return pause_refuse(&s->pause, -ENOTSUP, "unified shared memory, which another program has at other addresses");
    return 0;
}

static int check(struct save *s)
{
    int error = 0;

    if (suspend_is_on())
        return pause_refuse(&s->pause, -EBUSY, "it is suspended: `vocl resume` comes first");
    if (!halt_can())
        return pause_refuse(&s->pause, -ENOSYS, "this system has no membarrier");
    for (unsigned i = 0; !error && i < session_node_count(s->pause.session); i++)
        error = check_node(s, session_node(s->pause.session, i));
    return error;
}

static int by_address(const void *one, const void *other)
{
    const uintptr_t a = (uintptr_t)((const struct kept *)one)->memory;
    const uintptr_t b = (uintptr_t)((const struct kept *)other)->memory;

    return a < b ? -1 : a > b;
}

static int keep(struct save *s)
{
    s->kept = calloc(s->held.count + 1, sizeof(*s->kept));
    if (!s->kept || s->held.failed)
        return pause_refuse(&s->pause, -ENOMEM, "no memory");
    for (unsigned i = 0; i < s->held.count; i++) {
        cl_mem memory = (cl_mem)s->held.objects[i];
        struct kept *kept = &s->kept[s->kept_count];

        if (!memory->made) /* its creation has failed */
            continue;
        *kept = (struct kept){.memory = memory, .number = memory->made, .linear = memory->type == CL_MEM_OBJECT_BUFFER};
        checkpoint_describe(memory, kept->what);
        s->kept_count++;
    }
    qsort(s->kept, s->kept_count, sizeof(*s->kept), by_address);
    return 0;
}

/* Moves the objects that the node has to the front of the list, and returns their number. */
static unsigned gather(struct save *s, const struct node *node)
{
    unsigned count = 0;

    for (unsigned i = 0; i < s->held.count; i++) {
        struct object *object = s->held.objects[i];

        if (!handle_is_on(object, node))
            continue;
        s->held.objects[i] = s->held.objects[count];
        s->held.objects[count++] = object;
    }
    return count;
}

static int plan_node(struct save *s, const struct node *node)
{
    const unsigned count = gather(s, node);
    const char *bound = NULL;

    for (unsigned i = 0; !bound && i < count; i++)
        bound = handle_kind(s->held.objects[i])->bound(s->held.objects[i], node);
    if (bound)
        return pause_refuse(&s->pause, -ENOTSUP, "%s", bound);
    return store_plan(s->store, node, s->held.objects, count) ? pause_refuse(&s->pause, -ENOMEM, "no memory") : 0;
}

static int plan(struct save *s)
{
    int error = 0;

    session_lock(s->pause.session);
    handle_each(WIRE_MEMORY, collect, s);
    session_unlock(s->pause.session);
    for (unsigned i = 0; !error && i < session_node_count(s->pause.session); i++)
        error = plan_node(s, session_node(s->pause.session, i));
    for (unsigned i = 0; !error && i < s->held.count; i++) {
        cl_mem memory = (cl_mem)s->held.objects[i];

        if (memory->arena && memory->made && store_plan_shared(s->store, memory))
            error = pause_refuse(&s->pause, -ENOMEM, "no memory");
    }
    return error ? error : keep(s);
}

/* Takes all contents. Calls of the program wait from pause_begin() on. */
static int take(struct save *s)
{
    struct pause *p = &s->pause;
    struct store_ahead store = {.store = s->store, .session = p->session, .shared = true};
    const struct ahead ahead = store_ahead(&store);
    int error = check(s);

    coherence_watch(true);
    if (!error) {
        pause_phase(p, "ahead");
        copy_ahead(p, &ahead, 1);
        error = pause_begin(p);
    }
    if (!error)
        error = check(s);
    store_ahead_end(&store);
    if (!error)
        error = plan(s);
    s->paused = store_missing(s->store);
    if (p->halted)
        pause_phase(p, "save");
    if (p->halted && !error)
        pause_expect(p, s->paused);
    if (!error)
        error = store_take(s->store, p->reason, p->reason_size);
    if (p->halted) /* else the halt is another one, of a suspended session */
        halt_set(HALT_NONE);
    coherence_watch(false);
    ends_free(&p->ends);
    held_drop(&s->held, s->pause.session);
    return error;
}

/* ---- writing them to the pipe ---- */

/* Opens the end of a pipe of the process that asks; the kernel allows that only if it is the same user's. */
static int open_pipe(const char *words)
{
    struct stat file;
    char path[64];
    int pid, number, fd;

    if (sscanf(words, "checkpoint %d %d", &pid, &number) != 2)
        return -EINVAL;
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, number);
    if (stat(path, &file))
        return -errno;
    if (!S_ISFIFO(file.st_mode)) /* opening other files might have side effects */
        return -EINVAL;
    fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &file) || !S_ISFIFO(file.st_mode) || fcntl(fd, F_SETFL, O_WRONLY)) {
        close(fd);
        return -EINVAL;
    }
    fcntl(fd, F_SETPIPE_SZ, PIPE_BYTES); /* or it keeps its size */
    return fd;
}

/* Writes to the pipe, in a thread for which SIGPIPE is blocked, as all signals are. */
static int put(struct save *s, const void *bytes, size_t size)
{
    for (size_t at = 0; at < size;) {
        const ssize_t put = write(s->pipe, (const uint8_t *)bytes + at, size - at);

        if (put < 0 && errno != EINTR)
            return pause_refuse(&s->pause, -EPIPE, "the process that asked does not read the contents");
        at += put > 0 ? (size_t)put : 0;
    }
    return 0;
}

__attribute__((format(printf, 2, 3))) static int put_line(struct save *s, const char *format, ...)
{
    char line[SAVED_PROGRAM + SAVED_WHAT + 64];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    return put(s, line, strlen(line));
}

static int put_contents(struct save *s, const struct stored *piece, const uint8_t *bytes)
{
    const struct kept wanted = {.memory = piece->memory};
    const struct kept *kept = bsearch(&wanted, s->kept, s->kept_count, sizeof(wanted), by_address);
    int error;

    if (!kept)
        return 0;
    error = put_line(s, "data %llu %zu %zu\n", (unsigned long long)kept->number, kept->linear ? piece->start : 0,
                     piece->bytes);
    for (size_t at = 0; !error && at < piece->bytes; at += PIPE_BYTES) {
        const size_t part = piece->bytes - at < PIPE_BYTES ? piece->bytes - at : PIPE_BYTES;

        error = put(s, bytes + piece->at + at, part);
        pause_copied(&s->pause, error ? 0 : part);
    }
    return error;
}

static int put_all(struct save *s)
{
    const uint8_t *bytes = store_open(s->store);
    char program[SAVED_PROGRAM];
    const struct stored *piece;
    int error;

    if (!bytes && store_bytes(s->store))
        return pause_refuse(&s->pause, -EIO, "what was taken cannot be read");
    if (!saved_program(getpid(), program))
        return pause_refuse(&s->pause, -errno, "the program has no name in /proc");
    pause_count_anew(&s->pause);
    pause_phase(&s->pause, "write");
    pause_expect(&s->pause, store_contents(s->store));
    error = put_line(s, CHECKPOINT_HEAD "program %s\n", program);
    for (unsigned i = 0; !error && i < s->kept_count; i++)
        error = put_line(s, "object %llu %s\n", (unsigned long long)s->kept[i].number, s->kept[i].what);
    for (unsigned at = 0; !error && (piece = store_piece(s->store, &at));)
        error = put_contents(s, piece, bytes);
    return error ? error : put_line(s, "end\n");
}

static void save_free(struct save *s)
{
    store_free(s->store);
    free(s->kept);
    if (s->pipe >= 0)
        close(s->pipe);
}

void checkpoint_answer(struct session *session, const char *words, struct answer *answer)
{
    char reason[300] = "";
    struct save s = {.pause = {.session = session, .reason = reason, .reason_size = sizeof(reason)},
                     .pipe = open_pipe(words)};
    int error = s.pipe < 0 ? s.pipe : 0;
    struct move_watch watch = summon_watch(answer);
    long paused = 0;

    s.pause.watch = &watch;
    if (error)
        snprintf(reason, sizeof(reason), "the pipe of the process that asked cannot be opened: %s", strerror(-error));
    s.pause.node = session_node(session, 0);
    s.store = error ? NULL : store_new(settings_string(SETTING_SUSPEND_DIR), &s.pause);
    if (!error && !s.store)
        error = pause_refuse(&s.pause, -ENOMEM, "no memory");
    if (!error)
        error = suspend_settle(reason, sizeof(reason));
    summon_lock();
    s.pause.began = clock_ns();
    if (!error)
        error = take(&s);
    if (s.pause.halted)
        paused = (clock_ns() - s.pause.halted) / 1000;
    summon_unlock();
    if (!error)
        error = put_all(&s);
    if (!error)
        snprintf(reason, sizeof(reason), "%u objects, %zu bytes, %ld us of pause, %zu bytes read in it", s.kept_count,
                 store_bytes(s.store), paused, s.paused);
    vocl_log(LOG_INFO, "%s%s", error ? "no checkpoint: " : "checkpoint: ", reason);
    answer_end(answer, !error, "%s", reason);
    save_free(&s);
}
