/*
 * Fields other than objects, as members of a struct: for a pass over commands.def that makes structs of it (wire.h,
 * executor/commands.h). Included before fields.h.
 */
#define END                                                                                                            \
    }                                                                                                                  \
    ;
#define NUMBER(name) uint32_t name;
#define U32(name) uint32_t name;
#define I32(name) int32_t name;
#define U64(name) uint64_t name;
#define RANGE(name, low, high) uint32_t name;
#define BITS(name, mask) uint64_t name;
#define NUMBERS(name, most)                                                                                            \
    const uint32_t *name;                                                                                              \
    uint32_t name##_count;
#define STATUS(name) int32_t name;
#define XYZ(name) uint64_t name[3];
#define U64S(name, most)                                                                                               \
    uint32_t name##_count;                                                                                             \
    uint64_t name[most];
#define REGION(name, kinds) struct wire_region name;
#define BLOB(name, most)                                                                                               \
    const void *name;                                                                                                  \
    uint32_t name##_length;
