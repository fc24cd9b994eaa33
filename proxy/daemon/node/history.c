/*
 * Reads the account: its file, and those that it was renamed to (.1, .2, and so on; higher numbers are older). A client
 * gets one part at a time, and what to ask for next, so that the daemon is never busy with it for long: the file, by
 * its inode, because it may be renamed meanwhile, and how much of it was read.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proxy/daemon/node/internal.h"

#define PART (128u << 10)
#define MOST_FILES 1000

struct reading {
    unsigned file; /* 0: the one that is written to */
    struct stat status;
    off_t at;
    double since;
    const char *only; /* of this user; NULL: of all */
};

static void file_path(const struct daemon *d, unsigned file, char *path, size_t size)
{
    if (file)
        snprintf(path, size, "%s.%u", d->config->accounting, file);
    else
        snprintf(path, size, "%s", d->config->accounting);
}

static bool look_at(const struct daemon *d, struct reading *r, unsigned file)
{
    char path[4200];

    file_path(d, file, path, sizeof(path));
    r->file = file;
    return !stat(path, &r->status) && S_ISREG(r->status.st_mode);
}

/* Finds the file with this inode, under whichever name, or with 0 the oldest. */
static bool find_file(const struct daemon *d, struct reading *r, ino_t inode)
{
    unsigned oldest = 0;

    while (oldest + 1 < MOST_FILES && look_at(d, r, oldest + 1)) {
        oldest++;
        if (inode && r->status.st_ino == inode)
            return true;
    }
    return look_at(d, r, inode ? 0 : oldest) && (!inode || r->status.st_ino == inode);
}

static bool wants(const struct reading *r, const json_t *record)
{
    const json_t *ended = json_object_get(record, "ended");

    if (r->only && strcmp(message_text(record, "user", ""), r->only))
        return false;
    return json_number_value(ended ? ended : json_object_get(record, "began")) >= r->since;
}

/* Takes the complete lines. Returns their length. */
static size_t take_lines(const struct reading *r, const char *text, size_t length, json_t *records)
{
    const char *at = text, *end;

    while ((end = memchr(at, '\n', length - (size_t)(at - text)))) {
        json_t *record = json_loadb(at, (size_t)(end - at), 0, NULL);

        if (json_is_object(record) && wants(r, record))
            json_array_append(records, record);
        json_decref(record);
        at = end + 1;
    }
    return at == text && length == PART ? length : (size_t)(at - text); /* a line that long is not a record */
}

/* Reads a part of the file, from r->at on. Returns false at its end. */
static bool read_part(const struct daemon *d, struct reading *r, json_t *records)
{
    char path[4200], *text = malloc(PART);
    ssize_t got = -1;
    size_t taken = 0;
    int fd;

    file_path(d, r->file, path, sizeof(path));
    fd = (double)r->status.st_mtime + 1 < r->since ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && text)
        got = pread(fd, text, PART, r->at);
    if (got > 0)
        taken = take_lines(r, text, (size_t)got, records);
    if (fd >= 0)
        close(fd);
    free(text);
    r->at += (off_t)taken;
    return taken > 0;
}

json_t *history_part(const struct daemon *d, const json_t *question, const char *only)
{
    const json_t *since = json_object_get(question, "since");
    struct reading r = {
        .at = (off_t)message_number(question, "at", 0), .since = json_number_value(since), .only = only};
    const ino_t inode = (ino_t)message_number(question, "file", 0);
    json_t *records;
    bool over = false;

    if (!*d->config->accounting)
        return message_pack("{s:s}", "error", "keeps no account (accounting in its configuration)");
    if (r.at < 0 || (!find_file(d, &r, inode) && inode))
        return message_pack("{s:s}", "error", "the file that was read has been removed meanwhile");
    records = json_array();
    if (!read_part(d, &r, records)) {
        over = !r.file;
        r.at = 0;
        if (!over && !look_at(d, &r, r.file - 1))
            over = true;
    }
    return message_pack("{s:o, s:I, s:I, s:b}", "records", records, "file", (json_int_t)r.status.st_ino, "at",
                        (json_int_t)r.at, "over", over);
}
