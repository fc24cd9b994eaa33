/*
 * The protocol as C: one struct and one number for each command of commands.def, and the functions that encode, decode
 * and show them. Layout on the wire, little-endian: a command is { u32 length, u16 number, u16 zero } and its fields
 * in order, each padded to 4 bytes, the whole padded to 8. A frame is one or more commands, back to back.
 */
#ifndef VOCL_WIRE_WIRE_H
#define VOCL_WIRE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/cursor.h"

#include "wire/frame.h"

#define WIRE_MAX_DEVICES 256
#define WIRE_MAX_WAIT (1u << 24) /* as many as there are event numbers */
#define WIRE_MAX_AFTER 4096
#define WIRE_MAX_OBJECTS (1u << 20) /* in one list */
#define WIRE_MAX_INLINE 16384
#define WIRE_MAX_ARGUMENTS (1u << 20)
#define WIRE_MAX_RECORDED (2u << 20)
#define WIRE_MAX_INFO (1u << 20)
#define WIRE_MAX_TIMELINE 32768
#define WIRE_MAX_BLOB (192u << 20)

#define WIRE_INFO_LIMITED 0x7f000001u /* of a device: bytes that the session may use; absent without a limit */
#define WIRE_INFO_TWIN                                                                                                 \
    0x7f000002u /* of a device: u32, how many earlier ones of its platform have its UUID; absent: 0 */
/* Of a platform: present if its driver answers CL_DEVICE_NOT_FOUND for device types that OpenCL does not have. */
#define WIRE_INFO_NO_SUCH_TYPE 0x7f000003u
#define WIRE_MAX_TIMES 1000000      /* most times that one command repeats a launch */
#define WIRE_EAGER_LIMIT (1u << 20) /* bytes of contents that one worker sends another unasked */
#define WIRE_MAX_REPEATED 512       /* bytes of a command that can be repeated */
#define WIRE_MAX_PATCH 128
#define WIRE_GRANULE 4096 /* bytes of a buffer that are taken together when some have changed */

/* In a command's subscribe: its call has returned as if the command had ended, so later commands, in any queue of the
 * context, come after it. */
#define WIRE_ORDERS 8u

#define WIRE_HEADER 8
#define WIRE_REPLY 0x8000u /* the answer to call n has number n | WIRE_REPLY */

/* Kinds of objects; each has its own numbers. */
enum wire_kind {
    WIRE_DEVICE = 1,
    WIRE_CONTEXT,
    WIRE_QUEUE,
    WIRE_MEMORY,
    WIRE_SAMPLER,
    WIRE_PROGRAM,
    WIRE_KERNEL,
    WIRE_EVENT,
    WIRE_COMMAND_BUFFER,
    WIRE_KIND_LAST = WIRE_COMMAND_BUFFER
};

/* Queries of get_info, with what object (and second) are. */
enum wire_info {
    WIRE_INFO_DEVICE = 1,      /* device */
    WIRE_INFO_MEMORY,          /* memory */
    WIRE_INFO_IMAGE,           /* memory */
    WIRE_INFO_PROGRAM,         /* program */
    WIRE_INFO_BUILD,           /* program, device */
    WIRE_INFO_KERNEL,          /* kernel */
    WIRE_INFO_KERNEL_ARGUMENT, /* kernel, argument index */
    WIRE_INFO_WORK_GROUP,      /* kernel, device */
    WIRE_INFO_SUB_GROUP,       /* kernel, device */
    WIRE_INFO_IMAGE_FORMATS,   /* context, second = image type; input = u64 flags; value = cl_image_format[] */
    WIRE_INFO_TIMERS,          /* device; value = two u64: device, host */
    WIRE_INFO_BINARIES,        /* program; value = u64 size and bytes for each device, in order */
    WIRE_INFO_EVENT,           /* event */
    WIRE_INFO_COMMAND_BUFFER,  /* command buffer */
    WIRE_INFO_LOCAL_SIZE,      /* kernel, queue; input = struct wire_work_size; value = u64[3], a local size */
    WIRE_INFO_LAST = WIRE_INFO_LOCAL_SIZE
};

struct wire_work_size {
    uint32_t dims, has_offset;
    uint64_t offset[3], global[3];
};

/* Kinds of unified shared memory. */
enum wire_usm { WIRE_USM_HOST = 1, WIRE_USM_DEVICE, WIRE_USM_SHARED, WIRE_USM_LAST = WIRE_USM_SHARED };

enum wire_hint { WIRE_HINT_MIGRATE = 1, WIRE_HINT_ADVISE, WIRE_HINT_LAST = WIRE_HINT_ADVISE };

