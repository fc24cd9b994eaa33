/* Data between memory objects and memory that is shared with the application (svm.c): moved natively, as the
 * application itself would. */
#include "executor/internal.h"

#define MOST_PITCH (UINT64_C(1) << 40)

/* Returns how many bytes of the shared memory are touched; 0 if the sizes are invalid. */
static uint64_t extent(const struct side *side)
{
    const uint64_t *region = side->part.region, size = side->part.size;
    const uint64_t row = side->host_row, slice = side->host_slice;
    uint64_t rows, slices;

    if (side->part.kind == WIRE_PIECE)
        return size;
    rows = region[1];
    slices = region[2];
    if (!rows || !slices || !region[0] || row > MOST_PITCH || slice > MOST_PITCH || rows > UINT32_MAX ||
        slices > UINT32_MAX)
        return 0;
    if (side->part.kind == WIRE_IMAGE) { /* the rows of an array of one dimension are slices */
        const unsigned __int128 all = (unsigned __int128)(rows - 1) * (row > slice ? row : slice) +
                                      (unsigned __int128)(slices - 1) * slice + size / rows / slices;

        return all > MOST_PITCH ? 0 : (uint64_t)all;
    } else {
        const unsigned __int128 all =
            (unsigned __int128)(slices - 1) * slice + (unsigned __int128)(rows - 1) * row + region[0];

        return row < region[0] || all > MOST_PITCH ? 0 : (uint64_t)all;
    }
}

static int move(struct command *c, const struct exec_read_shared *m, bool writes)
{
    void *there = (void *)(uintptr_t)m->address;
    struct side side = side_from(m->memory->native, &m->part);
    uint64_t touched;

    if (m->shared_pitch_count != (side_is_plain(&side) ? 0 : 2))
        return -EBADMSG;
    if (m->shared_pitch_count) {
        side.host_row = m->shared_pitch[0];
        side.host_slice = m->shared_pitch[1];
    }
    touched = extent(&side);
    if (!touched || !svm_has(c->x, m->address, touched))
        return -EBADMSG;
    command_uses(c, m->memory);
    if (!c->error && !side_fits(&side))
        return -EBADMSG;
    if (!c->error && !bounds_side(&side))
        c->error = CL_INVALID_VALUE;
    if (c->error)
        return 0;
    if (!writes)
        arbitration_begin(c, c->queue->ordinal, EXECUTOR_HOST, side.part.size, &side.memory, 1);
    c->error = writes ? side_write(c->queue->native, &side, there, c->wait_count, command_waits(c), c->ask)
                      : side_read(c->queue->native, &side, there, c->wait_count, command_waits(c), c->ask);
    return 0;
}

int exec_read_shared(struct command *c, const struct exec_read_shared *m)
{
    return move(c, m, false);
}

_Static_assert(sizeof(struct exec_read_shared) == sizeof(struct exec_write_shared), "they have the same fields");

int exec_write_shared(struct command *c, const struct exec_write_shared *m)
{
    struct exec_read_shared same;

    memcpy(&same, m, sizeof(same));
    return move(c, &same, true);
}
