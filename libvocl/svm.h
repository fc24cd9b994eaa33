/* Shared virtual memory. */
#ifndef VOCL_LIBVOCL_SVM_H
#define VOCL_LIBVOCL_SVM_H

#include "libvocl/objects.h"

/* ---- svm.c ---- */
cl_device_svm_capabilities svm_capabilities(cl_device_id device);
bool svm_has(const void *pointer);

/* ---- usm.c, usm_commands.c: cl_intel_unified_shared_memory ---- */
/* Answers CL_DEVICE_*_MEM_CAPABILITIES_INTEL: the native ones, without those that are out of the program's reach. */
cl_int usm_capabilities(cl_device_id device, cl_device_info param, size_t size, void *value, size_t *size_ret);
/* Whether any device of the context has the extension. */
bool usm_offered(cl_context context);
/* The extension's parameters of clSetKernelExecInfo. */
cl_int usm_exec_info(cl_kernel kernel, cl_kernel_exec_info param, size_t size, const void *value);
cl_int exec_info_send(cl_kernel kernel, cl_kernel_exec_info param, size_t size, const void *value);

#endif
