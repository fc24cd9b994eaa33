/* Words of commands.def that a pass did not define mean nothing to it. Followed by commands.def, then fields_end.h. */
#ifndef SEND
#define SEND(name, number)
#endif
#ifndef CALL
#define CALL(name, number)
#endif
#ifndef SLOW_CALL
#define SLOW_CALL(name, number)
#endif
#ifndef NOTE
#define NOTE(name, number)
#endif
#ifndef FELLOW
#define FELLOW(name, number)
#endif
#ifndef REPLY
#define REPLY(name)
#endif
#ifndef END
#define END
#endif
#ifndef ID
#define ID(name)
#endif
#ifndef NEW_ID
#define NEW_ID(name)
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
#ifndef BITS
#define BITS(name, mask)
#endif
#ifndef IDS
#define IDS(name, most)
#endif
#ifndef U64S
#define U64S(name, most)
#endif
#ifndef BLOB
#define BLOB(name, most)
#endif
