/* This program prints its kernels' output, in the order of the commands. */
#include "parity.h"

static const char *source = "kernel void say(int number, float4 vector, constant char *text)\n"
                            "{\n"
                            "    printf(\"kernel %d of %u: %v4hlf %s\\n\", number, (uint)get_global_size(0), vector,\n"
                            "           \"as told\");\n"
                            "    printf(\"%5.2f|%-6d|%x|%c|%%\\n\", 3.14159f, 42, 255, text[0]);\n"
                            "}\n";

int main(void)
{
    struct parity p;
    char text[] = "text";
    parity_open(&p, 0);
    cl_program program = parity_program(&p, source, NULL);
    cl_kernel kernel = parity_kernel(program, "say");
    cl_mem buffer = parity_buffer(&p, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof(text), text);
    for (cl_int number = 0; number < 5; number++) {
        cl_float4 vector = {{(float)number, 0.5f, -1.0f, 1e6f}};
        parity_args(kernel, 3, sizeof(number), &number, sizeof(vector), &vector, sizeof(buffer), &buffer);
        parity_launch(p.queue, kernel, 1, (size_t[]){1}, (size_t[]){1});
        printf("program %d\n", number);
        fflush(stdout);
        parity_rich();
    }
    CHECK(clReleaseMemObject(buffer));
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseProgram(program));
    parity_close(&p);
    return 0;
}
