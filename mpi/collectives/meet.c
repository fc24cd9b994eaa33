/*
 * MPI_Barrier, and MPI_Allreduce of small vectors, on communicators that have windows. Other ranks may accumulate into
 * this rank's windows while it waits there, so it must not wait inside of MPI. Since MPI's operations with requests
 * take twice as long as those without, the ranks exchange messages, by recursive doubling, as MPI's own operations do.
 *
 * MPI defines no order between these operations and those in windows.
 */
#include <stdlib.h>
#include <string.h>

#include "ground/plan.h"
#include "mpi/collectives/meet.h"

#define MEETING 1                     /* tag, on link->meeting */
#define MOST_BYTES ((size_t)32 << 10) /* MPI is faster for larger vectors */
#define PIECE_BYTES 8192              /* longer messages of MPI wait for the receiver, which took 2.5 times as long */
#define MOST_PIECES 8                 /* a piece consists of whole elements */

int meet_open(struct link *link, MPI_Comm comm)
{
    return link->meeting == MPI_COMM_NULL ? PMPI_Comm_split(comm, 0, 0, &link->meeting) : MPI_SUCCESS;
}

void meet_close(struct link *link)
{
    if (link->meeting != MPI_COMM_NULL)
        PMPI_Comm_free(&link->meeting);
}

/* The state of an operation. mine and theirs are exchanged during it. */
struct meeting {
    struct link *link;
    void *mine, *theirs;
    int count, rank, piece; /* piece: elements in a message */
    MPI_Datatype datatype;
    MPI_Aint extent;
    MPI_Op op;
};

/* Sends one vector and receives another, in pieces. Either rank may be MPI_PROC_NULL. The memory may be NULL only if
 * there are no elements. */
static int exchange(const struct meeting *m, const void *sent, int to, void *received, int from)
{
    MPI_Request requests[2 * MOST_PIECES];
    int started = 0, done = 0, result = MPI_SUCCESS;

    do {
        const int some = m->count - done < m->piece ? m->count - done : m->piece;
        const MPI_Aint at = done * m->extent;

        result = PMPI_Irecv(received ? (char *)received + at : NULL, some, m->datatype, from, MEETING, m->link->meeting,
                            &requests[started++]);
        if (!result)
            result = PMPI_Isend(sent ? (const char *)sent + at : NULL, some, m->datatype, to, MEETING, m->link->meeting,
                                &requests[started++]);
        done += some;
    } while (!result && done < m->count);
    return result ? result : serve_until_all(started, requests);
}

int meet_barrier(struct link *link)
{
    const int rank = xtq_rank(link->x), size = xtq_size(link->x);
    const struct meeting nothing = {.link = link, .piece = 1, .datatype = MPI_BYTE};
    int result = MPI_SUCCESS;

    for (int distance = 1; distance < size && !result; distance <<= 1)
        result = exchange(&nothing, NULL, (rank + distance) % size, NULL, (rank - distance + size) % size);
    return result;
}

/* Combines two vectors. The lower rank's is the first operand, so that both ranks compute the same result. */
static int combine_with(struct meeting *m, int peer)
{
    void *mine = m->mine;

    if (peer < m->rank)
        return PMPI_Reduce_local(m->theirs, mine, m->count, m->datatype, m->op);
    m->mine = m->theirs;
    m->theirs = mine;
    return PMPI_Reduce_local(mine, m->mine, m->count, m->datatype, m->op);
}

static int double_up(struct meeting *m, int size)
{
    struct plan plan;
    int result = MPI_SUCCESS;

    plan_doubling(&plan, m->rank, size, (size_t)m->count);
    for (unsigned i = 0; i < plan.count && !result; i++) {
        const struct plan_step *step = &plan.steps[i];

        result = exchange(m, m->mine, step->send_count ? step->peer : MPI_PROC_NULL, step->result ? m->mine : m->theirs,
                          step->receive_count ? step->peer : MPI_PROC_NULL);
        if (!result && step->receive_count && !step->result)
            result = combine_with(m, step->peer);
    }
    return result;
}

/* The kinds of types for which MPI's operations are defined (MPI 4.0, section 6.9.2). */
enum kind { INTEGERS = 1, REALS = 2, LOGICALS = 4, COMPLEXES = 8, BYTES = 16, PAIRS = 32 };

