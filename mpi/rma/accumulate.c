/*
 * MPI_Accumulate and all operations that are atomic with it: MPI_Get_accumulate, MPI_Fetch_and_op,
 * MPI_Compare_and_swap, and the forms with a request.
 *
 * Operations on an element of a window must be atomic against each other, so either all of them are puts to one queue,
 * or MPI does all. taken() decides this by properties that are the same for all of them at a time: the window, the type
 * of the elements, and the kind of epoch. So the operations of one rank are in order, too. MPI guarantees neither for
 * elements of different types.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/device/device.h"
#include "mpi/rma/window.h"

struct operand {
    const void *address; /* unused for the target's memory */
    MPI_Count count;
    MPI_Datatype datatype;
};

struct operation {
    MPI_Win win;
    int target;
    MPI_Aint place;
    MPI_Op op;
    const void *compare; /* MPI_Compare_and_swap */
    bool fetches;
    struct operand data, memory, result;
};

/* An operation as a put. The layouts must be released. */
struct shape {
    struct window *window;
    unsigned op;
    struct layout *data, *memory, *result; /* data: NULL with OP_NONE; result: NULL if it fetches nothing */
};

/* ---- the choice between XTQ and MPI ---- */

/* Returns the operation of a put; OPS: there is none. */
static unsigned shape_op(const struct operation *o)
{
    const MPI_Op bits[] = {[OP_BAND] = MPI_BAND, [OP_BOR] = MPI_BOR, [OP_BXOR] = MPI_BXOR,
                           [OP_LAND] = MPI_LAND, [OP_LOR] = MPI_LOR, [OP_LXOR] = MPI_LXOR};
    enum xtq_op combining;

    if (o->compare)
        return OP_SWAP;
    if (o->op == MPI_NO_OP && o->fetches)
        return OP_NONE;
    if (o->op == MPI_REPLACE)
        return XTQ_REPLACE;
    if (intercept_op(o->op, &combining))
        return combining;
    for (unsigned op = OP_BAND; op < OP_NONE; op++) {
        if (bits[op] == o->op)
            return op;
    }
    return OPS;
}

static bool same_elements(const struct operand *a, const struct layout *al, const struct operand *b,
                          const struct layout *bl)
{
    return al && bl && al->type == bl->type && (size_t)a->count * al->count == (size_t)b->count * bl->count;
}

static void shape_release(struct shape *shape)
{
    layout_release(shape->data);
    layout_release(shape->memory);
    layout_release(shape->result);
}

/* Whether the target is in an epoch. Operations with requests need one of MPI_Win_lock or MPI_Win_lock_all. */
static bool in_epoch(const struct window *window, int target, bool with_request)
{
    const struct target *t = &window->targets[target];

    if (window->started)
        return t->opened && !with_request;
    return t->locked || (window->fenced && !with_request);
}

/* Whether XTQ does an operation. Invalid operations are left to MPI, which reports the error. */
static bool taken(const struct operation *o, bool with_request, struct shape *shape)
{
    struct window *window = window_of(o->win);
    bool good;

    *shape = (struct shape){.window = window};
    if (!window || o->target < 0 || o->target >= window->size || o->memory.count < 0 ||
        !in_epoch(window, o->target, with_request))
        return false;
    shape->memory = layout_of(o->memory.datatype);
    shape->op = shape_op(o);
    good = shape->memory && window_op_fits(shape->memory->type, shape->op);
    if (good && shape->op != OP_NONE) {
        shape->data = layout_of(o->data.datatype);
        good = o->data.count >= 0 && same_elements(&o->data, shape->data, &o->memory, shape->memory);
    }
    if (good && o->fetches) {
        shape->result = layout_of(o->result.datatype);
        good = o->result.count >= 0 && same_elements(&o->result, shape->result, &o->memory, shape->memory);
    }
    if (!good)
        shape_release(shape);
    return good;
}

/* ---- sending ---- */

