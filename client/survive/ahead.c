/* Copies contents while the program runs. */
#include "client/survive/ahead.h"

#include "client/core/halt.h"
#include "client/survive/pause.h"

#define MOST_ROUNDS 8
#define LITTLE ((size_t)1 << 20) /* bytes that are copied sooner in the pause */
#define ENDS_NS 1000000000       /* longest wait, in a round, for what was enqueued */

/* *told: of these bytes, those whose copying is reported. */
static size_t find_all(struct pause *p, const struct ahead *all, unsigned count, size_t *told)
{
    size_t bytes = 0;

    *told = 0;
    for (unsigned i = 0; i < count; i++) {
        const size_t one = all[i].find(all[i].argument);

        bytes += one;
        *told += all[i].tells ? one : 0;
    }
    ends_put(&p->ends, p->session);
    halt_set(HALT_NONE);
    return bytes;
}

static int copy_all_of(const struct ahead *all, unsigned count, bool go)
{
    int error = 0;

    for (unsigned i = 0; i < count; i++) {
        const int one = all[i].copy(all[i].argument, go && !error);

        error = error ? error : one;
    }
    return error;
}

int copy_ahead(struct pause *p, const struct ahead *all, unsigned count)
{
    size_t before = SIZE_MAX, bytes, told;
    bool go = true;
    int error = 0;

    for (unsigned round = 0; go && !error && round < MOST_ROUNDS && pause_calls(p); round++) {
        bytes = find_all(p, all, count, &told);
        go = ends_wait(&p->ends, p->node, ENDS_NS) && bytes > LITTLE && bytes < before / 4 * 3;
        if (go)
            pause_expect(p, told);
        error = copy_all_of(all, count, go);
        before = bytes;
    }
    return error;
}

bool may_go_ahead(const struct _cl_mem *memory)
{
    return !memory->hosted && !memory->destructors && !(memory->direct && atomic_load(&memory->in_place));
}
