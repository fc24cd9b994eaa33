/* What nodes answer to queries, and answers that are kept. */
#ifndef VOCL_CLIENT_CORE_INFO_H
#define VOCL_CLIENT_CORE_INFO_H

#include "client/core/objects.h"

/* A whole answer into what the program has for it: -EINVAL if that is too small. */
int info_copy(const void *value, size_t size, size_t capacity, void *to, size_t *size_ret);
/* A table as a worker told it, copied: whole records, in which texts end. False: it does not hold together. */
bool info_table_take(struct info_table *table, const void *infos, size_t length);
/* Of a text: it ends within its answer. NULL: there is none. */
const char *info_text(const struct info_table *table, cl_uint param);
const void *info_find(const struct info_table *table, cl_uint param, uint32_t *length);
/* A query that only the node can answer. */
int info_ask(struct node *node, unsigned kind, uint32_t object, uint32_t second, cl_uint param, const void *input,
             size_t input_size, size_t capacity, void *to, size_t *size_ret);
/* The whole answer, of a size that is not known before; *bytes is to be freed. */
int info_take(struct node *node, unsigned kind, uint32_t object, void **bytes, size_t *length);
/* The same for an answer that will not change while the object lives, or until info_forget(): asked once. */
int info_ask_once(struct node *node, unsigned kind, struct object *object, uint32_t second, cl_uint param,
                  const void *input, size_t input_size, size_t capacity, void *to, size_t *size_ret);
/* The same for an answer that several objects share. */
int info_ask_kept(struct answer **kept, struct node *node, unsigned kind, uint32_t object, uint32_t second,
                  cl_uint param, const void *input, size_t input_size, size_t capacity, void *to, size_t *size_ret);
void info_forget(struct answer **kept);

#endif
