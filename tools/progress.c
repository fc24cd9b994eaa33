/* See progress.h. */
#include "tools/progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "tools/units.h"

#define COLUMNS 80        /* of a terminal that does not say */
#define LEAST_RATE_MS 100 /* between the reports that a rate is computed of */

struct progress progress_new(bool quiet, bool lines)
{
    const bool terminal = isatty(STDERR_FILENO);

    return (struct progress){.where = quiet      ? PROGRESS_NOWHERE
                                      : terminal ? PROGRESS_TERMINAL
                                      : lines    ? PROGRESS_LINES
                                                 : PROGRESS_NOWHERE};
}

/* ---- reports ---- */

/* A command that moves several parts begins to count again. */
static bool is_new(const struct progress *p, const char *phase, uint64_t bytes)
{
    return strcmp(p->phase, phase) || bytes < p->bytes;
}

void progress_note(struct progress *p, const char *phase, uint64_t bytes, uint64_t total, long ms)
{
    if (!p->count || is_new(p, phase, bytes)) {
        snprintf(p->phase, sizeof(p->phase), "%s", phase);
        p->first = bytes;
        p->first_ms = ms;
        p->count = 0;
    }
    p->bytes = bytes;
    p->total = total;
    p->looks[p->count % PROGRESS_LOOKS].ms = ms;
    p->looks[p->count++ % PROGRESS_LOOKS].bytes = bytes;
}

/* Bytes a second, or 0 if that is not known. over: of the whole phase. */
static double rate(const struct progress *p, bool over)
{
    const unsigned last = (p->count + PROGRESS_LOOKS - 1) % PROGRESS_LOOKS;
    const unsigned oldest = over || p->count < PROGRESS_LOOKS ? 0 : p->count % PROGRESS_LOOKS;
    const long since = over ? p->first_ms : p->looks[oldest].ms, ms = p->looks[last].ms - since;
    const uint64_t from = over ? p->first : p->looks[oldest].bytes;

    return p->count && ms >= LEAST_RATE_MS ? (double)(p->bytes - from) * 1000 / (double)ms : 0;
}

const char *progress_text(const struct progress *p, bool over, char text[PROGRESS_TEXT])
{
    const bool known = p->total > p->first && p->total >= p->bytes, all = over && p->bytes == p->total;
    const uint64_t done = p->bytes - p->first, left = known ? p->total - p->bytes : 0;
    const double speed = rate(p, over);
    char bytes[16], number[24];
    int length = snprintf(text, PROGRESS_TEXT, "%s", p->phase);

    if (done || known)
        length += sprintf(text + length, ": %s", show_bytes((double)done, bytes));
    if (known && !all)
        length += sprintf(text + length, " of %s", show_bytes((double)(p->total - p->first), bytes));
    if (done && speed > 0)
        length += sprintf(text + length, ", %s/s", show_bytes(speed, bytes));
    if (left && speed > 0 && !over)
        sprintf(text + length, ", %s left", show_time((double)left / speed + 0.5, number));
    return text;
}

/* ---- showing them ---- */

/* As scp does: a command in the background writes nothing over another one's screen. */
static bool is_in_front(void)
{
    const pid_t front = tcgetpgrp(STDERR_FILENO);

    return front < 0 || front == getpgrp();
}

static int columns(void)
{
    struct winsize size;

    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || !size.ws_col ? COLUMNS : size.ws_col;
}

/* Spaces replace the rest of a longer line. */
static void renew(struct progress *p, const char *text)
{
    const int room = columns() - 1, length = (int)strlen(text) < room ? (int)strlen(text) : room;

    fprintf(stderr, "\r%.*s%*s", length, text, p->shown > length ? p->shown - length : 0, "");
    p->shown = length;
}

void progress_clear(struct progress *p)
{
    if (p->shown && is_in_front())
        fprintf(stderr, "\r%*s\r", p->shown, "");
    p->shown = 0;
}

/* A line of how the phase went, if it has copied anything. */
static void print_end(const struct progress *p)
{
    char text[PROGRESS_TEXT];

    if (p->count && p->bytes > p->first)
        fprintf(stderr, "%s\n", progress_text(p, true, text));
}

void progress_take(struct progress *p, const char *phase, uint64_t bytes, uint64_t total)
{
    const long now = clock_ms();
    char visible[PROGRESS_PHASE], text[PROGRESS_TEXT];
    bool begins;

    if (p->where == PROGRESS_NOWHERE)
        return;
    text_visible(phase, visible, sizeof(visible));
    begins = !p->count || is_new(p, visible, bytes);
    if (begins && p->where == PROGRESS_LINES)
        print_end(p);
    progress_note(p, visible, bytes, total, now);
    if (begins && p->where == PROGRESS_LINES)
        fprintf(stderr, "%s\n", visible);
    if (p->where == PROGRESS_TERMINAL && is_in_front())
        renew(p, progress_text(p, false, text));
}

void progress_end(struct progress *p)
{
    progress_clear(p);
    if (p->where == PROGRESS_LINES)
        print_end(p);
    p->count = 0;
}
