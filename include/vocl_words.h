/*
 * What xtq.h and devcom.h have in common: conditions, types of elements, operations on them, time-outs. Each has these
 * under names of its own, too.
 */
#ifndef VOCL_WORDS_H
#define VOCL_WORDS_H

/* How a signal is compared with a value: signal == value, !=, <, >=; signed. */
enum vocl_condition { VOCL_EQ, VOCL_NE, VOCL_LT, VOCL_GE };

/* Time-outs are in microseconds: look once; or wait for as long as it takes. */
#define VOCL_TEST 0L
#define VOCL_BLOCK (-1L)

/* Elements of reductions. */
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

/* Sums and products of integers wrap around. */
enum vocl_op {
    VOCL_SUM,
    VOCL_PROD,
    VOCL_MIN,
    VOCL_MAX,
    VOCL_REPLACE /* of accumulates only: the initiator's element in place of the target's */
};

#endif
