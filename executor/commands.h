/*
 * The commands as their handlers get them: the structs of wire/wire.h with objects in the place of their numbers, made
 * by dispatch.c. The queue, event and wait list with which every command in a queue begins are in struct command
 * instead. Lists of objects are valid until the handler returns.
 */
#ifndef VOCL_EXECUTOR_COMMANDS_H
#define VOCL_EXECUTOR_COMMANDS_H

#include "executor/objects.h"
#include "wire/wire.h"

struct command;
struct executor;

/* The same description makes structs for replies and notes, which are not used. */
#define SEND(name, number) struct exec_##name {
#define ENQUEUE(name, number) SEND(name, number)
#define CALL(name, number)                                                                                             \
    SEND(name, number)                                                                                                 \
    uint32_t call;
#define NOTE(name, number) SEND(name, number)
#define PEER(name, number) SEND(name, number)
#define REPLY(name)                                                                                                    \
    }                                                                                                                  \
    ;                                                                                                                  \
    struct exec_##name##_reply {                                                                                       \
        uint32_t call;
#define NEW_EVENT
#define WAIT_LIST
#define ID(kind, name) OBJECT_##kind *name;
#define NEW_ID(kind, name) OBJECT_##kind *name;
#define ID_OF(field, name) struct object *name;
#define MAY_BE_GONE(kind, name)                                                                                        \
    OBJECT_##kind *name;                                                                                               \
    uint32_t name##_id;
#define IDS(kind, name, most)                                                                                          \
    OBJECT_##kind *const *name;                                                                                        \
    uint32_t name##_count;
#include "wire/members.h"
#include "wire/fields.h"
#include "wire/commands.def"
#include "wire/fields_end.h"

/* Each returns 0, or a negative errno if the application broke the protocol: the session ends. The result of the
 * command itself is in its reply, in its object's error, or, for a command in a queue, in c->error. */
#define SEND(name, number) int exec_##name(struct executor *x, const struct exec_##name *m);
#define ENQUEUE(name, number) int exec_##name(struct command *c, const struct exec_##name *m);
#define CALL(name, number) SEND(name, number)
#define PEER(name, number) int exec_##name(struct executor *x, unsigned peer, const struct exec_##name *m);
/* The answer to a CALL; contains the number of the call. */
#define REPLY(name) void reply_##name(struct executor *x, const struct wire_##name##_reply *m);
#include "wire/fields.h"
#include "wire/commands.def"
#include "wire/fields_end.h"

#endif