/* An operation that is being sent, in messages of at most MOST_RUNS runs and MOST_PAYLOAD bytes. */
struct sending {
    struct link *link;
    int target;
    struct fetch *fetch; /* or NULL */
    size_t element;
    const uint8_t *from; /* elements that have not been sent yet */
    size_t elements;     /* number of elements of the next message */
    uint64_t place;
    int64_t base; /* offset of the datatype in the target's memory */
    struct {
        struct xtq_function_packet packet;
        struct window_arguments a;
        struct run runs[MOST_RUNS];
    } command;
};

static int message_send(struct sending *s)
{
    struct window_arguments *a = &s->command.a;
    size_t bytes = s->elements * s->element, payload = a->op == OP_NONE ? 0 : a->op == OP_SWAP ? 2 * bytes : bytes;
    int error;

    if (!s->elements)
        return 0;
    a->place = s->place;
    if (s->fetch)
        fetch_expect(s->link, s->fetch);
    error = xtq_put(s->link->x, s->target, &s->command,
                    sizeof(s->command.packet) + sizeof(*a) + a->run_count * sizeof(struct run),
                    payload ? s->from : NULL, payload, 0, NULL);
    if (error && s->fetch)
        fetch_part(s->link, s->fetch, error);
    s->from += payload;
    s->place += bytes;
    s->elements = 0;
    a->run_count = 0;
    return error;
}

static int run_add(struct sending *s, int64_t offset, uint64_t count)
{
    struct window_arguments *a = &s->command.a;

    while (count) {
        uint64_t room = MOST_PAYLOAD / s->element - s->elements, some = count < room ? count : room;
        struct run *last = a->run_count ? &s->command.runs[a->run_count - 1] : NULL;

        if (!some || (a->run_count == MOST_RUNS && offset != last->offset + (int64_t)(last->count * s->element))) {
            int error = message_send(s);

            if (error)
                return error;
            continue;
        }
        if (last && offset == last->offset + (int64_t)(last->count * s->element))
            last->count += some;
        else
            s->command.runs[a->run_count++] = (struct run){.offset = offset, .count = some};
        s->elements += some;
        offset += (int64_t)(some * s->element);
        count -= some;
    }
    return 0;
}

static int rows_add(void *argument, const struct piece *piece)
{
    struct sending *s = argument;
    int error = 0;

    for (size_t i = 0; i < piece->rows.count && !error; i++)
        error = run_add(s, s->base + piece->offset + (int64_t)(i * piece->rows.stride), piece->rows.bytes / s->element);
    return error;
}

static int runs_send(struct sending *s, const struct layout *layout, size_t count, int64_t place)
{
    int64_t first;
    int error = 0;

    if (layout_is_dense(layout, count, &first))
        error = run_add(s, place + first, layout->count * count);
    else
        for (size_t i = 0; i < count && !error; i++) {
            s->base = place + (int64_t)i * layout->extent;
            error = pieces_walk(&layout->pieces, SIZE_MAX, rows_add, s);
        }
    return error ? error : message_send(s);
}

/* ---- the operation ---- */

/* Returns contiguous elements to send; with OP_SWAP both. They are in *copy, to be freed, if the program's are not
 * contiguous. */
static int data_make(const struct operation *o, const struct shape *shape, const uint8_t **from, uint8_t **copy)
{
    size_t element = shape->memory->element, count = (size_t)o->data.count;
    int64_t first;

    *from = *copy = NULL;
    if (shape->op == OP_NONE || !count)
        return 0;
    if (shape->op != OP_SWAP && layout_is_dense(shape->data, count, &first)) {
        *from = (const uint8_t *)((uintptr_t)o->data.address + (uintptr_t)first); /* the address may be MPI_BOTTOM */
        return 0;
    }
    *copy = malloc(2 * element + count * shape->data->count * element);
    if (!*copy)
        return -ENOMEM;
    *from = *copy;
    layout_gather(shape->data, count, o->data.address, *copy);
    if (shape->op == OP_SWAP)
        memcpy(*copy + element, o->compare, element);
    return 0;
}

static struct fetch *fetch_make(const struct operation *o, const struct shape *shape, struct completion *completion)
{
    struct fetch *fetch = calloc(1, sizeof(*fetch));
    size_t count = (size_t)o->result.count;
    int64_t first;

