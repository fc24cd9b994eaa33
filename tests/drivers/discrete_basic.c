/* See discrete.h. PoCL's basic device runs commands that waited for a user event inside clSetUserEventStatus, while
 * that holds the locks of their events, which running them takes as well: natively such a program hangs. Here PoCL's
 * locks are recursive, and no event is gone before its lock is released. */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "discrete.h"

/* ---- locks ---- */

static int init_recursive(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes)
{
    pthread_mutexattr_t recursive;
    int error;

    if (attributes)
        return pthread_mutex_init(mutex, attributes);
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    error = pthread_mutex_init(mutex, &recursive);
    pthread_mutexattr_destroy(&recursive);
    return error;
}

static const ElfW(Dyn) * entry(const struct link_map *library, ElfW(Sxword) tag)
{
    const ElfW(Dyn) *at = library->l_ld;

    while (at->d_tag != DT_NULL && at->d_tag != tag)
        at++;
    return at;
}

/* Lets the library's calls of a function lead to another one. Returns false if it has no such calls. */
static bool redirect(const struct link_map *library, const char *name, void *function)
{
    const ElfW(Rela) *at = (const void *)entry(library, DT_JMPREL)->d_un.d_ptr;
    const size_t count = entry(library, DT_PLTRELSZ)->d_un.d_val / sizeof(*at);
    const ElfW(Sym) *symbols = (const void *)entry(library, DT_SYMTAB)->d_un.d_ptr;
    const char *names = (const void *)entry(library, DT_STRTAB)->d_un.d_ptr;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

    for (const ElfW(Rela) *end = at + count; at < end; at++) {
        const uintptr_t slot = library->l_addr + at->r_offset;

        if (strcmp(names + symbols[at->r_info >> 32].st_name, name))
            continue;
        if (mprotect((void *)(slot & ~(page - 1)), page, PROT_READ | PROT_WRITE))
            return false;
        *(void **)slot = function;
        return true;
    }
    return false;
}

void basic_change(void)
{
    void *library = dlopen("libpocl.so.2", RTLD_NOW | RTLD_NOLOAD);
    struct link_map *map = NULL;

    if (!library || dlinfo(library, RTLD_DI_LINKMAP, &map) ||
        !redirect(map, "pthread_mutex_init", (void *)init_recursive))
        fprintf(stderr, "discrete: PoCL's locks stay as they are\n");
}

/* ---- events that wait for user events ---- */

static struct held {
    struct held *next;
    cl_event event;
} * all_held;

void basic_hold(cl_event event)
{
    struct held *held = malloc(sizeof(*held));

    if (!held || pocl.clRetainEvent(event))
        abort();
    pthread_mutex_lock(&lock);
    *held = (struct held){.next = all_held, .event = event};
    all_held = held;
    pthread_mutex_unlock(&lock);
}

static struct held *take_complete(void)
{
    struct held **at, *held;
    cl_int status;

    pthread_mutex_lock(&lock);
    for (at = &all_held; *at; at = &(*at)->next) {
        if (!pocl.clGetEventInfo((*at)->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL) &&
            status <= CL_COMPLETE)
            break;
    }
    held = *at;
    if (held)
        *at = held->next;
    pthread_mutex_unlock(&lock);
    return held;
}

void basic_release(void)
{
    for (struct held *held; (held = take_complete());) {
        pocl.clReleaseEvent(held->event);
        free(held);
    }
}
