/*
 * MPI on device memory (xtqmpi.h) gives what it gives on the host's: everything is done with each kind of memory at
 * each end, and compared. What is not for device memory has to be an error.
 */
#include "tests/xtq/device_memory.h"

/* ---- messages ---- */

static int after(void)
{
    return (rank + 1) % size;
}

static int before(void)
{
    return (rank + size - 1) % size;
}

static void status_is(const MPI_Status *status, int from, int tag, long bytes)
{
    int count = -1;

    MPI_Get_count(status, MPI_BYTE, &count);
    expect("status: bytes", count, bytes);
    expect("status: source", status->MPI_SOURCE, from);
    expect("status: tag", status->MPI_TAG, tag);
}

/* Round the ring, with room for more than comes. */
static void messages(MPI_Comm ring, enum kind from, enum kind to, size_t bytes, int ways)
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

/* A message comes from the ring, and goes away in the same place. */
static void replaced(enum kind kind)
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

/* Many at a time, waited for in each way there is. */
static void many(int way)
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
    default: /* nobody waits for what is sent */
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

static void persistent(enum kind from, enum kind to)
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
        MUST(MPI_Wait(&requests[i], MPI_STATUS_IGNORE)); /* which is not active */
        MUST(MPI_Request_free(&requests[i]));
        expect("request", requests[i] == MPI_REQUEST_NULL, 1);
    }
    check("afterwards", &in, 4000, before(), 2, 60);
    memory_free(&out);
    memory_free(&in);
}

/* ---- datatypes ---- */

enum { TYPES = 9, TYPED = 40000 };

static MPI_Datatype type_make(int which)
{
    const int lengths[] = {3, 1, 5}, places[] = {40, 2, 10}, sizes[] = {6, 7, 8}, parts[] = {3, 2, 5},
              starts[] = {1, 4, 2};
    const MPI_Aint bytes[] = {0, 100, 64};
    const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};
    MPI_Datatype type, inner;

    switch (which) {
    case 0:
        MPI_Type_contiguous(17, MPI_INT, &type);
        break;
    case 1:
        MPI_Type_vector(10, 3, 7, MPI_INT, &type);
        break;
    case 2:
        MPI_Type_create_hvector(5, 2, 31, MPI_CHAR, &type);
        break;
    case 3:
        MPI_Type_indexed(3, lengths, places, MPI_SHORT, &type);
        break;
    case 4:
        MPI_Type_create_indexed_block(3, 4, places, MPI_INT, &type);
        break;
    case 5:
        MPI_Type_create_struct(3, lengths, bytes, types, &type);
        break;
    case 6:
        MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &type);
        break;
    case 7:
        MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_SHORT, &type);
        break;
    default:
        MPI_Type_vector(3, 2, 4, MPI_INT, &inner);
        MPI_Type_create_resized(inner, 0, 60, &type);
        MPI_Type_free(&inner);
        MPI_Type_vector(2, 2, 3, type, &inner);
        MPI_Type_free(&type);
        type = inner;
    }
    MPI_Type_commit(&type);
    return type;
}

/* The receiver has the same with the host's memory. */
static void typed(enum kind from, enum kind to, int which, int count, int short_by)
{
    struct memory out = memory_make(from, TYPED), in = memory_make(to, TYPED), plain = memory_make(HOST, TYPED);
    MPI_Datatype type = type_make(which);
    MPI_Request request;
    MPI_Status status;
    int got = -1;

    fill(&out, rank, which);
    fill(&in, rank, 9);
    fill(&plain, rank, 9);
    for (int i = 0; i < 2; i++) {
        MUST(MPI_Irecv(i ? in.address : plain.address, count, type, before(), i, comm, &request));
        MUST(MPI_Send(out.address, count - short_by, type, after(), i, comm));
        MUST(MPI_Wait(&request, &status));
        MPI_Get_count(&status, type, &got);
        expect("datatypes received", got, count - short_by);
    }
    get(&in, scratch, TYPED);
    if (memcmp(scratch, plain.address, TYPED) && wrong++ < 20)
        fprintf(stderr, "rank %d: datatype %d to %s is different\n", rank, which, names[to]);
    MPI_Type_free(&type);
    memory_free(&out);
    memory_free(&in);
    memory_free(&plain);
}

