/* Sizes and operations of the elements of reductions. */
#ifndef VOCL_GROUND_ELEMENTS_H
#define VOCL_GROUND_ELEMENTS_H

#include <stddef.h>

#include "vocl_words.h"

/* Returns the size of an element in bytes; 0 if there is no such type. */
size_t elements_bytes(enum vocl_type type);
/* Computes into[i] = into[i] op from[i], in aligned memory. op must not be VOCL_REPLACE. */
void elements_combine(void *into, const void *from, size_t count, enum vocl_type type, enum vocl_op op);

#endif
