/* Programs and kernels. */
#ifndef VOCL_LIBVOCL_PROGRAM_H
#define VOCL_LIBVOCL_PROGRAM_H

#include "libvocl/objects.h"

/* ---- include.c ---- */
/* The files that a source includes, as build_program takes them, if the node may not have them, now or when it is
 * replaced; node NULL: all. */
void include_collect(struct node *node, const char *source, const char *options, struct wire_buffer *out);

/* ---- program.c, build.c, kernel.c ---- */
/* What a kernel may do with a memory object among its arguments (enum use). */
unsigned argument_use(const struct argument_description *d, cl_mem memory);
/* The arguments that the node does not have; under the kernel's lock. */
void arguments_put(cl_kernel kernel, const struct node *node, struct wire_buffer *out);
void arguments_clean(cl_kernel kernel, const struct node *node);
/* They go there without a launch. */
void arguments_send(cl_kernel kernel, struct node *node, enum stream_urgency urgency);
/* Pointers to shared virtual memory, instead of those before; false: there is no memory. */
bool kernel_keep_pointers(cl_kernel kernel, const void *pointers, size_t count);
/* An address as an argument; good: it is one. */
cl_int kernel_set_pointer(cl_kernel kernel, cl_uint index, uint32_t what, uint64_t value, bool good);
cl_program program_new(cl_context context, cl_uint count, const cl_device_id *devices);
/* The node has it, with what it is sent next. False: no memory. */
bool program_add_node(cl_program program, struct node *node);
/* The first that has it. */
struct node *program_node(const struct object *program);
bool program_is_building(cl_program program);
void program_wait(cl_program program); /* until no build with a callback is under way */
/* The program's kernels, from the node's kernel table; replaces what was known of them. */
cl_int program_take_kernels(cl_program program, const void *bytes, uint32_t length);
void program_forget_kernels(cl_program program);

/* ---- build.c: the two halves of what a node is asked ---- */
/* over: as in struct call, or NULL. */
void build_send(struct node *node, cl_program program, cl_uint count, const uint32_t *ids, const char *options,
                const struct wire_buffer *files, struct call *call, void (*over)(struct call *));
/* first: what is told of the kernels is taken. */
/* key: under which the answer is kept, or NULL. */
cl_int build_take(cl_program program, bool first, struct call *call, const struct wire_buffer *key);
cl_int compile_send(struct node *node, cl_program program, cl_uint count, const uint32_t *ids,
                    const struct program_step *step, struct call *call);
cl_int compile_take(struct call *call);
cl_int link_send(struct node *node, cl_program program, cl_uint count, const uint32_t *ids, const char *options,
                 cl_uint input_count, const cl_program *inputs, struct call *call);
cl_int link_take(cl_program program, bool first, struct call *call, bool *created);

/* ---- promise.c ---- */
/* What decides what a build makes on that node; false: something else may. */
bool promise_key(cl_program program, const struct node *node, cl_uint count, const uint32_t *ids, const char *options,
                 const struct wire_buffer *files, struct wire_buffer *key);
/* The node is told to build, if it is known that it will, and the program has its kernels. It has taken the key then.
 */
bool promise_build(cl_program program, struct node *node, cl_uint count, const uint32_t *ids, const char *options,
                   struct wire_buffer *key);

/* ---- remake.c ---- */
/* It was done, and is copied; without its files. */
void program_keep_step(cl_program program, const struct program_step *step);
void program_forget_steps(cl_program program);
/* As in struct kind. */
const char *program_bound(const struct object *object, const struct node *node);
uint32_t program_state(const struct object *object);
int program_settle_on(struct object *object, struct node *node, struct object *const *all, const bool *done);

/* ---- specialize.c ---- */
/* The node is told the constants that were set from that number of steps on to the other. CL_SUCCESS, or an error. */
cl_int specials_send(cl_program program, struct node *node, uint32_t from, uint32_t number);
/* Under the program's lock: which steps are kept has changed. */
void specials_prune(cl_program program);

#endif
