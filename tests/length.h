/* How long a program of a test does something: for so many seconds, or until the test says that it is enough. */
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

/* Whether what began then is over. A length with a slash is a file that ends it, as the removal of its folder does. */
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
