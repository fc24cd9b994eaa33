#!/bin/sh
# Commands that fail while others that they wait for still run: the worker lives, whatever the native OpenCL makes of it.
. "$(dirname "$0")/../lib.sh"

for workers in 1 2; do
    result=$(vocl run --workers $workers -- "$top_builddir/tests/session/failed") || fail "$workers workers: $result"
    [ "$result" = "100 right" ] || fail "$workers workers: $result"
done
