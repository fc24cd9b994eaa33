/* Data between the program's memory and a node. */
#ifndef VOCL_CLIENT_DATA_TRANSFER_H
#define VOCL_CLIENT_DATA_TRANSFER_H

#include "client/data/enqueue.h"

struct transfer;

/* The data of a command, as the command's encoding needs them. */
struct transfer_data {
    struct transfer *transfer; /* NULL: the data go in the command */
    uint32_t tag;              /* 0: the data go in the command */
    const struct layout *layout;
    const void *bytes;
    uint32_t length;
};
/* Prepares to send data. keep: an object that is used until they are sent, or NULL; owned: memory that is freed with
 * the transfer, if there is one. */
int transfer_write(struct enqueue *e, const struct layout *layout, bool chunked, struct object *keep, void *owned,
                   struct transfer_data *data);
/* Sets bytes and length to what goes in the command. Under the lock, before the command is encoded. */
void transfer_pack(struct node *node, struct transfer_data *data);
/* Sends contents of a memory object with something that is no command in a queue, which put() encodes. The memory is
 * used until *out ends, or, if *out is NULL, not any more. */
int transfer_bring(struct node *node, const struct layout *layout,
                   void (*put)(struct wire_buffer *, const void *, const struct transfer_data *), const void *argument,
                   struct transfer **out);
/* The same, but afterwards the memory is the program's again: unless it is very large, as a copy is sent. */
int transfer_contents(struct node *node, const struct layout *layout,
                      void (*put)(struct wire_buffer *, const void *, const struct transfer_data *),
                      const void *argument);
/* Starts sending. Under the lock, after the command was encoded. */
void transfer_start(struct transfer *transfer);
/* Prepares to receive data. */
int transfer_read(struct enqueue *e, const struct layout *layout, bool chunked, struct object *keep,
                  struct transfer_data *data);
/* The same for data of no command. */
int transfer_take(struct node *node, const struct layout *layout, struct transfer **out, uint32_t *tag);
/* Waits until the application's memory is no longer used (write) or has been filled (read), and frees the transfer. */
int transfer_wait(struct transfer *transfer);
/* Makes the transfer free itself when it is done, as nobody waits for it. */
void transfer_detach(struct transfer *transfer);
void transfer_cancel(struct transfer *transfer);
bool transfer_note(struct node *node, uint32_t tag, bool ready, cl_int status, const void *data, uint32_t length);
void transfer_lose(struct node *node);
/* The rest is for when a node's worker is replaced. Under the lock. */

/* Whether any transfer of the node is under way. */
bool transfer_any(const struct node *node);
/* Whether a read under that tag still has to get its data. */
bool transfer_is_open(const struct node *node, uint32_t tag);
/* Begins a write under that tag anew. Returns false if none is under way. */
bool transfer_give_again(struct node *node, uint32_t tag);
/* Begins the transfers that were to begin while the worker was being replaced. */
void transfer_resume(struct node *node);

#endif
