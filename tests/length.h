/* How long a test's program does something: for a number of seconds, or until the test ends it. */
#ifndef TESTS_LENGTH_H
#define TESTS_LENGTH_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static inline double length_now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Whether a length that began at that time is over. A length with a slash names a file that ends it; the removal of the
 * file's folder does, too. */
static inline bool length_is_over(const char *length, double began)
{
    const char *slash = strrchr(length, '/');
    char folder[4096];

    if (!slash)
        return length_now() - began >= atof(length);
    snprintf(folder, sizeof(folder), "%.*s", (int)(slash - length) + 1, length);
    return !access(length, F_OK) || access(folder, F_OK);
}

#endif
