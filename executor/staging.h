/* Memory allocated by a context's driver, in pieces of WIRE_CHUNK, for data on their way to or from a device. */
#ifndef VOCL_EXECUTOR_STAGING_H
#define VOCL_EXECUTOR_STAGING_H

#include <stdint.h>

#include <CL/cl.h>

struct staging;
struct piece {
    struct piece *next;
    struct staging *staging;
    cl_mem memory;
    uint8_t *bytes;
};

/* Returns NULL if there is none. */
struct staging *staging_new(cl_context context, cl_device_id device);
struct staging *staging_use(struct staging *staging);
void staging_drop(struct staging *staging);
/* Returns a piece that nobody else uses, or NULL if there is none. staging may be NULL. */
struct piece *staging_take(struct staging *staging);
void staging_give(struct piece *piece);

#endif
