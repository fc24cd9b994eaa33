/* What Debian 12's <CL/cl_ext.h> lacks, or newer ones declare differently. Include it after that. */
#ifndef VOCL_BASE_CL_EXT_H
#define VOCL_BASE_CL_EXT_H

#ifndef cl_ext_buffer_device_address
#define cl_ext_buffer_device_address 1

typedef cl_ulong cl_mem_device_address_ext;
cl_int CL_API_CALL clSetKernelArgDevicePointerEXT(cl_kernel kernel, cl_uint index, cl_mem_device_address_ext address);
typedef __typeof__(clSetKernelArgDevicePointerEXT) *clSetKernelArgDevicePointerEXT_fn;

#define CL_MEM_DEVICE_PRIVATE_ADDRESS_EXT 0x5000
#define CL_MEM_DEVICE_ADDRESS_EXT 0x5001
#define CL_KERNEL_EXEC_INFO_DEVICE_PTRS_EXT 0x5002
#endif

#ifndef cl_khr_spirv_queries
#define cl_khr_spirv_queries 1
#define CL_DEVICE_SPIRV_EXTENDED_INSTRUCTION_SETS_KHR 0x12B9
#define CL_DEVICE_SPIRV_EXTENSIONS_KHR 0x12BA
#define CL_DEVICE_SPIRV_CAPABILITIES_KHR 0x12BB
#endif

/* cl_nv_device_attribute_query, whose queries are in NVIDIA's headers only */
#ifndef CL_DEVICE_PCI_BUS_ID_NV
#define CL_DEVICE_PCI_BUS_ID_NV 0x4008
#define CL_DEVICE_PCI_SLOT_ID_NV 0x4009
#endif
#ifndef CL_DEVICE_PCI_DOMAIN_ID_NV
#define CL_DEVICE_PCI_DOMAIN_ID_NV 0x400A
#endif

#ifndef cl_pocl_content_size
#define cl_pocl_content_size 1
cl_int CL_API_CALL clSetContentSizeBufferPoCL(cl_mem buffer, cl_mem content_size);
#endif

/* From version 0.9.5 of cl_khr_command_buffer on, functions that record a command take properties, none of which are
 * supported here. Defined are the parameter, whether the caller asks for properties, and an argument for none. */
#if defined(CL_KHR_COMMAND_BUFFER_EXTENSION_VERSION)
#if CL_KHR_COMMAND_BUFFER_EXTENSION_VERSION >= CL_MAKE_VERSION(0, 9, 5)
#define RECORD_PROPERTIES const cl_command_properties_khr *properties,
#define RECORD_TAKES_PROPERTIES 1
#define RECORD_ASKS (properties && *properties)
#define RECORD_NO_PROPERTIES NULL,
#define cl_ndrange_kernel_command_properties_khr cl_command_properties_khr
#endif
#endif
#ifndef RECORD_PROPERTIES
#define RECORD_PROPERTIES
#define RECORD_TAKES_PROPERTIES 0
#define RECORD_ASKS 0
#define RECORD_NO_PROPERTIES
#endif
#ifndef CL_COMMAND_BUFFER_STATE_INVALID_KHR
#define CL_COMMAND_BUFFER_STATE_INVALID_KHR 3 /* also removed in 0.9.5 */
#endif
#define RECORD_SINCE CL_MAKE_VERSION(0, 9, 5)

#endif
