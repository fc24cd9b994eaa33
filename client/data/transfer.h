/* Data between the program's memory and a node. */
#ifndef VOCL_CLIENT_DATA_TRANSFER_H
#define VOCL_CLIENT_DATA_TRANSFER_H

#include "client/data/enqueue.h"

struct transfer;

/* What a command has of its data. */
struct transfer_data {
    struct transfer *transfer; /* NULL: they go with the command */
    uint32_t tag;              /* 0: the same */
    const struct layout *layout;
    const void *bytes;
    uint32_t length;
};
/* Prepare to send. keep: used until then, or NULL; owned: memory that is freed with the transfer, if there is one. */
int transfer_write(struct enqueue *e, const struct layout *layout, bool chunked, struct object *keep, void *owned,
                   struct transfer_data *data);
/* Under the lock, before the command is encoded: bytes and length are what goes with it. */
void transfer_pack(struct node *node, struct transfer_data *data);
/* Contents of a memory object, with what is no command in a queue: put() encodes it. The memory is used until *out is
 * over, or, if that is NULL, not any more. */
int transfer_bring(struct node *node, const struct layout *layout,
                   void (*put)(struct wire_buffer *, const void *, const struct transfer_data *), const void *argument,
                   struct transfer **out);
/* The same; afterwards the memory is the program's again: if it is not very long, because it was copied. */
int transfer_contents(struct node *node, const struct layout *layout,
                      void (*put)(struct wire_buffer *, const void *, const struct transfer_data *),
                      const void *argument);
/* Under the lock, after the command was encoded: start sending. */
void transfer_start(struct transfer *transfer);
/* Prepare to receive. */
int transfer_read(struct enqueue *e, const struct layout *layout, bool chunked, struct object *keep,
                  struct transfer_data *data);
/* The same for what is no command's. */
int transfer_take(struct node *node, const struct layout *layout, struct transfer **out, uint32_t *tag);
/* Wait until the application's memory is no longer used (write) or filled (read); frees it. */
int transfer_wait(struct transfer *transfer);
/* Nobody waits for it: it frees itself when done. */
void transfer_detach(struct transfer *transfer);
void transfer_cancel(struct transfer *transfer);
bool transfer_note(struct node *node, uint32_t tag, bool ready, cl_int status, const void *data, uint32_t length);
void transfer_lose(struct node *node);
/* When a node's worker is replaced, under the lock: whether a read under that tag is still to get its data; ... */
/* Whether any is under way. */
bool transfer_any(const struct node *node);
bool transfer_is_open(const struct node *node, uint32_t tag);
/* ... a write under that tag that is under way begins anew; false: there is none; ... */
bool transfer_give_again(struct node *node, uint32_t tag);
/* ... and what was to begin meanwhile begins. */
void transfer_resume(struct node *node);

#endif
