/* What of the memory a datatype means: pieces, by how it was made (MPI 3.1, 4.1). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/device/device.h"

/* ---- lists of pieces ---- */

void pieces_free(struct pieces *pieces)
{
    free(pieces->list);
    *pieces = (struct pieces){0};
}

static int push(struct pieces *to, const struct piece *piece)
{
    if (to->count == to->room) {
        size_t room = to->room ? 2 * to->room : 8;
        struct piece *more = realloc(to->list, room * sizeof(*more));

        if (!more)
            return -ENOMEM;
        to->list = more;
        to->room = room;
    }
    to->list[to->count++] = *piece;
    return 0;
}

/* The last, if it is one block more of those before it. */
static void fold(struct pieces *p)
{
    struct piece *last, *before;

    if (p->count < 2)
        return;
    last = &p->list[p->count - 1];
    before = last - 1;
    if (last->count != 1 || last->bytes != before->bytes)
        return;
    if (before->count == 1 && last->offset > before->offset + (int64_t)before->bytes)
        before->stride = (size_t)(last->offset - before->offset);
    else if (before->count == 1 || last->offset != before->offset + (int64_t)(before->count * before->stride))
        return;
    before->count++;
    p->count--;
}

static int add(struct pieces *to, struct piece piece)
{
    struct piece *last = to->count ? &to->list[to->count - 1] : NULL;

    if (!piece.bytes || !piece.count)
        return 0;
    if (piece.count > 1 && piece.stride == piece.bytes)
        piece = (struct piece){.offset = piece.offset, .bytes = piece.bytes * piece.count, .count = 1};
    if (last && last->count == 1 && piece.count == 1 && piece.offset == last->offset + (int64_t)last->bytes) {
        last->bytes += piece.bytes;
        return 0;
    }
    fold(to);
    return push(to, &piece);
}

/* So many of a list at a distance. */
static int repeat(struct pieces *to, const struct pieces *one, size_t count, int64_t offset, int64_t step)
{
    const struct piece *piece = one->list;
    int error = 0;

    if (one->count == 1 && piece->count == 1 && step >= (int64_t)piece->bytes)
        return add(to, (struct piece){piece->offset + offset, piece->bytes, count, (size_t)step});
    for (size_t i = 0; i < count && !error; i++) {
        for (size_t k = 0; k < one->count && !error; k++) {
            struct piece moved = one->list[k];

            moved.offset += offset + (int64_t)i * step;
            error = add(to, moved);
        }
    }
    return error;
}

void pieces_extent(const struct pieces *pieces, int64_t *first, int64_t *end)
{
    *first = pieces->count ? INT64_MAX : 0;
    *end = pieces->count ? INT64_MIN : 0;
    for (size_t i = 0; i < pieces->count; i++) {
        const struct piece *p = &pieces->list[i];
        int64_t last = p->offset + (int64_t)((p->count - 1) * p->stride + p->bytes);

        *first = p->offset < *first ? p->offset : *first;
        *end = last > *end ? last : *end;
    }
}

void pieces_cut(struct pieces *pieces, size_t bytes)
{
    for (size_t i = 0; i < pieces->count; i++) {
        struct piece *p = &pieces->list[i];

        if (bytes >= p->bytes * p->count) {
            bytes -= p->bytes * p->count;
            continue;
        }
        if (bytes % p->bytes && bytes > p->bytes) { /* whole blocks, and a part of one */
            struct piece part = {
                .offset = p->offset + (int64_t)(bytes / p->bytes * p->stride), .bytes = bytes % p->bytes, .count = 1};

            p->count = bytes / p->bytes;
            pieces->list[++i] = part; /* there is room for it: pieces_make() */
        } else if (bytes < p->bytes) {
            *p = (struct piece){.offset = p->offset, .bytes = bytes, .count = 1};
        } else {
            p->count = bytes / p->bytes;
        }
        pieces->count = bytes ? i + 1 : i;
        return;
    }
}

/* ---- datatypes ---- */

#if MPI_VERSION >= 4
typedef MPI_Count amount;
#else
typedef int amount;
#endif

/* How a datatype was made, and from what. */
struct made {
    int combiner;
    amount integer_count, address_count, large_count, type_count;
    int *integers;
    MPI_Aint *addresses;
    MPI_Datatype *types;
};