    if (!fetch)
        return NULL;
    fetch->target = o->target;
    fetch->fetching = shape->window->targets[o->target].fetching;
    fetch->completion = completion;
    fetch->bytes = count * shape->result->count * shape->result->element;
    if (layout_is_dense(shape->result, count, &first)) {
        fetch->elements = (uint8_t *)((uintptr_t)o->result.address + (uintptr_t)first);
    } else {
        fetch->layout = layout_keep(shape->result);
        fetch->count = count;
        fetch->result = (void *)(uintptr_t)o->result.address;
        fetch->elements = malloc(fetch->bytes + 1);
    }
    if (fetch->elements && !fetch_begin(shape->window->link, fetch))
        return fetch;
    if (fetch->layout)
        free(fetch->elements);
    layout_release(fetch->layout);
    free(fetch);
    return NULL;
}

static int operation_send(const struct operation *o, const struct shape *shape, struct fetch *fetch)
{
    struct window *window = shape->window;
    struct sending *s = malloc(sizeof(*s));
    uint8_t *copy = NULL;
    int error = s ? 0 : -ENOMEM;

    if (!error) {
        s->link = window->link;
        s->target = o->target;
        s->fetch = fetch;
        s->element = shape->memory->element;
        s->elements = 0;
        s->place = 0;
        s->command.packet = windows_packet(window->number);
        s->command.a =
            (struct window_arguments){.token = fetch ? fetch->token : 0, .type = shape->memory->type, .op = shape->op};
        error = data_make(o, shape, &s->from, &copy);
    }
    if (!error)
        error = runs_send(s, shape->memory, (size_t)o->memory.count, o->place * window->units[o->target]);
    free(copy);
    free(s);
    return error;
}

static int operate(const struct operation *o, const struct shape *shape, MPI_Request *request)
{
    struct completion *completion = request ? completion_begin(request) : NULL;
    struct fetch *fetch = NULL;
    int error = request && !completion ? -ENOMEM : 0;
    bool nothing = o->memory.count == 0; /* then there may be no memory either */

    if (!error && !nothing && window_enter(shape->window, o->win, o->target))
        error = -EIO;
    if (!error && !nothing && o->fetches && !(fetch = fetch_make(o, shape, completion)))
        error = -ENOMEM;
    if (!error && !nothing)
        error = operation_send(o, shape, fetch);
    if (fetch)
        fetch_part(shape->window->link, fetch, error);
    else if (completion)
        completion_end(completion, error ? MPI_ERR_OTHER : MPI_SUCCESS);
    link_count_accumulate();
    if (!error)
        return MPI_SUCCESS;
    PMPI_Win_call_errhandler(o->win, MPI_ERR_OTHER);
    return MPI_ERR_OTHER;
}

/* Whether an address of an operation is a device's. */
static bool on_device(const struct operation *o)
{
    return device_holds(o->data.address, o->data.datatype) ||
           (o->fetches && device_holds(o->result.address, o->result.datatype)) ||
           (o->compare && device_holds(o->compare, o->data.datatype));
}

static bool carried(const struct operation *o, MPI_Request *request, int *result);

/* Does an operation with a copy of device memory in host memory. Operations with results or requests are refused. */
static int from_device(const struct operation *o, MPI_Request *request)
{
    struct operation copy = *o;
    struct device_operand origin;
    int result, error = o->fetches || request ? -ENOSYS
                                              : operand_open(&origin, o->data.address, o->data.count, o->data.datatype,
                                                             DEVICE_SENT, MPI_COMM_SELF);

    if (error)
        return device_win_error(o->win, error, "an accumulate");
    copy.data.address = origin.host;
    if (!carried(&copy, NULL, &result))
#if MPI_VERSION >= 4
        result = PMPI_Accumulate_c(origin.host, o->data.count, o->data.datatype, o->target, o->place, o->memory.count,
                                   o->memory.datatype, o->op, o->win);
#else
        result = PMPI_Accumulate(origin.host, (int)o->data.count, o->data.datatype, o->target, o->place,
                                 (int)o->memory.count, o->memory.datatype, o->op, o->win);
#endif
    return origin_begun(result, o->win, o->target, &origin, DEVICE_SENT);
}

