/* See units.h. */
#include "tools/units.h"

#include <stdio.h>

const char *show_bytes(double bytes, char text[16])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    unsigned unit = 0;

    while (bytes >= 1024 && unit < 4) {
        bytes /= 1024;
        unit++;
    }
    snprintf(text, 16, bytes < 10 && unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
    return text;
}

const char *show_time(double seconds, char text[24])
{
    long all = (long)seconds;

    if (all < 3600)
        snprintf(text, 24, "%ld:%02ld", all / 60, all % 60);
    else
        snprintf(text, 24, "%ld:%02ld:%02ld", all / 3600, all / 60 % 60, all % 60);
    return text;
}
