#!/bin/sh
# Workers of one host build the same programs at the same time, many times, and no build fails for what another worker
# does in the driver's cache folder.
. "$(dirname "$0")/../lib.sh"
builds=$top_builddir/tests/session/builds

wanted=$("$builds" 2) || fail "natively: $wanted"

link_libexec "$scratch/libexec" "export LD_PRELOAD='$(realpath "$top_builddir/tests/session/.libs/slow_remove.so")'"
VOCL_LIBEXECDIR="$scratch/libexec" vocl run --workers 5 -- "$builds" "$(rounds 4)" > "$scratch/out" 2>&1 ||
    fail "5 workers: $(cat "$scratch/out")"
grep -qx '5 devices: right' "$scratch/out" || fail "5 workers: $(cat "$scratch/out")"
