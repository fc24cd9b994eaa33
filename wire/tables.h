/* clang-format off */
/*
 * Contents of some blobs of the protocol: each is an array of records, read with the same cursors. A nested blob is
 * { u32 length, bytes }.
 *
 * info table       { u32 param, blob answer }   the answers of a clGet*Info function
 * description      for each platform: { blob info table, u32 device count } and for each of its devices
 *                  { u32 number, blob info table }
 * kernel table     for each kernel: { blob name, u32 argument count, blob attributes, u64[3] required work-group size,
 *                  or zeroes } and for each argument
 *                  { u32 size, u32 other size, u32 address, u32 access, u32 type qualifier, u32 known,
 *                  blob type name, blob name }
 *                  size: the one size that the native clSetKernelArg takes, 0 if it takes any; other size: another size
 *                  that it takes (for a vector of three, PoCL takes three elements or four), else the same
 *                  address, access: CL_KERNEL_ARG_*
 *                  known: the application may query it; the type name is present whenever the node knows the argument
 * argument list    { u32 index, u32 what, blob value }   what is an enum wire_argument
 */
/* clang-format on */
#ifndef VOCL_WIRE_TABLES_H
#define VOCL_WIRE_TABLES_H

#include "wire/cursor.h"

enum wire_argument {
    WIRE_ARGUMENT_VALUE = 1, /* bytes: the value */
    WIRE_ARGUMENT_LOCAL,     /* bytes: u64, the size of local memory */
    WIRE_ARGUMENT_MEMORY,    /* bytes: u32, a memory object's number, 0 for NULL */
    WIRE_ARGUMENT_SAMPLER,   /* bytes: u32, a sampler's number */
    WIRE_ARGUMENT_SVM,       /* bytes: u64, an address in shared memory, or 0 */
    WIRE_ARGUMENT_ADDRESS,   /* bytes: u64, an address in a buffer of create_addressed_buffer, or 0 */
};

struct wire_kernel_argument {
    uint32_t size, other_size, address, access, qualifier, known;
    const char *type_name, *name; /* not terminated */
    uint32_t type_name_length, name_length;
};

static inline void wire_put_blob(struct wire_buffer *out, const void *bytes, size_t length)
{
    wire_put_u32(out, (uint32_t)length);
    wire_put_bytes(out, bytes, length);
}

static inline const void *wire_get_blob(struct wire_cursor *in, uint32_t *length)
{
    const void *bytes;

    *length = wire_get_u32(in);
    bytes = wire_get_bytes(in, *length);
    if (!bytes)
        *length = 0;
    return bytes;
}

static inline void wire_put_info(struct wire_buffer *out, uint32_t param, const void *bytes, size_t length)
{
    wire_put_u32(out, param);
    wire_put_blob(out, bytes, length);
}

static inline bool wire_get_info(struct wire_cursor *in, uint32_t *param, const void **bytes, uint32_t *length)
{
    if (in->failed || in->left == 0)
        return false;
    *param = wire_get_u32(in);
    *bytes = wire_get_blob(in, length);
    return !in->failed;
}

static inline void wire_put_kernel_argument(struct wire_buffer *out, const struct wire_kernel_argument *a)
{
    wire_put_u32(out, a->size);
    wire_put_u32(out, a->other_size);
    wire_put_u32(out, a->address);
    wire_put_u32(out, a->access);
    wire_put_u32(out, a->qualifier);
    wire_put_u32(out, a->known);
    wire_put_blob(out, a->type_name, a->type_name_length);
    wire_put_blob(out, a->name, a->name_length);
}

static inline bool wire_get_kernel_argument(struct wire_cursor *in, struct wire_kernel_argument *a)
{
    a->size = wire_get_u32(in);
    a->other_size = wire_get_u32(in);
    a->address = wire_get_u32(in);
    a->access = wire_get_u32(in);
    a->qualifier = wire_get_u32(in);
    a->known = wire_get_u32(in);
    a->type_name = wire_get_blob(in, &a->type_name_length);
    a->name = wire_get_blob(in, &a->name_length);
    return !in->failed;
}

#endif