static bool carried(const struct operation *o, MPI_Request *request, int *result)
{
    struct shape shape;

    if (on_device(o)) {
        *result = from_device(o, request);
        return true;
    }
    if (!taken(o, request != NULL, &shape))
        return false;
    *result = operate(o, &shape, request);
    shape_release(&shape);
    return true;
}

/* ---- MPI's functions ---- */

static struct operand operand(const void *address, MPI_Count count, MPI_Datatype datatype)
{
    return (struct operand){address, count, datatype};
}

static struct operation changing(MPI_Win win, int target, MPI_Aint place, MPI_Op op, struct operand data,
                                 struct operand memory)
{
    return (struct operation){.win = win, .target = target, .place = place, .op = op, .data = data, .memory = memory};
}

static struct operation fetching(struct operation o, struct operand result)
{
    o.fetches = true;
    o.result = result;
    return o;
}

#define CHANGE_TAKES(number) const void *data, number count, MPI_Datatype datatype, CHANGE_TAKES_TARGET(number)
#define CHANGE_TAKES_TARGET(number)                                                                                    \
    int target, MPI_Aint place, number target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win
#define CHANGE_GIVES_TARGET target, place, target_count, target_datatype, op, win
#define CHANGE_GIVES data, count, datatype, CHANGE_GIVES_TARGET
#define CHANGE_MAKES                                                                                                   \
    changing(win, target, place, op, operand(data, count, datatype), operand(NULL, target_count, target_datatype))
#define FETCH_TAKES(number)                                                                                            \
    const void *data, number count, MPI_Datatype datatype, void *result, number result_count,                          \
        MPI_Datatype result_datatype, CHANGE_TAKES_TARGET(number)
#define FETCH_GIVES data, count, datatype, result, result_count, result_datatype, CHANGE_GIVES_TARGET
#define FETCH_MAKES fetching(CHANGE_MAKES, operand(result, result_count, result_datatype))
#define COMMA_REQUEST , MPI_Request *request
#define ONE(function, suffix, takes, call, makes, more, request)                                                       \
    INTERCEPT MPI_##function##suffix(takes more)                                                                       \
    {                                                                                                                  \
        const struct operation o = makes;                                                                              \
        int error;                                                                                                     \
                                                                                                                       \
        return carried(&o, request, &error) ? error : PMPI_##function##suffix call;                                    \
    }
#define ACCUMULATES(suffix, number)                                                                                    \
    ONE(Accumulate, suffix, CHANGE_TAKES(number), (CHANGE_GIVES), CHANGE_MAKES, , NULL)                                \
    ONE(Raccumulate, suffix, CHANGE_TAKES(number), (CHANGE_GIVES, request), CHANGE_MAKES, COMMA_REQUEST, request)      \
    ONE(Get_accumulate, suffix, FETCH_TAKES(number), (FETCH_GIVES), FETCH_MAKES, , NULL)                               \
    ONE(Rget_accumulate, suffix, FETCH_TAKES(number), (FETCH_GIVES, request), FETCH_MAKES, COMMA_REQUEST, request)
ACCUMULATES(, int)
#if MPI_VERSION >= 4
ACCUMULATES(_c, MPI_Count)
#endif

INTERCEPT MPI_Fetch_and_op(const void *data, void *result, MPI_Datatype datatype, int target, MPI_Aint place, MPI_Op op,
                           MPI_Win win)
{
    const struct operation o =
        fetching(changing(win, target, place, op, operand(data, 1, datatype), operand(NULL, 1, datatype)),
                 operand(result, 1, datatype));
    int error;

    return carried(&o, NULL, &error) ? error : PMPI_Fetch_and_op(data, result, datatype, target, place, op, win);
}

INTERCEPT MPI_Compare_and_swap(const void *data, const void *compare, void *result, MPI_Datatype datatype, int target,
                               MPI_Aint place, MPI_Win win)
{
    struct operation o =
        fetching(changing(win, target, place, MPI_OP_NULL, operand(data, 1, datatype), operand(NULL, 1, datatype)),
                 operand(result, 1, datatype));
    int error;

    o.compare = compare;
    return carried(&o, NULL, &error) ? error
                                     : PMPI_Compare_and_swap(data, compare, result, datatype, target, place, win);
}
