/* Options of OpenCL compilers. */
#ifndef VOCL_BASE_OPTIONS_H
#define VOCL_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

/* The next folder that an -I names, from *at on, which moves behind it. path: where it is written; not terminated. */
bool options_next_folder(const char **at, const char **path, size_t *length);

/* Whether a relative path of that length stays inside the folder it is relative to. */
bool path_stays_inside(const char *path, size_t length);

#endif
