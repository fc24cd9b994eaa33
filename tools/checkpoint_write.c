/*
 * Writes a checkpoint (base/saved.h): first its new pieces, then its list, under another name until it is complete. A
 * piece that a file of this or an earlier checkpoint already has is not written again. Equal hashes are not enough for
 * that: the piece is read and compared.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "tools/checkpoint.h"
#include "tools/tools.h"

#define READ_BYTES (1 << 20)
#define LINE (SAVED_PROGRAM + SAVED_WHAT + 64)

struct writing {
    char *directory;
    int fd; /* of the folder, locked */
    bool anew, committed;
    struct saved_list now;     /* owns the memory of its program and whats */
    struct saved_list *before; /* the earlier checkpoint, or NULL */
    unsigned object_room, piece_room;
    int pieces; /* descriptor of the file, once there is something to write */
    uint64_t written;
    struct saved_piece *known; /* hash table; bytes 0: free */
    size_t known_count, known_room;
    uint8_t *piece, *other;
};

static bool say(char *why, size_t size, const struct writing *w, const char *what)
{
    snprintf(why, size, "%s: %s", w->directory, what);
    return false;
}

static void *more(void *list, unsigned count, unsigned *room, size_t one)
{
    if (count < *room)
        return list;
    *room = *room * 2 + 64;
    list = realloc(list, *room * one);
    if (!list)
        fail(1, "out of memory");
    return list;
}

/* ---- existing pieces ---- */

static struct saved_piece *find(struct writing *w, uint64_t hash, uint64_t bytes)
{
    size_t at = (size_t)hash & (w->known_room - 1);

    while (w->known[at].bytes && (w->known[at].hash != hash || w->known[at].bytes != bytes))
        at = (at + 1) & (w->known_room - 1);
    return &w->known[at];
}

static void know(struct writing *w, const struct saved_piece *piece)
{
    struct saved_piece *old = w->known, *place;
    const size_t room = w->known_room;

    if (w->known_count * 2 >= room) {
        w->known_room = room ? room * 2 : 1024;
        w->known = calloc(w->known_room, sizeof(*w->known));
        if (!w->known)
            fail(1, "out of memory");
        for (size_t i = 0; i < room; i++) {
            if (old[i].bytes)
                *find(w, old[i].hash, old[i].bytes) = old[i];
        }
        free(old);
    }
    place = find(w, piece->hash, piece->bytes);
    w->known_count += !place->bytes;
    *place = *piece;
}

