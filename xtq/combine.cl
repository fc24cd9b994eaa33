/* The operations of combine.h as a body. A task has one work-item for each element. */
struct combine_arguments {
    ulong offset;
    uint type, op;
};

/* The operation stands before the loop, so that the loop can be vectorized. */
#define COMBINE_BY(op)                                                                                                 \
    case op:                                                                                                           \
        for (ulong i = first; i < last; i++)                                                                           \
            a[i] = GROUND_COMBINED(op, a[i], b[i]);                                                                    \
        break;
#define COMBINE(number, type)                                                                                          \
    void combine_##type(global type *restrict a, global const type *restrict b, ulong first, ulong last, uint op)      \
    {                                                                                                                  \
        switch (op) {                                                                                                  \
            COMBINE_BY(0)                                                                                              \
            COMBINE_BY(1)                                                                                              \
            COMBINE_BY(2)                                                                                              \
            COMBINE_BY(3)                                                                                              \
        case 4:                                                                                                        \
            for (ulong i = first; i < last; i++)                                                                       \
                a[i] = b[i];                                                                                           \
            break;                                                                                                     \
        }                                                                                                              \
    }
GROUND_TYPES(COMBINE)

int combine_ready(const struct xtq_task *t, ulong number)
{
    global ulong *signals = (global ulong *)t->buffer;
    ulong count = t->buffer_bytes / 8;

    if (number >= count || t->initiator >= count - number)
        return -22;
    atomic_fetch_add_explicit((global atomic_long *)signals[number + t->initiator], 1l, memory_order_acq_rel,
                              XTQ_SCOPE);
    return 0;
}

int xtq_combine(const struct xtq_task *t, ulong first, ulong last)
{
    struct combine_arguments a;
    ulong into = t->buffer, from = t->payload;
    int shift;

    if (t->argument_bytes != sizeof(a))
        return -22;
    a = *(global const struct combine_arguments *)t->arguments;
    if (a.op == 5)
        return combine_ready(t, a.offset);
    shift = ground_shift(a.type);
    if (shift < 0 || a.op > 5 || (a.offset | t->payload_bytes) & ((1ul << shift) - 1) || a.offset > t->buffer_bytes ||
        t->payload_bytes > t->buffer_bytes - a.offset || last > t->payload_bytes >> shift)
        return -22;
    into += a.offset;
#define COMBINE_CASE(number, type)                                                                                     \
    case number:                                                                                                       \
        combine_##type((global type *)into, (global const type *)from, first, last, a.op);                             \
        break;
    switch (a.type) {
        GROUND_TYPES(COMBINE_CASE)
    }
    return 0;
}
