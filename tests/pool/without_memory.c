/*
 * Preloaded into a daemon: while the file $WITHOUT_MEMORY exists, the daemon gets no memory for the lookup of a user,
 * which is recognized by its size, as no other allocation is as large (struct user, with the state of the lookup), and
 * while $WITHOUT_MEMORY.request exists, none for a program's request (struct request). For without_memory.sh.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const struct {
    size_t least, most;
    const char *suffix;
} refused[] = {{400, 540, ""}, {1400, 1700, ".request"}};

void *__libc_calloc(size_t count, size_t size);

__attribute__((visibility("default"))) void *calloc(size_t count, size_t size)
{
    const char *name = getenv("WITHOUT_MEMORY");
    char file[512];

    for (unsigned i = 0; name && count == 1 && i < sizeof(refused) / sizeof(*refused); i++) {
        snprintf(file, sizeof(file), "%s%s", name, refused[i].suffix);
        if (size >= refused[i].least && size <= refused[i].most && !access(file, F_OK))
            return NULL;
    }
    return __libc_calloc(count, size);
}
