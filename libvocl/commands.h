/* Commands as programs enqueue or record them. */
#ifndef VOCL_LIBVOCL_COMMANDS_H
#define VOCL_LIBVOCL_COMMANDS_H

#include "libvocl/objects.h"

/* Begins every clEnqueueX: enqueue_open(), if queue and wait list are valid. */
cl_int enqueue_begin(struct enqueue *e, cl_command_queue queue, cl_uint count, const cl_event *list, cl_event *event,
                     cl_command_type type);
/* Enqueues a marker that reports another command type, or a barrier. */
cl_int enqueue_marker_as(cl_command_queue queue, cl_command_type type, cl_uint count, const cl_event *list,
                         cl_event *event);
cl_int event_check_list(cl_context context, cl_uint count, const cl_event *list);

/* ---- site.c ---- */
/* Where a command goes: into its queue, behind the events of a list, or into a command buffer, behind its sync
 * points. */
struct site {
    cl_command_queue queue;
    cl_uint count;
    const cl_event *list;
    cl_event *event;
    cl_command_buffer_khr buffer; /* or NULL */
    const cl_sync_point_khr *points;
    cl_sync_point_khr *point;
};

/* enqueue_begin() for a command that can also be recorded; the command is encoded to site_encode(), and
 * site_finish() ends it. */
cl_int site_begin(struct enqueue *e, const struct site *site, cl_command_type type);
struct wire_buffer *site_encode(struct enqueue *e);
cl_int site_finish(struct enqueue *e, const struct site *site);
/* The first half of site_finish(); enqueue_finish() is the second. */
cl_int site_send(struct enqueue *e);
/* Sends a command that does nothing in its place. */
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
/* Notes a memory object whose contents the recorded command needs when it runs. */
int record_use(struct enqueue *e, cl_mem memory, unsigned use);
/* Retains the kernel of a recorded launch and the objects that its arguments name. With the kernel's lock held. */
int record_kernel(cl_command_buffer_khr buffer, cl_kernel kernel);
/* The parts of site_begin() and site_send() for a command that is recorded. */
cl_int record_begin(struct enqueue *e);
cl_int record_send(struct enqueue *e);

#endif
