/*
 * Files that were sent with a program because its source includes them: written to a folder of their own for the time
 * of the build. The application's -I options become folders in that folder; texts about the build have the
 * application's names again.
 */
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/options.h"
#include "executor/internal.h"

struct include_tree {
    char root[4096];
    char **folders; /* names as the application has them */
    unsigned count;
};

/* ---- the folder ---- */

static bool write_file(const char *root, unsigned folder, const char *path, int length, const void *text, size_t size)
{
    char whole[8192];
    FILE *stream;
    bool good;

    if (snprintf(whole, sizeof(whole), "%s/%u/%.*s", root, folder, length, path) >= (int)sizeof(whole))
        return false;
    for (char *slash = whole + strlen(root) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        mkdir(whole, 0700);
        *slash = '/';
    }
    stream = fopen(whole, "wxe");
    if (!stream)
        return false;
    good = fwrite(text, 1, size, stream) == size;
    return !fclose(stream) && good;
}

/* Returns 0, or -EBADMSG for files that no application of ours sends. */
static int write_files(const struct include_tree *tree, const void *files, uint32_t length)
{
    struct wire_cursor in = wire_cursor(files, length);

    while (in.left) {
        uint32_t folder = wire_get_u32(&in), path_length, text_length;
        const char *path = wire_get_blob(&in, &path_length);
        const void *text = wire_get_blob(&in, &text_length);

        if (in.failed || folder > tree->count || path_length > 4096 || !path_stays_inside(path, path_length))
            return -EBADMSG;
        if (!write_file(tree->root, folder, path, (int)path_length, text, text_length))
            vocl_log(LOG_WARN, "a file to include could not be written below %s", tree->root);
    }
    return 0;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *where)
{
    (void)status;
    (void)type;
    (void)where;
    remove(path);
    return 0;
}

void include_remove(const struct include_tree *tree)
{
    if (tree && tree->root[0])
        nftw(tree->root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

void include_free(struct include_tree *tree)
{
    for (unsigned i = 0; tree && i < tree->count; i++)
        free(tree->folders[i]);
    if (tree)
        free(tree->folders);
    free(tree);
}

/* ---- names ---- */

static bool keep_folders(struct include_tree *tree, const char *options)
{
    const char *path;
    size_t length;

    while (options_next_folder(&options, &path, &length)) {
        char **more = realloc(tree->folders, (tree->count + 1) * sizeof(*more));

        if (!more)
            return false;
        tree->folders = more;
        more[tree->count] = strndup(path, length);
        if (!more[tree->count++])
            return false;
    }
    return true;
}

/* Makes the options with the new name of every folder, and with the application's working folder last. */
static char *translate(const struct include_tree *tree, const char *options)
{
    struct wire_buffer text = {0};
    const char *from = options, *at = options, *path;
    char name[4200];
    size_t length;

    for (unsigned i = 0; options_next_folder(&at, &path, &length) && !text.failed; i++) {
        size_t name_length = (size_t)snprintf(name, sizeof(name), "%s/%u", tree->root, i);

        wire_append(&text, from, (size_t)(path - from));
        wire_append(&text, name, name_length);
        from = at;
    }
    wire_append(&text, from, strlen(from));
    snprintf(name, sizeof(name), " -I%s/%u", tree->root, tree->count);
    wire_append(&text, name, strlen(name) + 1);
    if (!text.failed)
        return (char *)text.bytes;
    wire_buffer_free(&text);
    return NULL;
}

int include_write(const void *files, uint32_t length, char **options, struct include_tree **out)
{
    const char *folder = getenv("TMPDIR");
    struct include_tree *tree = calloc(1, sizeof(*tree));
    char *translated;
    int bad;

    *out = tree;
    if (!tree || !keep_folders(tree, *options ? *options : ""))
        return -ENOMEM;
    snprintf(tree->root, sizeof(tree->root) - 8, "%s/vocl-include-XXXXXX", folder && *folder ? folder : "/tmp");
    if (!mkdtemp(tree->root)) {
        vocl_log(LOG_ERROR, "cannot create a folder for included files: %s: %s", tree->root, strerror(errno));
        tree->root[0] = '\0';
        return 0;
    }
    bad = write_files(tree, files, length);
    translated = bad ? NULL : translate(tree, *options ? *options : "");
    if (!translated)
        return bad ? bad : -ENOMEM;
    free(*options);
    *options = translated;
    return 0;
}

static void replace(struct wire_buffer *text, const char *from, const char *to)
{
    size_t length = strlen(from);
    uint8_t *at;

    while (length && (at = memmem(text->bytes, text->length, from, length)) != NULL) {
        struct wire_buffer longer = {0};
        size_t before = (size_t)(at - text->bytes);

        wire_append(&longer, text->bytes, before);
        wire_append(&longer, to, strlen(to));
        wire_append(&longer, at + length, text->length - before - length);
        if (longer.failed) {
            wire_buffer_free(&longer);
            return;
        }
        wire_buffer_free(text);
        *text = longer;
    }
}

void include_restore(const struct include_tree *tree, struct wire_buffer *text)
{
    char name[4200];

    if (!tree || !tree->root[0])
        return;
    snprintf(name, sizeof(name), " -I%s/%u", tree->root, tree->count);
    replace(text, name, "");
    snprintf(name, sizeof(name), "-I%s/%u", tree->root, tree->count); /* if there were no other options */
    replace(text, name, "");
    for (unsigned i = 0; i <= tree->count; i++) {
        snprintf(name, sizeof(name), "%s/%u", tree->root, i);
        replace(text, name, i < tree->count ? tree->folders[i] : ".");
    }
}
