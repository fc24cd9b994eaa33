/* The daemon's log: lines on stderr. Limits the lines that others can cause as often as they like. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/journal.h"
#include "base/text.h"
#include "proxy/daemon/daemon.h"

#define WINDOW_MS 10000
#define MOST_LINES 5 /* of one kind in this time */
#define KINDS 128

/* A kind of line of which the number is limited. */
static struct kind {
    const char *format, *level;
    long since_ms;
    unsigned printed, more;
    char last[1024];
} kinds[KINDS];

static void end_window(struct kind *kind)
{
    char line[1100];

    if (kind->more) {
        snprintf(line, sizeof(line), "%s (and %u more like this in %d s)", kind->last, kind->more, WINDOW_MS / 1000);
        journal_print(kind->level, line);
    }
    kind->printed = kind->more = 0;
}

/* Whether there have been enough lines of this kind. */
static bool is_too_much(const char *level, const char *format, const char *line)
{
    const long now = clock_ms();
    struct kind *kind = kinds;

    if (strcmp(level, "warning") && strcmp(level, "error"))
        return false;
    while (kind < kinds + KINDS && kind->format && kind->format != format)
        kind++;
    if (kind == kinds + KINDS)
        return false;
    if (!kind->printed || now - kind->since_ms > WINDOW_MS) {
        end_window(kind);
        kind->since_ms = now;
    }
    kind->format = format;
    kind->level = level;
    if (kind->printed++ < MOST_LINES)
        return false;
    kind->more++;
    snprintf(kind->last, sizeof(kind->last), "%s", line);
    return true;
}

void daemon_log(const char *level, const char *format, ...)
{
    char line[1024], visible[1024];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    text_visible(line, visible, sizeof(visible)); /* it may contain text from clients */
    if (!is_too_much(level, format, visible))
        journal_print(level, visible);
}

void daemon_log_review(void)
{
    for (struct kind *kind = kinds; kind < kinds + KINDS && kind->format; kind++) {
        if (clock_ms() - kind->since_ms > WINDOW_MS)
            end_window(kind);
    }
}
