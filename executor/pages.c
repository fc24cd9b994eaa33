/*
 * Memory that has never been touched gets its pages one by one as it is filled, which takes longer than receiving the
 * data does. So large pages are requested, and the helper thread populates the pages of data that are about to come
 * while earlier data arrive. All of it is only advice.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "executor/internal.h"
#include "executor/pages.h"

#define LARGE ((size_t)4 << 20)
#define AT_ONCE ((size_t)2 << 20) /* bytes in one call: other threads of the process change its mappings in between */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* may be newer than the headers */
#endif

struct pages {
    struct slow slow;
    cl_mem memory; /* the object that the pages belong to, retained meanwhile */
    uintptr_t start, end;
};

static struct pages pages_of(const uint8_t *bytes, size_t size)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

    return (struct pages){.start = (uintptr_t)bytes & ~(page - 1),
                          .end = ((uintptr_t)bytes + size + page - 1) & ~(page - 1)};
}

void pages_advise(const uint8_t *bytes, size_t size)
{
    const struct pages pages = pages_of(bytes, size);

    if (bytes && size >= LARGE)
        madvise((void *)pages.start, pages.end - pages.start, MADV_HUGEPAGE);
}

static bool is_there(const uint8_t *byte)
{
    unsigned char there;

    return mincore((void *)pages_of(byte, 1).start, 1, &there) || there & 1;
}

static void touch(struct slow *slow)
{
    const struct pages *pages = (const struct pages *)slow;
    uintptr_t at = pages->start;

    while (at < pages->end &&
           !madvise((void *)at, pages->end - at < AT_ONCE ? pages->end - at : AT_ONCE, MADV_POPULATE_WRITE))
        at += AT_ONCE;
}

static void touched(struct executor *x, struct job *job)
{
    struct pages *pages = (struct pages *)job;

    (void)x;
    clReleaseMemObject(pages->memory);
    free(pages);
}

void pages_touch(struct executor *x, cl_mem memory, const uint8_t *bytes, size_t size)
{
    struct pages *pages;

    if (!bytes || size < LARGE || (is_there(bytes) && is_there(bytes + size - 1)))
        return;
    pages = malloc(sizeof(*pages));
    if (!pages)
        return;
    *pages = pages_of(bytes, size);
    pages->memory = memory;
    clRetainMemObject(memory);
    pages->slow.work = touch;
    pages->slow.job.run = touched;
    slow_start(x, &pages->slow);
}
