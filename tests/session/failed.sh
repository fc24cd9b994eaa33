#!/bin/sh
# Commands fail while others in their wait list still run: the worker survives, whatever the native OpenCL does then.
. "$(dirname "$0")/../lib.sh"

for workers in 1 2; do
    result=$(vocl run --workers $workers -- "$top_builddir/tests/session/failed") || fail "$workers workers: $result"
    [ "$result" = "100 right" ] || fail "$workers workers: $result"
done
