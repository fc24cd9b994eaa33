/*
 * platform [MICROSECONDS]: prints the platform's name, vendor, version and suffix, and whether it has the extension
 * cl_vocl_remote. With an argument, a timer sends a signal every MICROSECONDS, without SA_RESTART.
 */
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

static void nothing(int number)
{
    (void)number;
}

static void tick(int microseconds)
{
    const struct sigaction action = {.sa_handler = nothing};
    const struct itimerval often = {{0, microseconds}, {0, microseconds}};

    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
}

int main(int count, char **arguments)
{
    static const cl_platform_info asked[] = {CL_PLATFORM_NAME, CL_PLATFORM_VENDOR, CL_PLATFORM_VERSION,
                                             CL_PLATFORM_ICD_SUFFIX_KHR};
    cl_platform_id platform;
    cl_name_version list[64];
    char text[1024];
    size_t size;
    int listed = 0;

    if (count > 1)
        tick(atoi(arguments[1]));
    if (clGetPlatformIDs(1, &platform, NULL))
        return 1;
    for (int i = 0; i < 4; i++) {
        if (clGetPlatformInfo(platform, asked[i], sizeof(text), text, NULL))
            return 1;
        puts(text);
    }
    if (clGetPlatformInfo(platform, CL_PLATFORM_EXTENSIONS_WITH_VERSION, sizeof(list), list, &size))
        return 1;
    for (size_t i = 0; i < size / sizeof(*list); i++)
        listed |= !strcmp(list[i].name, "cl_vocl_remote");
    if (clGetPlatformInfo(platform, CL_PLATFORM_EXTENSIONS, sizeof(text), text, NULL))
        return 1;
    fprintf(stderr, "remote: %d %d\n", strstr(text, " cl_vocl_remote") != NULL, listed);
    return 0;
}
