/*
 * Memory that processes of one host and one user share: a file without a name (memfd_create), which its owner makes and
 * others open through /proc. Its size is sealed, as what could be cut short under others' hands would be their end, and
 * it is its owner's alone. A process number and a descriptor may be those of another host's process, so where it
 * matters the memory says itself whose it is.
 */
#ifndef VOCL_BASE_MEMORY_H
#define VOCL_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#define MEMORY_NONCE 16

/* How others find it. */
struct memory_address {
    uint32_t process, descriptor;
    uint8_t nonce[MEMORY_NONCE];
};

/* What stands at its start. */
struct memory_owner {
    uint8_t nonce[MEMORY_NONCE];
    uint32_t process;
};

/* The system keeps what is below it free, to find NULL that is followed (vm.mmap_min_addr); but not from root. */
#define MEMORY_LOWEST ((uint64_t)1 << 16)

/* For mmap(2): at that address, if nothing is there; an old kernel takes it for a wish. So does the thread sanitizer,
 * which leaves a wish out that it does not like: what remains is to be at NULL, where root may have memory. */
#ifdef __SANITIZE_THREAD__
#define MEMORY_AT 0
#else
#define MEMORY_AT MAP_FIXED_NOREPLACE
#endif

/* Memory of this process alone, at just that address: NULL if it cannot be there, or something is. protection: of
 * mmap(2). */
uint8_t *memory_map_at(uint64_t address, size_t size, int protection);

/* Another process' descriptor of a regular file of this user's, opened here; its size in bytes. The descriptor, or a
 * negative errno. */
int memory_of_process(uint32_t process, uint32_t descriptor, uint64_t *size);

/* So many bytes of zeros, mapped; at: NULL, or where they have to be. The descriptor, which may be closed when the
 * others have it, or a negative errno. */
int memory_create(size_t bytes, void *at, uint8_t **out);
/* Another's, mapped here: at least so many bytes, of a sealed size. 0 or a negative errno. */
int memory_attach(uint32_t process, uint32_t descriptor, size_t bytes, void *at, uint8_t **out);

/* The same for those who know no more than the address: memory that begins with its owner. -EXDEV: it is another's. */
int memory_offer(size_t bytes, struct memory_address *address, uint8_t **out);
int memory_accept(const struct memory_address *address, size_t bytes, uint8_t **out);

#endif
