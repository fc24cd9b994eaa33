/*
 * Restores the contents of a checkpoint (base/saved.h) to memory objects at the moment of their creation: the program's
 * n-th object gets the contents of the checkpoint's n-th, in place of those given with its creation. What the program
 * writes later stays. The first kernel ends this, so that objects which a program creates repeatedly while it works,
 * and which the checkpoint has only by chance, keep the program's own contents.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/settings.h"
#include "libvocl/internal.h"
#include "libvocl/restore.h"

#define RUN ((size_t)16 << 20) /* bytes of a buffer at a time */

atomic_int restore_now;
static atomic_uint_fast64_t made;

static struct mutex lock = MUTEX(RANK_RESTORE);
static struct saved_list *saved;
static unsigned given; /* objects restored */

/* Uses nothing of the checkpoint: a program with half of it would be silently wrong. */
static cl_int refuse(const char *why)
{
    vocl_log(LOG_ERROR, "nothing can be restored: %s", why);
    atomic_store(&restore_now, RESTORE_REFUSED);
    saved_close(saved);
    saved = NULL;
    return CL_INVALID_OPERATION;
}

/* With the lock held. */
static void load(void)
{
    const char *path = settings_string(SETTING_RESTORE);
    char why[600], name[SAVED_PROGRAM] = "?";

    if (!*path) {
        atomic_store(&restore_now, RESTORE_OVER);
        return;
    }
    if (saved_open(path, &saved, why, sizeof(why))) {
        refuse(why);
        return;
    }
    if (!saved_program(getpid(), name) || strcmp(name, saved->program)) {
        snprintf(why, sizeof(why), "the checkpoint is of the program %s, and this is %s", saved->program, name);
        refuse(why);
        return;
    }
    atomic_store(&restore_now, RESTORE_OPEN);
}

/* ---- restoring ---- */

/* Returns how many pieces, from the first on, follow each other without a gap in at most most bytes. */
static unsigned run_of(const struct saved_piece *pieces, unsigned count, size_t most, size_t *bytes)
{
    unsigned run = 0;

    *bytes = 0;
    while (run < count && pieces[run].offset == pieces[0].offset + *bytes && *bytes + pieces[run].bytes <= most)
        *bytes += pieces[run++].bytes;
    return run;
}

static cl_int write_run(cl_command_queue queue, cl_mem memory, size_t offset, size_t bytes, const void *from)
{
    const size_t zero[3] = {0};
    size_t region[3];

    if (memory->type == CL_MEM_OBJECT_BUFFER)
        return clEnqueueWriteBuffer(queue, memory, CL_TRUE, offset, bytes, from, 0, NULL, NULL);
    image_extent(&memory->desc, region);
    return clEnqueueWriteImage(queue, memory, CL_TRUE, zero, region, 0, 0, from, 0, NULL, NULL);
}

/* Whether the pieces fit: a buffer's may be parts of it, an image's must be the whole. */
static bool fits(cl_mem memory, const struct saved_piece *pieces, unsigned count, size_t *most)
{
    size_t all = memory->size, bytes;

    *most = all < RUN ? all : RUN;
    if (memory->type != CL_MEM_OBJECT_BUFFER) {
        *most = all = part_of(memory, 0, 1).bytes;
        return !count || (!pieces[0].offset && run_of(pieces, count, all, &bytes) == count && bytes == all);
    }
    for (unsigned i = 0; i < count; i++) {
        if (pieces[i].offset + pieces[i].bytes > all)
            return false;
    }
    return true;
}

static cl_int give(cl_command_queue queue, cl_mem memory, char *why, size_t size)
{
    unsigned count, run;
    const struct saved_piece *pieces = saved_pieces(saved, memory->made, &count);
    size_t most, bytes, at;
    cl_int error = CL_SUCCESS;
    uint8_t *from;

    snprintf(why, size, "the checkpoint's list is wrong about memory object %llu", (unsigned long long)memory->made);
    if (!fits(memory, pieces, count, &most))
        return CL_INVALID_OPERATION;
    from = malloc(most);
    snprintf(why, size, "no memory");
    if (!from)
        return CL_OUT_OF_HOST_MEMORY;
    for (; !error && count; pieces += run, count -= run) {
        run = run_of(pieces, count, most, &bytes);
        at = 0;
        for (unsigned i = 0; !error && i < run; at += pieces[i++].bytes) {
            if (saved_read(saved, &pieces[i], from + at, why, size))
                error = CL_INVALID_OPERATION;
        }
        if (error)
            break;
        error = write_run(queue, memory, pieces[0].offset, bytes, from);
        if (error)
            snprintf(why, size, "memory object %llu cannot be written: error %d", (unsigned long long)memory->made,
                     error);
    }
    free(from);
    return error;
}

/* Restores an object, ignoring its flags that restrict the host's access. */
static cl_int give_back(cl_mem memory, char *why, size_t size)
{
    const cl_mem_flags flags = memory->flags;
    cl_int error;
    cl_command_queue queue =
        clCreateCommandQueueWithProperties(memory->context, memory->context->devices[0], NULL, &error);

    snprintf(why, size, "no queue: error %d", error);
    if (error)
        return error;
    memory->flags &= ~(cl_mem_flags)(CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS);
    error = give(queue, memory, why, size);
    memory->flags = flags;
    clReleaseCommandQueue(queue);
    given += !error;
    return error;
}

/* With the lock held. */
static cl_int restore(cl_mem memory)
{
    const struct saved_object *object = saved_find(saved, memory->made);
    char what[SAVED_WHAT], why[600];
    cl_int error;

    if (!object)
        return CL_SUCCESS; /* it did not exist at the checkpoint */
    checkpoint_describe(memory, what);
    if (strcmp(what, object->what)) {
        snprintf(why, sizeof(why), "memory object %llu of the checkpoint is a %s, and the program created a %s",
                 (unsigned long long)memory->made, object->what, what);
        return refuse(why);
    }
    error = give_back(memory, why, sizeof(why));
    if (error)
        refuse(why);
    return error;
}

cl_int restore_made(cl_mem memory)
{
    cl_int error = CL_SUCCESS;

    memory->made = atomic_fetch_add(&made, 1) + 1;
    if (atomic_load(&restore_now) == RESTORE_OVER)
        return CL_SUCCESS;
    mutex_lock(&lock);
    if (atomic_load(&restore_now) == RESTORE_UNKNOWN)
        load();
    if (atomic_load(&restore_now) == RESTORE_OPEN)
        error = restore(memory);
    else if (atomic_load(&restore_now) == RESTORE_REFUSED)
        error = CL_INVALID_OPERATION;
    mutex_unlock(&lock);
    return error;
}

void restore_end(void)
{
    if (atomic_load(&restore_now) == RESTORE_REFUSED)
        return;
    mutex_lock(&lock);
    if (atomic_load(&restore_now) == RESTORE_UNKNOWN)
        load();
    if (atomic_load(&restore_now) == RESTORE_OPEN) {
        if (given < saved->object_count)
            vocl_log(LOG_ERROR,
                     "%u of the checkpoint's %u memory objects were made before the first kernel, and have "
                     "their contents; the others have not",
                     given, saved->object_count);
        else
            vocl_log(LOG_INFO, "all %u memory objects of the checkpoint have their contents", given);
        saved_close(saved);
        saved = NULL;
        atomic_store(&restore_now, RESTORE_OVER);
    }
    mutex_unlock(&lock);
}

void restore_after_fork(void)
{
    int open = RESTORE_OPEN;

    mutex_init(&lock, RANK_RESTORE);
    atomic_compare_exchange_strong(&restore_now, &open, RESTORE_OVER);
}
