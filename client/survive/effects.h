/* What a journal has to know of commands, as wire/commands.def says it (effects.c). */
#ifndef VOCL_CLIENT_SURVIVE_EFFECTS_H
#define VOCL_CLIENT_SURVIVE_EFFECTS_H

#include "wire/wire.h"

enum effect { EFFECT_NONE, EFFECT_MAKES, EFFECT_CHANGES, EFFECT_RELEASES, EFFECT_RUNS, EFFECT_PASSES };

/* EFFECT_NONE: nothing that is sent to a worker. */
enum effect effect_of(uint16_t number);

/* What a command has of fields that mean the same in all commands, and 0 for what it has not. */
struct outline {
    uint32_t call;
    bool slow;
    uint32_t queue, event, subscribe; /* of an ENQUEUE, as is the list */
    const uint32_t *wait;
    uint32_t wait_count;
    uint32_t data_in, data_out; /* tags */
    bool contents;              /* it brings some, here or under a tag */
    uint32_t worker;            /* the other one */
    uint64_t shared;            /* the address in memory that both sides have */
    const char *bound;          /* why it cannot be told to another worker, or NULL */
};

/* False if the command is malformed. */
bool outline_get(uint16_t number, struct wire_cursor fields, struct outline *out);

/* Called with each object that a command names, in its order. makes: the command makes it. */
typedef void effect_visit(void *argument, unsigned kind, uint32_t id, bool makes);
bool effect_each_object(uint16_t number, struct wire_cursor fields, effect_visit *visit, void *argument);

/* How a command is to be another one. */
struct rewriting {
    bool empty;          /* without contents */
    bool apart;          /* what is in the arena is in memory of the worker's */
    const unsigned *now; /* the numbers of other workers: now[NUMBER], 0 for those that stay */
};

/* Puts it, if it is another one then, and says whether. */
bool effect_rewrite(struct wire_buffer *out, uint16_t number, struct wire_cursor fields, const struct rewriting *how);
/* The same with all of these commands, where they are. Not for what changes their length. */
void effect_rewrite_all(struct wire_buffer *commands, const struct rewriting *how);

#endif
