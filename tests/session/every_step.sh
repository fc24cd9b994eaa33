#!/bin/sh
# Faults at some steps of programs of all kinds; make check-stress has many times as many. See steps.
. "$(dirname "$0")/../lib.sh"
at_most 1800
most=$(rounds 1)

# faults PROGRAM ONLY MODE: strikes at the program's steps of the kinds ONLY
faults()
{
    "$top_srcdir/tests/session/steps" --most "$most" --only "$2" "$1" "$3"
}

# Each process is killed where it sends or takes a frame.
beside faults buffer_ops 'frame-*' plain
beside faults images 'frame-*' plain
beside faults many_copies 'frame-*' suspend
beside faults map_unmap 'frame-*' recover
beside faults callback_waits 'frame-*' recover
beside faults user_events 'frame-*' recover
beside faults kernel_info 'frame-*' recover
beside faults kernel_printf 'frame-*' recover-suspend
beside faults 'host_pointer_devices no-svm' 'frame-*' recover2
beside faults native_kernel 'frame-*' move
if [ "$most" -gt 1 ]; then # which take seconds by themselves
    beside faults contents 'frame-*' suspend
    beside faults callbacks 'frame-*' recover
    beside faults programs 'frame-*' recover
    beside faults several_contexts 'frame-*' recover2
    beside faults many_devices 'frame-*' recover2-move
fi
# Each process is killed in the phases of moves, suspends and checkpoints.
beside faults transpose 'phase:*' move
beside faults user_events 'phase:*' recover-move
beside faults reduction 'phase:*' suspend
beside faults transpose 'phase:*' checkpoint
# Calls of libc fail.
beside faults vector_add '[mdw]*' plain
beside faults vector_add 'write:vocl*' checkpoint
# svm is not among them: its allocations fail without an error code, and its output about fine-grained memory differs
# with --recover (doc/internals/recovery.md).
well_beside
