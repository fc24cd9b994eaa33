/* Which nodes have the newest contents of a memory object. */
#ifndef VOCL_CLIENT_DATA_COHERENCE_H
#define VOCL_CLIENT_DATA_COHERENCE_H

#include "client/data/enqueue.h"

struct data_command;

enum use { USE_READ = 1, USE_WRITE = 2 };

/* Returns the first node of its context that can have the object. */
struct node *memory_home(cl_mem memory);
/* contents: the object begins with contents at that node; otherwise with none, anywhere. Does nothing where a
 * context has one node. */
int coherence_open(cl_mem memory, bool contents);
void coherence_close(cl_mem memory);
/* Called before a command that uses an extent. If it is to be read, it is migrated to the command's node, and the
 * command waits for that. */
int coherence_before(struct enqueue *e, cl_mem memory, size_t offset, size_t size, unsigned use);
/* Notes a range that the command writes. It counts from coherence_sent() on, when the command has been sent: only then
 * can commands of other nodes wait for it. */
void coherence_after(struct enqueue *e, cl_mem memory, size_t offset, size_t size);
void coherence_sent(struct enqueue *e);
/* Returns the end of the part of a root that contains start, and the node that has it. */
size_t coherence_part(cl_mem root, size_t start, struct node **node);
/* While at least one watcher is on, every command that writes marks the root that it writes (struct _cl_mem's
 * written). */
void coherence_watch(bool on);
extern atomic_int coherence_watching __attribute__((visibility("hidden")));
static inline bool coherence_watched(void)
{
    return atomic_load_explicit(&coherence_watching, memory_order_relaxed) > 0;
}
/* Calls visit() for every part of a root whose contents the node has, with its beginning and its end (0 and 1 for an
 * image), until it returns an error. */
int coherence_each(cl_mem root, const struct node *node, int (*visit)(void *, cl_mem, size_t, size_t), void *argument);
/* Notes that a kernel may write all of the memory object. */
void coherence_note_all(cl_mem memory);
/* Notes that a range was written at a node without a command. */
void coherence_written(cl_mem root, size_t offset, size_t size, struct node *node);

/* A part of a memory object: a range (piece) of a buffer, a rectangle of one, or a region of an image; or the memory at
 * an address. */
struct part {
    enum { PART_PIECE, PART_RECT, PART_IMAGE, PART_ADDRESS } kind;
    cl_mem memory;
    uint64_t address;
    size_t bytes;
    size_t offset, size; /* the range of the buffer that contains it */
    size_t origin[3], region[3], pitch[2];
};
struct part part_piece(cl_mem buffer, size_t offset, size_t size);
struct part part_rect(cl_mem buffer, const size_t *origin, const size_t *region, size_t row_pitch, size_t slice_pitch);
struct part part_image(cl_mem image, const size_t *origin, const size_t *region);
/* The part of a root from start to end. An image is one extent. */
struct part part_of(cl_mem root, size_t start, size_t end);
struct part part_address(const void *address, size_t size);
/* Returns the part as encoded on the wire, as in migrate_out. Not for addresses. */
struct wire_region part_region(const struct part *part);
int part_before(struct enqueue *e, const struct part *part, unsigned use);
void part_after(struct enqueue *e, const struct part *part);
/* Does all that a copy needs before it is sent. *sent: another node has the source, and the copy was sent as a transfer
 * straight from there, with e's event, so that nothing is left to do. */
int part_copy(struct enqueue *e, const struct part *from, const struct part *to, bool *sent);

/* ---- shared.c: data in memory that the node has, too ---- */
/* Whether the node has the layout's memory, too. */
bool shared_has(const struct node *node, const struct layout *layout);
/* The rest of enqueue_transfer(), if the node has the memory. */
int shared_move(struct enqueue *e, const struct data_command *m, cl_event *event);

/* ---- hostptr.c: CL_MEM_USE_HOST_PTR, where the program's memory is not the node's ---- */
/* Prepares a new buffer or image over the program's memory. A buffer may be placed in the arena by this. */
int hostptr_open(cl_mem memory);
void hostptr_close(cl_mem memory);
/* Brings what the program wrote there to the node, before a command that uses it, and notes that use. */
int hostptr_before(struct enqueue *e, cl_mem memory, unsigned use);
/* Notes that e's command was sent, with that number in its queue, or was not sent. */
void hostptr_sent(struct enqueue *e, uint64_t number);
void hostptr_not_sent(struct enqueue *e);
/* Called before the program's last reference ends. */
void hostptr_release(cl_mem memory);
bool hostptr_any(void);
/* Sends all contents of a buffer in the arena to a member that does not share the arena. *bytes: the contents sent.
 * Returns 0 or a negative errno value. */
int hostptr_send_all(cl_mem memory, struct node *member, uint8_t **bytes);
/* From then on that member has the buffer: the program's memory is its own again, and changes are copied. Returns the
 * region that was exchanged; when the node no longer uses the arena, exchange_gone() is due. */
struct region *hostptr_part(cl_mem memory, uint8_t *bytes);
void hostptr_after_fork(void);

#endif
