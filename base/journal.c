#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/journal.h"

void journal_print(const char *level, const char *line)
{
    static const char *const levels[] = {"emerg", "alert", "crit", "error", "warning", "notice", "info", "debug"};
    unsigned priority = 0;

    while (priority < 7 && strcmp(levels[priority], level))
        priority++;
    if (getenv("JOURNAL_STREAM"))
        fprintf(stderr, "<%u>%s\n", priority, line);
    else
        fprintf(stderr, "vocl-proxy: %s: %s\n", level, line);
}
