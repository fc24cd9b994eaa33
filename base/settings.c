#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"

#include "base/log.h"
#include "base/settings.h"

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

const char *settings_string(enum setting setting)
{
    const char *value = getenv(settings[setting].variable);

    return value && *value ? value : settings[setting].fallback;
}

static void complain(enum setting setting, const char *text)
{
    static atomic_bool told[SETTING_COUNT];

    if (!atomic_exchange(&told[setting], true))
        vocl_log(LOG_ERROR, "%s=%s is no whole number; it is as if it were not set", settings[setting].variable, text);
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
            complain(setting, text);
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
    return between(SETTING_STREAMS, SETTINGS_MOST_STREAMS);
}

unsigned long long settings_bytes(enum setting setting)
{
    const char *text = settings_string(setting), units[] = "KMGT";
    char *end;
    double value = strtod(text, &end);
    const char *unit = *end ? strchr(units, *end) : NULL;

    return value > 0 && value < 1e15
               ? (unsigned long long)(value * (double)(unit ? 1ull << 10 * (unit - units + 1) : 1))
               : 0;
}
