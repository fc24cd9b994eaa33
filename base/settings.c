#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"

#include "base/log.h"
#include "base/place.h"
#include "base/settings.h"
#include "base/text.h"

#ifndef VOCL_DEFAULT_MPI
#define VOCL_DEFAULT_MPI "mpich"
#endif

static const struct {
    const char *variable, *fallback;
} settings[] = {
#define SETTING(name, fallback, meaning) {"VOCL_" #name, fallback},
#include "base/settings.def"
#undef SETTING
};

static const struct {
    enum setting setting;
    const char *variable;
} old_names[] = {
#define SETTING(name, fallback, meaning)
#define FORMERLY(name, old) {SETTING_##name, "VOCL_" #old},
#include "base/settings.def"
#undef SETTING
};

static const char *find(enum setting setting)
{
    const char *value = getenv(settings[setting].variable);

    for (size_t i = 0; !value && i < sizeof(old_names) / sizeof(*old_names); i++) {
        if (old_names[i].setting == setting)
            value = getenv(old_names[i].variable);
    }
    return value;
}

const char *settings_string(enum setting setting)
{
    const char *value = find(setting), *folder = NULL;

    if (value && *value)
        return value;
    if (setting == SETTING_LIBEXECDIR)
        folder = place_helpers();
    return folder ? folder : settings[setting].fallback;
}

static void complain(enum setting setting, const char *text, const char *what)
{
    static atomic_bool told[SETTING_COUNT];

    if (!atomic_exchange(&told[setting], true))
        vocl_log(LOG_ERROR, "%s=%s is not a %s; the default is used", settings[setting].variable, text, what);
}

long settings_number(enum setting setting)
{
    const char *text = settings_string(setting);
    char *end;
    long value;

    errno = 0;
    value = strtol(text, &end, 10);
    if (errno || *end || end == text || value < 0) {
        if (*text)
            complain(setting, text, "whole number");
        value = strtol(settings[setting].fallback, NULL, 10);
    }
    return value;
}

bool settings_share_memory(void)
{
    return settings_number(SETTING_ZERO_COPY) && settings_number(SETTING_SHARE);
}

long settings_workers(void)
{
    const char *text = settings_string(SETTING_WORKERS);
    long count = settings_number(SETTING_WORKERS);

    if (count || !strcmp(text, "0"))
        return count;
    return settings_number(SETTING_LOCAL) ? 0 : 1;
}

static unsigned between(enum setting setting, unsigned most)
{
    long count = settings_number(setting);

    return count < 1 ? 1 : count < (long)most ? (unsigned)count : most;
}

unsigned settings_pipeline(void)
{
    return between(SETTING_PIPELINE, SETTINGS_MOST_PIPELINE);
}

unsigned settings_streams(void)
{
    if (!strcmp(settings_string(SETTING_STREAMS), "auto"))
        return 0;
    return between(SETTING_STREAMS, SETTINGS_MOST_STREAMS);
}

long settings_peer_ms(void)
{
    long seconds = settings_number(SETTING_PEER_TIMEOUT);

    return 1000 * (seconds < SETTINGS_MOST_PEER ? seconds : SETTINGS_MOST_PEER);
}

/* Every second, since others may have a shorter timeout, or often enough that one loss goes unnoticed. */
long settings_tick_ms(void)
{
    const long most = 1000, tick = settings_peer_ms() / 8;

    return tick && tick < most ? tick : most;
}

unsigned long long settings_bytes(enum setting setting)
{
    uint64_t bytes = 0;

    if (!text_read_bytes(settings_string(setting), &bytes)) {
        complain(setting, settings_string(setting), "size in bytes, such as 8G");
        text_read_bytes(settings[setting].fallback, &bytes);
    }
    return bytes;
}
