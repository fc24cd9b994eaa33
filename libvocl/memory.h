/* Memory objects: declarations that their entry points share. */
#ifndef VOCL_LIBVOCL_MEMORY_H
#define VOCL_LIBVOCL_MEMORY_H

#include "libvocl/objects.h"

/* ---- memory.c ---- */
/* Returns the native result of a new object's creation on all live nodes of its context. */
cl_int memory_outcome(cl_mem memory);
/* The same for a new object of some size where the session's memory is limited; otherwise returns CL_SUCCESS. */
cl_int memory_check_room(cl_mem memory);
/* Notes that a node cannot have the object: no command there may use it. */
cl_int memory_lacks(cl_mem memory, struct node *node);
/* Whether any object is unknown to a node of its context. */
bool memory_any_lacks(void);
/* Returns the error of a command at that node that uses the object. */
cl_int memory_check_node(cl_mem memory, const struct node *node);
cl_int memory_new(cl_context context, cl_mem_object_type type, cl_mem_flags flags, cl_mem *out);
cl_int memory_check_flags(cl_mem_flags flags, const void *host_pointer);
cl_mem_flags memory_inherit_flags(cl_mem from, cl_mem_flags flags);
cl_int memory_check_host(cl_mem memory, cl_map_flags flags);
/* A read or write with valid arguments: done at once, if possible (client/data/direct.c), or by a command. */
cl_int memory_move(cl_command_queue queue, const struct data_command *m, cl_uint count, const cl_event *list,
                   cl_event *event);
/* The same, but always by a command. */
cl_int memory_enqueue(cl_command_queue queue, const struct data_command *m, cl_uint count, const cl_event *list,
                      cl_event *event);
struct mapping *mapping_take(cl_mem memory, void *pointer);
void mapping_add(cl_mem memory, struct mapping *mapping);

/* ---- buffer.c, image.c, pipe.c: create on a node, without contents, as struct kind's create_on ---- */
int buffer_create_on(cl_mem buffer, struct node *node);
int sub_buffer_create_on(cl_mem buffer, struct node *node);
int image_create_on(cl_mem image, struct node *node);
int pipe_create_on(cl_mem pipe, struct node *node);

/* ---- buffer.c ---- */
cl_int buffer_check(cl_command_queue queue, cl_mem buffer);
/* For reads, writes and fills, a range may also be empty. */
cl_int buffer_check_range(cl_mem buffer, size_t offset, size_t size);

/* ---- formats.c ---- */
/* Whether any device of the context has the format. */
cl_int formats_check(cl_context context, cl_mem_flags flags, cl_mem_object_type type, const cl_image_format *format);
/* Returns the context's first node that has the format; without any, its first node. */
struct node *formats_home(cl_context context, cl_mem_flags flags, cl_mem_object_type type,
                          const cl_image_format *format);
/* Notes the nodes that do not have the format of a new image. */
cl_int formats_note(cl_mem image);

/* ---- image.c, image_commands.c ---- */
size_t image_element_size(const cl_image_format *format);
cl_int image_check(cl_command_queue queue, cl_mem image);
cl_int image_check_region(cl_mem image, const size_t *origin, const size_t *region);
bool image_is_nothing(const size_t *region);
/* Computes the host's side of a region; pitches of 0 mean tight. Others are taken without a check, as PoCL does. */
void image_layout(cl_mem image, const size_t *region, size_t row_pitch, size_t slice_pitch, const void *memory,
                  struct layout *layout);

/* ---- device_address.c: cl_ext_buffer_device_address ---- */
bool device_address_offered(cl_context context);
cl_int device_address_info(cl_mem memory, size_t size, void *value, size_t *size_ret);
cl_int device_address_exec_info(cl_kernel kernel, size_t size, const void *value);

#endif
