#!/bin/sh
# A node that has no memory to process a reservation, or a daemon that has none for a request, reports that at once: the
# client does not wait in vain.
. "$(dirname "$0")/one-lib.sh"
case $SANITIZER in
address) skip "the $SANITIZER sanitizer has a calloc() of its own" ;;
esac
export WITHOUT_MEMORY="$scratch/without"
make_pool one
add_daemon two
start_at="env LD_PRELOAD=${LD_PRELOAD:+$LD_PRELOAD:}$(realpath "$top_builddir/tests/pool/.libs/without_memory.so")"
start_daemon
start_other two
meet_other
export VOCL_POOL="$scratch/pool.two"
vocl pool drain two || fail "drain"
await state=two:draining

touch "$WITHOUT_MEMORY"
VOCL_POOL_WAIT=0 vocl run -- "$top_builddir/tests/pool/burn" 0 > "$scratch/out" 2> "$scratch/err" && fail "it runs"
grep -q "one: it has no memory" "$scratch/err" || fail "the reason: $(cat "$scratch/err" "$scratch"/log*)"
echo "it says so"

# A waiting request continues as soon as there is memory again.
vocl run --wait 300 -- "$top_builddir/tests/pool/burn" 0 > "$scratch/out" 2> "$scratch/err" &
program=$!
await --user="$user" queue=1 || fail "it does not wait: $(cat "$scratch/err" "$scratch"/log*)"
rm "$WITHOUT_MEMORY"
wait $program || fail "status $?: $(cat "$scratch/err" "$scratch"/log*)"
echo "it goes on"

grep -v '^node two' "$scratch/pool" > "$scratch/pool.one"
touch "$WITHOUT_MEMORY.request"
VOCL_POOL=$scratch/pool.one timeout 120 vocl run -- "$top_builddir/tests/pool/burn" 0 > "$scratch/out" 2> "$scratch/err" &&
    fail "it runs without memory for its request"
grep -q "no memory for a request" "$scratch/err" || fail "no answer: $(cat "$scratch/err" "$scratch"/log*)"
rm "$WITHOUT_MEMORY.request"
VOCL_POOL=$scratch/pool.one vocl run -- "$top_builddir/tests/pool/burn" 0 > "$scratch/out" 2> "$scratch/err" ||
    fail "with memory again: $(cat "$scratch/err")"
exit 0
