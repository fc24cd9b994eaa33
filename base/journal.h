#ifndef VOCL_BASE_JOURNAL_H
#define VOCL_BASE_JOURNAL_H

/* A line of a daemon's log on stderr, with the priority that the journal understands where it listens. */
void journal_print(const char *level, const char *line);

#endif
