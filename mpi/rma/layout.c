/* See layout.h. */
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/rma/layout.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int keyval = MPI_KEYVAL_INVALID;

/* ---- what a datatype is made of ---- */

#if MPI_VERSION >= 4
typedef MPI_Count amount;
#else
typedef int amount;
#endif

struct contents {
    int combiner;
    amount integer_count, address_count, large_count, type_count;
    MPI_Datatype *types;
};

static bool envelope(MPI_Datatype datatype, struct contents *c)
{
    *c = (struct contents){0};
#if MPI_VERSION >= 4
    return !PMPI_Type_get_envelope_c(datatype, &c->integer_count, &c->address_count, &c->large_count, &c->type_count,
                                     &c->combiner);
#else
    return !PMPI_Type_get_envelope(datatype, &c->integer_count, &c->address_count, &c->type_count, &c->combiner);
#endif
}

/* The datatypes that it was made of; those that are not MPI's own are to be freed. */
static bool open_contents(MPI_Datatype datatype, struct contents *c)
{
    int *integers = malloc(((size_t)c->integer_count + 1) * sizeof(*integers));
    MPI_Aint *addresses = malloc(((size_t)c->address_count + 1) * sizeof(*addresses));
    MPI_Count *large = malloc(((size_t)c->large_count + 1) * sizeof(*large));
    bool good = integers && addresses && large;

    c->types = malloc(((size_t)c->type_count + 1) * sizeof(MPI_Datatype));
    good = good && c->types;
#if MPI_VERSION >= 4
    good = good && !PMPI_Type_get_contents_c(datatype, c->integer_count, c->address_count, c->large_count,
                                             c->type_count, integers, addresses, large, c->types);
#else
    good = good && !PMPI_Type_get_contents(datatype, c->integer_count, c->address_count, c->type_count, integers,
                                           addresses, c->types);
#endif
    free(integers);
    free(addresses);
    free(large);
    if (!good)
        free(c->types);
    return good;
}

static void close_contents(struct contents *c)
{
    struct contents one;

    for (amount i = 0; i < c->type_count; i++) {
        if (envelope(c->types[i], &one) && one.combiner != MPI_COMBINER_NAMED && one.type_count)
            PMPI_Type_free(&c->types[i]);
    }
    free(c->types);
}

/* Of the types that Fortran's kinds select there is nothing to be asked but the size. */
static bool fortran_kind(MPI_Datatype datatype, int combiner, enum xtq_type *type)
{
    int bytes = 0;

    PMPI_Type_size(datatype, &bytes);
    if (combiner == MPI_COMBINER_F90_REAL)
        *type = bytes == 4 ? XTQ_FLOAT : XTQ_DOUBLE;
    else
        *type = bytes == 8 ? XTQ_INT64 : bytes == 4 ? XTQ_INT32 : bytes == 2 ? XTQ_INT16 : XTQ_INT8;
    return (combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_INTEGER) &&
           xtq_type_bytes(*type) == (size_t)bytes;
}

/* The one type of all its elements. */
static bool element_type(MPI_Datatype datatype, enum xtq_type *type)
{
    struct contents c;
    bool found = false, good;

    if (!envelope(datatype, &c))
        return false;
    if (c.combiner == MPI_COMBINER_NAMED)
        return intercept_type(datatype, type);
    if (!c.type_count)
        return fortran_kind(datatype, c.combiner, type);
    good = open_contents(datatype, &c);
    if (!good)
        return false;
    for (amount i = 0; i < c.type_count && good; i++) {
        enum xtq_type one;
        MPI_Count bytes = 0;

        PMPI_Type_size_x(c.types[i], &bytes);
        if (!bytes)
            continue;
        good = element_type(c.types[i], &one) && (!found || one == *type);
        *type = good ? one : *type;
        found = true;
    }
    close_contents(&c);
    return good && found;
}

/* ---- where the elements lie ---- */

static bool pack(const void *from, MPI_Datatype datatype, void *into, MPI_Count bytes)
{
#if MPI_VERSION >= 4
    MPI_Count end = 0;

    return !PMPI_Pack_c(from, 1, datatype, into, bytes, &end, MPI_COMM_SELF) && end == bytes;
#else
    int end = 0;

    return bytes <= INT_MAX && !PMPI_Pack(from, 1, datatype, into, (int)bytes, &end, MPI_COMM_SELF) && end == bytes;
#endif
}

/*
 * The offsets from the first byte, in MPI's order, whatever the datatype was made by: memory in which each byte says
 * where it is has been packed. A byte says eight bits of that; so once for each eight.
 */
static bool find_offsets(MPI_Datatype datatype, MPI_Aint first, size_t span, size_t element, size_t count,
                         uint64_t *offsets)
{
    size_t bytes = count * element;
    uint8_t *memory = malloc(span), *packed = malloc(bytes);
    bool good = memory && packed;

    memset(offsets, 0, count * sizeof(*offsets));
    for (unsigned shift = 0; good && shift < 64 && (span - 1) >> shift; shift += 8) {
        for (size_t i = 0; i < span; i++)
            memory[i] = (uint8_t)(i >> shift);
        good = pack((void *)((uintptr_t)memory - (uintptr_t)first), datatype, packed, (MPI_Count)bytes);
        for (size_t i = 0; i < count && good; i++)
            offsets[i] |= (uint64_t)packed[i * element] << shift;
    }
    free(memory);
    free(packed);
    return good;
}

