/* Which nodes have the newest contents of a memory object. */
#ifndef VOCL_CLIENT_DATA_COHERENCE_H
#define VOCL_CLIENT_DATA_COHERENCE_H

#include "client/data/enqueue.h"

struct data_command;

enum use { USE_READ = 1, USE_WRITE = 2 };

/* contents: at the first node only, or anywhere. Nothing to do where a context has one node. */
int coherence_open(cl_mem memory, bool contents);
void coherence_close(cl_mem memory);
/* Before a command that uses a piece, which is migrated if it is to be read; the command then waits for that. */
int coherence_before(struct enqueue *e, cl_mem memory, size_t offset, size_t size, unsigned use);
/* What it writes is noted, ... */
void coherence_after(struct enqueue *e, cl_mem memory, size_t offset, size_t size);
/* ... and counts as soon as the command was sent, for only then can others be told to wait for it. */
void coherence_sent(struct enqueue *e);
/* The part of a whole that begins there: where it ends, and the node that has it. */
size_t coherence_part(cl_mem root, size_t start, struct node **node);
/* While watched, by however many, every command that writes marks the whole that it writes (struct _cl_mem's written).
 */
void coherence_watch(bool on);
extern atomic_int coherence_watching __attribute__((visibility("hidden")));
static inline bool coherence_watched(void)
{
    return atomic_load_explicit(&coherence_watching, memory_order_relaxed) > 0;
}
/* Every part of a whole that the node has contents of: visit() is called with its beginning and its end, 0 and 1 for an
 * image, until it returns an error. */
int coherence_each(cl_mem root, const struct node *node, int (*visit)(void *, cl_mem, size_t, size_t), void *argument);
/* A kernel may write all of the memory object. */
void coherence_note_all(cl_mem memory);
/* It was written at a node without a command. */
void coherence_written(cl_mem root, size_t offset, size_t size, struct node *node);

/* A part of a memory object: a piece of a buffer, a rect of one, or a region of an image; or what is at an address. */
struct part {
    enum { PART_PIECE, PART_RECT, PART_IMAGE, PART_ADDRESS } kind;
    cl_mem memory;
    uint64_t address;
    size_t bytes;
    size_t offset, size; /* the range of the buffer that it lies in */
    size_t origin[3], region[3], pitch[2];
};
struct part part_piece(cl_mem buffer, size_t offset, size_t size);
struct part part_rect(cl_mem buffer, const size_t *origin, const size_t *region, size_t row_pitch, size_t slice_pitch);
struct part part_image(cl_mem image, const size_t *origin, const size_t *region);
/* From start to end of a whole; an image is one piece. */
struct part part_of(cl_mem root, size_t start, size_t end);
struct part part_address(const void *address, size_t size);
/* On the wire, as in migrate_out; of objects. */
struct wire_region part_region(const struct part *part);
int part_before(struct enqueue *e, const struct part *part, unsigned use);
void part_after(struct enqueue *e, const struct part *part);
/* All that a copy needs before it is sent. *sent: another node has its source, and it was sent as a transfer straight
 * from there, with e's event; nothing is left to do. */
int part_copy(struct enqueue *e, const struct part *from, const struct part *to, bool *sent);

/* ---- shared.c: data in memory that the node has, too ---- */
/* Whether the node has the memory, too. */
bool shared_has(const struct node *node, const struct layout *layout);
/* The rest of enqueue_transfer(), where it has. */
int shared_move(struct enqueue *e, const struct data_command *m, cl_event *event);

/* ---- hostptr.c: CL_MEM_USE_HOST_PTR, where the program's memory is not the node's ---- */
/* For a new buffer or image that is over memory of the program's; a buffer may get its place by it. */
int hostptr_open(cl_mem memory);
void hostptr_close(cl_mem memory);
/* What the program wrote there is at the node before the command, which is noted as one that uses it. */
int hostptr_before(struct enqueue *e, cl_mem memory, unsigned use);
/* The command that e was for was sent, with that number in its queue, or was not. */
void hostptr_sent(struct enqueue *e, uint64_t number);
void hostptr_not_sent(struct enqueue *e);
/* The program's last reference goes. */
void hostptr_release(cl_mem memory);
bool hostptr_any(void);
/* A buffer in the arena goes to a member that does not see that: what it is there, its bytes. Or negative errno. */
int hostptr_send_all(cl_mem memory, struct node *member, uint8_t **bytes);
/* It is there from now on: the program's memory is its own, and what changes is copied. What was exchanged, of which
 * the node has done with its use of the arena later: exchange_gone(). */
struct region *hostptr_part(cl_mem memory, uint8_t *bytes);
void hostptr_after_fork(void);

#endif
