/*
 * Memory shared by processes of one host and one user: a file without a name (memfd_create), which its owner creates
 * and others open through /proc. Its size is sealed, as a file that is truncated would kill its users, and its mode
 * lets only its owner in. A PID and a descriptor may belong to a process of another host, so where it matters the
 * memory itself says whose it is.
 */
#ifndef VOCL_BASE_MEMORY_H
#define VOCL_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#define MEMORY_NONCE 16

/* How other processes find it. */
struct memory_address {
    uint32_t process, descriptor;
    uint8_t nonce[MEMORY_NONCE];
};

/* What it begins with. */
struct memory_owner {
    uint8_t nonce[MEMORY_NONCE];
    uint32_t process;
};

/* The system keeps addresses below this unmapped, to catch NULL dereferences (vm.mmap_min_addr); but not for root. */
#define MEMORY_LOWEST ((uint64_t)1 << 16)

/* A flag of mmap(2): map at that address, if it is free. An old kernel takes the address for a hint. The thread
 * sanitizer drops a hint that it does not like, and the address is then NULL, where root may have memory. */
#ifdef __SANITIZE_THREAD__
#define MEMORY_AT 0
#else
#define MEMORY_AT MAP_FIXED_NOREPLACE
#endif

/* Maps private memory of this process at exactly that address; returns NULL if that is impossible or taken. protection:
 * of mmap(2). */
uint8_t *memory_map_at(uint64_t address, size_t size, int protection);

/* Opens another process' descriptor of a regular file of this user, and gets its size in bytes. Returns the descriptor
 * or a negative errno. */
int memory_of_process(uint32_t process, uint32_t descriptor, uint64_t *size);

/* Creates and maps `bytes` zero bytes. at: NULL, or the address required. Returns the descriptor, which may be closed
 * when the others have it, or a negative errno. */
int memory_create(size_t bytes, void *at, uint8_t **out);
/* Maps another process' memory, of at least `bytes` bytes and a sealed size. Returns 0 or a negative errno. */
int memory_attach(uint32_t process, uint32_t descriptor, size_t bytes, void *at, uint8_t **out);

/* The same for memory that begins with its owner, for processes that know nothing but its address. memory_accept()
 * returns -EXDEV if the memory is another one. */
int memory_offer(size_t bytes, struct memory_address *address, uint8_t **out);
int memory_accept(const struct memory_address *address, size_t bytes, uint8_t **out);

#endif
