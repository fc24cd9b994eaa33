/*
 * Defaults for the words of commands.def that a pass did not define: some stand for others, the rest mean nothing to
 * it. Followed by commands.def, then fields_end.h. A pass over the bytes on the wire defines NUMBER and NUMBERS for all
 * kinds of objects.
 */
#ifndef SEND
#define SEND(name, number)
#endif
#ifndef ENQUEUE
#define ENQUEUE(name, number) SEND(name, number) ID(QUEUE, queue)
#endif
#ifndef CALL
#define CALL(name, number)
#endif
#ifndef SLOW_CALL
#define SLOW_CALL(name, number) CALL(name, number)
#endif
#ifndef NOTE
#define NOTE(name, number)
#endif
#ifndef PEER
#define PEER(name, number)
#endif
#ifndef REPLY
#define REPLY(name)
#endif
#ifndef END
#define END
#endif
#ifndef MAKES
#define MAKES
#endif
#ifndef CHANGES
#define CHANGES
#endif
#ifndef RELEASES
#define RELEASES
#endif
#ifndef RUNS
#define RUNS
#endif
#ifndef PASSES
#define PASSES
#endif
#ifndef BINDS
#define BINDS(why)
#endif
#ifndef BINDS_UNLESS
#define BINDS_UNLESS(field, why)
#endif
#ifndef RECORDABLE
#define RECORDABLE
#endif
#ifndef LAUNCH
#define LAUNCH
#endif
#ifndef NEW_EVENT
#define NEW_EVENT NEW_ID(EVENT, event) U32(subscribe)
#endif
#ifndef EVENT_NEEDED
#define EVENT_NEEDED NEW_EVENT
#endif
#ifndef WAIT_LIST
#define WAIT_LIST IDS(EVENT, wait, WIRE_MAX_WAIT)
#endif
#ifndef ID
#define ID(kind, name) NUMBER(name)
#endif
#ifndef OPTIONAL_ID
#define OPTIONAL_ID(kind, name) ID(kind, name)
#endif
#ifndef ID_OF
#define ID_OF(field, name) NUMBER(name)
#endif
#ifndef NEW_ID
#define NEW_ID(kind, name) NUMBER(name)
#endif
#ifndef MAY_BE_GONE
#define MAY_BE_GONE(kind, name) ID(kind, name)
#endif
#ifndef IDS
#define IDS(kind, name, most) NUMBERS(name, most)
#endif
#ifndef NEW_IDS
#define NEW_IDS(kind, name, most) NUMBERS(name, most)
#endif
#ifndef NUMBER
#define NUMBER(name)
#endif
#ifndef NUMBERS
#define NUMBERS(name, most)
#endif
#ifndef DATA_IN
#define DATA_IN(name) U32(name)
#endif
#ifndef DATA_OUT
#define DATA_OUT(name) U32(name)
#endif
#ifndef CONTENTS
#define CONTENTS(name, most) BLOB(name, most)
#endif
#ifndef SHARED_AT
#define SHARED_AT(name) U64(name)
#endif
#ifndef U32
#define U32(name)
#endif
#ifndef I32
#define I32(name)
#endif
#ifndef U64
#define U64(name)
#endif
#ifndef RANGE
#define RANGE(name, low, high)
#endif
#ifndef OTHER_WORKER
#define OTHER_WORKER(name) RANGE(name, 1, 65535)
#endif
#ifndef STATUS
#define STATUS(name)
#endif
#ifndef XYZ
#define XYZ(name)
#endif
#ifndef BITS
#define BITS(name, mask)
#endif
#ifndef U64S
#define U64S(name, most)
#endif
#ifndef REGION
#define REGION(name, kinds)
#endif
#ifndef BLOB
#define BLOB(name, most)
#endif
