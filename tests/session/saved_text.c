/*
 * saved_text [write]: prints the contents of a buffer and an image, as text; with "write" it writes them first, and
 * prints them when it gets a line on stdin.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdio.h>

#include "tests/session/moved.h"

int main(int count, char **words)
{
    static const char text[] = "0123456789abcdef", pixels[] = "ABCDEFGHIJKLMNOP";
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 2, .image_height = 2};
    const size_t origin[3] = {0}, region[3] = {2, 2, 1};
    char buffer_has[17] = "", image_has[17] = "";
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    cl_mem buffer, image;
    cl_int error;

    (void)words;
    open_first(&device, &context, &queue);
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 16, NULL, &error);
    NEED(error);
    image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, &error);
    NEED(error);
    if (count > 1) {
        NEED(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, 16, text, 0, NULL, NULL));
        NEED(clEnqueueWriteImage(queue, image, CL_TRUE, origin, region, 0, 0, pixels, 0, NULL, NULL));
        puts("ready");
        fflush(stdout);
        getchar();
    }
    NEED(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, 16, buffer_has, 0, NULL, NULL));
    NEED(clEnqueueReadImage(queue, image, CL_TRUE, origin, region, 0, 0, image_has, 0, NULL, NULL));
    printf("%s %s\n", buffer_has, image_has);
    return 0;
}