static int make(MPI_Datatype datatype, struct pieces *out);

static bool made_ask(MPI_Datatype datatype, struct made *m)
{
    *m = (struct made){0};
#if MPI_VERSION >= 4
    return !PMPI_Type_get_envelope_c(datatype, &m->integer_count, &m->address_count, &m->large_count, &m->type_count,
                                     &m->combiner);
#else
    return !PMPI_Type_get_envelope(datatype, &m->integer_count, &m->address_count, &m->type_count, &m->combiner);
#endif
}

static bool is_mpis_own(const struct made *m)
{
    return m->combiner == MPI_COMBINER_NAMED || !m->type_count;
}

static int made_open(MPI_Datatype datatype, struct made *m)
{
    m->integers = malloc(((size_t)m->integer_count + 1) * sizeof(*m->integers));
    m->addresses = malloc(((size_t)m->address_count + 1) * sizeof(*m->addresses));
    m->types = malloc(((size_t)m->type_count + 1) * sizeof(MPI_Datatype));
    if (!m->integers || !m->addresses || !m->types)
        m->type_count = 0;
    else if (!PMPI_Type_get_contents(datatype, (int)m->integer_count, (int)m->address_count, (int)m->type_count,
                                     m->integers, m->addresses, m->types))
        return 0;
    else
        m->type_count = 0;
    return -ENOMEM;
}

static void made_close(struct made *m)
{
    struct made one;

    for (amount i = 0; i < m->type_count; i++) {
        if (made_ask(m->types[i], &one) && !is_mpis_own(&one))
            PMPI_Type_free(&m->types[i]);
    }
    free(m->integers);
    free(m->addresses);
    free(m->types);
}

static int64_t extent_of(MPI_Datatype datatype)
{
    MPI_Aint first, extent = 0;

    PMPI_Type_get_extent(datatype, &first, &extent);
    return extent;
}

/* One of MPI's own; of pairs with a hole it cannot be asked where that is. */
static int make_own(MPI_Datatype datatype, struct pieces *out)
{
    MPI_Count bytes = 0;
    MPI_Aint first, span;

    if (PMPI_Type_size_x(datatype, &bytes) || PMPI_Type_get_true_extent(datatype, &first, &span) || span != bytes)
        return -EOPNOTSUPP;
    return add(out, (struct piece){.offset = first, .bytes = (size_t)bytes, .count = 1});
}

/* Blocks of a datatype: lengths and displacements, which are bytes. */
struct blocks {
    const int *lengths;
    int64_t length; /* of all, where lengths is NULL */
    const int *places;
    const MPI_Aint *addresses;
    int64_t unit; /* of places */
};

static int make_blocks(const struct pieces *one, int64_t extent, amount count, const struct blocks *b,
                       struct pieces *out)
{
    int error = 0;

    for (amount i = 0; i < count && !error; i++)
        error = repeat(out, one, (size_t)(b->lengths ? b->lengths[i] : b->length),
                       b->addresses ? b->addresses[i] : b->places[i] * b->unit, extent);
    return error;
}

static int make_vector(const struct pieces *one, int64_t extent, const struct made *m, int64_t step, struct pieces *out)
{
    struct pieces block = {0};
    int error = repeat(&block, one, (size_t)m->integers[1], 0, extent);

    if (!error)
        error = repeat(out, &block, (size_t)m->integers[0], 0, step);
    pieces_free(&block);
    return error;
}

/* The fastest dimension first: rows, then planes of these, and so on. */
static int make_subarray(const struct pieces *one, int64_t extent, const struct made *m, struct pieces *out)
{
    const int dimensions = m->integers[0], *sizes = m->integers + 1, *parts = sizes + dimensions,
              *starts = parts + dimensions;
    const bool c = m->integers[1 + 3 * dimensions] == MPI_ORDER_C;
    struct pieces rows = {0}, planes = {0};
    int error = repeat(&rows, one, 1, 0, extent);

    for (int i = 0; i < dimensions && !error; i++) {
        const int k = c ? dimensions - 1 - i : i;

        error = repeat(&planes, &rows, (size_t)parts[k], starts[k] * extent, extent);
        fold(&planes);
        pieces_free(&rows);
        rows = planes;
        planes = (struct pieces){0};
        extent *= sizes[k];
    }
    if (!error)
        error = repeat(out, &rows, 1, 0, extent);
    pieces_free(&rows);
    pieces_free(&planes);
    return error;
}

