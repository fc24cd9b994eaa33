/* See collective.h. Also pairs: the operands of an operation until it completes. */
#include <errno.h>
#include <stdlib.h>

#include "mpi/device/collective.h"

/* ---- the end of an operation ---- */

int pair_open(struct device_pair **out, bool sends, const void *data, MPI_Count count, MPI_Datatype datatype,
              unsigned ways, MPI_Comm comm, void **host)
{
    struct device_pair *pair = calloc(1, sizeof(*pair));
    struct device_operand *o = pair && sends ? &pair->in : pair ? &pair->out : NULL;
    int error = o ? operand_open(o, data, count, datatype, ways, comm) : -ENOMEM;

    if (error) {
        free(pair);
        return error;
    }
    pair->most = SIZE_MAX;
    pair->in.comm = comm;
    *host = o->host;
    *out = pair;
    return 0;
}

void pair_free(struct device_pair *pair)
{
    operand_close(&pair->in);
    operand_close(&pair->out);
    free(pair);
}

static int pair_write(struct device_pair *pair, const MPI_Status *status)
{
    struct device_operand *out = &pair->out;
    size_t most = pair->by_status && out->memory ? status_bytes(status) : pair->most;
    int error = operand_write(out, most < out->bytes ? most : out->bytes);

    return error ? device_error(out->comm, error, "what was received") : MPI_SUCCESS;
}

static int on_pair(void *argument, MPI_Status *status)
{
    int result = pair_write(argument, status);

    pair_free(argument);
    return result;
}

int pair_end(int result, MPI_Request *request, struct device_pair *pair)
{
    if (!result)
        return request ? pending_add(request, on_pair, pair) : on_pair(pair, NULL);
    pair_free(pair);
    return result;
}

/* ---- persistent operations ---- */

static int on_start(void *argument)
{
    struct device_pair *pair = argument;
    int error = operand_read(&pair->in);

    if (!error && pair->out_sent)
        error = operand_read(&pair->out);
    return error ? device_error(pair->in.comm, error, "MPI_Start") : MPI_SUCCESS;
}

static int on_round(void *argument, MPI_Status *status)
{
    return pair_write(argument, status);
}

static void on_drop(void *argument)
{
    pair_free(argument);
}

int pair_keep(int result, MPI_Request *request, struct device_pair *pair)
{
    if (!result && pending_keep(request, on_start, on_round, on_drop, pair))
        result = MPI_ERR_NO_MEM;
    if (result)
        pair_free(pair);
    return result;
}

enum role { AT_ROOT, WITH_ROOT, APART };

static enum role role_of(int root, MPI_Comm comm)
{
    int rank = -1, inter = 0;

    PMPI_Comm_test_inter(comm, &inter);
    PMPI_Comm_rank(comm, &rank);
    if (inter)
        return root == MPI_ROOT ? AT_ROOT : root == MPI_PROC_NULL ? APART : WITH_ROOT;
    return rank == root ? AT_ROOT : WITH_ROOT;
}

/* Returns the number of all ranks, or of those of the remote group. */
static struct degrees ranks_of(MPI_Comm comm)
{
    int inter = 0, ranks = 0;

    PMPI_Comm_test_inter(comm, &inter);
    if (inter)
        PMPI_Comm_remote_size(comm, &ranks);
    else
        PMPI_Comm_size(comm, &ranks);
    return (struct degrees){ranks, ranks};
}

/* ---- the sides ---- */

void sides_begin(struct exchange *x, const void *data, void *result, MPI_Comm comm)
{
    *x = (struct exchange){.in = {.address = (void *)(uintptr_t)data}, .out = {.address = result}, .comm = comm};
    x->out.most = SIZE_MAX;
}

struct degrees sides_rooted(struct exchange *x, int root, bool gather)
{
    const enum role role = role_of(root, x->comm);
    struct side *many = gather ? &x->out : &x->in, *one = gather ? &x->in : &x->out;
    const unsigned many_way = gather ? DEVICE_RECEIVED : DEVICE_SENT, one_way = gather ? DEVICE_SENT : DEVICE_RECEIVED;
    const bool alone = role == AT_ROOT && one->address == MPI_IN_PLACE;
    int inter = 0;

