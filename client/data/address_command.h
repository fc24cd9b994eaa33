/* Commands on memory that a node knows by its address, and buffers that have a device address. */
#ifndef VOCL_CLIENT_DATA_ADDRESS_COMMAND_H
#define VOCL_CLIENT_DATA_ADDRESS_COMMAND_H

#include "client/data/enqueue.h"

/* ---- address_command.c ---- */
/* Write to the node's memory, read from it, copy within it, and fill it with a pattern. These functions end e. */
int address_write(struct enqueue *e, cl_command_type type, void *to, const void *from, size_t size, cl_bool blocking,
                  cl_event *event);
int address_read(struct enqueue *e, void *to, const void *from, size_t size, cl_bool blocking, cl_event *event);
int address_copy(struct enqueue *e, cl_command_type type, void *to, const void *from, size_t size, cl_bool blocking,
                 cl_event *event);
int address_fill(struct enqueue *e, void *to, const void *pattern, size_t pattern_size, size_t size, cl_event *event);
/* The same for SVM of svm_remote.c. */
int svm_remote_map(struct enqueue *e, cl_bool blocking, cl_map_flags flags, void *memory, size_t size, cl_event *event);
int svm_remote_unmap(struct enqueue *e, void *memory, cl_event *event);
int svm_remote_fill(struct enqueue *e, void *to, const void *pattern, size_t pattern_size, size_t size,
                    cl_event *event);
int svm_remote_copy(struct enqueue *e, cl_bool blocking, void *to, const void *from, size_t size, cl_event *event);

/* ---- addressed.c: buffers that have an address on their device ---- */
/* Creates the buffer on all nodes, instead of create_buffer, without contents. To be undone by addressed_destroy(),
 * also if it fails. */
int addressed_create(cl_mem buffer);
/* The create_on() of such buffers (struct kind). */
int addressed_create_on(cl_mem buffer, struct node *node);
void addressed_destroy(cl_mem buffer);
/* Whether the address lies in a buffer of the context. */
bool addressed_has(cl_context context, cl_mem_device_address_ext address);
/* coherence_before() and coherence_after() of all such buffers of the context, for a command that may use any of
 * them. */
int addressed_before(struct enqueue *e);
void addressed_after(struct enqueue *e);

#endif
