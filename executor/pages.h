/* Pages of memory to which contents come (pages.c). */
#ifndef VOCL_EXECUTOR_PAGES_H
#define VOCL_EXECUTOR_PAGES_H

#include <CL/cl.h>
#include <stddef.h>
#include <stdint.h>

#include "executor/executor.h"

/* If they are many they are to be large, too; */
void pages_advise(const uint8_t *bytes, size_t size);
/* and are made to be there before, by the helper thread, if they are not. memory: whose they are. */
void pages_touch(struct executor *x, cl_mem memory, const uint8_t *bytes, size_t size);

#endif
