/* Room for contents at the application's host, in memory or in a file without a name; it may grow. */
#ifndef VOCL_CLIENT_SURVIVE_ROOM_H
#define VOCL_CLIENT_SURVIVE_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct room {
    char *directory; /* NULL: in memory */
    int fd;
    uint8_t *bytes; /* NULL: not mapped */
    size_t size, mapped;
};

/* ---- room.c ---- */
/* In memory, or, if a directory is named, in a file there. False: no memory. */
bool room_begin(struct room *room, const char *directory);
void room_end(struct room *room);
/* All of its size is there, and mapped; what was there before stays, perhaps elsewhere. 0, or a negative errno value
 * with the reason. */
int room_take(struct room *room, char *reason, size_t size);
/* Nothing of it is. */
void room_drop(struct room *room);
/* Its bytes, or NULL; and they are not looked at for a while. */
uint8_t *room_map(struct room *room);
void room_unmap(struct room *room);

#endif
