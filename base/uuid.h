/* UUIDs of names (RFC 9562, version 5): the same name in the same space has the same UUID everywhere. */
#ifndef VOCL_BASE_UUID_H
#define VOCL_BASE_UUID_H

#include <stddef.h>
#include <stdint.h>

#define UUID_BYTES 16

extern const uint8_t uuid_dns[UUID_BYTES]; /* the space of domain names */

void uuid_of_name(const uint8_t space[UUID_BYTES], const void *name, size_t length, uint8_t uuid[UUID_BYTES]);

#endif
