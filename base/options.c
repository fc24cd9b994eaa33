#include <string.h>

#include "base/options.h"

bool options_next_folder(const char **at, const char **path, size_t *length)
{
    for (const char *word = *at; word && *word;) {
        size_t size;

        word += strspn(word, " \t");
        size = strcspn(word, " \t");
        if (size >= 2 && !strncmp(word, "-I", 2)) {
            if (size == 2) { /* the next word is the folder */
                word += 2;
                word += strspn(word, " \t");
                size = strcspn(word, " \t");
            } else {
                word += 2;
                size -= 2;
            }
            *path = word;
            *length = size;
            *at = word + size;
            return size > 0;
        }
        word += size;
    }
    return false;
}

bool path_stays_inside(const char *path, size_t length)
{
    if (!length || path[0] == '/' || memchr(path, '\0', length))
        return false;
    for (size_t at = 0; at < length;) {
        const char *end = memchr(path + at, '/', length - at);
        size_t part = end ? (size_t)(end - path) - at : length - at;

        if (part == 2 && !memcmp(path + at, "..", 2))
            return false;
        at += part + 1;
    }
    return path[length - 1] != '/';
}
