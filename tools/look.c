#include "tools/look.h"

#include <time.h>

#include "base/clock.h"

#define FIRST_PAUSE_MS 50
#define LONGEST_PAUSE_MS 250

struct look look_for(long milliseconds)
{
    return (struct look){.until_ms = milliseconds < 0 ? -1 : clock_ms() + milliseconds};
}

bool look_again(struct look *look)
{
    const long left = look->until_ms - clock_ms();
    long pause = look->pause_ms;

    if (!pause) {
        look->pause_ms = FIRST_PAUSE_MS;
        return true;
    }
    if (look->until_ms >= 0 && left <= 0)
        return false;
    if (look->until_ms >= 0 && pause > left)
        pause = left;
    nanosleep(&(struct timespec){pause / 1000, pause % 1000 * 1000000}, NULL);
    look->pause_ms = pause * 5 / 4 < LONGEST_PAUSE_MS ? pause * 5 / 4 : LONGEST_PAUSE_MS;
    return true;
}
