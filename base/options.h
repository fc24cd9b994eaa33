/* Options of OpenCL compilers. */
#ifndef VOCL_BASE_OPTIONS_H
#define VOCL_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

/* Finds the next folder named by an -I from *at on, and moves *at behind it. path: where the folder's name is; not
 * terminated. */
bool options_next_folder(const char **at, const char **path, size_t *length);

/* Whether path, of that length, is relative and stays inside its folder. */
bool path_stays_inside(const char *path, size_t length);

#endif
