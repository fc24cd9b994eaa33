/* fuzz_xml GOOD SCRATCH ROUNDS: hwloc's XML with mistakes gives a tree, or an error message. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tests/draw.h"
#include "topology/topology.h"

static unsigned below(unsigned limit)
{
    static uint64_t state = 99;

    return draw_below(&state, limit);
}

/* Changes, removes or duplicates something. */
static size_t spoil(char *text, size_t length, size_t most)
{
    const size_t at = below((unsigned)length), some = 1 + below(50);

    switch (below(4)) {
    case 0:
        text[at] = (char)below(256);
        break;
    case 1:
        text[at] = "0123456789abcdefx<>\"/ "[below(22)];
        break;
    case 2:
        if (at + some >= length)
            break;
        memmove(text + at, text + at + some, length - at - some);
        return length - some;
    case 3:
        if (at + some >= length || length + some > most)
            break;
        memmove(text + at + some, text + at, length - at);
        return length + some;
    }
    return length;
}

int main(int count, char **words)
{
    static char good[100000], text[110000];
    FILE *file = count == 4 ? fopen(words[1], "r") : NULL;
    size_t length;

    assert(file);
    length = fread(good, 1, sizeof(good), file);
    fclose(file);
    for (int round = 0; round < atoi(words[3]); round++) {
        struct topology *t = NULL;
        char why[256] = "";
        size_t now = length;

        memcpy(text, good, length);
        for (unsigned times = 1 + below(6); times; times--)
            now = spoil(text, now, sizeof(text));
        file = fopen(words[2], "w");
        assert(file && fwrite(text, 1, now, file) == now && !fclose(file));
        assert(topology_open(words[2], &t, why, sizeof(why)) ? *why != 0 : t->device_count > 0);
        free(t);
    }
    return 0;
}
