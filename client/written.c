/*
 * What of a memory object has been written since it was made, by as little as that can be told: one range, and which of
 * 64 equal parts. It never gets less. In a context of one node nothing else knows, and a move sends only that. A kernel
 * counts as writing all of its argument as soon as that is set, so that a launch has nothing to note.
 */
#include "client/client.h"

#define GRAINS 64

static size_t extent(cl_mem root)
{
    return root->type == CL_MEM_OBJECT_BUFFER ? root->size : 1;
}

static size_t grain_size(cl_mem root)
{
    return (extent(root) + GRAINS - 1) / GRAINS;
}

static void raise_to(atomic_uint_fast64_t *to, uint64_t least)
{
    uint64_t known = atomic_load(to);

    while (known < least && !atomic_compare_exchange_weak(to, &known, least))
        ;
}

void written_note(cl_mem root, size_t offset, size_t size)
{
    const size_t all = extent(root), grain = grain_size(root);
    uint64_t grains = 0;

    if (!size || offset >= all || written_all(root))
        return;
    if (size > all - offset)
        size = all - offset;
    raise_to(&root->ever.end, offset + size);
    raise_to(&root->ever.back, all - offset);
    for (size_t i = offset / grain; i <= (offset + size - 1) / grain; i++)
        grains |= UINT64_C(1) << i;
    atomic_fetch_or(&root->ever.grains, grains);
    if (size == all)
        atomic_store(&root->ever.all, true);
}

/* Where what is not known to be written is, too, as it may be reached by other ways than commands on it. */
static bool is_whole(cl_mem root)
{
    return atomic_load(&root->ever.all) || root->hosted || root->svm_remote || root->addresses;
}

/* What the program writes itself is not noted, but what nobody has touched is not there. */
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
    const size_t all = extent(root), grain = grain_size(root), high = atomic_load(&root->ever.end);
    const size_t low = all - atomic_load(&root->ever.back);
    const uint64_t grains = atomic_load(&root->ever.grains);
    int error = 0;

    if (root->direct)
        return each_page(root, visit, argument);
    if (is_whole(root))
        return visit(argument, root, 0, all);
    for (size_t i = 0, end; !error && i < GRAINS && grains >> i; i = end) {
        size_t from, to;

        end = i + 1;
        if (!(grains >> i & 1))
            continue;
        while (end < GRAINS && grains >> end & 1)
            end++;
        from = i * grain > low ? i * grain : low;
        to = end * grain < high ? end * grain : high;
        if (from < to)
            error = visit(argument, root, from, to);
    }
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
