/* Static variables that are reset in the child of a fork: the linker puts them into one section, of which a copy is
 * kept. */
#include "client/core/per_process.h"

#include <string.h>
#include <sys/mman.h>

extern char __start_per_process[] __attribute__((visibility("hidden")));
extern char __stop_per_process[] __attribute__((visibility("hidden")));
static void *begun = MAP_FAILED;

/* Copies the section before any of its variables is used, as a program may make calls before it has a session. */
__attribute__((constructor)) static void keep(void)
{
    const size_t size = (size_t)(__stop_per_process - __start_per_process);

    begun = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (begun == MAP_FAILED)
        return;
    memcpy(begun, __start_per_process, size);
    mprotect(begun, size, PROT_READ);
}

void per_process_after_fork(void)
{
    if (begun != MAP_FAILED)
        memcpy(__start_per_process, begun, (size_t)(__stop_per_process - __start_per_process));
}
