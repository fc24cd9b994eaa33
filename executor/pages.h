/* Pages of memory into which contents are about to come (pages.c). */
#ifndef VOCL_EXECUTOR_PAGES_H
#define VOCL_EXECUTOR_PAGES_H

#include <CL/cl.h>
#include <stddef.h>
#include <stdint.h>

#include "executor/executor.h"

/* Advises large pages if there are many. */
void pages_advise(const uint8_t *bytes, size_t size);
/* Has the helper thread populate the pages if they are not present. memory: the object that they belong to. */
void pages_touch(struct executor *x, cl_mem memory, const uint8_t *bytes, size_t size);

#endif
