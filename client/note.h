/* Notes and replies that arrive from nodes. */
#ifndef VOCL_CLIENT_NOTE_H
#define VOCL_CLIENT_NOTE_H

#include "client/core/objects.h"

/* Handles a reply or a note of a node. Returns false if it is malformed. Under the lock. */
bool note_take(struct node *node, uint16_t number, struct wire_cursor fields);

#endif
