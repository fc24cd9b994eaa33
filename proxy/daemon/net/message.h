/* Members of messages and of records. */
#ifndef VOCL_PROXY_DAEMON_NET_MESSAGE_H
#define VOCL_PROXY_DAEMON_NET_MESSAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Return a member of a message, or fallback if it is missing or of another type. */
const char *message_text(const json_t *message, const char *name, const char *fallback);
long long message_number(const json_t *message, const char *name, long long fallback);
/* Whether the text can be the name of a session, or of a part of one. Names of files are made of it. */
bool message_is_id(const char *text);
/* As json_pack(), but logs a failure, which text that is not UTF-8 causes. text_print() and text_visible() never make
 * such text. */
json_t *message_pack(const char *format, ...);
/* Makes the answer to a request that failed. */
json_t *message_error(const char *why);
/* Add a value, of which they take ownership, to a list or an object. If that fails, or value is NULL, the list or
 * object is freed and set to NULL, for which message_pack() also returns NULL: no part of a message is missing
 * unnoticed. */
void message_append(json_t **list, json_t *value);
void message_set(json_t **object, const char *name, json_t *value);
/* Returns a new list of numbers. */
json_t *message_list(const unsigned *numbers, unsigned count);

/* The members of a struct that are printed as JSON, in a message or a file: one table of fields for printing and
 * reading. */
enum field_kind {
    FIELD_TEXT,     /* an array of char; longer text is cut */
    FIELD_BORROWED, /* a pointer into the JSON */
    FIELD_INT,
    FIELD_UNSIGNED,
    FIELD_UINT64,
    FIELD_REAL,
    FIELD_FLAG,
    FIELD_LIST, /* an array of unsigned; the member behind it is the count */
    FIELD_JSON  /* unchanged, borrowed; NULL: missing */
};

struct field {
    const char *name; /* NULL: end of the table */
    enum field_kind kind;
    size_t offset, size;
    bool if_set; /* left out if it is 0 or "" */
};

/* FIELD(struct, member, name in JSON): the kind follows from the member's type. */
#define FIELD_KIND(member)                                                                                             \
    _Generic((member), char *: FIELD_TEXT, const char *: FIELD_BORROWED, int: FIELD_INT, unsigned: FIELD_UNSIGNED,     \
             uint64_t: FIELD_UINT64, double: FIELD_REAL, bool: FIELD_FLAG, unsigned *: FIELD_LIST, json_t *: FIELD_JSON)
#define FIELD_IF(type, member, text, rule)                                                                             \
    {                                                                                                                  \
        (text), FIELD_KIND(((type *)0)->member), offsetof(type, member), sizeof(((type *)0)->member), (rule)           \
    }
#define FIELD(type, member, text) FIELD_IF(type, member, text, false)
#define FIELD_IF_SET(type, member, text) FIELD_IF(type, member, text, true)
#define FIELD_END                                                                                                      \
    {                                                                                                                  \
        .name = NULL                                                                                                   \
    }

/* Print an object by two tables, of which the second may be NULL. Return NULL after logging a failure. */
json_t *fields_print(const struct field *fields, const struct field *more, const void *object);
json_t *fields_print_all(const struct field *fields, const struct field *more, const void *objects, unsigned count,
                         size_t size);
/* Reads members of a message into an object. What is missing or of another type stays unchanged; a borrowed text
 * becomes "". */
void fields_read(const struct field *fields, const struct field *more, const json_t *message, void *object);
/* Returns a new array of such objects; NULL with *count 0 on failure. */
void *fields_read_all(const struct field *fields, const struct field *more, const json_t *list, size_t size,
                      unsigned *count);

#endif
