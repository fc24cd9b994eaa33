#!/bin/sh
# The session that has been idle for longest is suspended for a waiting one, whatever the clocks of the hosts say: one
# of them is an hour ahead.
. "$(dirname "$0")/one-lib.sh"
need python3 python3
[ -e "$VOCL_LIBEXECDIR/vocl-tls.so" ] || skip "VOCL was built without TLS"
export POCL_CACHE_DIR="${POCL_CACHE_DIR:-$scratch/pocl}"
make_pool one 'oversubscribe = true;'
add_daemon two
start_at="env LD_PRELOAD=${LD_PRELOAD:+$LD_PRELOAD:}$top_builddir/tests/pool/.libs/clock_off.so CLOCK_OFF=3600"
start_daemon
start_other two
meet_other
export VOCL_POOL="$scratch/pool" VOCL_SHARE=0
# two thirds of the device's memory, in KiB: each node has room for one session
memory=$(vocl pool --json devices | python3 -c '
import json, sys
print(json.load(sys.stdin)["nodes"][0]["devices"][0]["memory"] // 1024 * 2 // 3)')K

# begins NAME: starts a program that works once, and is then idle until the test ends
begins()
{
    name=$1
    vocl run --policy order --mem "$memory" --wait 300 -- "$top_builddir/tests/pool/bursts" 16 2 "$scratch/enough" > "$scratch/out.$1" \
        2> "$scratch/err.$1" &
    programs="$programs $!"
    wait_until grep -q 'round 1' "$scratch/out.$1" || fail "$1: $(cat "$scratch/out.$1" "$scratch/err.$1" "$scratch"/log*)"
}
# idle COUNT: so many sessions may be suspended for others, according to their daemons
idle()
{
    [ "$(vocl pool --json sessions | grep -c '"may be suspended": true')" = "$1" ]
}
begins first
wait_until idle 1 || fail "the first: $(vocl pool --json sessions)"
begins second
wait_until idle 2 || fail "the second: $(vocl pool --json sessions)"
begins third
asked='asked by waiting requests'
grep -q "$asked" "$scratch/log" || fail "the first is not suspended: $(cat "$scratch"/log*)"
grep "$asked" "$scratch/log.two" && fail "the second is suspended"
touch "$scratch/enough"
for program in $programs; do
    wait "$program" || fail "status $?: $(tail -n 5 "$scratch"/out.* "$scratch"/err.* "$scratch"/log*)"
done
for name in first second third; do
    grep -qx right "$scratch/out.$name" || fail "$name: $(cat "$scratch/out.$name")"
done
exit 0
