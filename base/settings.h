/* Settings: the environment variables VOCL_*, described in settings.def. */
#ifndef VOCL_BASE_SETTINGS_H
#define VOCL_BASE_SETTINGS_H

#include <stdbool.h>

enum setting {
#define SETTING(name, fallback, meaning) SETTING_##name,
#include "base/settings.def"
#undef SETTING
    SETTING_COUNT
};

/* The value, or its default; never NULL. */
const char *settings_string(enum setting setting);
/* As a whole number; the default's where the value is none. */
long settings_number(enum setting setting);
/* As a size, see base/text.h; the default's where the value is none. */
unsigned long long settings_bytes(enum setting setting);
/* Whether memory may be shared with workers of this host. */
bool settings_share_memory(void);
/* How many workers embedded mode starts. */
long settings_workers(void);
/* After how many milliseconds one that does not answer is lost, 0: never; and how often it is to be said that one is
 * there. */
long settings_peer_ms(void);
long settings_tick_ms(void);
/* Where VOCL_POOL says nothing. */
#define SETTINGS_POOL_FILE SYSCONFDIR "/vocl/pool.conf"
#define SETTINGS_MOST_PEER 86400 /* seconds */
/* How many pieces of bulk data may be under way at a time. */
#define SETTINGS_MOST_PIPELINE 4
unsigned settings_pipeline(void);
/* How many connections between two members carry bulk data, where it is not MPI that does. */
#define SETTINGS_MOST_STREAMS 32
unsigned settings_streams(void);

#endif
