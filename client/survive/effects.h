/* What a journal needs to know about commands, derived from wire/commands.def (effects.c). */
#ifndef VOCL_CLIENT_SURVIVE_EFFECTS_H
#define VOCL_CLIENT_SURVIVE_EFFECTS_H

#include "wire/wire.h"

enum effect { EFFECT_NONE, EFFECT_MAKES, EFFECT_CHANGES, EFFECT_RELEASES, EFFECT_RUNS, EFFECT_PASSES };

/* Returns EFFECT_NONE for what is never sent to a worker. */
enum effect effect_of(uint16_t number);

/* Fields of a command that mean the same in all commands; 0 where the command lacks the field. */
struct outline {
    uint32_t call;
    bool slow;
    uint32_t queue, event, subscribe; /* of an ENQUEUE, as is the wait list */
    const uint32_t *wait;
    uint32_t wait_count;
    uint32_t data_in, data_out; /* tags */
    bool contents;              /* it carries contents, inline or under a tag */
    uint32_t worker;            /* another worker that the command names */
    uint64_t shared;            /* an address in memory that both sides share */
    const char *bound;          /* why it cannot be replayed to another worker, or NULL */
};

/* False if the command is malformed. */
bool outline_get(uint16_t number, struct wire_cursor fields, struct outline *out);

/* Called for each object that a command names, in the order of its fields. makes: the command creates the object. */
typedef void effect_visit(void *argument, unsigned kind, uint32_t id, bool makes);
bool effect_each_object(uint16_t number, struct wire_cursor fields, effect_visit *visit, void *argument);

/* How a command is rewritten. */
struct rewriting {
    bool empty;          /* without contents */
    bool apart;          /* what was in the arena is in the worker's own memory */
    const unsigned *now; /* new numbers of other workers: now[OLD], 0 for those that stay */
};

/* Appends the rewritten command, if rewriting changes it, and says whether it does. */
bool effect_rewrite(struct wire_buffer *out, uint16_t number, struct wire_cursor fields, const struct rewriting *how);
/* Rewrites all these commands in place, except those whose length would change. */
void effect_rewrite_all(struct wire_buffer *commands, const struct rewriting *how);

#endif
