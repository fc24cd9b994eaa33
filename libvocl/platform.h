/* The platform, its devices and their contexts. */
#ifndef VOCL_LIBVOCL_PLATFORM_H
#define VOCL_LIBVOCL_PLATFORM_H

#include "libvocl/objects.h"

/* ---- platform.c ---- */
/* The version that a native platform says it is: 120 for OpenCL 1.2. */
unsigned platform_version(const struct info_table *infos);
/* Whether the program sees the native platform's name. */
bool platform_is_native(void);

/* ---- view.c ---- */
/* The process' session, started if need be; NULL when there is none to be had. */
struct session *vocl_session(void);
unsigned session_device_count(const struct session *session);
cl_device_id session_device(const struct session *session, unsigned index);
cl_platform_id session_platform(const struct session *session);

/* Whether the target's device of that number answers as the device does: 0, or -EXDEV with the reason, or why it could
 * not be asked. */
int device_ask_fits(cl_device_id device, struct node *target, char *reason, size_t size);

/* ---- cover.c ---- */
/* The program has made that query. */
void cover_note(cl_device_id device, cl_device_info param);
/* Whether a device that answers so has all that the program was told of this one: 0, or -EXDEV and what it has not. */
int device_covers(cl_device_id device, const struct info_table *there, char *reason, size_t size);
/* What OpenCL calls a query, or its number. */
void cover_query_name(cl_device_info param, char *name, size_t size);

/* ---- choose.c ---- */
/* Orders the list as VOCL_DEVICES has it; how many are left. */
unsigned choose_devices(cl_device_id *devices, unsigned count);

/* ---- device.c ---- */
/* A root device, known to the node under that number: it is yet to be asked for what it is, or given up. */
cl_int device_new(struct node *node, uint32_t platform, uint32_t id, cl_device_id *out);
void device_give_up(cl_device_id device);
/* What its node tells of it, an info table. */
cl_int device_tell(cl_device_id device, const void *infos, uint32_t length);
/* What the node told of it, if it is of that size; else to stays as it is. */
void device_number(cl_device_id device, cl_device_info param, void *to, size_t size);

/* ---- context.c ---- */
#define MOST_DEVICES 2048 /* of a context, WIRE_MAX_DEVICES of them of one node */
bool context_has_device(cl_context context, cl_device_id device);
/* CL_SUCCESS if all are of it, and no node has to be told of more than it takes. */
cl_int context_check_list(cl_context context, cl_uint count, const cl_device_id *devices);
/* The first of those devices that is the node's, or NULL. */
cl_device_id first_of_node(const struct node *node, cl_uint count, const cl_device_id *devices);
/* The numbers of those devices that are the node's; how many. */
cl_uint devices_of_node(const struct node *node, cl_uint count, const cl_device_id *devices, uint32_t *ids);

/* ---- extension.c ---- */
/* The answer to a query for extensions: the native ones, of infos, without those that VOCL does not carry. */
cl_int extension_return(const struct info_table *infos, const char *native, uint32_t length, size_t size, void *value,
                        size_t *size_ret);
/* Whether the native answer to such a query names the extension. */
bool extension_lists(const struct info_table *infos, cl_uint param, const char *extension);
/* Whether a device has cl_ext_buffer_device_address as it is from version 1.0 on. */
bool extension_has_device_addresses(const struct info_table *infos);
cl_int extension_return_versions(const cl_name_version *native, uint32_t length, size_t size, void *value,
                                 size_t *size_ret);
/* The function of an extension that a device offers, or NULL. platform NULL: those that need none to be asked for. */
void *extension_function(cl_platform_id platform, const char *name);

#endif
