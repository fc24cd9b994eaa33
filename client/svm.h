/* Shared virtual memory at the client: memory that a node knows by address. */
#ifndef VOCL_CLIENT_SVM_H
#define VOCL_CLIENT_SVM_H

#include "client/enqueue.h"

/* ---- address.c ---- */
/* Pages at just that address, if nothing is there. */
bool address_map(uint64_t address, size_t size, int protection);
/* What the node allocated there. */
void address_free(struct node *node, uint64_t address);
/* Between the program's memory and the node's, within the node's, and a pattern into it. These end e. */
int address_write(struct enqueue *e, cl_command_type type, void *to, const void *from, size_t size, cl_bool blocking,
                  cl_event *event);
int address_read(struct enqueue *e, void *to, const void *from, size_t size, cl_bool blocking, cl_event *event);
int address_copy(struct enqueue *e, cl_command_type type, void *to, const void *from, size_t size, cl_bool blocking,
                 cl_event *event);
int address_fill(struct enqueue *e, void *to, const void *pattern, size_t pattern_size, size_t size, cl_event *event);

/* ---- svm_remote.c: with a worker that shares no memory with the program ---- */
void *svm_remote_alloc(cl_context context, cl_svm_mem_flags flags, size_t size, cl_uint alignment);
/* Memory of a node whose devices take any address, and pages of the program's at the same one: where the program has
 * room for it, and then the node, too. 0: nowhere. */
uint64_t svm_remote_choose(cl_context context, struct node *node, cl_svm_mem_flags flags, size_t size, size_t whole);
/* False if it is no such memory. */
bool svm_remote_free(void *memory);
bool svm_remote_has(const void *pointer);
bool svm_remote_has_all(const void *pointer, size_t size);
/* The commands on such memory, which end e. */
int svm_remote_map(struct enqueue *e, cl_bool blocking, cl_map_flags flags, void *memory, size_t size, cl_event *event);
int svm_remote_unmap(struct enqueue *e, void *memory, cl_event *event);
int svm_remote_copy(struct enqueue *e, cl_bool blocking, void *to, const void *from, size_t size, cl_event *event);
void svm_remote_after_fork(void);

/* Whether there is such memory on the node. */
bool svm_remote_any(const struct node *node);

#endif
