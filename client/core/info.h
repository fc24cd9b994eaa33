/* Queries that nodes answer, and saved answers. */
#ifndef VOCL_CLIENT_CORE_INFO_H
#define VOCL_CLIENT_CORE_INFO_H

#include "client/core/objects.h"

/* Copies a whole answer to the program's memory. Returns -EINVAL if that is too small. */
int info_copy(const void *value, size_t size, size_t capacity, void *to, size_t *size_ret);
/* Copies a table that a worker sent: whole records, in which texts are terminated. Returns false if it is malformed. */
bool info_table_take(struct info_table *table, const void *infos, size_t length);
/* Returns a text, which ends within its answer, or NULL. */
const char *info_text(const struct info_table *table, cl_uint param);
const void *info_find(const struct info_table *table, cl_uint param, uint32_t *length);
/* Sends a query that only the node can answer. */
int info_ask(struct node *node, unsigned kind, uint32_t object, uint32_t second, cl_uint param, const void *input,
             size_t input_size, size_t capacity, void *to, size_t *size_ret);
/* Gets a whole answer, whose size is not known before. The caller frees *bytes. */
int info_take(struct node *node, unsigned kind, uint32_t object, void **bytes, size_t *length);
/* As info_ask(), for an answer that does not change while the object lives, or until info_forget(): the node is asked
 * once. */
int info_ask_once(struct node *node, unsigned kind, struct object *object, uint32_t second, cl_uint param,
                  const void *input, size_t input_size, size_t capacity, void *to, size_t *size_ret);
/* The same for a whole answer, whose size is not known before. The caller frees *bytes, which has room for one more. */
int info_take_once(struct node *node, unsigned kind, struct object *object, uint32_t second, cl_uint param,
                   const void *input, size_t input_size, void **bytes, size_t *length);
/* As info_ask_once(), for an answer that several objects share, and that is saved in *kept. */
int info_ask_kept(struct answer **kept, struct node *node, unsigned kind, uint32_t object, uint32_t second,
                  cl_uint param, const void *input, size_t input_size, size_t capacity, void *to, size_t *size_ret);
void info_forget(struct answer **kept);

#endif
