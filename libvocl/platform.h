/* The platform, its devices, and their contexts. */
#ifndef VOCL_LIBVOCL_PLATFORM_H
#define VOCL_LIBVOCL_PLATFORM_H

#include "libvocl/objects.h"

/* ---- platform.c ---- */
/* The version that a native platform reports: 120 for OpenCL 1.2. */
unsigned platform_version(const struct info_table *infos);
/* Whether the program sees the native platform's name. */
bool platform_is_native(void);

/* ---- view.c ---- */
/* Returns the process' session, started if need be, or NULL if none can be started. */
struct session *vocl_session(void);
unsigned session_device_count(const struct session *session);
cl_device_id session_device(const struct session *session, unsigned index);
cl_platform_id session_platform(const struct session *session);

/* Whether the target's device of that number answers queries as the device does: 0, -EXDEV with the reason, or the
 * error of the query. */
int device_ask_fits(cl_device_id device, struct node *target, char *reason, size_t size);

/* ---- cover.c ---- */
/* Notes that the program has made that query. */
void cover_note(cl_device_id device, cl_device_info param);
/* Whether a device with these answers has everything that the program has learned of this one: 0, or -EXDEV with what
 * it lacks. */
int device_covers(cl_device_id device, const struct info_table *there, char *reason, size_t size);
/* Writes OpenCL's name of a query, or its number. */
void cover_query_name(cl_device_info param, char *name, size_t size);

/* ---- choose.c ---- */
/* Orders the list as VOCL_DEVICES says. Returns how many devices are left. */
unsigned choose_devices(cl_device_id *devices, unsigned count);

/* ---- device.c ---- */
/* Creates a root device that the node knows under that number. The node's answers are yet to be taken, or the device
 * to be given up. */
cl_int device_new(struct node *node, uint32_t platform, uint32_t id, cl_device_id *out);
void device_give_up(cl_device_id device);
/* Takes the node's answers about the device, an info table. */
cl_int device_tell(cl_device_id device, const void *infos, uint32_t length);
/* Copies the node's answer, if it has that size; otherwise leaves to as it is. */
void device_number(cl_device_id device, cl_device_info param, void *to, size_t size);

/* ---- identity.c ---- */
/* Whether the query tells a device apart from others of its kind, and promises nothing. */
bool identity_has(cl_device_info param);
/* Gives the device, whose answers have just been taken, the identity that the program sees. */
void identity_set(cl_device_id device);

/* ---- device_texts.c ---- */
/* Answers CL_DEVICE_SPIRV_EXTENDED_INSTRUCTION_SETS_KHR and CL_DEVICE_SPIRV_EXTENSIONS_KHR. */
cl_int device_texts(cl_device_id device, cl_device_info param, size_t size, void *value, size_t *size_ret);
void device_texts_free(cl_device_id device);

/* ---- context.c ---- */
#define MOST_DEVICES 2048 /* of a context; WIRE_MAX_DEVICES of one node */
bool context_has_device(cl_context context, cl_device_id device);
/* Returns CL_SUCCESS if the context has all of them, and no node has to take more of them than it can. */
cl_int context_check_list(cl_context context, cl_uint count, const cl_device_id *devices);
/* Returns the first of the devices that belongs to the node, or NULL. */
cl_device_id first_of_node(const struct node *node, cl_uint count, const cl_device_id *devices);
/* Writes the numbers of the devices that belong to the node. Returns how many. */
cl_uint devices_of_node(const struct node *node, cl_uint count, const cl_device_id *devices, uint32_t *ids);

/* ---- extension.c ---- */
/* Answers a query for extensions: the native ones, of infos, without those that VOCL does not carry. */
cl_int extension_return(const struct info_table *infos, const char *native, uint32_t length, size_t size, void *value,
                        size_t *size_ret);
/* Whether the native answer to such a query names the extension. */
bool extension_lists(const struct info_table *infos, cl_uint param, const char *extension);
/* Whether a device has cl_ext_buffer_device_address in version 1.0 or later. */
bool extension_has_device_addresses(const struct info_table *infos);
cl_int extension_return_versions(const cl_name_version *native, uint32_t length, size_t size, void *value,
                                 size_t *size_ret);
/* Returns the function of an extension that a device offers, or NULL. platform NULL: only functions that are
 * available without one. */
void *extension_function(cl_platform_id platform, const char *name);

#endif
