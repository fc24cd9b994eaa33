#ifndef VOCL_BASE_JOURNAL_H
#define VOCL_BASE_JOURNAL_H

/* Writes a line of a daemon's log to stderr, with the priority that the systemd journal understands if stderr goes
 * there. */
void journal_print(const char *level, const char *line);

#endif
