/* What commands show of their progress, and how they read the reports of a session. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/requests.h"
#include "tests/expect.h"
#include "tools/progress.h"

#define MIB (1ull << 20)

static bool reads(const char *words, const char *name, uint64_t bytes, uint64_t total)
{
    struct request_phase phase;

    return request_read_phase(words, &phase) && !strcmp(phase.name, name) && phase.bytes == bytes &&
           phase.total == total;
}

static bool is_none(const char *words)
{
    struct request_phase phase;

    return !request_read_phase(words, &phase);
}

static bool shows(const struct progress *p, bool over, const char *expected)
{
    char text[PROGRESS_TEXT];

    if (!strcmp(progress_text(p, over, text), expected))
        return true;
    fprintf(stderr, "it shows \"%s\"\n", text);
    return false;
}

static void read_reports(void)
{
    EXPECT(reads("phase copy 5 12", "copy", 5, 12) && reads("phase copy 12 12", "copy", 12, 12));
    EXPECT(reads("phase copy 5", "copy", 5, 0) && reads("phase copy", "copy", 0, 0)); /* older versions' */
    EXPECT(reads("phase copy 5 4", "copy", 5, 0));
    EXPECT(reads("phase copy -5 12", "copy", 0, 12) && reads("phase copy 5 -12", "copy", 5, 0));
    EXPECT(reads("phase copy x 1e9", "copy", 0, 0) && reads("phase copy 5 0x12 7", "copy", 5, 0));
    EXPECT(reads("phase copy 99999999999999999999999999999999 18446744073709551615", "copy", 0, 0));
    EXPECT(reads("phase a-name-of-more-than-31-characters 5", "a-name-of-more-than-31-characte", 5, 0));
    EXPECT(is_none("phase") && is_none("phase ") && is_none("worker 1 is worker 2 now") && is_none("phases 1 2"));
}

/* A phase of 512 MiB, of which 64 MiB go each second. */
static void show_copying(void)
{
    struct progress p = {0};

    progress_note(&p, "copy", 0, 0, 1000);
    EXPECT(shows(&p, false, "copy"));
    progress_note(&p, "copy", 0, 512 * MIB, 1000);
    EXPECT(shows(&p, false, "copy: 0 B of 512 MiB"));
    progress_note(&p, "copy", 1 * MIB, 512 * MIB, 1001); /* too early for a rate */
    EXPECT(shows(&p, false, "copy: 1.0 MiB of 512 MiB"));
    progress_note(&p, "copy", 64 * MIB, 512 * MIB, 2000);
    EXPECT(shows(&p, false, "copy: 64 MiB of 512 MiB, 64 MiB/s, 0:07 left"));
    progress_note(&p, "copy", 512 * MIB, 512 * MIB, 9000);
    EXPECT(shows(&p, false, "copy: 512 MiB of 512 MiB, 64 MiB/s"));
    EXPECT(shows(&p, true, "copy: 512 MiB, 64 MiB/s"));
    progress_note(&p, "objects", 512 * MIB, 0, 9500); /* bytes of the phase before are not this one's */
    EXPECT(shows(&p, false, "objects") && shows(&p, true, "objects"));
    progress_note(&p, "contents", 512 * MIB, 520 * MIB, 10000);
    EXPECT(shows(&p, false, "contents: 0 B of 8.0 MiB"));
    progress_note(&p, "contents", 514 * MIB, 520 * MIB, 11000);
    EXPECT(shows(&p, false, "contents: 2.0 MiB of 8.0 MiB, 2.0 MiB/s, 0:03 left"));
    EXPECT(shows(&p, true, "contents: 2.0 MiB of 8.0 MiB, 2.0 MiB/s")); /* it failed there */
}

int main(void)
{
    struct progress p = {0};

    read_reports();
    show_copying();

    /* Without a total, and with one that is too small. */
    progress_note(&p, "ahead", 0, 0, 0);
    progress_note(&p, "ahead", 3 * MIB, 0, 1000);
    EXPECT(shows(&p, false, "ahead: 3.0 MiB, 3.0 MiB/s"));
    progress_note(&p, "ahead", 4 * MIB, 2 * MIB, 2000);
    EXPECT(shows(&p, false, "ahead: 4.0 MiB, 2.0 MiB/s"));

    /* The rate is that of the last reports: it was 100 MiB/s, and is 1 MiB/s. */
    p = (struct progress){0};
    progress_note(&p, "write", 0, 10000 * MIB, 0);
    for (unsigned i = 1; i <= 40; i++)
        progress_note(&p, "write", i <= 10 ? 100 * i * MIB : (990 + i) * MIB, 10000 * MIB, i * 1000);
    EXPECT(shows(&p, false, "write: 1.0 GiB of 9.8 GiB, 1.0 MiB/s, 2:29:30 left"));

    /* A count that begins again, for another part, is another phase. */
    progress_note(&p, "write", 1 * MIB, 4 * MIB, 50000);
    EXPECT(shows(&p, false, "write: 0 B of 3.0 MiB"));

    /* The longest text has room. */
    p = (struct progress){0};
    memset(p.phase, 'p', sizeof(p.phase) - 1);
    p.count = 1;
    p.total = INT64_MAX;
    p.bytes = INT64_MAX - 1;
    p.looks[0].ms = -INT64_MAX / 2;
    EXPECT(strlen(progress_text(&p, false, (char[PROGRESS_TEXT]){0})) < PROGRESS_TEXT);
    return 0;
}
