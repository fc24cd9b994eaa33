#!/bin/sh
# A session with --recover moves while a command waits for a user event, so that the target executes the journal again.
# The event is set just before the move completes, and the old worker executes the command when it is told to end: its
# writes to memory that it shares with the program are awaited before the new worker executes the command again.
. "$(dirname "$0")/../lib.sh"
mark=VOCL_TEST_MARK=$$

link_libexec "$scratch/libexec" "export LD_PRELOAD='$(realpath "$top_builddir/tests/session/.libs/late_exit.so")'"
env "$mark" VOCL_LIBEXECDIR="$scratch/libexec" VOCL_SHARE=1 VOCL_LOG=info "$(held_at change)" vocl run --recover --spare 1 -- \
    "$top_builddir/tests/session/outlived" "$scratch/go" > "$scratch/out" 2> "$scratch/err" &
pid=$!
wait_until grep -qsx ready "$scratch/out" || fail "no program: $(cat "$scratch/out" "$scratch/err")"
vocl move "$(program_of "$top_builddir/tests/session/outlived")" --to spare > "$scratch/asked" 2>&1 &
asked=$!
held || fail "it does not move: $(cat "$scratch/asked" "$scratch/err")"
touch "$scratch/go"
wait_until grep -qx begun "$scratch/out" || fail "it does not go on: $(cat "$scratch/out" "$scratch/err")"
release
wait $asked || fail "not moved: $(cat "$scratch/asked" "$scratch/err")"
wait $pid || fail "status $?: $(cat "$scratch/out" "$scratch/err")"
[ "$(tail -n 1 "$scratch/out")" = 1 ] || fail "$(cat "$scratch/out" "$scratch/err")"
grep -q 'all commands were sent again' "$scratch/err" || fail "it was not told again: $(cat "$scratch/err")"
