/* See pieces.h. The layout of a datatype is derived from how it was made (MPI 3.1, 4.1). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/pieces.h"

/* ---- lists of pieces ---- */

#define SEVERAL (-1)

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

/* Merges the last piece with the one before, if it is one more block of that. */
static void fold(struct pieces *p)
{
    struct piece *last, *before;

    if (p->count < 2)
        return;
    last = &p->list[p->count - 1];
    before = last - 1;
    if (last->rows.count != 1 || last->rows.bytes != before->rows.bytes)
        return;
    if (before->rows.count == 1 && last->offset > before->offset + (int64_t)before->rows.bytes)
        before->rows.stride = (size_t)(last->offset - before->offset);
    else if (before->rows.count == 1 ||
             last->offset != before->offset + (int64_t)(before->rows.count * before->rows.stride))
        return;
    before->rows.count++;
    p->count--;
}

static int add(struct pieces *to, int64_t offset, struct rows rows)
{
    struct piece *last = to->count ? &to->list[to->count - 1] : NULL;

    if (!rows.bytes || !rows.count)
        return 0;
    if (rows.count > 1 && rows.stride == rows.bytes)
        rows = (struct rows){.bytes = rows.bytes * rows.count, .count = 1};
    if (last && last->rows.count == 1 && rows.count == 1 && offset == last->offset + (int64_t)last->rows.bytes) {
        last->rows.bytes += rows.bytes;
        return 0;
    }
    fold(to);
    return push(to, &(struct piece){offset, rows});
}

/* Adds count copies of a list, a distance of step apart. */
static int repeat(struct pieces *to, const struct pieces *one, size_t count, int64_t offset, int64_t step)
{
    const struct piece *piece = one->list;
    int error = 0;

    if (one->count && to->element != one->element)
        to->element = to->element ? SEVERAL : one->element;
    if (one->count == 1 && piece->rows.count == 1 && step >= (int64_t)piece->rows.bytes)
        return add(to, piece->offset + offset, (struct rows){piece->rows.bytes, count, (size_t)step});
    for (size_t i = 0; i < count && !error; i++) {
        for (size_t k = 0; k < one->count && !error; k++)
            error = add(to, one->list[k].offset + offset + (int64_t)i * step, one->list[k].rows);
    }
    return error;
}

bool pieces_type(const struct pieces *pieces, enum xtq_type *type)
{
    if (pieces->element > 0)
        *type = (enum xtq_type)(pieces->element - 1);
    return pieces->element > 0;
}

size_t pieces_bytes(const struct pieces *pieces)
{
    size_t bytes = 0;

    for (size_t i = 0; i < pieces->count; i++)
        bytes += pieces->list[i].rows.bytes * pieces->list[i].rows.count;
    return bytes;
}

void pieces_extent(const struct pieces *pieces, int64_t *first, int64_t *end)
{
    *first = pieces->count ? INT64_MAX : 0;
    *end = pieces->count ? INT64_MIN : 0;
    for (size_t i = 0; i < pieces->count; i++) {
        const struct rows *rows = &pieces->list[i].rows;
        int64_t offset = pieces->list[i].offset,
                last = offset + (int64_t)((rows->count - 1) * rows->stride + rows->bytes);

        *first = offset < *first ? offset : *first;
        *end = last > *end ? last : *end;
    }
}

int pieces_walk(const struct pieces *pieces, size_t most, pieces_do *what, void *argument)
{
    int error = 0;

    for (size_t i = 0; i < pieces->count && most && !error; i++) {
        struct piece piece = pieces->list[i];
        const size_t bytes = piece.rows.bytes, count = piece.rows.count;

        piece.rows.count = most / bytes < count ? most / bytes : count;
        if (piece.rows.count)
            error = what(argument, &piece);
        most -= piece.rows.count * bytes;
        if (piece.rows.count == count)
            continue;
        piece.offset += (int64_t)(piece.rows.count * piece.rows.stride);
        piece.rows = (struct rows){.bytes = most, .count = 1};
        return error || !most ? error : what(argument, &piece);
    }
    return error;
}

