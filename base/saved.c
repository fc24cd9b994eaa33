/* Reads checkpoints of sessions in files: see saved.h. Everything read is checked before it is used. */
#include "base/saved.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"

#define MOST_TEXT ((off_t)1 << 30)
#define END "end "

static int say(char *why, size_t size, int error, const char *what, const char *where)
{
    snprintf(why, size, "%s%s%s", where, *where ? " " : "", what);
    return error;
}

/* ---- names ---- */

static bool is_numbered(const char *name, const char *before, unsigned *which)
{
    const size_t length = strlen(before);
    char *end;
    unsigned long number;

    if (strncmp(name, before, length) || strlen(name + length) < 6 || !isdigit((unsigned char)name[length]))
        return false;
    number = strtoul(name + length, &end, 10);
    if (*end || !number || number > 999999999)
        return false;
    *which = (unsigned)number;
    return true;
}

bool saved_is_list(const char *name, unsigned *which)
{
    return is_numbered(name, "checkpoint-", which);
}

bool saved_is_pieces(const char *name, unsigned *which)
{
    return is_numbered(name, "pieces-", which);
}

int saved_newest(const char *directory)
{
    DIR *folder = opendir(directory);
    unsigned newest = 0, which;
    struct dirent *entry;

    if (!folder)
        return -errno;
    while ((entry = readdir(folder))) {
        if (saved_is_list(entry->d_name, &which) && which > newest)
            newest = which;
    }
    closedir(folder);
    return (int)newest;
}

bool saved_program(long process, char name[SAVED_PROGRAM])
{
    char path[64], file[4096], *base;
    ssize_t length;

    snprintf(path, sizeof(path), "/proc/%ld/exe", process);
    length = readlink(path, file, sizeof(file) - 1);
    if (length <= 0)
        return false;
    file[length] = '\0';
    base = strrchr(file, '/');
    base = base ? base + 1 : file;
    snprintf(name, SAVED_PROGRAM, "%.*s", SAVED_PROGRAM - 1, base);
    for (char *at = name; *at; at++) {
        if (!isgraph((unsigned char)*at))
            *at = '_';
    }
    return *name;
}

/* ---- lines ---- */

static bool take_number(const char **at, int base, uint64_t *number)
{
    char *end;

    if (!isxdigit((unsigned char)**at))
        return false;
    errno = 0;
    *number = strtoull(*at, &end, base);
    if (errno || end == *at || (*end && *end != ' '))
        return false;
    *at = *end ? end + 1 : end;
    return true;
}

static void *grown(void *list, unsigned count, size_t one)
{
    return count & (count - 1) ? list : realloc(list, (count ? 2 * (size_t)count : 1) * one);
}

static int take_object(struct saved_list *saved, char *line)
{
    struct saved_object *more = grown(saved->objects, saved->object_count, sizeof(*more)), *last;
    const char *at = line;
    uint64_t number;

    if (!more)
        return -ENOMEM;
    saved->objects = more;
    last = saved->object_count ? &more[saved->object_count - 1] : NULL;
    if (!take_number(&at, 10, &number) || !number || !*at || strlen(at) >= SAVED_WHAT ||
        (last && number <= last->number))
        return -EBADMSG;
    more[saved->object_count++] = (struct saved_object){number, line + (at - line)};
    return 0;
}

static int take_piece(struct saved_list *saved, const char *line)
{
    struct saved_piece *more = grown(saved->pieces, saved->piece_count, sizeof(*more)), piece;
    uint64_t file;

    if (!more)
        return -ENOMEM;
    saved->pieces = more;
    if (!take_number(&line, 10, &piece.number) || !take_number(&line, 10, &piece.offset) ||
        !take_number(&line, 10, &piece.bytes) || !take_number(&line, 16, &piece.hash) ||
        !take_number(&line, 10, &file) || !take_number(&line, 10, &piece.at) || *line || !piece.bytes ||
        piece.bytes > SAVED_PIECE || piece.offset > INT64_MAX - piece.bytes || piece.at > INT64_MAX - piece.bytes ||
        !file || file > saved->which || !saved_find(saved, piece.number))
        return -EBADMSG;
    piece.file = (unsigned)file;
    more[saved->piece_count++] = piece;
    return 0;
}

