/* The distance of another member, and what it means for the connections with it. */
#ifndef VOCL_TRANSPORT_STREAM_DISTANCE_H
#define VOCL_TRANSPORT_STREAM_DISTANCE_H

#include <stdint.h>

/* Returns the best round trip so far in microseconds; 0: the connection is not TCP's. */
long distance_us(int fd);
/* Returns how many connections for bulk data are needed at that distance, at most `most`: the system limits the bytes
 * under way on each. */
unsigned distance_streams(long us, unsigned most);
/* The same on a link that carries `rate` bytes per second. */
unsigned distance_streams_at(uint64_t rate, long us, unsigned most);
/* Returns the bytes that may be under way on all connections together, between `least` and `most`. */
uint64_t distance_window(long us, uint64_t least, uint64_t most);
/* Makes the socket's buffer as large as the system allows, so that a message fits whole and need not wait for bytes
 * under way. */
void distance_make_room(int fd, long us);
/* With many connections, limits each one's unsent bytes to what it sends soon: otherwise data given to a slow
 * connection would keep the others waiting. */
void distance_share(int fd, unsigned count);

#endif
