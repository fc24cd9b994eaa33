/* All diagnostics. Quiet unless VOCL_LOG=error|warn|info|debug says otherwise. */
#ifndef VOCL_BASE_LOG_H
#define VOCL_BASE_LOG_H

#include <stdbool.h>

enum log_level { LOG_NONE, LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

bool vocl_log_enabled(enum log_level level);
__attribute__((format(printf, 2, 3))) void vocl_log(enum log_level level, const char *format, ...);
/* Returns the name of the level that VOCL_LOG sets, or "error" if the setting is no level. */
const char *vocl_log_level(void);
/* Whether the text is a level for VOCL_LOG. */
bool vocl_log_is_level(const char *text);
/* Logs, at level debug, that this stage of a session's start is over and how long it took, since the last call. NULL
 * begins the first stage. */
void vocl_log_stage(const char *stage);
/* Whether VOCL_TRACE asks for every command, on both sides. */
bool vocl_tracing(void);
__attribute__((format(printf, 1, 2))) void vocl_trace(const char *format, ...);
/* Sets the descriptor that lines are written to; stderr at first. */
void vocl_log_to(int descriptor);

#endif
