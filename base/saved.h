/*
 * Checkpoints of sessions in files: written by `vocl checkpoint` (tools/checkpoint.c), and read by a program that is
 * restored (libvocl/restore.c). A folder has several, each a list and the pieces of contents that are new with it:
 *
 *     checkpoint-000007  the list, lines of text: the format's version, the program, the memory objects, where each
 *                        piece of their contents is, and a hash of all of that
 *     pieces-000007      pieces, one after the other
 *
 *     vocl checkpoint 1
 *     program NAME
 *     object NUMBER WHAT                            the NUMBER-th memory object that the program made
 *     piece NUMBER OFFSET BYTES HASH FILE AT        in pieces-FILE from byte AT on
 *     end HASH
 *
 * Numbers are decimal, hashes (base/hash.h) hexadecimal. Where nothing has changed, a list refers to pieces of older
 * files.
 */
#ifndef VOCL_BASE_SAVED_H
#define VOCL_BASE_SAVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SAVED_HEAD "vocl checkpoint 1\n"
#define SAVED_PIECE ((size_t)256 << 10) /* most bytes of a piece */
#define SAVED_LIST "checkpoint-%06u"
#define SAVED_PIECES "pieces-%06u"
#define SAVED_WHAT 120 /* of a description, with its NUL */
#define SAVED_PROGRAM 256

struct saved_object {
    uint64_t number;
    char *what; /* its kind, size and format: saved with it, and compared with what the program makes */
};

struct saved_piece {
    uint64_t number, offset; /* in the object's contents, tightly packed */
    uint64_t bytes, hash;
    unsigned file;
    uint64_t at;
};

struct saved_list {
    unsigned which; /* the number of the checkpoint */
    char *directory;
    char *text;
    const char *program;
    struct saved_object *objects; /* in the order of their numbers */
    unsigned object_count;
    struct saved_piece *pieces; /* in the order of their objects and offsets */
    unsigned piece_count;
};

/* Whether a name in the folder is that of a list, or of a file of pieces, and of which number. */
bool saved_is_list(const char *name, unsigned *which);
bool saved_is_pieces(const char *name, unsigned *which);
/* Returns the highest number of a list in the folder, 0 if there is none, or a negative errno. */
int saved_newest(const char *directory);
/* Opens a list and checks it as a whole. path: of the list, or of a folder for its newest one. Returns 0, or a negative
 * errno with the reason: -EBADMSG torn or damaged, -EPROTO another version, -EINVAL no checkpoint, -ENOENT none
 * there. */
int saved_open(const char *path, struct saved_list **out, char *why, size_t size);
void saved_close(struct saved_list *saved);
const struct saved_object *saved_find(const struct saved_list *saved, uint64_t number);
/* Returns the first piece of an object, followed by its others. *count is 0 if the object had never been written. */
const struct saved_piece *saved_pieces(const struct saved_list *saved, uint64_t number, unsigned *count);
/* Reads and checks the contents of a piece. Returns 0, or a negative errno with the reason: -EBADMSG they are not what
 * was saved. */
int saved_read(const struct saved_list *saved, const struct saved_piece *piece, void *bytes, char *why, size_t size);
/* Reads and checks all pieces. */
int saved_check(const struct saved_list *saved, char *why, size_t size);
/* Returns the bytes of all pieces. */
uint64_t saved_bytes(const struct saved_list *saved);
/* Gets the name of the program of a process, which is that of its file. */
bool saved_program(long process, char name[SAVED_PROGRAM]);

#endif
