/*
 * Entry points that libOpenCL exports and VOCL does not carry: no device of VOCL offers what they need, and they return
 * the errors that OpenCL defines for that. doc/user/opencl-support.md lists them.
 */
#include "libvocl/internal.h"

#ifdef __clang__ /* for clang, parameters without names are C2x */
#pragma clang diagnostic ignored "-Wc2x-extensions"
#endif

cl_event clCreateEventFromEGLSyncKHR(cl_context context, CLeglSyncKHR, CLeglDisplayKHR, cl_int *ret)
{
    TIMELINE(clCreateEventFromEGLSyncKHR);

    fail_ret(ret, handle_check(context, WIRE_CONTEXT) ? CL_INVALID_OPERATION : CL_INVALID_CONTEXT);
    return NULL;
}

cl_event clCreateEventFromGLsyncKHR(cl_context context, cl_GLsync, cl_int *ret)
{
    TIMELINE(clCreateEventFromGLsyncKHR);

    fail_ret(ret, handle_check(context, WIRE_CONTEXT) ? CL_INVALID_OPERATION : CL_INVALID_CONTEXT);
    return NULL;
}

cl_mem clCreateFromEGLImageKHR(cl_context context, CLeglDisplayKHR, CLeglImageKHR, cl_mem_flags,
                               const cl_egl_image_properties_khr *, cl_int *ret)
{
    TIMELINE(clCreateFromEGLImageKHR);

    fail_ret(ret, handle_check(context, WIRE_CONTEXT) ? CL_INVALID_OPERATION : CL_INVALID_CONTEXT);
    return NULL;
}

cl_mem clCreateFromGLBuffer(cl_context context, cl_mem_flags, cl_GLuint, cl_int *ret)
{
    TIMELINE(clCreateFromGLBuffer);

    fail_ret(ret, handle_check(context, WIRE_CONTEXT) ? CL_INVALID_OPERATION : CL_INVALID_CONTEXT);
    return NULL;
}

cl_mem clCreateFromGLRenderbuffer(cl_context context, cl_mem_flags, cl_GLuint, cl_int *ret)
{
    TIMELINE(clCreateFromGLRenderbuffer);

    fail_ret(ret, handle_check(context, WIRE_CONTEXT) ? CL_INVALID_OPERATION : CL_INVALID_CONTEXT);
    return NULL;
}

cl_mem clCreateFromGLTexture(cl_context context, cl_mem_flags, cl_GLenum, cl_GLint, cl_GLuint, cl_int *ret)
{
    TIMELINE(clCreateFromGLTexture);

    fail_ret(ret, handle_check(context, WIRE_CONTEXT) ? CL_INVALID_OPERATION : CL_INVALID_CONTEXT);
    return NULL;
}

cl_mem clCreateFromGLTexture2D(cl_context context, cl_mem_flags, cl_GLenum, cl_GLint, cl_GLuint, cl_int *ret)
{
    TIMELINE(clCreateFromGLTexture2D);

    fail_ret(ret, handle_check(context, WIRE_CONTEXT) ? CL_INVALID_OPERATION : CL_INVALID_CONTEXT);
    return NULL;
}

cl_mem clCreateFromGLTexture3D(cl_context context, cl_mem_flags, cl_GLenum, cl_GLint, cl_GLuint, cl_int *ret)
{
    TIMELINE(clCreateFromGLTexture3D);

    fail_ret(ret, handle_check(context, WIRE_CONTEXT) ? CL_INVALID_OPERATION : CL_INVALID_CONTEXT);
    return NULL;
}

cl_int clCreateSubDevicesEXT(cl_device_id device, const cl_device_partition_property_ext *, cl_uint, cl_device_id *,
                             cl_uint *)
{
    TIMELINE(clCreateSubDevicesEXT);

    return handle_check(device, WIRE_DEVICE) ? CL_INVALID_OPERATION : CL_INVALID_DEVICE;
}

cl_int clEnqueueAcquireEGLObjectsKHR(cl_command_queue queue, cl_uint, const cl_mem *, cl_uint, const cl_event *,
                                     cl_event *)
{
    TIMELINE(clEnqueueAcquireEGLObjectsKHR);

    return handle_check(queue, WIRE_QUEUE) ? CL_INVALID_OPERATION : CL_INVALID_COMMAND_QUEUE;
}

cl_int clEnqueueAcquireGLObjects(cl_command_queue queue, cl_uint, const cl_mem *, cl_uint, const cl_event *, cl_event *)
{
    TIMELINE(clEnqueueAcquireGLObjects);

    return handle_check(queue, WIRE_QUEUE) ? CL_INVALID_OPERATION : CL_INVALID_COMMAND_QUEUE;
}

cl_int clEnqueueReleaseEGLObjectsKHR(cl_command_queue queue, cl_uint, const cl_mem *, cl_uint, const cl_event *,
                                     cl_event *)
{
    TIMELINE(clEnqueueReleaseEGLObjectsKHR);

    return handle_check(queue, WIRE_QUEUE) ? CL_INVALID_OPERATION : CL_INVALID_COMMAND_QUEUE;
}

cl_int clEnqueueReleaseGLObjects(cl_command_queue queue, cl_uint, const cl_mem *, cl_uint, const cl_event *, cl_event *)
{
    TIMELINE(clEnqueueReleaseGLObjects);

    return handle_check(queue, WIRE_QUEUE) ? CL_INVALID_OPERATION : CL_INVALID_COMMAND_QUEUE;
}

cl_int clGetGLContextInfoKHR(const cl_context_properties *properties, cl_gl_context_info, size_t, void *, size_t *)
{
    TIMELINE(clGetGLContextInfoKHR);

    return properties ? CL_INVALID_OPERATION : CL_INVALID_PLATFORM;
}

cl_int clGetGLObjectInfo(cl_mem memory, cl_gl_object_type *, cl_GLuint *)
{
    TIMELINE(clGetGLObjectInfo);

    return handle_check(memory, WIRE_MEMORY) ? CL_INVALID_GL_OBJECT : CL_INVALID_MEM_OBJECT;
}

cl_int clGetGLTextureInfo(cl_mem memory, cl_gl_texture_info, size_t, void *, size_t *)
{
    TIMELINE(clGetGLTextureInfo);

    return handle_check(memory, WIRE_MEMORY) ? CL_INVALID_GL_OBJECT : CL_INVALID_MEM_OBJECT;
}

cl_int clReleaseDeviceEXT(cl_device_id device)
{
    TIMELINE(clReleaseDeviceEXT);

    return clReleaseDevice(device);
}

cl_int clRetainDeviceEXT(cl_device_id device)
{
    TIMELINE(clRetainDeviceEXT);

    return clRetainDevice(device);
}

cl_int clSetDefaultDeviceCommandQueue(cl_context context, cl_device_id, cl_command_queue)
{
    TIMELINE(clSetDefaultDeviceCommandQueue);

    return handle_check(context, WIRE_CONTEXT) ? CL_INVALID_OPERATION : CL_INVALID_CONTEXT;
}
