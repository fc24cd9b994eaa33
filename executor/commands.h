/*
 * The commands as their handlers get them: the structs of wire/wire.h with objects in place of their numbers, made by
 * dispatch.c. What every command in a queue begins with is in struct command instead: queue, event, wait list. Lists
 * of objects are there until the handler returns.
 */
#ifndef VOCL_EXECUTOR_COMMANDS_H
#define VOCL_EXECUTOR_COMMANDS_H

#include "executor/objects.h"
#include "wire/wire.h"

struct command;
struct executor;

/* Those of replies and notes come of the same description, and nobody uses them. */
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

/* Each returns 0, or a negative errno value if the application broke the protocol: the session ends. How the command
 * itself went is in its reply, in its object's error, or, of one in a queue, in c->error. */
#define SEND(name, number) int exec_##name(struct executor *x, const struct exec_##name *m);
#define ENQUEUE(name, number) int exec_##name(struct command *c, const struct exec_##name *m);
#define CALL(name, number) SEND(name, number)
#define PEER(name, number) int exec_##name(struct executor *x, unsigned peer, const struct exec_##name *m);
/* The answer to a CALL, whose number is in it. */
#define REPLY(name) void reply_##name(struct executor *x, const struct wire_##name##_reply *m);
#include "wire/fields.h"
#include "wire/commands.def"
#include "wire/fields_end.h"

#endif