static int by_file(const void *one, const void *other)
{
    const struct saved_piece *a = one, *b = other;

    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

static uint64_t file_size(const struct writing *w, unsigned file)
{
    struct stat stat;
    char name[32];

    snprintf(name, sizeof(name), SAVED_PIECES, file);
    return fstatat(w->fd, name, &stat, 0) ? 0 : (uint64_t)stat.st_size;
}

/* Enters the earlier checkpoint's pieces, except those in files of which three quarters are no longer needed: they
 * are written anew, so that these files can be removed. */
static void know_before(struct writing *w)
{
    const unsigned count = w->before->piece_count;
    struct saved_piece *pieces = malloc((count + 1) * sizeof(*pieces));

    if (!pieces)
        fail(1, "out of memory");
    if (count)
        memcpy(pieces, w->before->pieces, count * sizeof(*pieces));
    qsort(pieces, count, sizeof(*pieces), by_file);
    for (unsigned first = 0, end; first < count; first = end) {
        uint64_t used = 0;

        for (end = first; end < count && pieces[end].file == pieces[first].file; end++)
            used += end == first || pieces[end].at != pieces[end - 1].at ? pieces[end].bytes : 0;
        for (unsigned i = first; used * 4 >= file_size(w, pieces[first].file) && i < end; i++)
            know(w, &pieces[i]);
    }
    free(pieces);
}

/* ---- the folder ---- */

/* Returns the highest number in use there. */
static unsigned highest(const char *directory)
{
    DIR *folder = opendir(directory);
    unsigned high = 0, which;
    struct dirent *entry;

    while (folder && (entry = readdir(folder))) {
        if ((saved_is_list(entry->d_name, &which) || saved_is_pieces(entry->d_name, &which)) && which > high)
            high = which;
    }
    if (folder)
        closedir(folder);
    return high;
}

/* Opens the newest checkpoint with a valid list. */
static void open_before(struct writing *w)
{
    const int newest = saved_newest(w->directory);
    char why[600], *path;
    int error;

    for (int which = newest; which > 0 && which > newest - 100 && !w->before; which--) {
        if (asprintf(&path, "%s/" SAVED_LIST, w->directory, (unsigned)which) < 0)
            fail(1, "out of memory");
        error = saved_open(path, &w->before, why, sizeof(why));
        if (error == -EPROTO)
            fail(1, "%s", why);
        free(path);
    }
}

void checkpoint_leave(const struct writing *writing)
{
    close(writing->fd);
}

struct writing *checkpoint_begin(const char *directory, bool anew)
{
    struct writing *w = calloc(1, sizeof(*w));

    if (!w || !(w->directory = strdup(directory)) || !(w->piece = malloc(SAVED_PIECE)) ||
        !(w->other = malloc(SAVED_PIECE)))
        fail(1, "out of memory");
    w->now.directory = w->directory;
    w->anew = anew;
    w->pieces = -1;
    if (mkdir(directory, 0700) && errno != EEXIST)
        fail(1, "%s: %m", directory);
    w->fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (w->fd < 0)
        fail(1, "%s: %m", directory);
    if (flock(w->fd, LOCK_EX | LOCK_NB))
        fail(1, "%s: %s", directory,
             errno == EWOULDBLOCK ? "another checkpoint is being written there" : strerror(errno));
    w->now.which = highest(directory) + 1;
    open_before(w);
    if (w->before && !anew)
        know_before(w);
    return w;
}

/* ---- the data from the program ---- */

static bool write_piece(struct writing *w, struct saved_piece *piece, char *why, size_t size)
{
    char name[32];

    snprintf(name, sizeof(name), SAVED_PIECES, w->now.which);
    if (w->pieces < 0)
        w->pieces = openat(w->fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (w->pieces < 0)
        return say(why, size, w, strerror(errno));
    for (size_t at = 0; at < piece->bytes;) {
        const ssize_t put = pwrite(w->pieces, w->piece + at, piece->bytes - at, (off_t)(w->written + at));

        if (put < 0 && errno != EINTR)
            return say(why, size, w, strerror(errno));
        at += put > 0 ? (size_t)put : 0;
    }
    piece->file = w->now.which;
    piece->at = w->written;
    w->written += piece->bytes;
    return true;
}

/* Adds the piece in w->piece. */
static bool add_piece(struct writing *w, uint64_t number, uint64_t offset, size_t bytes, char *why, size_t size)
{
    struct saved_piece piece = {
        .number = number, .offset = offset, .bytes = bytes, .hash = hash_bytes(w->piece, bytes)};
    const struct saved_piece *like = w->known_room ? find(w, piece.hash, bytes) : NULL;
    char other[600];

    if (like && like->bytes && !saved_read(&w->now, like, w->other, other, sizeof(other)) &&
        !memcmp(w->piece, w->other, bytes)) {
        piece.file = like->file;
        piece.at = like->at;
    } else {
        if (!write_piece(w, &piece, why, size))
            return false;
        know(w, &piece);
    }
    w->now.pieces = more(w->now.pieces, w->now.piece_count, &w->piece_room, sizeof(piece));
    w->now.pieces[w->now.piece_count++] = piece;
    return true;
}

/* Takes data, cut at multiples of SAVED_PIECE, whichever part of the object was written. */
static bool take_data(struct writing *w, const char *line, FILE *from, char *why, size_t size)
{
    unsigned long long number, offset, bytes;
    bool good = sscanf(line, "%llu %llu %llu", &number, &offset, &bytes) == 3 && offset <= INT64_MAX - bytes;

    while (good && bytes) {
        const size_t room = SAVED_PIECE - offset % SAVED_PIECE, part = bytes < room ? bytes : room;

        if (fread(w->piece, 1, part, from) < part)
            return false;
        good = add_piece(w, number, offset, part, why, size);
        offset += part;
        bytes -= part;
    }
    return good;
}

static bool take_program(struct writing *w, const char *name, char *why, size_t size)
{
    if (w->before && strcmp(name, w->before->program)) {
        snprintf(why, size, "%s has checkpoints of the program %s, and this is %s", w->directory, w->before->program,
                 name);
        return false;
    }
    w->now.program = strdup(name);
    return w->now.program;
}

static bool take_object(struct writing *w, const char *line)
{
    unsigned long long number;
    int length = 0;
    char *what;

    if (sscanf(line, "%llu %n", &number, &length) != 1 || !length || !(what = strdup(line + length)))
        return false;
    w->now.objects = more(w->now.objects, w->now.object_count, &w->object_room, sizeof(*w->now.objects));
    w->now.objects[w->now.object_count++] = (struct saved_object){number, what};
    return true;
}

static bool take_line(struct writing *w, const char *line, FILE *from, char *why, size_t size)
{
    bool good = false;

    if (!strncmp(line, "program ", 8) && !w->now.program)
        good = take_program(w, line + 8, why, size);
    else if (!strncmp(line, "object ", 7))
        good = take_object(w, line + 7);
    else if (!strncmp(line, "data ", 5))
        good = take_data(w, line + 5, from, why, size);
    if (!good && !*why && !feof(from))
        snprintf(why, size, "unexpected data from the program: %s", line);
    return good;
}

bool checkpoint_take(struct writing *w, FILE *from, char *why, size_t size)
{
    char line[LINE];
    bool head = false;

    *why = '\0';
    setvbuf(from, NULL, _IOFBF, READ_BYTES);
    while (fgets(line, sizeof(line), from)) {
        char *end = strchr(line, '\n');

        if (!end)
            return false;
        *end = '\0';
        if (!head && strcmp(line, "vocl contents 1"))
            return say(why, size, w, "the program is of another version of VOCL");
        if (head && !strcmp(line, "end"))
            return w->now.program;
        if (head && !take_line(w, line, from, why, size))
            return false;
        head = true;
    }
    return false;
}

/* ---- the list ---- */

static int by_number(const void *one, const void *other)
{
    const struct saved_object *a = one, *b = other;

    return a->number < b->number ? -1 : a->number > b->number;
}

static char *list_text(struct writing *w, size_t *length)
{
    char *text = NULL;
    FILE *to = open_memstream(&text, length);

    if (!to)
        return NULL;
    if (w->now.object_count)
        qsort(w->now.objects, w->now.object_count, sizeof(*w->now.objects), by_number);
    fprintf(to, SAVED_HEAD "program %s\n", w->now.program);
    for (unsigned i = 0; i < w->now.object_count; i++)
        fprintf(to, "object %llu %s\n", (unsigned long long)w->now.objects[i].number, w->now.objects[i].what);
    for (unsigned i = 0; i < w->now.piece_count; i++) {
        const struct saved_piece *p = &w->now.pieces[i];

        fprintf(to, "piece %llu %llu %llu %016llx %u %llu\n", (unsigned long long)p->number,
                (unsigned long long)p->offset, (unsigned long long)p->bytes, (unsigned long long)p->hash, p->file,
                (unsigned long long)p->at);
    }
    fflush(to);
    fprintf(to, "end %016llx\n", (unsigned long long)hash_bytes(text, *length));
    return fclose(to) ? NULL : text;
}

/* Returns 0 or an errno. */
static int write_list(struct writing *w, const char *name, const char *text, size_t length)
{
    const int fd = openat(w->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int error = fd < 0 ? errno : 0;

    for (size_t at = 0; !error && at < length;) {
        const ssize_t put = write(fd, text + at, length - at);

        if (put < 0 && errno != EINTR)
            error = errno;
        at += put > 0 ? (size_t)put : 0;
    }
    if (!error && fsync(fd))
        error = errno;
    if (fd >= 0 && close(fd) && !error)
        error = errno;
    return error;
}

bool checkpoint_commit(struct writing *w, char *why, size_t size)
{
    char name[32], before[40], *text;
    size_t length = 0;
    int error;

    snprintf(name, sizeof(name), SAVED_LIST, w->now.which);
    snprintf(before, sizeof(before), "%s.new", name);
    text = list_text(w, &length);
    error = text ? 0 : ENOMEM;
    if (!error && w->pieces >= 0 && fsync(w->pieces))
        error = errno;
    if (!error)
        error = write_list(w, before, text, length);
    free(text);
    if (!error && renameat(w->fd, before, w->fd, name))
        error = errno;
    if (error)
        return say(why, size, w, strerror(error));
    w->committed = true;
    fsync(w->fd);
    return true;
}

void checkpoint_describe(const struct writing *w, char *text, size_t size)
{
    snprintf(text, size, "checkpoint %u: %u memory objects, %llu bytes, %llu of them written", w->now.which,
             w->now.object_count, (unsigned long long)saved_bytes(&w->now), (unsigned long long)w->written);
}

/* ---- removing files ---- */

static bool uses(const struct saved_list *saved, unsigned file)
{
    for (unsigned i = 0; saved && i < saved->piece_count; i++) {
        if (saved->pieces[i].file == file)
            return true;
    }
    return false;
}

static bool is_unfinished(const char *name)
{
    char list[300];
    const size_t length = strlen(name);
    unsigned which;

    if (length < 5 || length >= sizeof(list) || strcmp(name + length - 4, ".new"))
        return false;
    snprintf(list, sizeof(list), "%.*s", (int)(length - 4), name);
    return saved_is_list(list, &which);
}

static bool may_go(const struct writing *w, const char *name)
{
    const unsigned before = w->before ? w->before->which : 0;
    unsigned which;

    if (is_unfinished(name))
        return true;
    if (saved_is_list(name, &which))
        return w->committed && which != w->now.which && which != before;
    if (!saved_is_pieces(name, &which))
        return false;
    return w->committed ? !uses(&w->now, which) && !uses(w->before, which) : which == w->now.which;
}

static void clean(const struct writing *w)
{
    DIR *folder = opendir(w->directory);
    struct dirent *entry;

    while (folder && (entry = readdir(folder))) {
        if (may_go(w, entry->d_name))
            unlinkat(w->fd, entry->d_name, 0);
    }
    if (folder)
        closedir(folder);
}

void checkpoint_end(struct writing *w)
{
    clean(w);
    if (w->pieces >= 0)
        close(w->pieces);
    close(w->fd);
    saved_close(w->before);
    for (unsigned i = 0; i < w->now.object_count; i++)
        free(w->now.objects[i].what);
    free(w->now.objects);
    free(w->now.pieces);
    free((char *)(uintptr_t)w->now.program);
    free(w->known);
    free(w->piece);
    free(w->other);
    free(w->directory);
    free(w);
}
