/* Texts from people and from peers: numbers and sizes read with their bounds, and what is shown made visible. */
#ifndef VOCL_BASE_TEXT_H
#define VOCL_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A size in bytes: "4096", "8G", "1.5GiB", with K, M, G, T or P, large or small, each 1024 of the one before; nothing
 * else, and less than 2^63. The one reader of sizes: for settings, options and configurations. */
bool text_read_bytes(const char *text, uint64_t *bytes);
/* A whole number, digits only. */
bool text_read_number(const char *text, uint64_t least, uint64_t most, uint64_t *number);
/* The text with what a terminal would obey, what turns writing round, and what is no UTF-8 as \xNN; cut where there is
 * no more room. Returns visible. */
char *text_visible(const char *text, char *visible, size_t size);
/* As snprintf(): what has no room is cut at a character, for half of one makes a text that is no UTF-8. */
__attribute__((format(printf, 3, 4))) void text_print(char *text, size_t size, const char *format, ...);
/* Whether it is UTF-8, as all JSON is. */
bool text_is_utf8(const char *text);
/* One word for a shell of any kind, in quotes; free() it. NULL: there is no memory. */
char *text_quote(const char *text);

#endif
