/* See layout.h. */
#include <pthread.h>
#include <stdlib.h>

#include "mpi/rma/layout.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int keyval = MPI_KEYVAL_INVALID;

static struct layout *layout_make(MPI_Datatype datatype)
{
    struct layout *layout = calloc(1, sizeof(*layout));
    MPI_Aint lower;

    if (!layout)
        return NULL;
    if (pieces_make(datatype, 1, &layout->pieces) || !pieces_type(&layout->pieces, &layout->type) ||
        PMPI_Type_get_extent(datatype, &lower, &layout->extent)) {
        pieces_free(&layout->pieces);
        free(layout);
        return NULL;
    }
    layout->users = 1;
    layout->element = xtq_type_bytes(layout->type);
    layout->count = pieces_bytes(&layout->pieces) / layout->element;
    return layout;
}

static struct layout *basic_layout(enum xtq_type type)
{
    struct layout *layout = malloc(sizeof(*layout));
    const size_t bytes = xtq_type_bytes(type);

    if (!layout)
        return NULL;
    *layout = (struct layout){.users = 1,
                              .type = type,
                              .element = bytes,
                              .count = 1,
                              .extent = (MPI_Aint)bytes,
                              .pieces = {.list = &layout->one, .count = 1},
                              .one = {.rows = {.bytes = bytes, .count = 1}}};
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
    if (!layout || __atomic_fetch_sub(&layout->users, 1, __ATOMIC_ACQ_REL) > 1)
        return;
    if (layout->pieces.list != &layout->one)
        pieces_free(&layout->pieces);
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

    if (intercept_type(datatype, &type))
        return basic_layout(type);
    return type_is_own(datatype) ? NULL : derived_layout(datatype);
}

/* ---- copying ---- */

bool layout_is_dense(const struct layout *layout, size_t count, int64_t *first)
{
    *first = layout->pieces.list->offset;
    return layout->pieces.count == 1 && layout->pieces.list->rows.count == 1 &&
           (count == 1 || layout->extent == (MPI_Aint)(layout->count * layout->element));
}

void layout_gather(const struct layout *layout, size_t count, const void *from, void *elements)
{
    const size_t bytes = layout->count * layout->element;

    for (size_t i = 0; i < count; i++)
        pieces_pack(&layout->pieces, place_at(from, (int64_t)i * layout->extent), place_at(elements, i * bytes), bytes);
}

void layout_scatter(const struct layout *layout, size_t count, const void *elements, void *into)
{
    const size_t bytes = layout->count * layout->element;

    for (size_t i = 0; i < count; i++)
        pieces_unpack(&layout->pieces, place_at(into, (int64_t)i * layout->extent), place_at(elements, i * bytes),
                      bytes);
}
