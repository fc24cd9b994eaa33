/* Programs and kernels. */
#ifndef VOCL_LIBVOCL_PROGRAM_H
#define VOCL_LIBVOCL_PROGRAM_H

#include "libvocl/objects.h"

/* ---- include.c ---- */
/* Collects the files that a source includes, as build_program takes them, if the node may lack them, now or when it
 * is replaced. node NULL: in any case. */
void include_collect(struct node *node, const char *source, const char *options, struct wire_buffer *out);

/* ---- program.c, build.c, kernel.c ---- */
/* The use that a kernel may make of a memory object among its arguments (enum use). */
unsigned argument_use(const struct argument_description *d, cl_mem memory);
/* Encodes the arguments that the node does not have. With the kernel's lock held. */
void arguments_put(cl_kernel kernel, const struct node *node, struct wire_buffer *out);
void arguments_clean(cl_kernel kernel, const struct node *node);
/* Sends the arguments without a launch. */
void arguments_send(cl_kernel kernel, struct node *node, enum stream_urgency urgency);
/* Replaces the pointers to shared virtual memory. Returns false if memory is exhausted. */
bool kernel_keep_pointers(cl_kernel kernel, const void *pointers, size_t count);
/* Sets an address as an argument. good: the address is valid. */
cl_int kernel_set_pointer(cl_kernel kernel, cl_uint index, uint32_t what, uint64_t value, bool good);
cl_program program_new(cl_context context, cl_uint count, const cl_device_id *devices);
/* Notes that the node has the program once it gets what is sent next. Returns false if memory is exhausted. */
bool program_add_node(cl_program program, struct node *node);
/* Returns the first node that has the program. */
struct node *program_node(const struct object *program);
bool program_is_building(cl_program program);
void program_wait(cl_program program); /* waits until no build with a callback is under way */
/* Takes the program's kernels from the node's kernel table, and replaces those known before. */
cl_int program_take_kernels(cl_program program, const void *bytes, uint32_t length);
void program_forget_kernels(cl_program program);

/* ---- build.c: the two halves of a request to a node ---- */
/* over: as in struct call, or NULL. */
void build_send(struct node *node, cl_program program, cl_uint count, const uint32_t *ids, const char *options,
                const struct wire_buffer *files, struct call *call, void (*over)(struct call *));
/* first: takes the description of the kernels. key: under which the answer is cached, or NULL. */
cl_int build_take(cl_program program, bool first, struct call *call, const struct wire_buffer *key);
cl_int compile_send(struct node *node, cl_program program, cl_uint count, const uint32_t *ids,
                    const struct program_step *step, struct call *call);
cl_int compile_take(struct call *call);
cl_int link_send(struct node *node, cl_program program, cl_uint count, const uint32_t *ids, const char *options,
                 cl_uint input_count, const cl_program *inputs, struct call *call);
cl_int link_take(cl_program program, bool first, struct call *call, bool *created);

/* ---- promise.c ---- */
/* Makes a key of everything that determines a build on that node. Returns false if something else may matter. */
bool promise_key(cl_program program, const struct node *node, cl_uint count, const uint32_t *ids, const char *options,
                 const struct wire_buffer *files, struct wire_buffer *key);
/* Has the node build, if an earlier session shows that this will succeed, and gives the program its kernels. If so,
 * it has taken the key over. */
bool promise_build(cl_program program, struct node *node, cl_uint count, const uint32_t *ids, const char *options,
                   struct wire_buffer *key);

/* ---- remake.c ---- */
/* Saves a copy of a finished step, but for its files. */
void program_keep_step(cl_program program, const struct program_step *step);
void program_forget_steps(cl_program program);
/* As in struct kind. */
const char *program_bound(const struct object *object, const struct node *node);
uint32_t program_state(const struct object *object);
int program_settle_on(struct object *object, struct node *node, struct object *const *all, const bool *done);

/* ---- specialize.c ---- */
/* Sends the node the constants that were set from step number from to step number number. Returns CL_SUCCESS or an
 * error. */
cl_int specials_send(cl_program program, struct node *node, uint32_t from, uint32_t number);
/* To be called when the saved steps have changed, with the program's lock held. */
void specials_prune(cl_program program);

#endif
