/* Windows of device memory. */
#include <stdlib.h>
#include <string.h>

#include "device_mpi.h"

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

void window_active(enum kind kind, enum kind origin_kind, int count)
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

/* Post and wait; lock, with a request, and the target's own reads. */
void window_passive(enum kind kind, enum kind origin_kind)
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
    MPI_Barrier(comm); /* so that the neighbour does not add to it before it has been read */
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
