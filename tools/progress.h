/*
 * How far a command has come, on standard error: on a terminal one line that is renewed, without escape codes;
 * elsewhere a line when a phase begins, and one when it has ended, if it has copied anything. Nobody has to parse it.
 */
#ifndef VOCL_TOOLS_PROGRESS_H
#define VOCL_TOOLS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#define PROGRESS_LOOKS 16 /* the last reports, of which the rate is computed: about 5 seconds */
#define PROGRESS_PHASE 160
#define PROGRESS_TEXT (PROGRESS_PHASE + 80)

struct progress {
    enum progress_where { PROGRESS_NOWHERE, PROGRESS_LINES, PROGRESS_TERMINAL } where;
    char phase[PROGRESS_PHASE];
    uint64_t first, bytes, total; /* as reported: at the start of the phase, last, and at its end (0: unknown) */
    long first_ms;
    struct {
        long ms;
        uint64_t bytes;
    } looks[PROGRESS_LOOKS];
    unsigned count; /* of reports in this phase */
    int shown;      /* columns that the line has on the terminal */
};

/* quiet: shows nothing; lines: also shows it where standard error is not a terminal. */
struct progress progress_new(bool quiet, bool lines);
/* Takes a report and shows it. bytes may count from an earlier phase on; total 0: unknown. */
void progress_take(struct progress *p, const char *phase, uint64_t bytes, uint64_t total);
/* Removes the line from the terminal, before something else is printed there. */
void progress_clear(struct progress *p);
/* The work is over, well or not. */
void progress_end(struct progress *p);

/* The parts of progress_take(): takes a report of that moment; and the text, such as "copy: 12 MiB of 1.5 GiB, 480
 * MiB/s, 0:03 left". over: of a phase that has ended. */
void progress_note(struct progress *p, const char *phase, uint64_t bytes, uint64_t total, long ms);
const char *progress_text(const struct progress *p, bool over, char text[PROGRESS_TEXT]);

#endif
