/*
 * Preloaded into a daemon: while the file $WITHOUT_MEMORY exists, the daemon gets no memory for the lookup of a user,
 * which is recognized by its size, as no other allocation is as large (struct user, with the state of the lookup). For
 * without_memory.sh.
 */
#include <stdlib.h>
#include <unistd.h>

#define LEAST 400
#define MOST 540

void *__libc_calloc(size_t count, size_t size);

__attribute__((visibility("default"))) void *calloc(size_t count, size_t size)
{
    const char *file = count == 1 && size >= LEAST && size <= MOST ? getenv("WITHOUT_MEMORY") : NULL;

    return file && !access(file, F_OK) ? NULL : __libc_calloc(count, size);
}
