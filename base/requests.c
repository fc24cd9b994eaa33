/* See requests.h. */
#include "base/requests.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* Reads the word there, as far as there is room for it, and continues behind it. */
static const char *word(const char *at, char *text, size_t size)
{
    const size_t length = strcspn(at, " ");

    snprintf(text, size, "%.*s", (int)length, at);
    return at + length + (at[length] == ' ');
}

static const char *number(const char *at, uint64_t *value)
{
    char text[32]; /* more than any number that is valid has */

    at = word(at, text, sizeof(text));
    if (!text_read_number(text, 0, INT64_MAX, value))
        *value = 0;
    return at;
}

bool request_read_phase(const char *words, struct request_phase *phase)
{
    if (strncmp(words, REQUEST_PHASE, strlen(REQUEST_PHASE)))
        return false;
    words = word(words + strlen(REQUEST_PHASE), phase->name, sizeof(phase->name));
    words = number(words, &phase->bytes);
    number(words, &phase->total);
    if (phase->total < phase->bytes)
        phase->total = 0;
    return *phase->name;
}
