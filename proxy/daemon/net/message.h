/* The members of messages, and of records. */
#ifndef VOCL_PROXY_DAEMON_NET_MESSAGE_H
#define VOCL_PROXY_DAEMON_NET_MESSAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A member of a message; fallback where there is none or it is of another kind. */
const char *message_text(const json_t *message, const char *name, const char *fallback);
long long message_number(const json_t *message, const char *name, long long fallback);
/* Whether that can be the name of a session, or of a part of one: it becomes those of files, too. */
bool message_is_id(const char *text);
/* As json_pack(); that it fails, as it does with a text that is no UTF-8, is logged: text_print() and text_visible()
 * make none of that kind. */
json_t *message_pack(const char *format, ...);
/* What who asked for something hears that cannot be. */
json_t *message_error(const char *why);
/* A value more in a list or an object; it is taken over. Where that cannot be, or there is no value, what there was
 * goes and becomes NULL, of which message_pack() makes nothing, either: no part of a message is missing unnoticed. */
void message_append(json_t **list, json_t *value);
void message_set(json_t **object, const char *name, json_t *value);
/* A new list of numbers. */
json_t *message_list(const unsigned *numbers, unsigned count);

/* What of a struct is told, or written to a file, as JSON: one table of fields to print it and to read it. */
enum field_kind {
    FIELD_TEXT,     /* its own, cut where it has no room */
    FIELD_BORROWED, /* the JSON's */
    FIELD_INT,
    FIELD_UNSIGNED,
    FIELD_UINT64,
    FIELD_REAL,
    FIELD_FLAG,
    FIELD_LIST, /* of unsigned; how many stands behind it */
    FIELD_JSON  /* as it is, borrowed, or NULL: there is none */
};

struct field {
    const char *name; /* NULL: no more */
    enum field_kind kind;
    size_t offset, size;
    bool if_set; /* left out where it is 0 or "" */
};

/* FIELD(struct, member, name as JSON): the kind is that of the member's type. */
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

/* Of two tables, the second may be NULL. NULL, and logged: it cannot be told. */
json_t *fields_print(const struct field *fields, const struct field *more, const void *object);
json_t *fields_print_all(const struct field *fields, const struct field *more, const void *objects, unsigned count,
                         size_t size);
/* What the message does not have, or of another kind, stays as it is; a borrowed text is "" then. */
void fields_read(const struct field *fields, const struct field *more, const json_t *message, void *object);
/* A new array of such objects; NULL with *count 0. */
void *fields_read_all(const struct field *fields, const struct field *more, const json_t *list, size_t size,
                      unsigned *count);

#endif
