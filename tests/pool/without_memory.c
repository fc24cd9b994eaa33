/*
 * Preloaded into a daemon: while there is the file $WITHOUT_MEMORY it has none for the question who a user is, which
 * nothing else is as large as (struct user, and what is known of the question). For without_memory.sh.
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
