/* Memory at an address: the program's, and a node's. */
#include <sys/mman.h>

#include "client/core/stream.h"
#include "client/memory/svm.h"

bool address_map(uint64_t address, size_t size, int protection)
{
    void *wanted = (void *)(uintptr_t)address, *memory;

    memory = mmap(wanted, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    if (memory == wanted)
        return true;
    munmap(memory, size); /* an old kernel, for which the address is a wish */
    return false;
}

void address_free(struct node *node, uint64_t address)
{
    const struct wire_svm_free m = {address};

    wire_put_svm_free(stream_begin(node), &m);
    stream_end(node, STREAM_LATER);
}
