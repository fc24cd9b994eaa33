/*
 * Host memory for data on their way to and from a device with memory of its own: drivers copy without an intermediate
 * copy if they allocated the host memory themselves (pinned memory: 1 MiB in 35 us, not 160, on an H200). NVIDIA's is
 * ordinary shared memory, which the program's process may read.
 */
#include "executor/internal.h"
#include "executor/staging.h"

#define MOST_PIECES 32 /* more are expensive to make: further data use other memory */

struct staging {
    unsigned users; /* contexts and queues that use it, and pieces that are taken */
    cl_context context;
    cl_command_queue queue; /* for mapping; has no other commands */
    struct piece *free;
    unsigned count; /* pieces */
};

struct staging *staging_new(cl_context context, cl_device_id device)
{
    struct staging *staging = calloc(1, sizeof(*staging));
    cl_int error;

    if (!staging)
        return NULL;
    staging->queue = clCreateCommandQueue(context, device, 0, &error);
    if (error) {
        free(staging);
        return NULL;
    }
    staging->users = 1;
    staging->context = context;
    return staging;
}

struct staging *staging_use(struct staging *staging)
{
    if (staging)
        staging->users++;
    return staging;
}

static void piece_free(const struct staging *staging, struct piece *piece)
{
    clEnqueueUnmapMemObject(staging->queue, piece->memory, piece->bytes, 0, NULL, NULL);
    clReleaseMemObject(piece->memory);
    free(piece);
}

void staging_drop(struct staging *staging)
{
    struct piece *piece;

    if (!staging || --staging->users)
        return;
    while ((piece = staging->free)) {
        staging->free = piece->next;
        piece_free(staging, piece);
    }
    clReleaseCommandQueue(staging->queue);
    free(staging);
}

static struct piece *piece_new(const struct staging *staging)
{
    struct piece *piece = calloc(1, sizeof(*piece));
    cl_int error;

    if (!piece)
        return NULL;
    piece->memory =
        clCreateBuffer(staging->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, WIRE_CHUNK, NULL, &error);
    if (error) {
        free(piece);
        return NULL;
    }
    piece->bytes = clEnqueueMapBuffer(staging->queue, piece->memory, CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION, 0,
                                      WIRE_CHUNK, 0, NULL, NULL, &error);
    if (!error)
        return piece;
    clReleaseMemObject(piece->memory);
    free(piece);
    return NULL;
}

struct piece *staging_take(struct staging *staging)
{
    struct piece *piece = staging ? staging->free : NULL;

    if (piece) {
        staging->free = piece->next;
    } else if (staging && staging->count < MOST_PIECES) {
        piece = piece_new(staging);
        staging->count += piece != NULL;
    }
    if (piece)
        piece->staging = staging_use(staging);
    return piece;
}

void staging_give(struct piece *piece)
{
    struct staging *staging = piece->staging;

    piece->next = staging->free;
    staging->free = piece;
    staging_drop(staging);
}