/* An address in the datatype. */
static void absolute(enum kind kind)
{
    struct memory out = memory_make(kind, 1000), in = memory_make(kind, 1000);
    MPI_Datatype types[2];
    MPI_Aint place;
    const int length = 1000;

    for (int i = 0; i < 2; i++) {
        MPI_Get_address(i ? in.address : out.address, &place);
        MPI_Type_create_hindexed(1, &length, &place, MPI_BYTE, &types[i]);
        MPI_Type_commit(&types[i]);
    }
    fill(&out, rank, 1);
    fill(&in, rank, 2);
    MUST(MPI_Sendrecv(MPI_BOTTOM, 1, types[0], after(), 1, MPI_BOTTOM, 1, types[1], before(), 1, comm,
                      MPI_STATUS_IGNORE));
    check("absolute", &in, 1000, before(), 1, 2);
    MPI_Type_free(&types[0]);
    MPI_Type_free(&types[1]);
    memory_free(&out);
    memory_free(&in);
}

/* ---- collectives ---- */

/* Each rank has another kind of memory. */
static void broadcast(int shift, size_t bytes, bool later)
{
    struct memory m = memory_make((enum kind)((rank + shift) % KINDS), bytes);
    MPI_Request request;

    for (int root = 0; root < size; root++) {
        fill(&m, rank, 3);
        if (later) {
            MUST(MPI_Ibcast(m.address, (int)bytes, MPI_BYTE, root, comm, &request));
            MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else {
            MUST(MPI_Bcast(m.address, (int)bytes, MPI_BYTE, root, comm));
        }
        check("broadcast", &m, bytes, root, 3, 3);
    }
    memory_free(&m);
}

static void sums(const char *what, const struct memory *m, int count)
{
    get(m, other, (size_t)count * sizeof(int));
    for (int i = 0; i < count; i++) {
        int is;

        memcpy(&is, other + (size_t)i * sizeof(int), sizeof(int));
        expect(what, is, (long)size * (size - 1) / 2 + (long)size * i);
    }
}

static void numbers(struct memory *m, int count)
{
    int *data = (int *)(void *)scratch;

    for (int i = 0; i < count; i++)
        data[i] = rank + i;
    put(m, data, (size_t)count * sizeof(int));
}

static void reduction(int shift, int count)
{
    struct memory data = memory_make((enum kind)((rank + shift) % KINDS), (size_t)count * sizeof(int)),
                  result = memory_make((enum kind)((rank + shift / 2) % KINDS), (size_t)count * sizeof(int));
    MPI_Request request;

    numbers(&data, count);
    MUST(MPI_Allreduce(data.address, result.address, count, MPI_INT, MPI_SUM, comm));
    sums("allreduce", &result, count);
    numbers(&result, count);
    MUST(MPI_Allreduce(MPI_IN_PLACE, result.address, count, MPI_INT, MPI_SUM, comm));
    sums("allreduce in place", &result, count);
    fill(&result, rank, 1);
    MUST(MPI_Iallreduce(data.address, result.address, count, MPI_INT, MPI_SUM, comm, &request));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    sums("iallreduce", &result, count);
    for (int root = 0; root < size; root++) {
        fill(&result, rank, 1);
        MUST(MPI_Reduce(data.address, result.address, count, MPI_INT, MPI_SUM, root, comm));
        if (rank == root)
            sums("reduce", &result, count);
        else
            check("reduce elsewhere", &result, 0, 0, 0, 1);
        fill(&result, rank, 1);
        numbers(&result, count);
        MUST(MPI_Ireduce(rank == root ? MPI_IN_PLACE : data.address, rank == root ? result.address : NULL, count,
                         MPI_INT, MPI_SUM, root, comm, &request));
        MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
        if (rank == root)
            sums("ireduce in place", &result, count);
    }
    memory_free(&data);
    memory_free(&result);
}

/* ---- windows ---- */

static void window_is(const char *what, const struct memory *m, const int *should, int count)
{
    get(m, other, (size_t)count * sizeof(int));
    if (memcmp(other, should, (size_t)count * sizeof(int)))
        for (int i = 0; i < count; i++) {
            int is;

            memcpy(&is, other + (size_t)i * sizeof(int), sizeof(int));
            expect(what, is, should[i]);
        }
}

static void kernel_writes(struct memory *m, int at, int value)
{
    const size_t offset = (size_t)at * sizeof(int);

    if (m->svm)
        clEnqueueSVMMemcpy(commands, CL_TRUE, m->svm + offset, &value, sizeof(value), 0, NULL, NULL);
    else if (m->kind == HOST)
        memcpy((char *)m->address + offset, &value, sizeof(value));
    else
        clEnqueueFillBuffer(commands, m->buffer, &value, sizeof(value), offset, sizeof(value), 0, NULL, NULL);
    clFinish(commands);
}

static void window_active(enum kind kind, enum kind origin_kind, int count)
{
    const size_t bytes = (size_t)count * sizeof(int);
    struct memory m = memory_make(kind, bytes), origin = memory_make(origin_kind, bytes);
    int *should = calloc((size_t)count, sizeof(int)), *data = calloc((size_t)count, sizeof(int)), *model, found;
    void *base;
    MPI_Win win;

    put(&m, data, bytes);
    MUST(MPI_Win_create(m.address, (MPI_Aint)bytes, sizeof(int), MPI_INFO_NULL, comm, &win));
    MUST(MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &found));
    expect("the window's address", base == m.address, 1);
    MUST(MPI_Win_get_attr(win, MPI_WIN_MODEL, &model, &found));
    if (kind != HOST)
        expect("the window's model", *model, MPI_WIN_SEPARATE);
    for (int i = 0; i < count; i++)
        data[i] = 1000 * rank + i;
    put(&origin, data, bytes);
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Put(origin.address, count / 2, MPI_INT, after(), 3, count / 2, MPI_INT, win));
    MUST(MPI_Win_fence(0, win));
    for (int i = 0; i < count / 2; i++)
        should[3 + i] = 1000 * before() + i;
    window_is("put", &m, should, count);
    kernel_writes(&m, 0, 42 + rank);
    should[0] = 42 + rank;
    MUST(MPI_Win_fence(MPI_MODE_NOPUT, win));
    MUST(MPI_Get(origin.address, count, MPI_INT, after(), 0, count, MPI_INT, win));
    MUST(MPI_Win_fence(0, win));
    for (int i = 0; i < count / 2; i++)
        data[3 + i] = 1000 * rank + i;
    data[0] = 42 + after();
    data[1] = data[2] = 0;
    for (int i = count / 2 + 3; i < count; i++)
        data[i] = 0;
    window_is("get", &origin, data, count);
    for (int i = 0; i < count; i++)
        data[i] = i;
    put(&origin, data, bytes);
    MUST(MPI_Accumulate(origin.address, count, MPI_INT, after(), 0, count, MPI_INT, MPI_SUM, win));
    MUST(MPI_Accumulate(origin.address, count, MPI_INT, before(), 0, count, MPI_INT, MPI_SUM, win));
    MUST(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    for (int i = 0; i < count; i++)
        should[i] += 2 * i;
    window_is("accumulate", &m, should, count);
    MUST(MPI_Win_free(&win));
    window_is("afterwards", &m, should, count);
    memory_free(&m);
    memory_free(&origin);
    free(should);
    free(data);
}