struct packing {
    uint8_t *address, *packed;
    bool into;
};

static int pack(void *argument, const struct piece *piece)
{
    struct packing *p = argument;
    const struct rows *rows = &piece->rows;
    uint8_t *at = place_at(p->address, piece->offset);

    if (p->into)
        rows_copy(p->packed, rows->bytes, at, rows->stride, rows->bytes, rows->count);
    else
        rows_copy(at, rows->stride, p->packed, rows->bytes, rows->bytes, rows->count);
    p->packed += rows->bytes * rows->count;
    return 0;
}

void pieces_pack(const struct pieces *pieces, const void *address, uint8_t *packed, size_t most)
{
    pieces_walk(pieces, most, pack, &(struct packing){place_at(address, 0), packed, true});
}

void pieces_unpack(const struct pieces *pieces, void *address, const uint8_t *packed, size_t most)
{
    pieces_walk(pieces, most, pack, &(struct packing){address, (uint8_t *)(uintptr_t)packed, false});
}

/* ---- datatypes ---- */

#if MPI_VERSION >= 4
typedef MPI_Count amount;
#else
typedef int amount;
#endif

/* How a datatype was made, and from which datatypes. */
struct made {
    int combiner;
    amount integer_count, address_count, large_count, type_count;
    MPI_Count *numbers; /* integers, addresses, and MPI 4's large counts, in this order */
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

bool type_is_own(MPI_Datatype datatype)
{
    struct made m;

    return datatype == MPI_DATATYPE_NULL || !made_ask(datatype, &m) || m.combiner == MPI_COMBINER_NAMED;
}

static int made_read(MPI_Datatype datatype, struct made *m, int *integers, MPI_Aint *addresses)
{
    MPI_Count *numbers = m->numbers;
    int result;

#if MPI_VERSION >= 4
    result = PMPI_Type_get_contents_c(datatype, m->integer_count, m->address_count, m->large_count, m->type_count,
                                      integers, addresses, numbers + m->integer_count + m->address_count, m->types);
#else
    result = PMPI_Type_get_contents(datatype, m->integer_count, m->address_count, m->type_count, integers, addresses,
                                    m->types);
#endif
    for (amount i = 0; i < m->integer_count && !result; i++)
        *numbers++ = integers[i];
    for (amount i = 0; i < m->address_count && !result; i++)
        *numbers++ = addresses[i];
    return result ? -EOPNOTSUPP : 0;
}

static int made_open(MPI_Datatype datatype, struct made *m)
{
    const size_t all = (size_t)(m->integer_count + m->address_count + m->large_count);
    int *integers = malloc(((size_t)m->integer_count + 1) * sizeof(*integers)), error = -ENOMEM;
    MPI_Aint *addresses = malloc(((size_t)m->address_count + 1) * sizeof(*addresses));

    m->numbers = malloc((all + 1) * sizeof(*m->numbers));
    m->types = malloc(((size_t)m->type_count + 1) * sizeof(MPI_Datatype));
    if (integers && addresses && m->numbers && m->types)
        error = made_read(datatype, m, integers, addresses);
    if (error)
        m->type_count = 0;
    free(integers);
    free(addresses);
    return error;
}

static void made_close(struct made *m)
{
    struct made one;

    for (amount i = 0; i < m->type_count; i++) {
        if (made_ask(m->types[i], &one) && !is_mpis_own(&one))
            PMPI_Type_free(&m->types[i]);
    }
    free(m->numbers);
    free(m->types);
}

static int64_t extent_of(MPI_Datatype datatype)
{
    MPI_Aint first, extent = 0;

    PMPI_Type_get_extent(datatype, &first, &extent);
    return extent;
}

/* Returns the type of a datatype that Fortran's kinds select, of which MPI tells only the size. */
static bool fortran_kind(int combiner, MPI_Count bytes, enum xtq_type *type)
{
    if (combiner == MPI_COMBINER_F90_REAL)
        *type = bytes == 4 ? XTQ_FLOAT : XTQ_DOUBLE;
    else
        *type = bytes == 8 ? XTQ_INT64 : bytes == 4 ? XTQ_INT32 : bytes == 2 ? XTQ_INT16 : XTQ_INT8;
    return (combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_INTEGER) &&
           xtq_type_bytes(*type) == (size_t)bytes;
}

/* Adds a predefined datatype. MPI does not tell where the hole in a pair is, so such a pair is refused. */
static int make_own(MPI_Datatype datatype, int combiner, struct pieces *out)
{
    MPI_Count bytes = 0;
    MPI_Aint first, span;
    enum xtq_type type;

    if (PMPI_Type_size_x(datatype, &bytes) || PMPI_Type_get_true_extent(datatype, &first, &span) || span != bytes)
        return -EOPNOTSUPP;
    out->element = intercept_type(datatype, &type) || fortran_kind(combiner, bytes, &type) ? 1 + (int)type : SEVERAL;
    return add(out, first, (struct rows){.bytes = (size_t)bytes, .count = 1});
}

/* Adds blocks of individual lengths, or all of the first length, at displacements in extents or bytes. */
static int make_blocks(const struct made *m, const struct pieces *one, int64_t extent, struct pieces *out)
{
    const bool own = m->combiner == MPI_COMBINER_INDEXED || m->combiner == MPI_COMBINER_HINDEXED;
    const bool extents = m->combiner == MPI_COMBINER_INDEXED || m->combiner == MPI_COMBINER_INDEXED_BLOCK;
    const MPI_Count count = m->numbers[0], *lengths = m->numbers + 1, *places = lengths + (own ? count : 1);
    int error = 0;

    for (MPI_Count i = 0; i < count && !error; i++)
        error = repeat(out, one, (size_t)lengths[own ? i : 0], places[i] * (extents ? extent : 1), extent);
    return error;
}

static int make_vector(const struct made *m, const struct pieces *one, int64_t extent, struct pieces *out)
{
    const MPI_Count *n = m->numbers;
    struct pieces block = {0};
    int error = repeat(&block, one, (size_t)n[1], 0, extent);

    if (!error)
        error = repeat(out, &block, (size_t)n[0], 0, n[2] * (m->combiner == MPI_COMBINER_VECTOR ? extent : 1));
    pieces_free(&block);
    return error;
}

/* Which elements of a dimension are in an array: length elements from first on, repeated every step. */
struct cut {
    MPI_Count first, length, step, whole;
};

/* The numbers are in MPI's order, with large counts, if any, at the end. */
static struct cut cut_subarray(const struct made *m, int k)
{
    const MPI_Count dimensions = m->numbers[0], *sizes = m->numbers + (m->large_count ? 2 : 1);
    const MPI_Count *parts = sizes + dimensions, *starts = parts + dimensions;

