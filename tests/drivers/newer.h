/*
 * A driver for tests (an ICD): PoCL, with functions that Debian 12's does not have yet. Its platform is PoCL's, whose
 * dispatch table it changes, so that all objects are PoCL's own.
 *
 *   usm.c   cl_intel_unified_shared_memory, over PoCL's SVM
 *   bda.c   cl_ext_buffer_device_address, over buffers that use SVM
 *   pipe.c  pipes, which kernels see as images
 *   hints.c priorities and throttles of queues
 *   il.c    SPIR-V, translated to SPIR 1.2 by llvm-spirv-15
 *
 * VOCL_TEST_GPU=1: the device claims to be a GPU, so that VOCL gives it no addresses which it did not allocate.
 * VOCL_TEST_LATER=1: the platform has OpenCL 3.1, and can be unloaded (later.c).
 * VOCL_TEST_FORMATS=1: workers have different formats of images (formats.c).
 * VOCL_TEST_LOG=1: logs to stderr what kernels are told about memory.
 */
#ifndef VOCL_TESTS_NEWER_H
#define VOCL_TESTS_NEWER_H

#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl.h>
#include <CL/cl_egl.h>
#include <CL/cl_ext.h>
#include <CL/cl_gl.h>
#include <CL/cl_icd.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cl_ext.h"
#include "tests/drivers/pocl.h"

/* PoCL's original functions. */
extern struct _cl_icd_dispatch real;
extern pthread_mutex_t driver_lock;

bool driver_logs(void);

/* Each *_install() changes the table; each *_function() returns a function of its extension, or NULL. */
void usm_install(struct _cl_icd_dispatch *table);
void *usm_function(const char *name);
/* Returns CL_INVALID_VALUE if the query is not one of the extension. */
cl_int usm_device_info(cl_device_info param, size_t size, void *value, size_t *size_ret);
/* Whether the pointer is into an allocation that exists. */
bool usm_has(const void *pointer);
void bda_install(struct _cl_icd_dispatch *table);
void *bda_function(const char *name);
bool bda_has(uint64_t address);
void groups_install(struct _cl_icd_dispatch *table);
void *groups_function(const char *name);
void hints_install(struct _cl_icd_dispatch *table);
void later_install(struct _cl_icd_dispatch *table);
/* Returns CL_INVALID_VALUE if the query is not one whose answer has changed. */
cl_int later_device_info(cl_device_id device, cl_device_info param, size_t size, void *value, size_t *size_ret);
void formats_install(struct _cl_icd_dispatch *table);
void pipe_install(struct _cl_icd_dispatch *table);
/* Returns CL_INVALID_VALUE if the query is not one of pipes. */
cl_int pipe_device_info(cl_device_info param, size_t size, void *value, size_t *size_ret);
void *il_function(const char *name);
void il_install(struct _cl_icd_dispatch *table);

#endif