/* Post and wait; lock, with a request, and the target's own looking. */
static void window_passive(enum kind kind, enum kind origin_kind)
{
    enum { COUNT = 200 };
    struct memory m = memory_make(kind, COUNT * sizeof(int)), origin = memory_make(origin_kind, COUNT * sizeof(int));
    int should[COUNT] = {0}, data[COUNT], old = -1;
    const int whom[] = {after()}, who[] = {before()};
    MPI_Group all, targets, origins;
    MPI_Request request;
    MPI_Win win;

    put(&m, should, sizeof(should));
    MUST(MPI_Win_create(m.address, sizeof(should), sizeof(int), MPI_INFO_NULL, comm, &win));
    for (int i = 0; i < COUNT; i++)
        data[i] = 500 * rank + i;
    put(&origin, data, sizeof(data));
    MPI_Comm_group(comm, &all);
    MPI_Group_incl(all, 1, whom, &targets);
    MPI_Group_incl(all, 1, who, &origins);
    MUST(MPI_Win_post(origins, 0, win));
    MUST(MPI_Win_start(targets, 0, win));
    MUST(MPI_Put(origin.address, 100, MPI_INT, after(), 50, 100, MPI_INT, win));
    MUST(MPI_Win_complete(win));
    MUST(MPI_Win_wait(win));
    for (int i = 0; i < 100; i++)
        should[50 + i] = 500 * before() + i;
    window_is("post and wait", &m, should, COUNT);
    MPI_Barrier(comm);
    kernel_writes(&m, 7, -rank - 1);
    should[7] = -rank - 1;
    MUST(MPI_Win_lock_all(0, win));
    MUST(MPI_Win_sync(win));
    MPI_Barrier(comm);
    MUST(MPI_Rput(origin.address, 2, MPI_INT, after(), 0, 2, MPI_INT, win, &request));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MUST(MPI_Win_flush(after(), win));
    MPI_Barrier(comm);
    should[0] = 500 * before();
    should[1] = 500 * before() + 1;
    MUST(MPI_Win_sync(win));
    window_is("lock and sync", &m, should, COUNT);
    MUST(MPI_Rget(origin.address, 1, MPI_INT, after(), 7, 1, MPI_INT, win, &request));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    data[0] = -after() - 1;
    window_is("rget", &origin, data, 2);
    MUST(MPI_Get(origin.address, 1, MPI_INT, after(), 60, 1, MPI_INT, win));
    MUST(MPI_Win_flush_local(after(), win));
    data[0] = 500 * rank + 10;
    window_is("get and flush", &origin, data, 2);
    MUST(MPI_Fetch_and_op(&rank, &old, MPI_INT, after(), 0, MPI_SUM, win));
    MUST(MPI_Win_flush(after(), win));
    expect("fetched", old, 500 * rank);
    MUST(MPI_Win_unlock_all(win));
    should[0] += before();
    MPI_Barrier(comm);
    MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, after(), 0, win));
    MUST(MPI_Put(origin.address, 1, MPI_INT, after(), 199, 1, MPI_INT, win));
    MUST(MPI_Win_unlock(after(), win));
    MPI_Barrier(comm);
    MUST(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
    should[199] = 500 * before() + 10;
    window_is("lock of its own", &m, should, COUNT);
    MUST(MPI_Win_unlock(rank, win));
    MUST(MPI_Win_free(&win));
    MPI_Group_free(&all);
    MPI_Group_free(&targets);
    MPI_Group_free(&origins);
    memory_free(&m);
    memory_free(&origin);
}

