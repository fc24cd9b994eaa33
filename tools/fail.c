#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tools/tools.h"

static const char *helped = "vocl"; /* the command whose --help is mentioned */

void help_is_of(const char *command)
{
    helped = command;
}

/* Names of hosts or files may contain control characters, which must not reach the terminal. */
static void print(int error, const char *format, va_list arguments)
{
    char text[4096], visible[sizeof(text)];

    errno = error; /* for a %m in the format */
    vsnprintf(text, sizeof(text), format, arguments);
    fprintf(stderr, "vocl: %s", text_visible(text, visible, sizeof(visible)));
}

void fail(int status, const char *format, ...)
{
    const int error = errno;
    va_list arguments;

    va_start(arguments, format);
    print(error, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(status);
}

void misuse(const char *format, ...)
{
    const int error = errno;
    va_list arguments;

    va_start(arguments, format);
    print(error, format, arguments);
    va_end(arguments);
    fprintf(stderr, "; try `%s --help`\n", helped);
    exit(EXIT_USAGE);
}

void check_value(char **words)
{
    if (optarg && optarg == words[optind - 1] && !strcmp(optarg, "--"))
        misuse("%s needs a value", words[optind - 2]);
}
