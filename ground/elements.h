/* What reductions do with elements. */
#ifndef VOCL_GROUND_ELEMENTS_H
#define VOCL_GROUND_ELEMENTS_H

#include <stddef.h>

#include "vocl_words.h"

/* 0: there is no such type. */
size_t elements_bytes(enum vocl_type type);
/* into[i] = into[i] op from[i], in aligned memory; not VOCL_REPLACE. */
void elements_combine(void *into, const void *from, size_t count, enum vocl_type type, enum vocl_op op);

#endif