/*
 * Part of a memory object. On the wire: its kind, its size, and those of the three arrays that the kind has:
 *
 * piece   of a buffer   origin: offset
 * rect    of a buffer   origin: bytes, rows, slices   region: the same   pitch: of rows, of slices
 * image   of an image   origin: pixels                region: pixels
 */
enum wire_region_kind {
    WIRE_PIECE = 1,
    WIRE_RECT = 2,
    WIRE_IMAGE = 4,
    WIRE_ANY_REGION = WIRE_PIECE | WIRE_RECT | WIRE_IMAGE
};
#define WIRE_MAX_REGION (UINT64_C(1) << 40) /* bytes, at least 1 */
struct wire_region {
    enum wire_region_kind kind;
    uint64_t size; /* bytes */
    uint64_t origin[3], region[3], pitch[2];
};

enum wire_number {
#define SEND(name, number) WIRE_##name = number,
#define CALL(name, number) WIRE_##name = number,
#define NOTE(name, number) WIRE_##name = number,
#define PEER(name, number) WIRE_##name = number,
#include "wire/fields.h"
#include "wire/commands.def"
#include "wire/fields_end.h"
};

#define SEND(name, number) struct wire_##name {
#define CALL(name, number)                                                                                             \
    struct wire_##name {                                                                                               \
        uint32_t call;
#define NOTE(name, number) struct wire_##name {
#define PEER(name, number) struct wire_##name {
#define REPLY(name)                                                                                                    \
    }                                                                                                                  \
    ;                                                                                                                  \
    struct wire_##name##_reply {                                                                                       \
        uint32_t call;
#include "wire/members.h"
#include "wire/fields.h"
#include "wire/commands.def"
#include "wire/fields_end.h"

/* ---- patch.c ---- */

#define WIRE_NO_PATCH UINT32_MAX
/* Computes the patch that turns one command into another of the same length and header. Returns its length, or
 * WIRE_NO_PATCH if it is too long. */
uint32_t wire_diff(const void *before, const void *after, size_t length, uint8_t patch[WIRE_MAX_PATCH]);
/* Applies a patch. Returns false if it does not fit. */
bool wire_patch(void *bytes, size_t length, const void *patch, uint32_t patch_length);

/* ---- encode.c, decode.c ---- */

/* wire_put_X appends a command; a failure (out of memory, a list above its limit) sticks in the buffer. */
#define SEND(name, number) void wire_put_##name(struct wire_buffer *out, const struct wire_##name *m);
#define CALL(name, number) SEND(name, number)
#define NOTE(name, number) SEND(name, number)
#define PEER(name, number) SEND(name, number)
#define REPLY(name) void wire_put_##name##_reply(struct wire_buffer *out, const struct wire_##name##_reply *m);
#include "wire/fields.h"
#include "wire/commands.def"
#include "wire/fields_end.h"

/* wire_get_X decodes the fields of one command, and returns false if anything is out of bounds. Lists and blobs point
 * into the frame. Numbers of objects still have to be looked up. */
#define SEND(name, number) bool wire_get_##name(struct wire_cursor *in, struct wire_##name *m);
#define CALL(name, number) SEND(name, number)
#define NOTE(name, number) SEND(name, number)
#define PEER(name, number) SEND(name, number)
#define REPLY(name) bool wire_get_##name##_reply(struct wire_cursor *in, struct wire_##name##_reply *m);
#include "wire/fields.h"
#include "wire/commands.def"
#include "wire/fields_end.h"

/* What the description says about a command beside its fields. */
enum wire_flag { WIRE_RECORDABLE = 1, WIRE_LAUNCH = 2 };
unsigned wire_flags(uint16_t number);
/* Whether the command is an ENQUEUE. */
bool wire_is_enqueue(uint16_t number);

/*
 * Takes the next command off a frame: its number, and a cursor over its fields. Returns 1, 0 at the frame's end, or -1
 * if the frame is malformed.
 */
int wire_next(struct wire_cursor *frame, uint16_t *number, struct wire_cursor *fields);
/* Returns the length of the whole commands at the start of bytes that fit in `most` bytes, or of the first one if that
 * is longer. */
size_t wire_whole(const uint8_t *bytes, size_t length, size_t most);

/* ---- show.c, trace.c ---- */

/* Shows one command as a line of text, for VOCL_TRACE and for logs. Always terminated. */
void wire_show(const void *command, size_t length, char *text, size_t text_size);

/* Logs the commands of a frame, a line for each, if VOCL_TRACE asks for it. direction: "->", "<-" or, in a replay,
 * "=>". */
void wire_trace(const char *direction, unsigned peer, const void *frame, size_t length);

/* Returns a command's name, such as "enqueue_ndrange", or "unknown". */
const char *wire_name(uint16_t number);

#endif
