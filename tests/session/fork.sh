#!/bin/sh
# A child of a program with a session does not disturb that session, however the child ends, and may open a session of
# its own.
. "$(dirname "$0")/../lib.sh"
need_whole_mpi

mark=VOCL_TEST_MARK=$$
for how in exit _exit kill exec own calls system; do
    env "$mark" vocl run -- "$top_builddir/tests/session/fork" $how > "$scratch/out" 2> "$scratch/err"
    status=$?
    [ $status -eq 0 ] || fail "$how: status $status: $(cat "$scratch/out" "$scratch/err")"
    [ ! -s "$scratch/err" ] || fail "$how: $(cat "$scratch/err")"
    wait_until none_left "$mark" || fail "left after $how: $(session_processes "$mark")"
done
