/* Messages from and to device memory, one and many, completed by each function of MPI. */
#include "device_mpi.h"

static MPI_Status *volatile nowhere = MPI_STATUSES_IGNORE; /* gcc takes MPICH's for an array without room */

void status_is(const MPI_Status *status, int from, int tag, long bytes)
{
    int count = -1;

    MPI_Get_count(status, MPI_BYTE, &count);
    expect("status: bytes", count, bytes);
    expect("status: source", status->MPI_SOURCE, from);
    expect("status: tag", status->MPI_TAG, tag);
}

/* Sends around the ring, with more room than the message needs. */
void messages(MPI_Comm ring, enum kind from, enum kind to, size_t bytes, int ways)
{
    struct memory out = memory_make(from, bytes + 100), in = memory_make(to, bytes + 100);
    const int n = (int)bytes, most = n + 100;
    MPI_Request requests[2];
    MPI_Status status, statuses[2];
    int flag = 0;

    for (int way = 0; way < ways; way++) {
        fill(&out, rank, way);
        fill(&in, rank, 77);
        switch (way) {
        case 0:
            MUST(MPI_Irecv(in.address, most, MPI_BYTE, before(), 5, ring, &requests[0]));
            MUST(MPI_Send(out.address, n, MPI_BYTE, after(), 5, ring));
            MUST(MPI_Wait(&requests[0], &status));
            break;
        case 1:
            MUST(MPI_Isend(out.address, n, MPI_BYTE, after(), 5, ring, &requests[0]));
            MUST(MPI_Recv(in.address, most, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, ring, &status));
            MUST(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
            break;
        case 2:
            MUST(MPI_Irecv(in.address, most, MPI_BYTE, before(), 5, ring, &requests[0]));
            MUST(MPI_Isend(out.address, n, MPI_BYTE, after(), 5, ring, &requests[1]));
            MUST(MPI_Waitall(2, requests, statuses));
            status = statuses[0];
            break;
        case 3:
            MUST(MPI_Sendrecv(out.address, n, MPI_BYTE, after(), 5, in.address, most, MPI_BYTE, before(), 5, ring,
                              &status));
            break;
        case 4:
            MUST(MPI_Irecv(in.address, most, MPI_BYTE, before(), 5, ring, &requests[0]));
            MUST(MPI_Issend(out.address, n, MPI_BYTE, after(), 5, ring, &requests[1]));
            while (!flag)
                MUST(MPI_Test(&requests[0], &flag, &status));
            MUST(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
            break;
        default: {
            MPI_Message message;

            MUST(MPI_Isend(out.address, n, MPI_BYTE, after(), 5, ring, &requests[0]));
            MUST(MPI_Mprobe(before(), 5, ring, &message, &status));
            MUST(MPI_Mrecv(in.address, most, MPI_BYTE, &message, &status));
            MUST(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        }
        }
        status_is(&status, before(), 5, n);
        check("message", &in, bytes, before(), way, 77);
    }
    memory_free(&out);
    memory_free(&in);
}

/* Receives from the ring into the same memory from which it sends. */
void replaced(enum kind kind)
{
    struct memory m = memory_make(kind, 5000);
    MPI_Status status;

    fill(&m, rank, 1);
    MUST(MPI_Sendrecv_replace(m.address, 5000, MPI_BYTE, after(), 1, before(), 1, comm, &status));
    check("replaced", &m, 5000, before(), 1, 1);
    fill(&m, rank, 2);
    MUST(MPI_Sendrecv_replace(m.address, 5000, MPI_BYTE, MPI_PROC_NULL, 1, MPI_PROC_NULL, 1, comm, &status));
    check("from nobody", &m, 0, 0, 0, 2);
    memory_free(&m);
}

/* Many messages at a time, completed by each function of MPI. */
void many(int way)
{
    enum { MANY = 12, BYTES = 3000 };
    struct memory out[MANY], in[MANY];
    MPI_Request requests[2 * MANY];
    MPI_Status statuses[2 * MANY];
    int indices[2 * MANY], left = 2 * MANY, flag = 0, done;

    for (int i = 0; i < MANY; i++) {
        out[i] = memory_make((enum kind)(i % KINDS), BYTES);
        in[i] = memory_make((enum kind)(i / KINDS % KINDS), BYTES);
        fill(&out[i], rank, i);
        fill(&in[i], rank, 50);
        MUST(MPI_Irecv(in[i].address, BYTES, MPI_BYTE, before(), i, comm, &requests[i]));
    }
    for (int i = 0; i < MANY; i++)
        MUST(MPI_Isend(out[i].address, BYTES - i, MPI_BYTE, after(), i, comm, &requests[MANY + i]));
    switch (way) {
    case 0:
        MUST(MPI_Waitall(2 * MANY, requests, nowhere));
        break;
    case 1:
        for (; left; left--)
            MUST(MPI_Waitany(2 * MANY, requests, &done, statuses));
        break;
    case 2:
        for (; left > 0; left -= done)
            MUST(MPI_Waitsome(2 * MANY, requests, &done, indices, statuses));
        break;
    case 3:
        while (!flag)
            MUST(MPI_Testall(2 * MANY, requests, &flag, statuses));
        break;
    case 4:
        while (left) {
            MUST(MPI_Testany(2 * MANY, requests, &done, &flag, MPI_STATUS_IGNORE));
            left -= flag && done != MPI_UNDEFINED;
        }
        break;
    case 5:
        for (; left > 0; left -= done)
            MUST(MPI_Testsome(2 * MANY, requests, &done, indices, nowhere));
        break;
    case 6:
        for (int i = 0; i < MANY; i++) {
            for (flag = 0; !flag;)
                MUST(MPI_Request_get_status(requests[i], &flag, statuses));
            status_is(statuses, before(), i, BYTES - i);
            check("asked for", &in[i], (size_t)(BYTES - i), before(), i, 50);
        }
        MUST(MPI_Waitall(2 * MANY, requests, statuses));
        break;
    default: /* the sends are not waited for */
        for (int i = 0; i < MANY; i++)
            MUST(MPI_Request_free(&requests[MANY + i]));
        MUST(MPI_Waitall(2 * MANY, requests, statuses));
    }
    for (int i = 0; i < MANY; i++) {
        check("one of many", &in[i], (size_t)(BYTES - i), before(), i, 50);
        expect("request", requests[i] == MPI_REQUEST_NULL, 1);
        memory_free(&out[i]);
        memory_free(&in[i]);
    }
    MPI_Barrier(comm);
}

void persistent(enum kind from, enum kind to)
{
    struct memory out = memory_make(from, 4000), in = memory_make(to, 4000);
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int flag = 0;

    MUST(MPI_Send_init(out.address, 4000, MPI_BYTE, after(), 3, comm, &requests[0]));
    MUST(MPI_Recv_init(in.address, 4000, MPI_BYTE, before(), 3, comm, &requests[1]));
    for (int round = 0; round < 3; round++) {
        fill(&out, rank, round);
        fill(&in, rank, 60);
        if (round) {
            MUST(MPI_Startall(2, requests));
        } else {
            MUST(MPI_Start(&requests[1]));
            MUST(MPI_Start(&requests[0]));
        }
        if (round < 2)
            MUST(MPI_Waitall(2, requests, statuses));
        else
            for (flag = 0; !flag;)
                MUST(MPI_Testall(2, requests, &flag, statuses));
        status_is(&statuses[1], before(), 3, 4000);
        check("persistent", &in, 4000, before(), round, 60);
    }
    for (int i = 0; i < 2; i++) {
        MUST(MPI_Wait(&requests[i], MPI_STATUS_IGNORE)); /* inactive */
        MUST(MPI_Request_free(&requests[i]));
        expect("request", requests[i] == MPI_REQUEST_NULL, 1);
    }
    check("afterwards", &in, 4000, before(), 2, 60);
    memory_free(&out);
    memory_free(&in);
}