/* Returns the kind of a datatype; XTQ knows its own types. 0: not predefined, or not supported by every MPI. */
static enum kind kind_of(MPI_Datatype datatype)
{
    static const struct {
        MPI_Datatype datatype;
        enum kind kind;
    } types[] = {
        {MPI_BYTE, BYTES},
        {MPI_LONG_DOUBLE, REALS},
        {MPI_C_BOOL, LOGICALS},
        {MPI_C_FLOAT_COMPLEX, COMPLEXES},
        {MPI_C_DOUBLE_COMPLEX, COMPLEXES},
        {MPI_C_LONG_DOUBLE_COMPLEX, COMPLEXES},
        {MPI_FLOAT_INT, PAIRS},
        {MPI_DOUBLE_INT, PAIRS},
        {MPI_LONG_INT, PAIRS},
        {MPI_2INT, PAIRS},
        {MPI_SHORT_INT, PAIRS},
        {MPI_LONG_DOUBLE_INT, PAIRS},
        {MPI_LOGICAL, LOGICALS},
        {MPI_COMPLEX, COMPLEXES},
        {MPI_DOUBLE_COMPLEX, COMPLEXES},
        {MPI_2REAL, PAIRS},
        {MPI_2DOUBLE_PRECISION, PAIRS},
        {MPI_2INTEGER, PAIRS},
        {MPI_CXX_BOOL, LOGICALS},
        {MPI_CXX_FLOAT_COMPLEX, COMPLEXES},
        {MPI_CXX_DOUBLE_COMPLEX, COMPLEXES},
        {MPI_CXX_LONG_DOUBLE_COMPLEX, COMPLEXES},
    };
    enum xtq_type type;

    if (datatype == MPI_DATATYPE_NULL) /* some of the above are this if MPI was built without a language */
        return 0;
    if (intercept_type(datatype, &type))
        return type == XTQ_FLOAT || type == XTQ_DOUBLE ? REALS : INTEGERS;
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        if (types[i].datatype == datatype)
            return types[i].kind;
    }
    return 0;
}

/* Returns the kinds of types that an operation accepts. */
static int kinds_of(MPI_Op op)
{
    const struct {
        MPI_Op op;
        int kinds;
    } ops[] = {
        {MPI_SUM, INTEGERS | REALS | COMPLEXES},
        {MPI_PROD, INTEGERS | REALS | COMPLEXES},
        {MPI_MIN, INTEGERS | REALS},
        {MPI_MAX, INTEGERS | REALS},
        {MPI_BAND, INTEGERS | BYTES},
        {MPI_BOR, INTEGERS | BYTES},
        {MPI_BXOR, INTEGERS | BYTES},
        {MPI_LAND, INTEGERS | LOGICALS},
        {MPI_LOR, INTEGERS | LOGICALS},
        {MPI_LXOR, INTEGERS | LOGICALS},
        {MPI_MINLOC, PAIRS},
        {MPI_MAXLOC, PAIRS},
    };

    for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++) {
        if (ops[i].op == op)
            return ops[i].kinds;
    }
    return 0;
}

/* Only combinations of operations and types that every MPI accepts, since MPI detects the errors. */
bool meet_takes(MPI_Count count, MPI_Datatype datatype, MPI_Op op, size_t *bytes)
{
    MPI_Aint first, extent, begin, last;

    if (count < 1 || (unsigned long long)count > MOST_BYTES || !(kind_of(datatype) & kinds_of(op)))
        return false;
    if (PMPI_Type_get_extent(datatype, &first, &extent) || PMPI_Type_get_true_extent(datatype, &begin, &last) ||
        first || begin || last < 1 || extent < last || extent > PIECE_BYTES / 2)
        return false;
    *bytes = (size_t)(count - 1) * (size_t)extent +
             (size_t)last; /* without the gap after the last pair, which is not the program's */
    return *bytes <= MOST_BYTES;
}

int meet_allreduce(struct link *link, const void *data, void *result, int count, MPI_Datatype datatype, MPI_Op op,
                   size_t bytes)
{
    _Alignas(64) uint8_t memory[MOST_BYTES];
    struct meeting meeting = {.link = link,
                              .mine = result,
                              .theirs = memory,
                              .count = count,
                              .rank = xtq_rank(link->x),
                              .datatype = datatype,
                              .op = op};
    MPI_Aint first;
    int code = PMPI_Type_get_extent(datatype, &first, &meeting.extent);

    if (code)
        return code;
    meeting.piece = PIECE_BYTES / (int)meeting.extent;
    if (data != MPI_IN_PLACE)
        memcpy(result, data, bytes);
    code = double_up(&meeting, xtq_size(link->x));
    if (meeting.mine != result)
        memcpy(result, meeting.mine, bytes);
    return code;
}
