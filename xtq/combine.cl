/* The operations of combine.h as a body. A task has one work-item for each element. */
struct combine_arguments {
    ulong offset;
    uint type, op;
};

#define COMBINE(name, type)                                                                                            \
    void combine_##name(global type *restrict a, global const type *restrict b, ulong first, ulong last, uint op)      \
    {                                                                                                                  \
        switch (op) {                                                                                                  \
        case 0:                                                                                                        \
            for (ulong i = first; i < last; i++)                                                                       \
                a[i] = a[i] + b[i];                                                                                    \
            break;                                                                                                     \
        case 1:                                                                                                        \
            for (ulong i = first; i < last; i++)                                                                       \
                a[i] = a[i] * b[i];                                                                                    \
            break;                                                                                                     \
        case 2:                                                                                                        \
            for (ulong i = first; i < last; i++)                                                                       \
                a[i] = b[i] < a[i] ? b[i] : a[i];                                                                      \
            break;                                                                                                     \
        case 3:                                                                                                        \
            for (ulong i = first; i < last; i++)                                                                       \
                a[i] = b[i] > a[i] ? b[i] : a[i];                                                                      \
            break;                                                                                                     \
        case 4:                                                                                                        \
            for (ulong i = first; i < last; i++)                                                                       \
                a[i] = b[i];                                                                                           \
            break;                                                                                                     \
        }                                                                                                              \
    }
COMBINE(int8, char)
COMBINE(uint8, uchar)
COMBINE(int16, short)
COMBINE(uint16, ushort)
COMBINE(int32, int)
COMBINE(uint32, uint)
COMBINE(int64, long)
COMBINE(uint64, ulong)
COMBINE(float, float)
#ifdef cl_khr_fp64
COMBINE(double, double)
#endif

/* Returns the binary logarithm of an element's size in bytes; negative: no such type. */
int combine_shift(uint type)
{
    switch (type) {
    case 0:
    case 1:
        return 0;
    case 2:
    case 3:
        return 1;
    case 4:
    case 5:
    case 8:
        return 2;
    case 6:
    case 7:
#ifdef cl_khr_fp64
    case 9:
#endif
        return 3;
    }
    return -1;
}

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
    shift = combine_shift(a.type);
    if (shift < 0 || a.op > 5 || (a.offset | t->payload_bytes) & ((1ul << shift) - 1) || a.offset > t->buffer_bytes ||
        t->payload_bytes > t->buffer_bytes - a.offset || last > t->payload_bytes >> shift)
        return -22;
    into += a.offset;
    switch (a.type) {
#define CASE(number, name, type)                                                                                       \
    case number:                                                                                                       \
        combine_##name((global type *)into, (global const type *)from, first, last, a.op);                             \
        break;
        CASE(0, int8, char)
        CASE(1, uint8, uchar)
        CASE(2, int16, short)
        CASE(3, uint16, ushort)
        CASE(4, int32, int)
        CASE(5, uint32, uint)
        CASE(6, int64, long)
        CASE(7, uint64, ulong)
        CASE(8, float, float)
#ifdef cl_khr_fp64
        CASE(9, double, double)
#endif
#undef CASE
    }
    return 0;
}
