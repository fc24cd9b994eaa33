/* Prints JSON strings, for the tools that need them. */
#include <stdio.h>

#include "base/text.h"
#include "tools/tools.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD, for a byte that is not UTF-8 */

void json_text(const char *text)
{
    size_t length;

    putchar('"');
    for (; *text; text += length ? length : 1) {
        length = text_character(text);
        if (!length)
            printf(REPLACEMENT);
        else if ((unsigned char)*text < ' ')
            printf("\\u%04x", *text);
        else
            printf(*text == '"' || *text == '\\' ? "\\%.*s" : "%.*s", (int)length, text);
    }
    putchar('"');
}
