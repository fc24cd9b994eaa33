/* Data between the program's memory and a node. */
#ifndef VOCL_CLIENT_TRANSFER_H
#define VOCL_CLIENT_TRANSFER_H

#include "client/enqueue.h"

struct transfer;
/* Prepare to send; data_out/length_out are what to put inline (length 0: it goes in bulk under *tag). e: NULL if it is
 * no command. keep: used until then, or NULL. */
int transfer_write(struct node *node, struct enqueue *e, const struct layout *layout, bool chunked, struct object *keep,
                   struct transfer **out, uint32_t *tag, const void **inline_data, uint32_t *inline_length);
/* memory is freed with the transfer. */
void transfer_own(struct transfer *transfer, void *memory);
/* Of a write that was not started: the contents of a new object, which go from a copy if they are not very long. When
 * transfer_leave() returns the memory is the program's again. */
void transfer_contents(struct transfer *transfer);
int transfer_leave(struct transfer *transfer);
/* Under the lock, after the command was encoded: start sending. */
void transfer_start(struct transfer *transfer);
/* Prepare to receive. */
int transfer_read(struct enqueue *e, const struct layout *layout, bool chunked, struct object *keep,
                  struct transfer **out, uint32_t *tag);
/* The same for what is no command's. */
int transfer_take(struct node *node, const struct layout *layout, struct transfer **out, uint32_t *tag);
/* What is moving in the node's session at the moment, which needs nobody to go on. */
struct arrival *transfer_moving(const struct node *node);
/* Wait until the application's memory is no longer used (write) or filled (read); frees it. */
int transfer_wait(struct transfer *transfer);
/* Nobody waits for it: it frees itself when done. */
void transfer_detach(struct transfer *transfer);
void transfer_cancel(struct transfer *transfer);
bool transfer_note(struct node *node, uint32_t tag, bool ready, cl_int status, const void *data, uint32_t length);
void transfer_lose(struct node *node);

#endif
