#!/bin/sh
# spin checks the models of put-then-notify (put_notify.pml) and of the queues of kernels (kernel_queue.pml).
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../spin-lib.sh"
models=devcom

holds put_notify
fails put_notify -DLATE_DATA
fails put_notify -DLATE_SLEEPER
holds kernel_queue
fails kernel_queue -DNO_LOCK
fails kernel_queue -DOVERTAKE
