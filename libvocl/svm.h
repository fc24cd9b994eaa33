/* Shared virtual memory. */
#ifndef VOCL_LIBVOCL_SVM_H
#define VOCL_LIBVOCL_SVM_H

#include "libvocl/objects.h"

/* ---- svm.c ---- */
cl_device_svm_capabilities svm_capabilities(cl_device_id device);
bool svm_has(const void *pointer);

/* ---- usm.c, usm_commands.c: functions of cl_intel_unified_shared_memory ---- */
void *usm_alloc_host(cl_context context, const cl_mem_properties_intel *properties, size_t size, cl_uint alignment,
                     cl_int *ret);
void *usm_alloc_device(cl_context context, cl_device_id device, const cl_mem_properties_intel *properties, size_t size,
                       cl_uint alignment, cl_int *ret);
void *usm_alloc_shared(cl_context context, cl_device_id device, const cl_mem_properties_intel *properties, size_t size,
                       cl_uint alignment, cl_int *ret);
cl_int usm_free(cl_context context, void *memory);
cl_int usm_free_blocking(cl_context context, void *memory);
cl_int usm_info(cl_context context, const void *pointer, cl_mem_info_intel param, size_t size, void *value,
                size_t *size_ret);
cl_int usm_set_argument(cl_kernel kernel, cl_uint index, const void *value);
cl_int usm_copy(cl_command_queue queue, cl_bool blocking, void *to, const void *from, size_t size, cl_uint count,
                const cl_event *list, cl_event *event);
cl_int usm_fill(cl_command_queue queue, void *to, const void *pattern, size_t pattern_size, size_t size, cl_uint count,
                const cl_event *list, cl_event *event);
cl_int usm_migrate(cl_command_queue queue, const void *memory, size_t size, cl_mem_migration_flags flags, cl_uint count,
                   const cl_event *list, cl_event *event);
cl_int usm_advise(cl_command_queue queue, const void *memory, size_t size, cl_mem_advice_intel advice, cl_uint count,
                  const cl_event *list, cl_event *event);
/* CL_DEVICE_*_MEM_CAPABILITIES_INTEL: the native ones, less what is out of the program's reach. */
cl_int usm_capabilities(cl_device_id device, cl_device_info param, size_t size, void *value, size_t *size_ret);
/* Whether any device of the context has it. */
bool usm_offered(cl_context context);
/* Its parameters of clSetKernelExecInfo. */
cl_int usm_exec_info(cl_kernel kernel, cl_kernel_exec_info param, size_t size, const void *value);
cl_int exec_info_send(cl_kernel kernel, cl_kernel_exec_info param, size_t size, const void *value);
void usm_after_fork(void);

#endif
