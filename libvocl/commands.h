/* Commands as programs give them. */
#ifndef VOCL_LIBVOCL_COMMANDS_H
#define VOCL_LIBVOCL_COMMANDS_H

#include "libvocl/objects.h"

/* What every clEnqueueX begins with: enqueue_open(), if queue and wait list are good. */
cl_int enqueue_begin(struct enqueue *e, cl_command_queue queue, cl_uint count, const cl_event *list, cl_event *event,
                     cl_command_type type);
/* A marker that says it is another command, or a barrier. */
cl_int enqueue_marker_as(cl_command_queue queue, cl_command_type type, cl_uint count, const cl_event *list,
                         cl_event *event);
cl_int event_check_list(cl_context context, cl_uint count, const cl_event *list);

/* ---- site.c ---- */
/* Where a command goes: into its queue, behind the events of a list, or into a command buffer, behind its points. */
struct site {
    cl_command_queue queue;
    cl_uint count;
    const cl_event *list;
    cl_event *event;
    cl_command_buffer_khr buffer; /* or NULL */
    const cl_sync_point_khr *points;
    cl_sync_point_khr *point;
};

/* The same for a command that can be recorded; it is encoded to site_encode(), and site_finish() ends it. */
cl_int site_begin(struct enqueue *e, const struct site *site, cl_command_type type);
struct wire_buffer *site_encode(struct enqueue *e);
cl_int site_finish(struct enqueue *e, const struct site *site);
/* The first half of site_finish(); enqueue_finish() is the other. */
cl_int site_send(struct enqueue *e);
/* A command that does nothing where it stands. */
cl_int site_nothing(struct enqueue *e, const struct site *site);

/* ---- buffer.c, rect.c, image_commands.c, launch.c: the commands that can be recorded, as their clEnqueueX ---- */
cl_int copy_buffer(const struct site *site, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset, size_t size);
cl_int copy_rect(const struct site *site, cl_mem from, cl_mem to, const size_t *from_origin, const size_t *to_origin,
                 const size_t *region, size_t from_row, size_t from_slice, size_t to_row, size_t to_slice);
cl_int fill_buffer(const struct site *site, cl_mem buffer, const void *pattern, size_t pattern_size, size_t offset,
                   size_t size);
cl_int copy_image(const struct site *site, cl_mem from, cl_mem to, const size_t *from_origin, const size_t *to_origin,
                  const size_t *region);
cl_int fill_image(const struct site *site, cl_mem image, const void *colour, const size_t *origin,
                  const size_t *region);
cl_int copy_image_to_buffer(const struct site *site, cl_mem image, cl_mem buffer, const size_t *origin,
                            const size_t *region, size_t offset);
cl_int copy_buffer_to_image(const struct site *site, cl_mem buffer, cl_mem image, size_t offset, const size_t *origin,
                            const size_t *region);
cl_int launch(const struct site *site, cl_kernel kernel, cl_uint dims, const size_t *offset, const size_t *global,
              const size_t *local);

/* ---- command_buffer.c ---- */
/* Contents that the recorded command needs when it is run. */
int record_use(struct enqueue *e, cl_mem memory, unsigned use);
/* The kernel of a recorded launch stays, and what its arguments name. Under the kernel's lock. */
int record_kernel(cl_command_buffer_khr buffer, cl_kernel kernel);
/* What site_begin() and site_send() do for a command that is recorded. */
cl_int record_begin(struct enqueue *e);
cl_int record_send(struct enqueue *e);

#endif
