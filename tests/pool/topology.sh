#!/bin/sh
# A node whose PCIe tree the pool knows: sessions get devices that share few links, and their workers learn which
# devices of the tree these are.
. "$(dirname "$0")/one-lib.sh"
make_pool here 'policy = "pack";'
eight='pthread pthread pthread pthread pthread pthread pthread pthread'
setting "$scratch/conf" environment "[ \"POCL_CACHE_DIR=$POCL_CACHE_DIR\", \"POCL_DEVICES=$eight\", \"VOCL_TOPOLOGY=T2\", \"VOCL_LOG=info\" ]"
start_daemon

# devices OPTION...: starts a session, and sets $numbers to the devices of all sessions
devices()
{
    VOCL_POOL="$scratch/pool" vocl run "$@" -- "$top_builddir/tests/session/sleeper" < "$scratch/say" > "$scratch/out" \
        2> "$scratch/err" &
    wait_until grep -q ready "$scratch/out" || fail "no session: $(cat "$scratch/err" "$scratch/log")"
    VOCL_POOL="$scratch/pool" vocl pool status --json > "$scratch/status" || fail "status"
    numbers=$(tr -d ' \n' < "$scratch/status" | grep -o '"state":"running","devices":\[[0-9,]*\]' | sed 's/.*\[//; s/\]//' |
        tr '\n' ' ')
}
mkfifo "$scratch/say"
exec 8<> "$scratch/say"
devices
[ "$numbers" = "0 " ] || fail "one device: $numbers"
rm "$scratch/out"
devices
case " $numbers" in
*' 4 '*) ;;
*) fail "a second session is on $numbers: not at the other port of the root complex" ;;
esac
rm "$scratch/out"
devices --count 2
# No device is used twice, and two of the four are at each port.
[ "$(echo "$numbers" | tr ', ' '\n\n' | grep . | sort | uniq | awk '{ far += $1 > 3; near += $1 < 4 } END { print near, far }')" \
    = "2 2" ] || fail "four devices are $numbers"
exec 8>&-
