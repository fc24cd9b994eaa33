#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/tools.h"

void fail(int status, const char *format, ...)
{
    int error = errno; /* for a %m in the format */
    va_list arguments;

    fputs("vocl: ", stderr);
    errno = error;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(status);
}
