/* Texts from people and from peers: reads numbers and sizes within bounds, and makes texts safe to show. */
#ifndef VOCL_BASE_TEXT_H
#define VOCL_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads a size in bytes: "4096", "8G", "1.5GiB", with K, M, G, T or P in either case, each 1024 of the one before;
 * nothing else, and less than 2^63. The only parser of sizes: for settings, options and configurations. */
bool text_read_bytes(const char *text, uint64_t *bytes);
/* Reads a whole number, digits only. */
bool text_read_number(const char *text, uint64_t least, uint64_t most, uint64_t *number);
/* Copies the text to visible with control characters, those that change the direction of writing, and invalid UTF-8 as
 * \xNN; truncated if there is no more room. Returns visible. */
char *text_visible(const char *text, char *visible, size_t size);
/* Like snprintf(), but truncates at a character: half of one would be invalid UTF-8. */
__attribute__((format(printf, 3, 4))) void text_print(char *text, size_t size, const char *format, ...);
/* Returns the length of the UTF-8 character at text, or 0 if it is invalid. */
size_t text_character(const char *text);
/* Whether the text is valid UTF-8, as JSON must be. */
bool text_is_utf8(const char *text);
/* Quotes the text as one word for any shell; free() it. Returns NULL if memory is exhausted. */
char *text_quote(const char *text);

#endif
