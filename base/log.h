/* The one place diagnostics go through. Quiet unless VOCL_LOG=error|warn|info|debug says otherwise. */
#ifndef VOCL_BASE_LOG_H
#define VOCL_BASE_LOG_H

#include <stdbool.h>

enum log_level { LOG_NONE, LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

bool vocl_log_enabled(enum log_level level);
__attribute__((format(printf, 2, 3))) void vocl_log(enum log_level level, const char *format, ...);
/* The level by its name, as VOCL_LOG has it; error if that is none. */
const char *vocl_log_level(void);
/* Whether VOCL_LOG could be this text. */
bool vocl_log_is_level(const char *text);
/* At debug: that this stage of a session's start is over, and how long it took, since the last or since NULL was told.
 */
void vocl_log_stage(const char *stage);
/* VOCL_TRACE=1: every command, on both sides. */
bool vocl_tracing(void);
__attribute__((format(printf, 1, 2))) void vocl_trace(const char *format, ...);
/* Where the lines go; stderr at first. */
void vocl_log_to(int descriptor);

#endif
