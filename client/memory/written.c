/*
 * Which parts of a memory object were written since it was created, recorded coarsely: one range, and which of 64 equal
 * parts. They never become fewer. In a context of one node nothing else knows this, and a move sends only these parts.
 * A kernel counts as writing all of its argument as soon as that is set, so that a launch has nothing to note.
 */
#include "client/core/handle.h"
#include "client/memory/arena.h"
#include "client/memory/memory.h"

#define GRAINS 64

static size_t extent(cl_mem root)
{
    return root->type == CL_MEM_OBJECT_BUFFER ? root->size : 1;
}

static size_t grain_size(size_t all)
{
    return (all + GRAINS - 1) / GRAINS;
}

static void raise_to(atomic_uint_fast64_t *to, uint64_t least)
{
    uint64_t known = atomic_load(to);

    while (known < least && !atomic_compare_exchange_weak(to, &known, least))
        ;
}

void ever_note(struct ever_written *ever, size_t all, size_t offset, size_t size)
{
    const size_t grain = grain_size(all);
    uint64_t grains = 0;

    if (!size || offset >= all || atomic_load(&ever->all))
        return;
    if (size > all - offset)
        size = all - offset;
    raise_to(&ever->end, offset + size);
    raise_to(&ever->back, all - offset);
    for (size_t i = offset / grain; i <= (offset + size - 1) / grain; i++)
        grains |= UINT64_C(1) << i;
    atomic_fetch_or(&ever->grains, grains);
    if (size == all)
        atomic_store(&ever->all, true);
}

void written_note(cl_mem root, size_t offset, size_t size, bool by_unmap)
{
    if (!by_unmap && !atomic_load_explicit(&root->written_otherwise, memory_order_relaxed))
        atomic_store(&root->written_otherwise, true);
    ever_note(&root->ever, extent(root), offset, size);
}

bool ever_next(const struct ever_written *ever, size_t all, unsigned *at, size_t *from, size_t *to)
{
    const size_t grain = grain_size(all), high = atomic_load(&ever->end), low = all - atomic_load(&ever->back);
    const uint64_t grains = atomic_load(&ever->grains);
    size_t i = *at, end;

    while (i < GRAINS && !(grains >> i & 1))
        i++;
    for (end = i; end < GRAINS && grains >> end & 1; end++)
        ;
    *at = (unsigned)end;
    *from = i * grain > low ? i * grain : low;
    *to = end * grain < high ? end * grain : high;
    return i < end && *from < *to;
}

/* What is written at addresses, or by the program through its own memory, is not noted. */
bool written_by_unmaps(cl_mem buffer)
{
    cl_mem root = memory_root(buffer);

    return root->type == CL_MEM_OBJECT_BUFFER && !root->host_pointer && !root->arena && !root->hosted &&
           !root->svm_remote && !root->addresses && !root->sized && !atomic_load(&root->written_otherwise);
}

/* Whether all of the object counts as written, because it may be written in other ways than by commands on it. */
static bool is_whole(cl_mem root)
{
    return atomic_load(&root->ever.all) || root->hosted || root->svm_remote || root->addresses;
}

/* Visits each part that has pages: the program's own writes are not noted, but memory that was never touched has no
 * pages. */
static int each_page(cl_mem root, int (*visit)(void *, cl_mem, size_t, size_t), void *argument)
{
    size_t at = 0, end;
    int error = 0;

    for (; !error && at < root->size && arena_next_data(root->arena, root->size, &at, &end); at = end)
        error = visit(argument, root, at, end);
    return error;
}

int written_each(cl_mem root, int (*visit)(void *, cl_mem, size_t, size_t), void *argument)
{
    size_t from, to;
    int error = 0;

    if (root->direct)
        return each_page(root, visit, argument);
    if (is_whole(root))
        return visit(argument, root, 0, extent(root));
    for (unsigned at = 0; !error && ever_next(&root->ever, extent(root), &at, &from, &to);)
        error = visit(argument, root, from, to);
    return error;
}

static int add(void *argument, cl_mem root, size_t start, size_t end)
{
    *(size_t *)argument += root->type == CL_MEM_OBJECT_BUFFER ? end - start : root->size;
    return 0;
}

size_t written_bytes(cl_mem root)
{
    size_t bytes = 0;

    written_each(root, add, &bytes);
    return bytes;
}

/* ---- pipes, whose contents only kernels see ---- */

struct pipes {
    const struct node *node;
    bool filled;
};

static void look_at_pipe(struct object *object, void *argument)
{
    struct pipes *pipes = argument;
    cl_mem memory = (cl_mem)object;

    pipes->filled |= memory->type == CL_MEM_OBJECT_PIPE && atomic_load(&object->uses) != USES_RELEASED &&
                     handle_is_on(object, pipes->node) && written_all(memory);
}

bool written_any_pipe(const struct node *node)
{
    struct pipes pipes = {.node = node};

    handle_each(WIRE_MEMORY, look_at_pipe, &pipes);
    return pipes.filled;
}