/* ---- what is an error ---- */

#define ERROR(class_, call) expect(#call, error_class(call), class_)

static int error_class(int code)
{
    int class_ = -1;

    MPI_Error_class(code, &class_);
    return class_;
}

static void errors(enum kind kind)
{
    struct memory m = memory_make(kind, 1000);
    MPI_Datatype strange;
    MPI_Request request;
    MPI_Win win;
    MPI_File file;
    MPI_Status status;
    char *at = m.address;
    int value = 1, places[64] = {0}, counts[64] = {0};

    MPI_Type_create_darray(1, 0, 1, (int[]){8}, (int[]){MPI_DISTRIBUTE_BLOCK}, (int[]){MPI_DISTRIBUTE_DFLT_DARG},
                           (int[]){1}, MPI_ORDER_C, MPI_INT, &strange);
    MPI_Type_commit(&strange);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    ERROR(MPI_ERR_TYPE, MPI_Send(at, 1, strange, after(), 1, comm));
    ERROR(MPI_ERR_BUFFER, MPI_Send(at, 1001, MPI_BYTE, after(), 1, comm));
    ERROR(MPI_ERR_BUFFER, MPI_Recv(at + 996, 2, MPI_INT, after(), 1, comm, MPI_STATUS_IGNORE));
    ERROR(MPI_ERR_BUFFER, MPI_Irecv(at, 251, MPI_INT, after(), 1, comm, &request));
    ERROR(MPI_ERR_BUFFER, MPI_Bcast(at + 1, 1000, MPI_BYTE, 0, comm));
    ERROR(MPI_ERR_BUFFER, MPI_Allreduce(MPI_IN_PLACE, at, 251, MPI_INT, MPI_SUM, comm));
    ERROR(MPI_ERR_BUFFER, MPI_Allgather(&value, 1, MPI_INT, at + 1000 - 4 * (size - 1), 1, MPI_INT, comm));
    ERROR(MPI_ERR_UNSUPPORTED_OPERATION,
          MPI_Neighbor_alltoallv(at, counts, places, MPI_INT, at, counts, places, MPI_INT, comm));
    ERROR(MPI_ERR_UNSUPPORTED_OPERATION, MPI_Iscan(&value, at, 1, MPI_INT, MPI_SUM, comm, &request));
    ERROR(MPI_ERR_UNSUPPORTED_OPERATION, MPI_Pack(at, 1, MPI_INT, places, 64, counts, comm));
#if MPI_VERSION >= 4
    ERROR(MPI_ERR_UNSUPPORTED_OPERATION,
          MPI_Isendrecv(at, 1, MPI_INT, after(), 1, &value, 1, MPI_INT, before(), 1, comm, &request));
    ERROR(MPI_ERR_UNSUPPORTED_OPERATION, MPI_Bcast_init(at, 1, MPI_INT, 0, comm, MPI_INFO_NULL, &request));
    ERROR(MPI_ERR_UNSUPPORTED_OPERATION,
          MPI_Allreduce_init(MPI_IN_PLACE, at, 10, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request));
#endif
    MPI_Win_create(&value, sizeof(value), 1, MPI_INFO_NULL, comm, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_lock_all(0, win);
    ERROR(MPI_ERR_UNSUPPORTED_OPERATION, MPI_Fetch_and_op(at, &value, MPI_INT, after(), 0, MPI_SUM, win));
    ERROR(MPI_ERR_BUFFER, MPI_Put(at, 1001, MPI_BYTE, after(), 0, 4, MPI_BYTE, win));
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Type_free(&strange);
    MUST(MPI_File_open(MPI_COMM_SELF, "/dev/null", MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
    ERROR(MPI_ERR_UNSUPPORTED_OPERATION, MPI_File_write_at(file, 0, at, 1, MPI_INT, &status));
    MUST(MPI_File_close(&file));
    if (kind == BUFFER) {
        cl_mem buffer;
        size_t offset;

        MUST(xtqmpi_device_buffer(at + 10, &buffer, &offset));
        expect("offset", (long)offset, 10);
        expect("buffer", buffer == m.buffer, 1);
    }
    expect("queue that is not in-order", xtqmpi_device_svm(NULL, at, 1) < 0, 1);
    expect("said before", kind == SVM && !xtqmpi_device_svm(commands, at, 1000), 0);
    memory_free(&m);
    if (kind != SVM) /* SVM is anything again */
        ERROR(MPI_ERR_BUFFER, MPI_Send(at, 1, MPI_BYTE, after(), 1, comm));
    expect("released twice", xtqmpi_device_release(at) < 0, 1);
}

/* ---- what the host may touch is as any memory ---- */

static void mapped(void)
{
    enum { BYTES = 10000 };
    unsigned char *svm = clSVMAlloc(context, CL_MEM_READ_WRITE, BYTES, 0);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, NULL);
    unsigned char *there;

    clEnqueueSVMMap(commands, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, svm, BYTES, 0, NULL, NULL);
    there = clEnqueueMapBuffer(commands, buffer, CL_TRUE, CL_MAP_WRITE, 0, BYTES, 0, NULL, NULL, NULL);
    pattern(svm, BYTES, rank, 8);
    MUST(MPI_Sendrecv(svm, BYTES, MPI_BYTE, after(), 1, there, BYTES, MPI_BYTE, before(), 1, comm, MPI_STATUS_IGNORE));
    pattern(scratch, BYTES, before(), 8);
    expect("mapped", memcmp(there, scratch, BYTES), 0);
    clEnqueueSVMUnmap(commands, svm, 0, NULL, NULL);
    clEnqueueUnmapMemObject(commands, buffer, there, 0, NULL, NULL);
    clFinish(commands);
    clReleaseMemObject(buffer);
    clSVMFree(context, svm);
}

/* ---- in pieces ---- */

static void in_pieces(void)
{
    MPI_Comm pipe;
    MPI_Status status;
    MPI_Request request;
    struct memory out, in;

    MPI_Comm_dup(comm, &pipe);
    expect("pieces too small", xtqmpi_comm_pipeline(pipe, 100) < 0, 1);
    MUST(xtqmpi_comm_pipeline(pipe, 65536));
    for (int from = BUFFER; from < KINDS; from++) {
        messages(pipe, (enum kind)from, SVM, 900, 3);
        messages(pipe, (enum kind)from, BUFFER, 65536, 3);
        messages(pipe, (enum kind)from, PART, 700001, 3);
    }
    messages(pipe, HOST, HOST, 700001, 3);
    /* a shape at either end */
    for (int which = 0; which < 2; which++) {
        MPI_Datatype vector;

        MPI_Type_vector(1000, 100, 200, MPI_INT, &vector);
        MPI_Type_commit(&vector);
        out = memory_make(BUFFER, 800000);
        in = memory_make(BUFFER, 800000);
        fill(&out, rank, 1);
        fill(&in, rank, 2);
        MUST(MPI_Irecv(in.address, which ? 100000 : 1, which ? MPI_INT : vector, before(), 1, pipe, &request));
        MUST(MPI_Send(out.address, which ? 1 : 100000, which ? vector : MPI_INT, after(), 1, pipe));
        MUST(MPI_Wait(&request, &status));
        status_is(&status, before(), 1, 400000);
        get(&in, other, 800000);
        pattern(scratch, 800000, before(), 1);
        for (size_t i = 0; i < 1000; i++)
            expect("row", memcmp(other + i * (which ? 400 : 800), scratch + i * (which ? 800 : 400), 400), 0);
        MPI_Type_free(&vector);
        memory_free(&out);
        memory_free(&in);
    }
    out = memory_make(BUFFER, 300000);
    in = memory_make(BUFFER, 300000);
    MPI_Comm_set_errhandler(pipe, MPI_ERRORS_RETURN);
    MUST(MPI_Isend(out.address, 300000, MPI_BYTE, after(), 1, pipe, &request));
    ERROR(MPI_ERR_TRUNCATE, MPI_Recv(in.address, 200000, MPI_BYTE, before(), 1, pipe, &status));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    memory_free(&out);
    memory_free(&in);
    MPI_Comm_free(&pipe);
}

int main(int count, char **words)
{
    begin(&count, &words);
    mapped();
    for (int from = 0; from < KINDS; from++) {
        for (int to = 0; to < KINDS; to++) {
            const size_t lengths[] = {0, 1, 1000, 100003};

            for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++)
                messages(comm, (enum kind)from, (enum kind)to, lengths[i], 6);
            if (from == PART || to == PART) /* where the rest goes the buffers' ways */
                continue;
            for (int which = 0; which < TYPES; which++)
                typed((enum kind)from, (enum kind)to, which, 1 + which * 3, which % 2);
            persistent((enum kind)from, (enum kind)to);
            window_active((enum kind)to, (enum kind)from, 300);
            window_active((enum kind)to, (enum kind)from, 70000);
            window_passive((enum kind)to, (enum kind)from);
        }
        replaced((enum kind)from);
        absolute((enum kind)from);
        reduction(from, 100);
        reduction(from, 40000);
        broadcast(from, 5000, false);
        broadcast(from, 500000, true);
        if (from != HOST)
            errors((enum kind)from);
    }
    messages(comm, BUFFER, BUFFER, LONGEST, 6);
    for (int way = 0; way < 8; way++)
        many(way);
    in_pieces();
    return end();
}
