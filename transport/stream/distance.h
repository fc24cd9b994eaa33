/* How far another member is, and what follows from that for connections with it. */
#ifndef VOCL_TRANSPORT_STREAM_DISTANCE_H
#define VOCL_TRANSPORT_STREAM_DISTANCE_H

#include <stdint.h>

/* Microseconds of a round trip on the connection so far, at best; 0: it is none of TCP's. */
long distance_us(int fd);
/* How many connections for bulk data are enough for so far, at most so many: what one may have under way is the
 * system's to say. */
unsigned distance_streams(long us, unsigned most);
/* The same on a link that carries so many bytes a second. */
unsigned distance_streams_at(uint64_t rate, long us, unsigned most);
/* Bytes that are to be allowed on their way, of all connections together, between `least` and `most`. */
uint64_t distance_window(long us, uint64_t least, uint64_t most);
/* What is sent there finds room with the system as a whole, and need not wait for what is under way. */
void distance_make_room(int fd, long us);
/* Of many connections each takes no more than it soon sends, or what is given to a slower one keeps the others waiting.
 */
void distance_share(int fd, unsigned count);

#endif