static size_t runs_make(struct run *runs, const uint64_t *offsets, size_t count, MPI_Aint first, size_t element)
{
    size_t made = 0;

    for (size_t i = 0; i < count; i++) {
        int64_t offset = (int64_t)offsets[i] + first;
        struct run *last = made ? &runs[made - 1] : NULL;

        if (last && offset == last->offset + (int64_t)(last->count * element))
            last->count++;
        else
            runs[made++] = (struct run){.offset = offset, .count = 1};
    }
    return made;
}

static struct layout *layout_allocate(enum xtq_type type, size_t count, MPI_Aint extent, size_t run_count)
{
    struct layout *layout = malloc(sizeof(*layout) + run_count * sizeof(*layout->runs));

    if (layout)
        *layout = (struct layout){.users = 1,
                                  .type = type,
                                  .element = xtq_type_bytes(type),
                                  .count = count,
                                  .extent = extent,
                                  .run_count = run_count};
    return layout;
}

static struct layout *layout_make(MPI_Datatype datatype)
{
    MPI_Count size = 0;
    MPI_Aint lower, extent, first, span;
    enum xtq_type type;
    struct layout *layout = NULL, *shorter;
    uint64_t *offsets;
    size_t element, count;

    if (!element_type(datatype, &type) || PMPI_Type_size_x(datatype, &size) ||
        PMPI_Type_get_extent(datatype, &lower, &extent) || PMPI_Type_get_true_extent(datatype, &first, &span) ||
        size < 1 || span < 1)
        return NULL;
    element = xtq_type_bytes(type);
    count = (size_t)size / element;
    offsets = malloc(count * sizeof(*offsets));
    if (offsets && find_offsets(datatype, first, (size_t)span, element, count, offsets))
        layout = layout_allocate(type, count, extent, count);
    if (layout) {
        layout->run_count = runs_make(layout->runs, offsets, count, first, element);
        shorter = realloc(layout, sizeof(*layout) + layout->run_count * sizeof(*layout->runs));
        layout = shorter ? shorter : layout;
    }
    free(offsets);
    return layout;
}

/* ---- keeping ---- */

struct layout *layout_keep(struct layout *layout)
{
    __atomic_fetch_add(&layout->users, 1, __ATOMIC_RELAXED);
    return layout;
}

void layout_release(struct layout *layout)
{
    if (layout && __atomic_fetch_sub(&layout->users, 1, __ATOMIC_ACQ_REL) == 1)
        free(layout);
}

static int on_type_free(MPI_Datatype datatype, int key, void *value, void *extra)
{
    (void)datatype;
    (void)key;
    (void)extra;
    layout_release(value);
    return MPI_SUCCESS;
}

static struct layout *derived_layout(MPI_Datatype datatype)
{
    struct layout *layout = NULL;
    int found = 0;

    pthread_mutex_lock(&lock);
    if (keyval == MPI_KEYVAL_INVALID)
        PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, on_type_free, &keyval, NULL);
    PMPI_Type_get_attr(datatype, keyval, &layout, &found);
    if (!found) {
        layout = layout_make(datatype);
        PMPI_Type_set_attr(datatype, keyval, layout);
    }
    if (layout)
        layout_keep(layout);
    pthread_mutex_unlock(&lock);
    return layout;
}

struct layout *layout_of(MPI_Datatype datatype)
{
    enum xtq_type type;
    struct layout *layout;
    struct contents c;

    if (!intercept_type(datatype, &type))
        return datatype != MPI_DATATYPE_NULL && envelope(datatype, &c) && c.combiner != MPI_COMBINER_NAMED
                   ? derived_layout(datatype)
                   : NULL;
    layout = layout_allocate(type, 1, (MPI_Aint)xtq_type_bytes(type), 1);
    if (layout)
        layout->runs[0] = (struct run){.count = 1};
    return layout;
}

/* ---- copying ---- */

bool layout_is_dense(const struct layout *layout, size_t count, int64_t *first)
{
    *first = layout->runs[0].offset;
    return layout->run_count == 1 && (count == 1 || layout->extent == (MPI_Aint)(layout->count * layout->element));
}

void layout_gather(const struct layout *layout, size_t count, const void *from, void *elements)
{
    uint8_t *into = elements;

    for (size_t i = 0; i < count; i++) {
        const uint8_t *at = (const uint8_t *)from + (int64_t)i * layout->extent;

        for (size_t k = 0; k < layout->run_count; k++) {
            size_t bytes = layout->runs[k].count * layout->element;

            memcpy(into, at + layout->runs[k].offset, bytes);
            into += bytes;
        }
    }
}

void layout_scatter(const struct layout *layout, size_t count, const void *elements, void *into)
{
    const uint8_t *from = elements;

    for (size_t i = 0; i < count; i++) {
        uint8_t *at = (uint8_t *)into + (int64_t)i * layout->extent;

        for (size_t k = 0; k < layout->run_count; k++) {
            size_t bytes = layout->runs[k].count * layout->element;

            memcpy(at + layout->runs[k].offset, from, bytes);
            from += bytes;
        }
    }
}
