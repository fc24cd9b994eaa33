#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/text.h"

static const char *const names[] = {"none", "error", "warn", "info", "debug"};
static int output = STDERR_FILENO;

static enum log_level threshold(void)
{
    static atomic_int known = -1; /* racing threads store the same value */
    const char *text;
    int level = -1;

    if (known >= 0)
        return (enum log_level)known;
    text = settings_string(SETTING_LOG);
    for (int i = 0; text && i <= LOG_DEBUG; i++) {
        if (!strcmp(text, names[i]))
            level = i;
    }
    known = level < 0 ? LOG_ERROR : level;
    if (level < 0)
        vocl_log(LOG_ERROR, "VOCL_LOG takes none, error, warn, info or debug, not \"%s\"", text);
    return (enum log_level)known;
}

void vocl_log_to(int descriptor)
{
    output = descriptor;
}

const char *vocl_log_level(void)
{
    return names[threshold()];
}

bool vocl_log_is_level(const char *text)
{
    for (int i = 0; i <= LOG_DEBUG; i++) {
        if (!strcmp(text, names[i]))
            return true;
    }
    return false;
}

bool vocl_log_enabled(enum log_level level)
{
    return level <= threshold();
}

/* Writes a line by one write(), so that lines of several processes do not mix. Parts may come from a peer, so control
 * characters are made visible. */
static void put(const char *kind, const char *format, va_list arguments)
{
    char text[1024], line[1024];
    size_t length = (size_t)snprintf(line, sizeof(line), "vocl[%d] %s: ", (int)getpid(), kind);

    vsnprintf(text, sizeof(text), format, arguments);
    length += strlen(text_visible(text, line + length, sizeof(line) - length));
    line[length++] = '\n'; /* in the place of the NUL */
    if (write(output, line, length) < 0)
        return; /* there is nowhere to report it */
}

void vocl_log(enum log_level level, const char *format, ...)
{
    va_list arguments;

    if (level > threshold())
        return;
    va_start(arguments, format);
    put(names[level], format, arguments);
    va_end(arguments);
}

bool vocl_tracing(void)
{
    static int known = -1;

    if (known < 0)
        known = settings_number(SETTING_TRACE) != 0;
    return known;
}

void vocl_trace(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    put("trace", format, arguments);
    va_end(arguments);
}

void vocl_log_stage(const char *stage)
{
    static long since_us;
    const long now = clock_us();

    if (stage)
        vocl_log(LOG_DEBUG, "stage: %.1f ms %s", (double)(now - since_us) / 1000, stage);
    since_us = now;
}