    return (struct cut){starts[k], parts[k], sizes[k], sizes[k]};
}

static const MPI_Count *distributions(const struct made *m)
{
    return m->numbers + 3 + (m->large_count ? 0 : m->numbers[2]);
}

/* Processes are numbered in the order of C's arrays, whatever the order of the array itself. */
static struct cut cut_darray(const struct made *m, int k)
{
    const MPI_Count dimensions = m->numbers[2], *kinds = distributions(m), *arguments = kinds + dimensions,
                    *processes = arguments + dimensions;
    const MPI_Count whole = m->large_count ? processes[dimensions + 1 + k] : m->numbers[3 + k];
    MPI_Count place = m->numbers[1], length = arguments[k];

    for (MPI_Count i = dimensions - 1; i > k; i--)
        place /= processes[i];
    place %= processes[k];
    if (kinds[k] == MPI_DISTRIBUTE_NONE)
        length = whole;
    else if (length == MPI_DISTRIBUTE_DFLT_DARG)
        length = kinds[k] == MPI_DISTRIBUTE_BLOCK ? (whole + processes[k] - 1) / processes[k] : 1;
    return (struct cut){place * length, length, length * processes[k], whole};
}

/* Adds an array, by the fastest dimension first: rows, then planes of these, and so on. */
static int make_array(const struct made *m, const struct pieces *one, int64_t extent, struct pieces *out)
{
    const bool sub = m->combiner == MPI_COMBINER_SUBARRAY;
    const int dimensions = (int)m->numbers[sub ? 0 : 2];
    const MPI_Count order = !sub             ? distributions(m)[3 * dimensions]
                            : m->large_count ? m->numbers[1]
                                             : m->numbers[1 + 3 * dimensions];
    struct pieces rows = {0}, planes = {0};
    int error = repeat(&rows, one, 1, 0, extent);

    for (int i = 0; i < dimensions && !error; i++) {
        const int k = order == MPI_ORDER_C ? dimensions - 1 - i : i;
        const struct cut cut = sub ? cut_subarray(m, k) : cut_darray(m, k);

        for (MPI_Count at = cut.first; at < cut.whole && !error; at += cut.step)
            error = repeat(&planes, &rows, (size_t)(cut.length < cut.whole - at ? cut.length : cut.whole - at),
                           at * extent, extent);
        fold(&planes);
        pieces_free(&rows);
        rows = planes;
        planes = (struct pieces){0};
        extent *= cut.whole;
    }
    if (!error)
        error = repeat(out, &rows, 1, 0, extent);
    pieces_free(&rows);
    pieces_free(&planes);
    return error;
}

static int make_struct(const struct made *m, struct pieces *out)
{
    const MPI_Count count = m->numbers[0], *lengths = m->numbers + 1, *places = lengths + count;
    int error = 0;

    for (MPI_Count i = 0; i < count && !error; i++) {
        struct pieces one = {0};

        error = make(m->types[i], &one);
        if (!error)
            error = repeat(out, &one, (size_t)lengths[i], places[i], extent_of(m->types[i]));
        pieces_free(&one);
    }
    return error;
}

static int make_from(const struct made *m, const struct pieces *one, int64_t extent, struct pieces *out)
{
    switch (m->combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
        return repeat(out, one, 1, 0, extent);
    case MPI_COMBINER_CONTIGUOUS:
        return repeat(out, one, (size_t)m->numbers[0], 0, extent);
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
        return make_vector(m, one, extent, out);
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
        return make_blocks(m, one, extent, out);
    case MPI_COMBINER_SUBARRAY:
    case MPI_COMBINER_DARRAY:
        return make_array(m, one, extent, out);
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
        return make_own(datatype, m.combiner, out);
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

int pieces_make_blocks(const MPI_Datatype *datatypes, bool each, const struct block *blocks, int count,
                       struct pieces *out)
{
    struct pieces one = {0};
    bool made = false;
    int error = 0;

    *out = (struct pieces){0};
    for (int i = 0; i < count && !error; i++) {
        const MPI_Datatype datatype = datatypes[each ? i : 0];
        int64_t extent;

        if (!blocks[i].count)
            continue;
        if (each || !made) {
            pieces_free(&one);
            error = make(datatype, &one);
            made = true;
        }
        extent = extent_of(datatype);
        if (!error)
            error = repeat(out, &one, (size_t)blocks[i].count, blocks[i].place * (each ? 1 : extent), extent);
    }
    pieces_free(&one);
    fold(out);
    if (error)
        pieces_free(out);
    return error;
}

int pieces_make(MPI_Datatype datatype, MPI_Count count, struct pieces *out)
{
    return pieces_make_blocks(&datatype, false, &(struct block){.count = count}, 1, out);
}
