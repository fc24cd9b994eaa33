/*
 * Definitions that xtq.h and devcom.h share: conditions, time-outs, types of elements and operations on them. Both
 * headers also define names of their own for these.
 */
#ifndef VOCL_WORDS_H
#define VOCL_WORDS_H

/* Comparisons of a signal with a value, as signed integers: signal == value, !=, <, >=, >, <=. */
enum vocl_condition { VOCL_EQ, VOCL_NE, VOCL_LT, VOCL_GE, VOCL_GT, VOCL_LE };

/* Time-outs, which are in microseconds: check once; wait without limit. */
#define VOCL_TEST 0L
#define VOCL_BLOCK (-1L)

/* Types of the elements of reductions. */
enum vocl_type {
    VOCL_INT8,
    VOCL_UINT8,
    VOCL_INT16,
    VOCL_UINT16,
    VOCL_INT32,
    VOCL_UINT32,
    VOCL_INT64,
    VOCL_UINT64,
    VOCL_FLOAT,
    VOCL_DOUBLE
};

/* Operations of reductions. Sums and products of integers wrap around. */
enum vocl_op {
    VOCL_SUM,
    VOCL_PROD,
    VOCL_MIN,
    VOCL_MAX,
    VOCL_REPLACE /* accumulates only: the initiator's element replaces the target's */
};

#endif
