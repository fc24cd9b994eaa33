/* Operations that do not support device memory return an error. */
#include "device_mpi.h"
#include "xtqmpi.h"

void errors(enum kind kind)
{
    struct memory m = memory_make(kind, 1000);
    MPI_Request request;
    MPI_Win win;
    MPI_File file;
    MPI_Status status;
    char *at = m.address;
    int value = 1, places[64] = {0}, counts[64] = {0};

    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    ERROR(MPI_ERR_TYPE, MPI_Send(at, 1, MPI_SHORT_INT, after(), 1, comm)); /* has a hole */
    ERROR(MPI_ERR_BUFFER, MPI_Send(at, 1001, MPI_BYTE, after(), 1, comm));
    ERROR(MPI_ERR_BUFFER, MPI_Recv(at + 996, 2, MPI_INT, after(), 1, comm, MPI_STATUS_IGNORE));
    ERROR(MPI_ERR_BUFFER, MPI_Irecv(at, 251, MPI_INT, after(), 1, comm, &request));
    ERROR(MPI_ERR_BUFFER, MPI_Bcast(at + 1, 1000, MPI_BYTE, 0, comm));
    ERROR(MPI_ERR_BUFFER, MPI_Allreduce(MPI_IN_PLACE, at, 251, MPI_INT, MPI_SUM, comm));
    ERROR(MPI_ERR_BUFFER, MPI_Allgather(&value, 1, MPI_INT, at + 1000 - 4 * (size - 1), 1, MPI_INT, comm));
    ERROR(MPI_ERR_BUFFER, MPI_Scan(&value, at + 997, 1, MPI_INT, MPI_SUM, comm));
    ERROR(MPI_ERR_UNSUPPORTED_OPERATION, MPI_Pack(at, 1, MPI_INT, places, 64, counts, comm));
#if MPI_VERSION >= 4
    ERROR(MPI_ERR_UNSUPPORTED_OPERATION,
          MPI_Isendrecv(at, 1, MPI_INT, after(), 1, &value, 1, MPI_INT, before(), 1, comm, &request));
    ERROR(MPI_ERR_BUFFER, MPI_Bcast_init(at, 251, MPI_INT, 0, comm, MPI_INFO_NULL, &request));
    ERROR(MPI_ERR_BUFFER, MPI_Allreduce_init(MPI_IN_PLACE, at, 251, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request));
#endif
    MPI_Win_create(&value, sizeof(value), 1, MPI_INFO_NULL, comm, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_lock_all(0, win);
    ERROR(MPI_ERR_UNSUPPORTED_OPERATION, MPI_Fetch_and_op(at, &value, MPI_INT, after(), 0, MPI_SUM, win));
    ERROR(MPI_ERR_BUFFER, MPI_Put(at, 1001, MPI_BYTE, after(), 0, 4, MPI_BYTE, win));
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MUST(MPI_File_open(MPI_COMM_SELF, "/dev/null", MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
    ERROR(MPI_ERR_UNSUPPORTED_OPERATION, MPI_File_write_at(file, 0, at, 1, MPI_INT, &status));
    MUST(MPI_File_close(&file));
    if (kind == BUFFER) {
        cl_mem buffer;
        size_t offset;

        MUST(xtqmpi_device_buffer(at + 10, &buffer, &offset));
        MUST(xtqmpi_device_buffer(at + 10, NULL, NULL));
        expect("offset", (long)offset, 10);
        expect("buffer", buffer == m.buffer, 1);
    }
    expect("queue that is not in-order", xtqmpi_device_svm(NULL, at, 1) < 0, 1);
    expect("said before", kind == SVM && !xtqmpi_device_svm(commands, at, 1000), 0);
    memory_free(&m);
    if (kind != SVM) /* released SVM is like any memory */
        ERROR(MPI_ERR_BUFFER, MPI_Send(at, 1, MPI_BYTE, after(), 1, comm));
    expect("released twice", xtqmpi_device_release(at) < 0, 1);
}
