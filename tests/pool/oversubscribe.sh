#!/bin/sh
# More sessions than a device has memory for: three, of which one and a half fit. Idle sessions are suspended while
# others wait, and all programs get the right results.
. "$(dirname "$0")/one-lib.sh"
need python3 python3
[ -e "$VOCL_LIBEXECDIR/vocl-tls.so" ] || skip "VOCL was built without TLS"
export POCL_CACHE_DIR="${POCL_CACHE_DIR:-$scratch/pocl}"
make_pool here 'oversubscribe = true;'
start_daemon
export VOCL_POOL="$scratch/pool" VOCL_SHARE=0
# two thirds of the device's memory, in KiB, which is more than the programs use
memory=$(vocl pool --json devices | python3 -c '
import json, sys
print(json.load(sys.stdin)["nodes"][0]["devices"][0]["memory"] // 1024 * 2 // 3)')K

for number in 1 2 3; do
    vocl run --mem "$memory" --wait 300 -- "$top_builddir/tests/pool/bursts" 64 3 "$scratch/enough" > "$scratch/out$number" \
        2> "$scratch/err$number" &
    programs="$programs $!"
done
# all_worked: each program has worked once, and is then idle
all_worked()
{
    [ "$(cat "$scratch"/out? | grep -c 'round 1')" = 3 ]
}
wait_until all_worked || fail "not all have a turn: $(tail -n 5 "$scratch"/out? "$scratch"/err? "$scratch/log")"
touch "$scratch/enough"
for program in $programs; do
    wait "$program" || fail "status $?: $(tail -n 5 "$scratch"/out? "$scratch"/err? "$scratch/log")"
done
for number in 1 2 3; do
    grep -qx right "$scratch/out$number" || fail "$number: $(cat "$scratch/out$number")"
done
suspended=$(grep -c 'suspended' "$scratch/accounting")
echo "$suspended suspensions"
[ "$suspended" -ge 2 ] || fail "they waited for each other's end: $(cat "$scratch/log")"
grep -q 'asked by waiting requests' "$scratch/log" || fail "who asked: $(cat "$scratch/log")"
grep -q 'may be suspended after [0-9]* ms idle' "$scratch/log" || fail "what it cost: $(cat "$scratch/log")"

await sessions=0 || fail "left: $(vocl pool sessions)"
: > "$scratch/accounting"
vocl run --mem "$memory" -- "$top_builddir/tests/pool/bursts" 16 2 2.5 > "$scratch/out" || fail "alone: $(cat "$scratch/out")"
grep -q 'suspended' "$scratch/accounting" && fail "it was suspended for nobody"
exit 0
