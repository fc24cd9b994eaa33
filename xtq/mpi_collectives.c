/* MPI_Allreduce and MPI_Reduce of large vectors. See mpi_intercept.h. */
#include "base/settings.h"
#include "xtq/mpi_intercept.h"

/* Decided alike by all ranks: by what must be the same on all of them. */
static struct link *taken(int count, MPI_Datatype datatype, MPI_Op mpi_op, MPI_Comm comm, enum xtq_type *type,
                          enum xtq_op *op)
{
    if (count < 1 || !intercept_type(datatype, type) || !intercept_op(mpi_op, op) ||
        (unsigned long long)count * xtq_type_bytes(*type) < settings_bytes(SETTING_XTQ_BYTES))
        return NULL;
    return link_of(comm);
}

static int result_of(MPI_Comm comm, int error)
{
    if (!error) {
        link_count_collective();
        return MPI_SUCCESS;
    }
    PMPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
    return MPI_ERR_OTHER;
}

static bool is_more_than(unsigned long long most, int count, enum xtq_type type)
{
    return most && (unsigned long long)count * xtq_type_bytes(type) > most;
}

INTERCEPT MPI_Allreduce(const void *data, void *result, int count, MPI_Datatype datatype, MPI_Op mpi_op, MPI_Comm comm)
{
    enum xtq_type type;
    enum xtq_op op;
    struct link *link = taken(count, datatype, mpi_op, comm, &type, &op);

    if (!link || is_more_than(settings_bytes(SETTING_XTQ_ALLREDUCE_MOST), count, type))
        return PMPI_Allreduce(data, result, count, datatype, mpi_op, comm);
    return result_of(comm,
                     xtq_allreduce(link->c, data == MPI_IN_PLACE ? result : data, result, (size_t)count, type, op));
}

INTERCEPT MPI_Reduce(const void *data, void *result, int count, MPI_Datatype datatype, MPI_Op mpi_op, int root,
                     MPI_Comm comm)
{
    enum xtq_type type;
    enum xtq_op op;
    struct link *link = taken(count, datatype, mpi_op, comm, &type, &op);

    if (!link)
        return PMPI_Reduce(data, result, count, datatype, mpi_op, root, comm);
    return result_of(comm,
                     xtq_reduce(link->c, root, data == MPI_IN_PLACE ? result : data, result, (size_t)count, type, op));
}