static int by_place(const void *one, const void *other)
{
    const struct saved_piece *a = one, *b = other;

    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* Reads the lines between the head and the end. */
static int take_lines(struct saved_list *saved, char *line, const char *end)
{
    int error = 0;

    while (!error && line < end) {
        char *next = memchr(line, '\n', (size_t)(end - line));

        if (!next)
            return -EBADMSG;
        *next = '\0';
        if (!strncmp(line, "program ", 8) && !saved->program)
            saved->program = line + 8;
        else if (!strncmp(line, "object ", 7))
            error = take_object(saved, line + 7);
        else if (!strncmp(line, "piece ", 6))
            error = take_piece(saved, line + 6);
        else
            error = -EBADMSG;
        line = next + 1;
    }
    if (!error && saved->piece_count)
        qsort(saved->pieces, saved->piece_count, sizeof(*saved->pieces), by_place);
    return error ? error : saved->program ? 0 : -EBADMSG;
}

/* ---- a list ---- */

static int read_text(const char *path, char **text, size_t *length)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat file;
    ssize_t got;
    int error = 0;

    if (fd < 0)
        return -errno;
    if (fstat(fd, &file) || !S_ISREG(file.st_mode) || file.st_size > MOST_TEXT)
        error = -EINVAL;
    *text = error ? NULL : malloc((size_t)file.st_size + 1);
    if (!error && !*text)
        error = -ENOMEM;
    for (*length = 0; !error && *length < (size_t)file.st_size; *length += (size_t)got) {
        got = read(fd, *text + *length, (size_t)file.st_size - *length);
        if (got <= 0) {
            error = got ? -errno : -EBADMSG;
            break;
        }
    }
    close(fd);
    if (!error)
        (*text)[*length] = '\0';
    return error;
}

/* Returns where the last line begins, if its hash matches all before it, else NULL. */
static char *checked_end(char *text, size_t length)
{
    const size_t last = strlen(END) + 16 + 1; /* "end HASH\n" */
    char *end;
    char expected[64];

    if (length < last || strlen(text) != length)
        return NULL;
    end = text + length - last;
    snprintf(expected, sizeof(expected), END "%016llx\n", (unsigned long long)hash_bytes(text, (size_t)(end - text)));
    return strcmp(end, expected) ? NULL : end;
}

static int load(struct saved_list *saved, const char *path, char *why, size_t size)
{
    static const char any[] = "vocl checkpoint ";
    size_t length = 0;
    char *end;
    int error = read_text(path, &saved->text, &length);

    if (error)
        return say(why, size, error, error == -EBADMSG ? "is torn" : strerror(-error), path);
    if (length < strlen(any) || memcmp(saved->text, any, strlen(any)))
        return say(why, size, -EINVAL, "is no checkpoint of VOCL's", path);
    if (length >= strlen(SAVED_HEAD) && memcmp(saved->text, SAVED_HEAD, strlen(SAVED_HEAD)))
        return say(why, size, -EPROTO, "is of another version of VOCL's checkpoints", path);
    end = checked_end(saved->text, length);
    error = end ? take_lines(saved, saved->text + strlen(SAVED_HEAD), end) : -EBADMSG;
    if (error)
        return say(why, size, error, error == -EBADMSG ? "is torn or damaged" : strerror(-error), path);
    return 0;
}

