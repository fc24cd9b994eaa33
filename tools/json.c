/* Prints JSON strings, for the tools that need them. */
#include <stdio.h>

#include "tools/tools.h"

void json_text(const char *text)
{
    putchar('"');
    for (; *text; text++) {
        if ((unsigned char)*text < ' ')
            printf("\\u%04x", *text);
        else
            printf(*text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    }
    putchar('"');
}
