/* Gets and atomics of kernels: follows vocl_dev.cl. */

/* Gets bytes of a segment of another rank into one of this rank. If both are mapped, the get is complete on return;
 * otherwise after devcom_flush_local() or devcom_quiet(). */
int devcom_read(global struct devcom_device *d, uint segment, ulong offset, uint rank, uint remote_segment,
                ulong remote_offset, ulong bytes, uint queue)
{
    const struct devcom_putting p = {segment, offset, rank, remote_segment, remote_offset, bytes, 0, DEVCOM_SIGNAL_NONE,
                                     0, queue, 0, DEVCOM_DO_GET, 0};

    return devcom_run_put(d, &p);
}

int devcom_run_fetch(global struct devcom_device *d, const struct devcom_putting *p, private long *out)
{
    int error = devcom_run_put(d, p);

    *out = d->values[devcom_index()];
    return error;
}

/* Atomics on a word of a segment in host memory, after the queue's earlier operations. All work-items receive in *out
 * what the word was before; it is undefined after an error. */
int devcom_fetch_add(global struct devcom_device *d, uint rank, uint segment, ulong offset, long value, uint queue,
                     private long *out)
{
    const struct devcom_putting p = {0, 0, rank, segment, offset, 8, 0, DEVCOM_SIGNAL_NONE, value, queue, 0, DEVCOM_DO_ADD, 0};

    return devcom_run_fetch(d, &p, out);
}

int devcom_compare_swap(global struct devcom_device *d, uint rank, uint segment, ulong offset, long expected, long value,
                        uint queue, private long *out)
{
    const struct devcom_putting p = {0, 0, rank, segment, offset, 8, 0, DEVCOM_SIGNAL_NONE, value, queue, 0, DEVCOM_DO_SWAP,
                                     expected};

    return devcom_run_fetch(d, &p, out);
}