/* Finds the path of the list, and its folder. */
static int resolve(struct saved_list *saved, const char *path, char **list, char *why, size_t size)
{
    struct stat file;
    const char *name;
    int newest;

    if (stat(path, &file))
        return say(why, size, -errno, strerror(errno), path);
    if (S_ISDIR(file.st_mode)) {
        newest = saved_newest(path);
        if (newest <= 0)
            return say(why, size, newest ? newest : -ENOENT, newest ? strerror(-newest) : "has no checkpoint", path);
        saved->which = (unsigned)newest;
        saved->directory = strdup(path);
        return saved->directory && asprintf(list, "%s/" SAVED_LIST, path, saved->which) > 0 ? 0 : -ENOMEM;
    }
    name = strrchr(path, '/');
    if (!saved_is_list(name ? name + 1 : path, &saved->which))
        return say(why, size, -EINVAL, "is no checkpoint of VOCL's", path);
    saved->directory = name ? strndup(path, name == path ? 1 : (size_t)(name - path)) : strdup(".");
    *list = strdup(path);
    return saved->directory && *list ? 0 : -ENOMEM;
}

int saved_open(const char *path, struct saved_list **out, char *why, size_t size)
{
    struct saved_list *saved = calloc(1, sizeof(*saved));
    char *list = NULL;
    int error = saved ? 0 : -ENOMEM;

    snprintf(why, size, "no memory");
    if (!error)
        error = resolve(saved, path, &list, why, size);
    if (!error)
        error = load(saved, list, why, size);
    free(list);
    if (error)
        saved_close(saved);
    else
        *out = saved;
    return error;
}

void saved_close(struct saved_list *saved)
{
    if (!saved)
        return;
    free(saved->directory);
    free(saved->text);
    free(saved->objects);
    free(saved->pieces);
    free(saved);
}

static int by_number(const void *one, const void *other)
{
    const uint64_t number = *(const uint64_t *)one;
    const struct saved_object *object = other;

    return number < object->number ? -1 : number > object->number;
}

const struct saved_object *saved_find(const struct saved_list *saved, uint64_t number)
{
    return saved->object_count
               ? bsearch(&number, saved->objects, saved->object_count, sizeof(*saved->objects), by_number)
               : NULL;
}

/* ---- contents ---- */

const struct saved_piece *saved_pieces(const struct saved_list *saved, uint64_t number, unsigned *count)
{
    unsigned low = 0, high = saved->piece_count;

    while (low < high) {
        const unsigned middle = low + (high - low) / 2;

        if (saved->pieces[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    for (*count = 0; low + *count < saved->piece_count && saved->pieces[low + *count].number == number;)
        ++*count;
    return *count ? saved->pieces + low : NULL;
}

int saved_read(const struct saved_list *saved, const struct saved_piece *piece, void *bytes, char *why, size_t size)
{
    char name[32], *path;
    size_t length = 0;
    ssize_t got = 1;
    int fd, error = 0;

    snprintf(name, sizeof(name), SAVED_PIECES, piece->file);
    if (asprintf(&path, "%s/%s", saved->directory, name) < 0)
        return say(why, size, -ENOMEM, "no memory", "");
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    while (fd >= 0 && length < piece->bytes && got > 0) {
        got = pread(fd, (uint8_t *)bytes + length, piece->bytes - length, (off_t)(piece->at + length));
        length += got > 0 ? (size_t)got : 0;
    }
    if (fd < 0 || got < 0)
        error = say(why, size, -errno, strerror(errno), path);
    else if (length < piece->bytes)
        error = say(why, size, -EBADMSG, "is torn", path);
    else if (hash_bytes(bytes, piece->bytes) != piece->hash)
        error = say(why, size, -EBADMSG, "is damaged", path);
    if (fd >= 0)
        close(fd);
    free(path);
    return error;
}

int saved_check(const struct saved_list *saved, char *why, size_t size)
{
    void *bytes = malloc(SAVED_PIECE);
    int error = bytes ? 0 : say(why, size, -ENOMEM, "no memory", "");

    for (unsigned i = 0; !error && i < saved->piece_count; i++)
        error = saved_read(saved, &saved->pieces[i], bytes, why, size);
    free(bytes);
    return error;
}

uint64_t saved_bytes(const struct saved_list *saved)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < saved->piece_count; i++)
        bytes += saved->pieces[i].bytes;
    return bytes;
}
