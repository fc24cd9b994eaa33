/*
 * For the executor in the application's process: OpenCL functions as the drivers have them, called through the table
 * that every object begins with (cl_khr_icd). There the names belong to libvocl, and the loader may be the one that is
 * just asking libvocl for its platforms. Included before all else where the executor is compiled for that
 * (Makefile.inc).
 */
#ifndef VOCL_EXECUTOR_DIRECT_H
#define VOCL_EXECUTOR_DIRECT_H

#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_icd.h>

/* vendors.c: the platforms of the drivers that the ICD loader would find, but for VOCL's own. */
cl_int vendors_platforms(cl_uint count, cl_platform_id *platforms, cl_uint *count_ret);

#define DRIVER(object) (*(struct _cl_icd_dispatch *const *)(object))
#define DIRECT(name, object, ...)                                                                                      \
    ({                                                                                                                 \
        __typeof__(object) object_ = (object);                                                                         \
        DRIVER(object_)->name(object_ __VA_OPT__(, ) __VA_ARGS__);                                                     \
    })

#define clGetPlatformIDs vendors_platforms
#define clCreateContext(properties, count, devices, ...)                                                               \
    DRIVER(*(devices))->clCreateContext(properties, count, devices, __VA_ARGS__)
#define clBuildProgram(...) DIRECT(clBuildProgram, __VA_ARGS__)
#define clCloneKernel(...) DIRECT(clCloneKernel, __VA_ARGS__)
#define clCompileProgram(...) DIRECT(clCompileProgram, __VA_ARGS__)
#define clCreateBuffer(...) DIRECT(clCreateBuffer, __VA_ARGS__)
#define clCreateBufferWithProperties(...) DIRECT(clCreateBufferWithProperties, __VA_ARGS__)
#define clCreateCommandQueue(...) DIRECT(clCreateCommandQueue, __VA_ARGS__)
#define clCreateImage(...) DIRECT(clCreateImage, __VA_ARGS__)
#define clCreateImage2D(...) DIRECT(clCreateImage2D, __VA_ARGS__)
#define clCreateImage3D(...) DIRECT(clCreateImage3D, __VA_ARGS__)
#define clCreateKernel(...) DIRECT(clCreateKernel, __VA_ARGS__)
#define clCreateKernelsInProgram(...) DIRECT(clCreateKernelsInProgram, __VA_ARGS__)
#define clCreatePipe(...) DIRECT(clCreatePipe, __VA_ARGS__)
#define clCreateProgramWithBinary(...) DIRECT(clCreateProgramWithBinary, __VA_ARGS__)
#define clCreateProgramWithBuiltInKernels(...) DIRECT(clCreateProgramWithBuiltInKernels, __VA_ARGS__)
#define clCreateProgramWithIL(...) DIRECT(clCreateProgramWithIL, __VA_ARGS__)
#define clCreateProgramWithSource(...) DIRECT(clCreateProgramWithSource, __VA_ARGS__)
#define clCreateSampler(...) DIRECT(clCreateSampler, __VA_ARGS__)
#define clCreateSamplerWithProperties(...) DIRECT(clCreateSamplerWithProperties, __VA_ARGS__)
#define clCreateSubBuffer(...) DIRECT(clCreateSubBuffer, __VA_ARGS__)
#define clCreateSubDevices(...) DIRECT(clCreateSubDevices, __VA_ARGS__)
#define clCreateUserEvent(...) DIRECT(clCreateUserEvent, __VA_ARGS__)
#define clEnqueueBarrier(...) DIRECT(clEnqueueBarrier, __VA_ARGS__)
#define clEnqueueBarrierWithWaitList(...) DIRECT(clEnqueueBarrierWithWaitList, __VA_ARGS__)
#define clEnqueueCopyBuffer(...) DIRECT(clEnqueueCopyBuffer, __VA_ARGS__)
#define clEnqueueCopyBufferRect(...) DIRECT(clEnqueueCopyBufferRect, __VA_ARGS__)
#define clEnqueueCopyBufferToImage(...) DIRECT(clEnqueueCopyBufferToImage, __VA_ARGS__)
#define clEnqueueCopyImage(...) DIRECT(clEnqueueCopyImage, __VA_ARGS__)
#define clEnqueueCopyImageToBuffer(...) DIRECT(clEnqueueCopyImageToBuffer, __VA_ARGS__)
#define clEnqueueFillBuffer(...) DIRECT(clEnqueueFillBuffer, __VA_ARGS__)
#define clEnqueueFillImage(...) DIRECT(clEnqueueFillImage, __VA_ARGS__)
#define clEnqueueMapBuffer(...) DIRECT(clEnqueueMapBuffer, __VA_ARGS__)
#define clEnqueueMarker(...) DIRECT(clEnqueueMarker, __VA_ARGS__)
#define clEnqueueMarkerWithWaitList(...) DIRECT(clEnqueueMarkerWithWaitList, __VA_ARGS__)
#define clEnqueueMigrateMemObjects(...) DIRECT(clEnqueueMigrateMemObjects, __VA_ARGS__)
#define clEnqueueNDRangeKernel(...) DIRECT(clEnqueueNDRangeKernel, __VA_ARGS__)
#define clEnqueueReadBuffer(...) DIRECT(clEnqueueReadBuffer, __VA_ARGS__)
#define clEnqueueReadBufferRect(...) DIRECT(clEnqueueReadBufferRect, __VA_ARGS__)
#define clEnqueueReadImage(...) DIRECT(clEnqueueReadImage, __VA_ARGS__)
#define clEnqueueSVMMemFill(...) DIRECT(clEnqueueSVMMemFill, __VA_ARGS__)
#define clEnqueueSVMMemcpy(...) DIRECT(clEnqueueSVMMemcpy, __VA_ARGS__)
#define clEnqueueUnmapMemObject(...) DIRECT(clEnqueueUnmapMemObject, __VA_ARGS__)
#define clEnqueueWriteBuffer(...) DIRECT(clEnqueueWriteBuffer, __VA_ARGS__)
#define clEnqueueWriteBufferRect(...) DIRECT(clEnqueueWriteBufferRect, __VA_ARGS__)
#define clEnqueueWriteImage(...) DIRECT(clEnqueueWriteImage, __VA_ARGS__)
#define clFinish(...) DIRECT(clFinish, __VA_ARGS__)
#define clFlush(...) DIRECT(clFlush, __VA_ARGS__)
#define clGetCommandQueueInfo(...) DIRECT(clGetCommandQueueInfo, __VA_ARGS__)
#define clGetContextInfo(...) DIRECT(clGetContextInfo, __VA_ARGS__)
#define clGetDeviceAndHostTimer(...) DIRECT(clGetDeviceAndHostTimer, __VA_ARGS__)
#define clGetDeviceIDs(...) DIRECT(clGetDeviceIDs, __VA_ARGS__)
#define clGetDeviceInfo(...) DIRECT(clGetDeviceInfo, __VA_ARGS__)
#define clGetEventInfo(...) DIRECT(clGetEventInfo, __VA_ARGS__)
#define clGetEventProfilingInfo(...) DIRECT(clGetEventProfilingInfo, __VA_ARGS__)
#define clGetExtensionFunctionAddressForPlatform(...) DIRECT(clGetExtensionFunctionAddressForPlatform, __VA_ARGS__)
#define clGetImageInfo(...) DIRECT(clGetImageInfo, __VA_ARGS__)
#define clGetKernelArgInfo(...) DIRECT(clGetKernelArgInfo, __VA_ARGS__)
#define clGetKernelInfo(...) DIRECT(clGetKernelInfo, __VA_ARGS__)
#define clGetKernelSubGroupInfo(...) DIRECT(clGetKernelSubGroupInfo, __VA_ARGS__)
#define clGetKernelWorkGroupInfo(...) DIRECT(clGetKernelWorkGroupInfo, __VA_ARGS__)
#define clGetMemObjectInfo(...) DIRECT(clGetMemObjectInfo, __VA_ARGS__)
#define clGetPlatformInfo(...) DIRECT(clGetPlatformInfo, __VA_ARGS__)
#define clGetProgramBuildInfo(...) DIRECT(clGetProgramBuildInfo, __VA_ARGS__)
#define clGetProgramInfo(...) DIRECT(clGetProgramInfo, __VA_ARGS__)
#define clGetSupportedImageFormats(...) DIRECT(clGetSupportedImageFormats, __VA_ARGS__)
#define clLinkProgram(...) DIRECT(clLinkProgram, __VA_ARGS__)
#define clReleaseCommandQueue(...) DIRECT(clReleaseCommandQueue, __VA_ARGS__)
#define clReleaseContext(...) DIRECT(clReleaseContext, __VA_ARGS__)
#define clReleaseDevice(...) DIRECT(clReleaseDevice, __VA_ARGS__)
#define clReleaseEvent(...) DIRECT(clReleaseEvent, __VA_ARGS__)
#define clReleaseKernel(...) DIRECT(clReleaseKernel, __VA_ARGS__)
#define clReleaseMemObject(...) DIRECT(clReleaseMemObject, __VA_ARGS__)
#define clReleaseProgram(...) DIRECT(clReleaseProgram, __VA_ARGS__)
#define clReleaseSampler(...) DIRECT(clReleaseSampler, __VA_ARGS__)
#define clRetainCommandQueue(...) DIRECT(clRetainCommandQueue, __VA_ARGS__)
#define clRetainContext(...) DIRECT(clRetainContext, __VA_ARGS__)
#define clRetainEvent(...) DIRECT(clRetainEvent, __VA_ARGS__)
#define clRetainMemObject(...) DIRECT(clRetainMemObject, __VA_ARGS__)
#define clRetainProgram(...) DIRECT(clRetainProgram, __VA_ARGS__)
#define clSVMAlloc(...) DIRECT(clSVMAlloc, __VA_ARGS__)
#define clSVMFree(...) DIRECT(clSVMFree, __VA_ARGS__)
#define clSetContextDestructorCallback(...) DIRECT(clSetContextDestructorCallback, __VA_ARGS__)
#define clSetEventCallback(...) DIRECT(clSetEventCallback, __VA_ARGS__)
#define clSetKernelArg(...) DIRECT(clSetKernelArg, __VA_ARGS__)
#define clSetKernelArgSVMPointer(...) DIRECT(clSetKernelArgSVMPointer, __VA_ARGS__)
#define clSetKernelExecInfo(...) DIRECT(clSetKernelExecInfo, __VA_ARGS__)
#define clSetMemObjectDestructorCallback(...) DIRECT(clSetMemObjectDestructorCallback, __VA_ARGS__)
#define clSetProgramSpecializationConstant(...) DIRECT(clSetProgramSpecializationConstant, __VA_ARGS__)
#define clSetUserEventStatus(...) DIRECT(clSetUserEventStatus, __VA_ARGS__)
#define clWaitForEvents(count, events) DRIVER(*(events))->clWaitForEvents(count, events)

#endif
