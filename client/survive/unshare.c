/*
 * Moves a node to where the memory that the program shares with its worker is not available: another host. Its buffers
 * are created there with memory of their own, and from the change on the program's reads, writes and maps go by
 * messages. Until then the buffers are as they were.
 *
 * Contents of buffers in shared memory of VOCL's (block.c) go like all others, from worker to worker (copy_over.c). A
 * mapped buffer keeps its block: the program has its address, and when it is unmapped the block is written. A buffer
 * over the program's own memory becomes one whose changes are copied (hostptr.c); its contents go from this host, with
 * a copy of what was sent, as the program may write there at any time.
 */
#include <errno.h>

#include "client/data/coherence.h"
#include "client/memory/arena.h"
#include "client/memory/memory.h"
#include "client/survive/checkpoint.h"
#include "client/survive/journal.h"
#include "client/survive/moving.h"
#include "client/survive/recover.h"

struct unshared {
    cl_mem memory;
    uint8_t *base; /* of a buffer over the program's memory: what the target was sent */
    bool mapped;
    void *block; /* memory that the old worker uses until it has forgotten everything */
    size_t size;
    struct region *region; /* or this */
};

bool unshare_begin(struct move *m)
{
    const bool apart = m->node->memory == NODE_MEMORY_SHARED && !arena_shared_with(m->target);

    m->unshares |= apart && m->target->alive;
    return apart;
}

int unshare_check(struct move *m)
{
    if (!unshare_begin(m))
        return 0;
    if (!m->target->alive)
        return pause_refuse(m->pause, -ECONNRESET, "the target was lost");
    if (checkpoint_any_svm())
        return pause_refuse(m->pause, -EXDEV, "it cannot have the shared virtual memory of the program and its worker");
    return 0;
}

bool unshare_goes(const struct move *m, const struct object *object)
{
    const struct _cl_mem *memory = (const struct _cl_mem *)object;

    return m->unshares && atomic_load(&object->kind) == WIRE_MEMORY && !memory->parent && memory->direct;
}

const char *unshare_bound(const struct move *m, const struct object *object)
{
    const struct _cl_mem *memory = (const struct _cl_mem *)object;

    if (!m->unshares || atomic_load(&object->kind) != WIRE_MEMORY || memory->parent || !memory->arena || memory->direct)
        return NULL;
    if (!memory->region)
        return "a buffer is over memory that the program shares with its worker";
    return memory->context->node_count > 1 ? "a buffer over the program's memory is of several workers" : NULL;
}

/* ---- in the pause ---- */

static struct unshared *find(struct move *m, cl_mem root)
{
    for (unsigned i = 0; i < m->unshared_count; i++) {
        if (m->unshared[i].memory == root)
            return &m->unshared[i];
    }
    return NULL;
}

/* Lists the root buffers created at the target that are in shared memory. */
static int list(struct move *m)
{
    m->unshared = calloc(m->count + 1, sizeof(*m->unshared));
    if (!m->unshared)
        return pause_refuse(m->pause, -ENOMEM, "no memory");
    for (unsigned i = 0; i < m->count; i++) {
        cl_mem memory = (cl_mem)m->objects[i];

        if (atomic_load(&m->objects[i]->kind) == WIRE_MEMORY && !memory->parent && memory->arena)
            m->unshared[m->unshared_count++] = (struct unshared){.memory = memory};
    }
    for (unsigned i = 0; i < m->count; i++) {
        cl_mem memory = (cl_mem)m->objects[i];
        struct unshared *u = NULL;

        if (atomic_load(&m->objects[i]->kind) == WIRE_MEMORY && memory->map_count)
            u = find(m, memory_root(memory));
        if (u)
            u->mapped = true;
    }
    return 0;
}

int unshare_contents(struct move *m)
{
    int error = m->unshares ? list(m) : 0;
    size_t bytes = 0;

    for (unsigned i = 0; i < m->unshared_count; i++)
        bytes += m->unshared[i].memory->direct ? 0 : m->unshared[i].memory->size;
    if (bytes)
        pause_expect(m->pause, bytes);
    for (unsigned i = 0; !error && i < m->unshared_count; i++) {
        struct unshared *u = &m->unshared[i];

        if (u->memory->direct)
            continue;
        error = hostptr_send_all(u->memory, m->target, &u->base);
        if (error)
            return pause_refuse(m->pause, pause_is_broken(m->pause) ? -ECONNRESET : error,
                                "contents of a buffer over the program's memory cannot be moved: error %d", -error);
        pause_copied(m->pause, u->memory->size);
    }
    return error;
}

/* ---- after the change ---- */

/* Adapts the journal: a successor of the worker gets what was saved in the pause, and from here on everything goes
 * through the log. */
void unshare_told(struct move *m)
{
    if (!m->unshares || !m->node->journal || m->node->journal->off)
        return;
    journal_unshare(m->node->journal);
    for (unsigned i = 0; i < m->unshared_count; i++)
        epoch_apart(m->unshared[i].memory);
}

static void let_go(struct unshared *u)
{
    cl_mem memory = u->memory;

    if (!memory->direct) {
        u->region = hostptr_part(memory, u->base);
        u->base = NULL;
        return;
    }
    memory->direct = false;
    memory->arena = NULL;
    written_note(memory, 0, memory->size, false); /* also written by the program itself, which was not noted */
    if (u->mapped)
        return;
    u->block = memory->block;
    u->size = memory->size;
    memory->block = NULL;
}

void unshare_change(struct move *m)
{
    if (!m->unshares)
        return;
    m->node->unshared = true;
    for (unsigned i = 0; i < m->unshared_count; i++)
        let_go(&m->unshared[i]);
    for (unsigned i = 0; i < m->count; i++) {
        cl_mem memory = (cl_mem)m->objects[i];

        if (atomic_load(&m->objects[i]->kind) == WIRE_MEMORY && memory->parent) {
            memory->direct = false;
            memory->arena = NULL;
        }
    }
}

void unshare_end(struct move *m)
{
    for (unsigned i = 0; i < m->unshared_count; i++) {
        struct unshared *u = &m->unshared[i];

        if (u->block)
            block_free(u->block, u->size);
        if (u->region)
            exchange_gone(u->region);
        free(u->base);
    }
    free(m->unshared);
    m->unshared = NULL;
    m->unshared_count = 0;
}
