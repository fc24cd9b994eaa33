/*
 * Collects the files that a program's source includes. The node may have another disk, and runs in another folder: so
 * files in the -I folders and in the working folder are sent with the source. Includes by an absolute path, or by a
 * macro, are left to the node.
 */
#include <stdio.h>
#include <sys/stat.h>

#include "base/options.h"
#include "libvocl/internal.h"
#include "wire/tables.h"

#define MOST_FILES 1024
#define MOST_BYTES (16 << 20)
#define MOST_FOLDERS 256

struct file {
    unsigned folder;
    char *path, *text;
    size_t length;
};

struct search {
    char *folders[MOST_FOLDERS + 1];
    unsigned folder_count; /* the last one is the working folder */
    struct file *files;
    unsigned file_count;
    bool relative; /* one was found through a relative folder, which only this process can resolve */
};

static bool find_folders(struct search *s, const char *options)
{
    const char *path;
    size_t length;

    while (options && s->folder_count < MOST_FOLDERS && options_next_folder(&options, &path, &length)) {
        s->folders[s->folder_count] = strndup(path, length);
        if (!s->folders[s->folder_count++])
            return false;
    }
    s->folders[s->folder_count] = strdup(".");
    return s->folders[s->folder_count++] != NULL;
}

static char *read_file(const char *path, size_t *length)
{
    FILE *stream = fopen(path, "re");
    char *text = NULL;
    struct stat status;

    if (!stream)
        return NULL;
    if (!fstat(fileno(stream), &status) && S_ISREG(status.st_mode) && status.st_size <= MOST_BYTES)
        text = malloc((size_t)status.st_size + 1);
    if (text) {
        *length = fread(text, 1, (size_t)status.st_size, stream);
        text[*length] = '\0';
    }
    fclose(stream);
    return text;
}

static bool is_known(const struct search *s, unsigned folder, const char *path)
{
    for (unsigned i = 0; i < s->file_count; i++) {
        if (s->files[i].folder == folder && !strcmp(s->files[i].path, path))
            return true;
    }
    return false;
}

/* Adds the file to the list if the folder has it. Returns whether it does. */
static bool take(struct search *s, unsigned folder, const char *path)
{
    char whole[8192];
    size_t length = 0;
    struct file *more;
    char *text, *copy;

    if (!path_stays_inside(path, strlen(path)) ||
        snprintf(whole, sizeof(whole), "%s/%s", s->folders[folder], path) >= (int)sizeof(whole))
        return false;
    if (is_known(s, folder, path))
        return true;
    text = s->file_count < MOST_FILES ? read_file(whole, &length) : NULL;
    if (!text)
        return false;
    more = realloc(s->files, (s->file_count + 1) * sizeof(*more));
    copy = strdup(path);
    if (more)
        s->files = more;
    if (!more || !copy) {
        free(text);
        free(copy);
        return false;
    }
    more[s->file_count++] = (struct file){folder, copy, text, length};
    s->relative |= s->folders[folder][0] != '/';
    return true;
}

/* from: the including file, or NULL; quoted: that file's own folder is searched first. */
static void look_for(struct search *s, const struct file *from, const char *name, bool quoted)
{
    char beside[4096];

    if (from && quoted) {
        const char *end = strrchr(from->path, '/');
        int stem = end ? (int)(end + 1 - from->path) : 0;

        if (snprintf(beside, sizeof(beside), "%.*s%s", stem, from->path, name) < (int)sizeof(beside) &&
            take(s, from->folder, beside))
            return;
    }
    for (unsigned i = 0; i < s->folder_count; i++) {
        if (take(s, i, name))
            return;
    }
}

static void scan(struct search *s, const struct file *from, const char *text)
{
    while (text) {
        char name[1024], close;
        const char *at = text + strspn(text, " \t");

        text = strchr(text, '\n');
        text = text ? text + 1 : NULL;
        if (*at != '#')
            continue;
        at++;
        at += strspn(at, " \t");
        if (strncmp(at, "include", 7))
            continue;
        at += 7;
        at += strspn(at, " \t");
        if (sscanf(at, "\"%1023[^\"\n]%c", name, &close) == 2 && close == '"')
            look_for(s, from, name, true);
        else if (sscanf(at, "<%1023[^>\n]%c", name, &close) == 2 && close == '>')
            look_for(s, from, name, false);
    }
}

static void search_free(struct search *s)
{
    for (unsigned i = 0; i < s->folder_count; i++)
        free(s->folders[i]);
    for (unsigned i = 0; i < s->file_count; i++) {
        free(s->files[i].path);
        free(s->files[i].text);
    }
    free(s->files);
}

/* A worker on the program's host reads the files itself, but its replacement may come after the program has removed
 * them. */
static bool may_lack_files(struct node *node)
{
    return !node || node->observer || !arena_shared_with(node);
}

void include_collect(struct node *node, const char *source, const char *options, struct wire_buffer *out)
{
    struct search s = {0};

    if (!source || !strstr(source, "include"))
        return;
    if (find_folders(&s, options))
        scan(&s, NULL, source);
    for (unsigned i = 0; i < s.file_count; i++) { /* the list grows meanwhile */
        const struct file file = s.files[i];

        scan(&s, &file, file.text);
    }
    if (s.file_count && (s.relative || may_lack_files(node))) {
        for (unsigned i = 0; i < s.file_count; i++) {
            wire_put_u32(out, s.files[i].folder);
            wire_put_blob(out, s.files[i].path, strlen(s.files[i].path));
            wire_put_blob(out, s.files[i].text, s.files[i].length);
        }
    }
    search_free(&s);
}
