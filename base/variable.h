/* Variables of environments, "NAME=value". */
#ifndef VOCL_BASE_VARIABLE_H
#define VOCL_BASE_VARIABLE_H

#include <stdbool.h>
#include <string.h>

/* Workers do not get variables without a value: drivers take some of these for paths, and PoCL fails an assertion. */
static inline bool variable_has_value(const char *variable)
{
    const char *value = strchr(variable, '=');

    return value && value[1];
}

#endif
