/* Error codes for pipes, which no device of the tests has. */
#include "parity.h"

static struct parity p;

static void pipes(void)
{
    cl_mem buffer = parity_buffer(&p, CL_MEM_READ_WRITE, 64, NULL);
    cl_uint value;

    SHOW_NEW("clCreatePipe", clCreatePipe(p.context, CL_MEM_READ_WRITE, 4, 16, NULL, &status));
    SHOW_NEW("clCreatePipe(NULL context)", clCreatePipe(NULL, CL_MEM_READ_WRITE, 4, 16, NULL, &status));
    SHOW("clGetPipeInfo(a buffer)", clGetPipeInfo(buffer, CL_PIPE_PACKET_SIZE, sizeof(value), &value, NULL));
    SHOW("clGetPipeInfo(NULL)", clGetPipeInfo(NULL, CL_PIPE_PACKET_SIZE, sizeof(value), &value, NULL));
    parity_rich();
    CHECK(clReleaseMemObject(buffer));
}

int main(void)
{
    parity_open(&p, 0);
    if (parity_version(&p) >= 200)
        pipes();
    parity_close(&p);
    return 0;
}