static int make_struct(const struct made *m, struct pieces *out)
{
    int error = 0;

    for (int i = 0; i < m->integers[0] && !error; i++) {
        struct pieces one = {0};

        error = make(m->types[i], &one);
        if (!error)
            error = repeat(out, &one, (size_t)m->integers[1 + i], m->addresses[i], extent_of(m->types[i]));
        pieces_free(&one);
    }
    return error;
}

static int make_from(const struct made *m, const struct pieces *one, int64_t extent, struct pieces *out)
{
    const int *n = m->integers;

    switch (m->combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
        return repeat(out, one, 1, 0, extent);
    case MPI_COMBINER_CONTIGUOUS:
        return repeat(out, one, (size_t)n[0], 0, extent);
    case MPI_COMBINER_VECTOR:
        return make_vector(one, extent, m, n[2] * extent, out);
    case MPI_COMBINER_HVECTOR:
        return make_vector(one, extent, m, m->addresses[0], out);
    case MPI_COMBINER_INDEXED:
        return make_blocks(one, extent, n[0],
                           &(struct blocks){.lengths = n + 1, .places = n + 1 + n[0], .unit = extent}, out);
    case MPI_COMBINER_HINDEXED:
        return make_blocks(one, extent, n[0], &(struct blocks){.lengths = n + 1, .addresses = m->addresses}, out);
    case MPI_COMBINER_INDEXED_BLOCK:
        return make_blocks(one, extent, n[0], &(struct blocks){.length = n[1], .places = n + 2, .unit = extent}, out);
    case MPI_COMBINER_HINDEXED_BLOCK:
        return make_blocks(one, extent, n[0], &(struct blocks){.length = n[1], .addresses = m->addresses}, out);
    case MPI_COMBINER_SUBARRAY:
        return make_subarray(one, extent, m, out);
    default:
        return -EOPNOTSUPP;
    }
}

static int make(MPI_Datatype datatype, struct pieces *out)
{
    struct pieces one = {0};
    struct made m;
    int error;

    if (datatype == MPI_DATATYPE_NULL || !made_ask(datatype, &m))
        return -EOPNOTSUPP;
    if (is_mpis_own(&m))
        return make_own(datatype, out);
    if (m.large_count)
        return -EOPNOTSUPP;
    error = made_open(datatype, &m);
    if (!error && m.combiner == MPI_COMBINER_STRUCT)
        error = make_struct(&m, out);
    else if (!error && !(error = make(m.types[0], &one)))
        error = make_from(&m, &one, extent_of(m.types[0]), out);
    fold(out);
    pieces_free(&one);
    made_close(&m);
    return error;
}

static int made_whole(struct pieces *out, int error)
{
    fold(out);
    if (!error && !(error = push(out, &(struct piece){0}))) /* room for pieces_cut() */
        out->count--;
    if (error)
        pieces_free(out);
    return error;
}

int pieces_make_blocks(MPI_Datatype datatype, const struct block *blocks, int count, struct pieces *out)
{
    const int64_t extent = extent_of(datatype);
    struct pieces one = {0};
    int error = make(datatype, &one);

    *out = (struct pieces){0};
    for (int i = 0; i < count && !error; i++)
        error = repeat(out, &one, (size_t)blocks[i].count, blocks[i].place * extent, extent);
    pieces_free(&one);
    return made_whole(out, error);
}

int pieces_make_typed(const MPI_Datatype *datatypes, const struct block *blocks, int count, struct pieces *out)
{
    int error = 0;

    *out = (struct pieces){0};
    for (int i = 0; i < count && !error; i++) {
        struct pieces one = {0};

        if (!blocks[i].count)
            continue;
        error = make(datatypes[i], &one);
        if (!error)
            error = repeat(out, &one, (size_t)blocks[i].count, blocks[i].place, extent_of(datatypes[i]));
        pieces_free(&one);
    }
    return made_whole(out, error);
}

int pieces_make(MPI_Datatype datatype, MPI_Count count, struct pieces *out)
{
    return pieces_make_blocks(datatype, &(struct block){.count = count}, 1, out);
}