    PMPI_Comm_test_inter(x->comm, &inter);
    many->ways = role == AT_ROOT ? many_way | (gather && alone ? DEVICE_SENT : 0) : 0;
    one->ways = role == APART || alone || (inter && role == AT_ROOT) ? 0 : one_way;
    return ranks_of(x->comm);
}

struct degrees sides_all(struct exchange *x)
{
    const bool in_place = x->in.address == MPI_IN_PLACE;

    x->in.ways = in_place ? 0 : DEVICE_SENT;
    x->out.ways = DEVICE_RECEIVED | (in_place ? DEVICE_SENT : 0);
    return ranks_of(x->comm);
}

struct block *side_blocks(struct side *side, MPI_Datatype datatype, int ranks)
{
    side->datatype = datatype;
    side->ranks = ranks;
    side->blocks = side->ways && device_near(side->address) ? calloc((size_t)ranks + 1, sizeof(*side->blocks)) : NULL;
    return side->blocks;
}

void side_row(struct side *side, MPI_Count count, MPI_Datatype datatype, int ranks)
{
    struct block *blocks = side_blocks(side, datatype, 1);

    if (blocks)
        blocks[0].count = count * ranks;
}

void side_first(struct side *side, MPI_Count count)
{
    MPI_Count bytes = 0;

    if (side->blocks)
        PMPI_Type_size_x(side->datatype, &bytes);
    side->most = (size_t)(bytes * count);
}

struct degrees sides_neighbours(struct exchange *x)
{
    struct degrees degrees = {0, 0};
    int topology = MPI_UNDEFINED, rank = 0, weighted;

    x->in.ways = DEVICE_SENT;
    x->out.ways = DEVICE_SENT | DEVICE_RECEIVED;
    PMPI_Topo_test(x->comm, &topology);
    PMPI_Comm_rank(x->comm, &rank);
    if (topology == MPI_CART) {
        PMPI_Cartdim_get(x->comm, &degrees.in);
        degrees.in *= 2;
        degrees.out = degrees.in;
    } else if (topology == MPI_GRAPH) {
        PMPI_Graph_neighbors_count(x->comm, rank, &degrees.in);
        degrees.out = degrees.in;
    } else if (topology == MPI_DIST_GRAPH) {
        PMPI_Dist_graph_neighbors_count(x->comm, &degrees.in, &degrees.out, &weighted);
    }
    return degrees;
}

/* ---- the exchange ---- */

static int side_open(const struct side *side, struct device_operand *o, MPI_Comm comm)
{
    const bool each = side->datatypes != NULL;

    *o = (struct device_operand){.host = side->address, .comm = comm};
    if (!side->ways || !device_near(side->address))
        return 0;
    return side->blocks ? operand_open_blocks(o, side->address, side->blocks, side->ranks,
                                              each ? side->datatypes : &side->datatype, each, side->ways, comm)
                        : -ENOMEM;
}

bool exchange_open(struct exchange *x, const void **data, void **result, const char *name, int *code)
{
    struct device_pair *pair = x->pair = calloc(1, sizeof(*pair));
    int error = pair ? side_open(&x->in, &pair->in, x->comm) : -ENOMEM;

    if (!error)
        error = side_open(&x->out, &pair->out, x->comm);
    free(x->in.blocks);
    free(x->out.blocks);
    *code = error ? device_error(x->comm, error, name) : MPI_SUCCESS;
    if (error || (!pair->in.memory && !pair->out.memory)) {
        if (pair)
            pair_free(pair);
        return error;
    }
    pair->most = x->out.most;
    pair->out_sent = x->out.ways & DEVICE_SENT;
    *data = pair->in.host;
    *result = pair->out.host;
    return true;
}
