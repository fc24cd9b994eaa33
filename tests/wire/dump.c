/* Prints the protocol, a line for each command and field, as in tests/wire/protocol.expected. */
#include <stdio.h>

#include "wire/wire.h"

int main(void)
{
    printf("version %d\n", WIRE_VERSION);
#define SEND(name, number) printf("send %d " #name "\n", number);
#define NOTE(name, number) printf("note %d " #name "\n", number);
#define PEER(name, number) printf("peer %d " #name "\n", number);
#define CALL(name, number) printf("call %d " #name "\n", number);
#define SLOW_CALL(name, number) printf("slow call %d " #name "\n", number);
#define REPLY(name) printf("  reply\n");
#define ID(kind, name) NUMBER(name)
#define NUMBER(name) printf("  id " #name "\n");
#define NEW_ID(kind, name) printf("  new id " #name "\n");
#define U32(name) printf("  u32 " #name "\n");
#define I32(name) printf("  i32 " #name "\n");
#define U64(name) printf("  u64 " #name "\n");
#define RANGE(name, low, high) printf("  u32 " #name " %u to %u\n", low, high);
#define BITS(name, mask) printf("  u64 " #name " of %#x\n", mask);
#define NUMBERS(name, most) printf("  ids " #name ", at most %u\n", most);
#define U64S(name, most) printf("  u64s " #name ", at most %u\n", most);
#define REGION(name, kinds)                                                                                            \
    printf("  region " #name ":%s%s%s\n", (kinds)&WIRE_PIECE ? " piece" : "", (kinds)&WIRE_RECT ? " rect" : "",        \
           (kinds)&WIRE_IMAGE ? " image" : "");
#define STATUS(name) printf("  i32 " #name ", at most 0\n");
#define XYZ(name) printf("  3 u64 " #name "\n");
#define BLOB(name, most) printf("  bytes " #name ", at most %u\n", most);
#include "wire/fields.h"
#include "wire/commands.def"
#include "wire/fields_end.h"
    return 0;
}
