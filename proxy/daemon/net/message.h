/* The members of messages, and of records. */
#ifndef VOCL_PROXY_DAEMON_NET_MESSAGE_H
#define VOCL_PROXY_DAEMON_NET_MESSAGE_H

#include <jansson.h>
#include <stdbool.h>

/* A member of a message; fallback where there is none or it is of another kind. */
const char *message_text(const json_t *message, const char *name, const char *fallback);
/* Whether that can be the name of a session, or of a part of one: it becomes those of files, too. */
bool message_is_id(const char *text);
long long message_number(const json_t *message, const char *name, long long fallback);
/* As json_pack(); that it fails, as it does with a text that is no UTF-8, is logged: text_print() and text_visible()
 * make none of that kind. */
json_t *message_pack(const char *format, ...);
/* A new list of numbers. */
json_t *message_list(const unsigned *numbers, unsigned count);

#endif
