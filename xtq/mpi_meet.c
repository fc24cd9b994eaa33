/*
 * MPI_Allreduce of little, and MPI_Barrier, on communicators that have windows. Others may accumulate into this rank's
 * windows while it waits there, so it does not wait inside of MPI; and as MPI's operations with requests take twice as
 * long as those without, the ranks send each other messages, by recursive doubling, as MPI's own operations do.
 *
 * MPI knows no order between these and what is done in windows.
 */
#include <stdlib.h>
#include <string.h>

#include "xtq/mpi_device.h"

#define MEETING 1                    /* tag, on the link's communicator */
#define MOST_BYTES ((size_t)8 << 10) /* above, MPI has better ways */

int meet_open(struct link *link, MPI_Comm comm)
{
    return link->meeting == MPI_COMM_NULL ? PMPI_Comm_split(comm, 0, 0, &link->meeting) : MPI_SUCCESS;
}

void meet_close(struct link *link)
{
    if (link->meeting != MPI_COMM_NULL)
        PMPI_Comm_free(&link->meeting);
}

/* Send one, receive another. Either rank may be MPI_PROC_NULL, the memory NULL only for
 * nothing. */
static int exchange(struct link *link, const void *sent, int to, void *received, int from, int count,
                    MPI_Datatype datatype)
{
    MPI_Request requests[2];
    int result = PMPI_Irecv(received, count, datatype, from, MEETING, link->meeting, &requests[0]);

    if (!result)
        result = PMPI_Isend(sent, count, datatype, to, MEETING, link->meeting, &requests[1]);
    return result ? result : serve_until_all(2, requests);
}

int meet_barrier(struct link *link)
{
    const int rank = xtq_rank(link->x), size = xtq_size(link->x);
    int result = MPI_SUCCESS;

    for (int distance = 1; distance < size && !result; distance <<= 1)
        result = exchange(link, NULL, (rank + distance) % size, NULL, (rank - distance + size) % size, 0, MPI_BYTE);
    return result;
}

/* What is combined, by whom; mine and theirs change places as it goes on. */
struct meeting {
    struct link *link;
    void *mine, *theirs;
    int count, rank;
    MPI_Datatype datatype;
    MPI_Op op;
};

/* The lower rank's operand is the first, so that both compute the same, whatever the operation minds. */
static int combine_with(struct meeting *m, int peer)
{
    void *mine = m->mine;

    if (peer < m->rank)
        return PMPI_Reduce_local(m->theirs, mine, m->count, m->datatype, m->op);
    m->mine = m->theirs;
    m->theirs = mine;
    return PMPI_Reduce_local(mine, m->mine, m->count, m->datatype, m->op);
}

static int exchange_and_combine(struct meeting *m, int peer)
{
    int result = exchange(m->link, m->mine, peer, m->theirs, peer, m->count, m->datatype);

    return result ? result : combine_with(m, peer);
}

/* Among a power of two ranks. Of the first 2 * extra each even one gives its operand to its neighbour before, and has
 * the result from it. */
static int double_up(struct meeting *m, int size)
{
    int power = 1, extra, number, result = MPI_SUCCESS;

    while (power * 2 <= size)
        power *= 2;
    extra = size - power;
    number = m->rank >= 2 * extra ? m->rank - extra : m->rank % 2 ? m->rank / 2 : -1;
    if (number < 0) {
        result = exchange(m->link, m->mine, m->rank + 1, m->theirs, MPI_PROC_NULL, m->count, m->datatype);
        return result ? result
                      : exchange(m->link, m->theirs, MPI_PROC_NULL, m->mine, m->rank + 1, m->count, m->datatype);
    }
    if (m->rank < 2 * extra) {
        result = exchange(m->link, m->mine, MPI_PROC_NULL, m->theirs, m->rank - 1, m->count, m->datatype);
        result = result ? result : combine_with(m, m->rank - 1);
    }
    for (int mask = 1; mask < power && !result; mask <<= 1) {
        int other = number ^ mask;

        result = exchange_and_combine(m, other < extra ? other * 2 + 1 : other + extra);
    }
    if (m->rank < 2 * extra && !result)
        result = exchange(m->link, m->mine, m->rank - 1, m->theirs, MPI_PROC_NULL, m->count, m->datatype);
    return result;
}

/* Operations and types that go together in any MPI, so that no error is MPI's to find. */
bool meet_takes(MPI_Count count, MPI_Datatype datatype, MPI_Op op, size_t *bytes)
{
    enum xtq_type type;
    enum xtq_op known;

    if (count < 1 || !intercept_type(datatype, &type))
        return false;
    *bytes = (size_t)count * xtq_type_bytes(type);
    if ((unsigned long long)count > MOST_BYTES || *bytes > MOST_BYTES)
        return false;
    return intercept_op(op, &known) ||
           (type != XTQ_FLOAT && type != XTQ_DOUBLE &&
            (op == MPI_BAND || op == MPI_BOR || op == MPI_BXOR || op == MPI_LAND || op == MPI_LOR || op == MPI_LXOR));
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
    int code;

    if (data != MPI_IN_PLACE)
        memcpy(result, data, bytes);
    code = double_up(&meeting, xtq_size(link->x));
    if (meeting.mine != result)
        memcpy(result, meeting.mine, bytes);
    return code;
}
