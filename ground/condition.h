/* How a signal is compared. */
#ifndef VOCL_GROUND_CONDITION_H
#define VOCL_GROUND_CONDITION_H

#include <stdbool.h>
#include <stdint.h>

#include "vocl_words.h"

static inline bool condition_holds(int64_t now, enum vocl_condition condition, int64_t value)
{
    switch (condition) {
    case VOCL_EQ:
        return now == value;
    case VOCL_NE:
        return now != value;
    case VOCL_LT:
        return now < value;
    case VOCL_GE:
        return now >= value;
    }
    return false;
}

#endif
