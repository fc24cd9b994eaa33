/* How a signal is compared: enum devcom_condition and enum xtq_condition have this order. */
#ifndef VOCL_GROUND_CONDITION_H
#define VOCL_GROUND_CONDITION_H

#include <stdbool.h>
#include <stdint.h>

enum condition { CONDITION_EQ, CONDITION_NE, CONDITION_LT, CONDITION_GE };

static inline bool condition_holds(int64_t now, unsigned condition, int64_t value)
{
    switch ((enum condition)condition) {
    case CONDITION_EQ:
        return now == value;
    case CONDITION_NE:
        return now != value;
    case CONDITION_LT:
        return now < value;
    case CONDITION_GE:
        return now >= value;
    }
    return false;
}

#endif
