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

/* Returns the value, or its default; never NULL. */
const char *settings_string(enum setting setting);
/* Returns the value as a whole number, or the default if it is none. */
long settings_number(enum setting setting);
/* Returns the value as a size in bytes (base/text.h), or the default if it is none. */
unsigned long long settings_bytes(enum setting setting);
/* Whether memory may be shared with workers of this host. */
bool settings_share_memory(void);
/* Returns how many workers embedded mode starts. */
long settings_workers(void);
/* settings_peer_ms(): after how many milliseconds a peer that does not answer is lost, 0: never. settings_tick_ms():
 * the period of heartbeats. */
long settings_peer_ms(void);
long settings_tick_ms(void);
/* The pool file if VOCL_POOL is empty. */
#define SETTINGS_POOL_FILE SYSCONFDIR "/vocl/pool.conf"
#define SETTINGS_MOST_PEER 86400 /* seconds */
/* The largest VOCL_POOL_COUNT: devices of a request to the pool, and so nodes with which a session starts. */
#define SETTINGS_MOST_COUNT 256
/* Returns how many pieces of bulk data may be under way at a time. */
#define SETTINGS_MOST_PIPELINE 4
unsigned settings_pipeline(void);
/* Returns how many connections between two members carry bulk data, except over MPI; 0: chosen by distance. */
#define SETTINGS_MOST_STREAMS 32
unsigned settings_streams(void);

#endif
