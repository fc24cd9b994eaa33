/* What nodes tell. */
#ifndef VOCL_CLIENT_NOTE_H
#define VOCL_CLIENT_NOTE_H

#include "client/core/objects.h"

/* A reply or a note of a node; false if it is not well formed. Under the lock. */
bool note_take(struct node *node, uint16_t number, struct wire_cursor fields);

#endif
