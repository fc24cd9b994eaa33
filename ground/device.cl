/*
 * The beginning of all programs of XTQ and devcom (device.c). GROUND_CPU: the device is a CPU; GROUND_CALLS: its
 * kernels may make system calls.
 */
#ifdef __opencl_c_atomic_scope_all_devices
#define GROUND_SCOPE memory_scope_all_devices
#else
#define GROUND_SCOPE memory_scope_device
#endif

#ifdef GROUND_CALLS
#ifdef __x86_64__
#define GROUND_YIELD 24
#define GROUND_FUTEX 202
#define GROUND_CLOCK 228
long ground_call(long number, ulong a, long b, long c, ulong d)
{
    long result;

    __asm__ volatile("mov %5, %%r10\n\tsyscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(d)
                     : "r10", "rcx", "r11", "memory");
    return result;
}
#else
#define GROUND_YIELD 124
#define GROUND_FUTEX 98
#define GROUND_CLOCK 113
long ground_call(long number, ulong a, long b, long c, ulong d)
{
    long result;

    __asm__ volatile("mov x8, %1\n\tmov x0, %2\n\tmov x1, %3\n\tmov x2, %4\n\tmov x3, %5\n\tsvc #0\n\tmov %0, x0"
                     : "=r"(result)
                     : "r"(number), "r"(a), "r"(b), "r"(c), "r"(d)
                     : "x0", "x1", "x2", "x3", "x8", "memory");
    return result;
}
#endif
#define GROUND_LET_OTHERS() ground_call(GROUND_YIELD, 0, 0, 0, 0)
#define GROUND_WAKE(word) ground_call(GROUND_FUTEX, word, 1, 0x7fffffff, 0)
#else
#define GROUND_LET_OTHERS()
#define GROUND_WAKE(word)
#endif

/* The same as doze_ring() of doze.h, which names these numbers. */
void ground_ring(ulong at)
{
    global atomic_uint *doze = (global atomic_uint *)at;
    uint now = atomic_load_explicit(doze, memory_order_seq_cst, GROUND_SCOPE);

    if ((now & 3u) == 1u && atomic_compare_exchange_strong_explicit(doze, &now, (now & ~3u) + 4u, memory_order_seq_cst,
                                                                    memory_order_seq_cst, GROUND_SCOPE))
        GROUND_WAKE(at);
}

/* The types of elements and the operations on them, with the numbers of elements.h. GROUND_TYPES(DO) is DO(number,
 * type) for each type that the device has. */
#ifdef cl_khr_fp64
#define GROUND_DOUBLE(DO) DO(9, double)
#else
#define GROUND_DOUBLE(DO)
#endif
#define GROUND_TYPES(DO)                                                                                               \
    DO(0, char)                                                                                                        \
    DO(1, uchar)                                                                                                       \
    DO(2, short) DO(3, ushort) DO(4, int) DO(5, uint) DO(6, long) DO(7, ulong) DO(8, float) GROUND_DOUBLE(DO)
#define GROUND_COMBINED(op, a, b)                                                                                      \
    ((op) == 0 ? (a) + (b) : (op) == 1 ? (a) * (b) : (op) == 2 ? ((b) < (a) ? (b) : (a)) : ((b) > (a) ? (b) : (a)))

/* Returns the binary logarithm of an element's size in bytes; negative: the device has no such type. */
int ground_shift(uint number)
{
#define GROUND_SIZE(of, type) number == of ? (int)sizeof(type) :
    const int size = GROUND_TYPES(GROUND_SIZE) 0;
#undef GROUND_SIZE

    return 31 - (int)clz((uint)size);
}
