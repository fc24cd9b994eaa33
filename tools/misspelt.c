/* Finds environment variables that look like settings but are none: VOCL_WROKERS has no effect, which would
 * otherwise go unnoticed. */
#include <stdio.h>
#include <string.h>

#include "tools/tools.h"

#define LIKE 2 /* letters that may differ, be missing, be extra or be exchanged */
#define MOST_NAME 64

extern char **environ;

static const char *const settings[] = {
#define SETTING(name, fallback, meaning) "VOCL_" #name,
#define FORMERLY(name, old) "VOCL_" #old,
#include "base/settings.def"
#undef SETTING
    "VOCL_NATIVE_ICD_VENDORS",
};
#define COUNT (sizeof(settings) / sizeof(*settings))

static unsigned least(unsigned a, unsigned b, unsigned c)
{
    const unsigned both = a < b ? a : b;

    return both < c ? both : c;
}

/* Computes the Damerau-Levenshtein distance. */
static unsigned distance(const char *a, const char *b)
{
    const size_t length = strlen(a), width = strlen(b);
    unsigned rows[3][MOST_NAME + 1];

    if (length > MOST_NAME || width > MOST_NAME)
        return MOST_NAME;
    for (size_t j = 0; j <= width; j++)
        rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= length; i++) {
        unsigned *row = rows[i % 3], *before = rows[(i + 2) % 3], *two = rows[(i + 1) % 3];

        row[0] = (unsigned)i;
        for (size_t j = 1; j <= width; j++) {
            row[j] = least(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && two[j - 2] + 1 < row[j])
                row[j] = two[j - 2] + 1;
        }
    }
    return rows[length % 3][width];
}

/* Returns the setting that was probably meant, or NULL if the name is one, or is like none. */
static const char *meant(const char *name)
{
    const char *nearest = NULL;
    unsigned least_so_far = LIKE + 1;

    for (size_t i = 0; i < COUNT; i++) {
        const unsigned far = distance(name, settings[i]);

        if (!far)
            return NULL;
        if (far < least_so_far) {
            least_so_far = far;
            nearest = settings[i];
        }
    }
    return nearest;
}

void misspelt_tell(void)
{
    for (char **variable = environ; *variable; variable++) {
        char name[MOST_NAME] = "";
        const char *other;

        if (strncmp(*variable, "VOCL_", 5) || strcspn(*variable, "=") >= sizeof(name))
            continue;
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(*variable, "="), *variable);
        other = meant(name);
        if (other)
            fprintf(stderr, "vocl: there is no setting %s; is %s meant?\n", name, other);
    }
}
