#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

bool text_read_number(const char *text, uint64_t least, uint64_t most, uint64_t *number)
{
    uint64_t value = 0;

    if (!*text)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || value > (UINT64_MAX - 9) / 10)
            return false;
        value = value * 10 + (uint64_t)(*text - '0');
    }
    if (value < least || value > most)
        return false;
    *number = value;
    return true;
}

/* Returns 10 for K, 20 for M and so on, 0 for no unit, or -1. */
static int shift_of(const char *unit)
{
    static const char units[] = "kmgtp";
    const char *at = *unit ? strchr(units, *unit | 0x20) : NULL;

    if (!*unit)
        return 0;
    if (!at || (unit[1] && strcasecmp(unit + 1, "iB")))
        return -1;
    return 10 * (int)(at - units + 1);
}

#define MOST_BYTES INT64_MAX /* the limit of JSON's numbers, for one */

bool text_read_bytes(const char *text, uint64_t *bytes)
{
    const size_t whole_length = strspn(text, "0123456789");
    const bool has_part = text[whole_length] == '.';
    const size_t part_length = has_part ? strspn(text + whole_length + 1, "0123456789") : 0;
    const int shift = shift_of(text + whole_length + has_part + part_length);
    char digits[32];
    uint64_t whole;
    double part = 0, place = 0.1;

    if (!whole_length || whole_length >= sizeof(digits) || (has_part && !part_length) || shift < 0 ||
        (has_part && !shift))
        return false;
    memcpy(digits, text, whole_length);
    digits[whole_length] = '\0';
    if (!text_read_number(digits, 0, MOST_BYTES >> shift, &whole))
        return false;
    for (size_t i = 0; i < part_length; i++, place /= 10)
        part += (text[whole_length + 1 + i] - '0') * place;
    whole = (whole << shift) + (uint64_t)(part * (double)(UINT64_C(1) << shift));
    if (whole > MOST_BYTES)
        return false;
    *bytes = whole;
    return true;
}

/* Returns the length of the UTF-8 character there, or 0 if it is invalid, and gets the character. */
static size_t read_character(const unsigned char *at, uint32_t *character)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = *at < 0x80 ? 1 : *at >> 5 == 6 ? 2 : *at >> 4 == 14 ? 3 : *at >> 3 == 30 ? 4 : 0;

    *character = length < 2 ? *at : *at & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if (at[i] >> 6 != 2)
            return 0;
        *character = *character << 6 | (at[i] & 0x3f);
    }
    return length && *character >= least[length] && *character <= 0x10ffff ? length : 0;
}

size_t text_character(const char *text)
{
    uint32_t character;

    return read_character((const unsigned char *)text, &character);
}

bool text_is_utf8(const char *text)
{
    size_t length = 1;

    for (; *text && length; text += length)
        length = text_character(text);
    return length != 0;
}

static bool is_plain(uint32_t character)
{
    const bool control = character < 0x20 || (character >= 0x7f && character < 0xa0);
    const bool turns = (character >= 0x200b && character <= 0x200f) || (character >= 0x2028 && character <= 0x202e) ||
                       (character >= 0x2060 && character <= 0x206f) || character == 0xfeff;

    return !control && !turns;
}

char *text_visible(const char *text, char *visible, size_t size)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t length, used = 0;
    uint32_t character;

    for (; *at; at += length) {
        length = read_character(at, &character);
        if (length && is_plain(character)) {
            if (used + length >= size)
                break;
            memcpy(visible + used, at, length);
            used += length;
            continue;
        }
        length = 1; /* a byte at a time */
        if (used + 4 >= size)
            break;
        used += (size_t)snprintf(visible + used, size - used, "\\x%02x", *at);
    }
    visible[used] = '\0';
    return visible;
}

void text_print(char *text, size_t size, const char *format, ...)
{
    va_list arguments;
    uint32_t character;
    size_t start = size - 1;
    int length;

    va_start(arguments, format);
    length = vsnprintf(text, size, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length < size || !size)
        return;
    while (start && (unsigned char)text[start - 1] >> 6 == 2)
        start--;
    if (start && !read_character((const unsigned char *)text + start - 1, &character))
        text[start - 1] = '\0';
}

char *text_quote(const char *text)
{
    char *quoted = malloc(4 * strlen(text) + 3), *at = quoted;

    if (!quoted)
        return NULL;
    *at++ = '\'';
    for (; *text; text++)
        at = *text == '\'' ? stpcpy(at, "'\\''") : stpncpy(at, text, 1);
    strcpy(at, "'");
    return quoted;
}
