/* What Debian 12's <CL/cl_ext.h> does not have yet. To be included after it. */
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

#ifndef cl_pocl_content_size
#define cl_pocl_content_size 1
cl_int CL_API_CALL clSetContentSizeBufferPoCL(cl_mem buffer, cl_mem content_size);
#endif

#endif
