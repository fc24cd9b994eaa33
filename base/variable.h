/* Variables of the environment, "NAME=value". */
#ifndef VOCL_BASE_VARIABLE_H
#define VOCL_BASE_VARIABLE_H

#include <stdbool.h>
#include <string.h>

/* Whether the variable has a value. Workers get only those that have: drivers take some variables for paths, and PoCL
 * fails an assertion on empty ones. */
static inline bool variable_has_value(const char *variable)
{
    const char *value = strchr(variable, '=');

    return value && value[1];
}

#endif
