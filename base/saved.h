/*
 * Checkpoints of sessions in files: what `vocl checkpoint` (tools/checkpoint.c) writes, and what a program that is
 * restored (libvocl/restore.c) reads. A folder has them, each a list and the pieces of contents that are new with it:
 *
 *     checkpoint-000007  the list, lines of text: what it is and of which version, whose it is, the memory objects,
 *                        where each piece of their contents is, and a hash of all of that
 *     pieces-000007      pieces, one after the other
 *
 *     vocl checkpoint 1
 *     program NAME
 *     object NUMBER WHAT                            the NUMBER-th memory object that the program made
 *     piece NUMBER OFFSET BYTES HASH FILE AT        in pieces-FILE from byte AT on
 *     end HASH
 *
 * Numbers are decimal, hashes (base/hash.h) hexadecimal. A list refers to pieces of older files where nothing changed.
 */
#ifndef VOCL_BASE_SAVED_H
#define VOCL_BASE_SAVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SAVED_HEAD "vocl checkpoint 1\n"
#define SAVED_PIECE ((size_t)256 << 10) /* bytes of a piece at most */
#define SAVED_LIST "checkpoint-%06u"
#define SAVED_PIECES "pieces-%06u"
#define SAVED_WHAT 120 /* of a description, with its end */
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

/* Whether a name in the folder is a list's, or a file of pieces': which. */
bool saved_is_list(const char *name, unsigned *which);
bool saved_is_pieces(const char *name, unsigned *which);
/* The highest number of a list in the folder, 0: there is none. Negative errno: it cannot be looked at. */
int saved_newest(const char *directory);
/* A list, checked as a whole: path is its own, or its folder's for the newest one. 0, or a negative errno value and
 * why: -EBADMSG it is torn or damaged, -EPROTO of another version, -EINVAL no checkpoint's, -ENOENT there is none. */
int saved_open(const char *path, struct saved_list **out, char *why, size_t size);
void saved_close(struct saved_list *saved);
const struct saved_object *saved_find(const struct saved_list *saved, uint64_t number);
/* The first piece of an object's; those behind it are its other ones. *count: 0 if nobody had written it. */
const struct saved_piece *saved_pieces(const struct saved_list *saved, uint64_t number, unsigned *count);
/* The contents of a piece, checked. 0, or a negative errno value and why: -EBADMSG they are not what was saved. */
int saved_read(const struct saved_list *saved, const struct saved_piece *piece, void *bytes, char *why, size_t size);
/* All of them are read. */
int saved_check(const struct saved_list *saved, char *why, size_t size);
/* The bytes of all pieces. */
uint64_t saved_bytes(const struct saved_list *saved);
/* What the program of a process is called: the name of its file. */
bool saved_program(long process, char name[SAVED_PROGRAM]);

#endif
