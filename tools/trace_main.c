/* vocl-trace: the parts of `vocl run --trace` and `--report`, `vocl trace` and `vocl explain` that need jansson. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/tools.h"
#include "tools/trace.h"

static FILE *create(const char *path)
{
    FILE *file = fopen(path, "we");

    if (!file)
        fail(1, "%s: %m", path);
    return file;
}

/* Makes a trace file of a folder. */
static int make(const char *folder, const char *path)
{
    struct trace trace;
    FILE *file;

    trace_read(folder, &trace);
    file = create(path);
    if (!trace_write(&trace, file) || fclose(file))
        fail(1, "%s: %m", path);
    return 0;
}

static int explain(const char *path, const char *to)
{
    const size_t length = to ? strlen(to) : 0;
    struct explained *e = explain_read(path);
    json_t *report;
    FILE *file;

    file = to && strcmp(to, "-") ? create(to) : to ? stderr : stdout;
    if (length > 5 && !strcmp(to + length - 5, ".json")) {
        report = explain_json(e);
        if (!report || json_dumpf(report, file, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(9)))
            fail(1, "%s: %m", to);
        fputc('\n', file);
    } else {
        explain_print(e, file);
    }
    if (fflush(file))
        fail(1, "the report cannot be written: %m");
    return 0;
}

/* make FOLDER FILE; explain FILE [WHERE]: writes a report to the file WHERE, to stderr for "-", or to stdout. */
int main(int count, char **words)
{
    if (count == 4 && !strcmp(words[1], "make"))
        return make(words[2], words[3]);
    if ((count == 3 || count == 4) && !strcmp(words[1], "explain"))
        return explain(words[2], words[3]);
    fail(EXIT_USAGE, "this program is for `vocl` to use");
}
