/* Names and orders of arguments of version 0.1 of the functions for kernels, for one version: see devcom_deprecated.h. */
#define DEVCOM_NONE DEVCOM_SIGNAL_NONE
#define DEVCOM_SET DEVCOM_SIGNAL_SET
#define DEVCOM_ADD DEVCOM_SIGNAL_ADD

int devcom_put_notify(global struct devcom_device *d, uint queue, uint segment, ulong offset, uint rank,
                      uint remote_segment, ulong remote_offset, ulong bytes, uint signal, uint op, int value)
{
    return devcom_write_notify(d, segment, offset, rank, remote_segment, remote_offset, bytes, signal, op, value, queue);
}

int devcom_put(global struct devcom_device *d, uint queue, uint segment, ulong offset, uint rank, uint remote_segment,
               ulong remote_offset, ulong bytes)
{
    return devcom_write(d, segment, offset, rank, remote_segment, remote_offset, bytes, queue);
}

int devcom_notify(global struct devcom_device *d, uint queue, uint rank, uint signal, uint op, int value)
{
    return devcom_signal_op(d, rank, signal, op, value, queue);
}

int devcom_wait_notify(global struct devcom_device *d, uint signal, uint condition, long value)
{
    return devcom_signal_wait(d, signal, condition, value);
}

int devcom_flush(global struct devcom_device *d, uint queue)
{
    return devcom_quiet(d, queue);
}
