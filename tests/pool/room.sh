#!/bin/sh
# A session gets no more of a device's memory than it was granted, for whatever kind of allocation, also on the
# program's own host, where much of it is memory shared by program and worker; and the pool sees what the session uses,
# also after it has moved or been suspended.
. "$(dirname "$0")/one-lib.sh"
# The driver has unified shared memory and pipes, which Debian's PoCL does not have.
mkdir "$scratch/vendors"
echo "$top_builddir/tests/drivers/.libs/newer.so" > "$scratch/vendors/newer.icd"
make_pool one 'network = "tls";'
setting "$scratch/conf" environment "[ \"OCL_ICD_VENDORS=$scratch/vendors\", \"POCL_CACHE_DIR=$POCL_CACHE_DIR\", \"VOCL_TEST_PIPES=1\" ]"
add_daemon two
start_daemon
start_other two
meet_other
VOCL_POOL=$scratch/pool
export VOCL_POOL
room=$top_builddir/tests/pool/room
out=$scratch/out err=$scratch/err

# is_limited SHARE KIND [all|short]: 64 MiB have room for four allocations of 16 MiB; for an allocation on two nodes,
# the node with less free memory counts
is_limited()
{
    devices=1
    [ -z "$3" ] || devices=2 # of two nodes
    [ "$3" = short ] && most=2 || most=4
    VOCL_SHARE=$1 vocl run --count $devices --mem 64M -- "$room" "$2" 16 8 0 $3 > "$out.$2" 2> "$err.$2"
    status=$?
    printf "$most\nfreed one: 1\nfreed all: $most\n" | diff - "$out.$2" || fail "$*: status $status: $(cat "$err.$2")"
}
for kind in buffer pointer image pipe svm fine over host shared device; do
    is_limited 1 $kind
done
for kind in buffer pointer svm over device; do
    is_limited 0 $kind
done
for kind in buffer pointer svm over host; do
    is_limited 1 $kind all
done
for kind in buffer image pipe; do
    is_limited 1 $kind short
done

memory=$(vocl pool --json devices | sed -n 's/.*"memory": \([0-9]*\).*/\1/p' | head -n 1)
# used MIB MIB: so much memory of the two nodes' devices is used, to within 8 MiB
used()
{
    now=$(vocl pool --json devices | sed -n 's/.*"free": \([0-9]*\).*/\1/p' | while read -r free; do
        echo $(((memory - free + (4 << 20)) >> 23 << 3))
    done | xargs)
    [ "$now" = "$*" ]
}
# begins COUNT KIND: starts a session over so many nodes, without a limit; its use is seen as well
begins()
{
    vocl run --policy order --count $1 -- "$room" "$2" 16 4 "$scratch/enough" $([ $1 = 1 ] || echo all) > "$out" 2> "$err" &
    running=$!
}
ends()
{
    touch "$scratch/enough"
    wait $running || fail "$1: status $?: $(cat "$out" "$err")"
    printf '4\nfreed one: 1\nfreed all: 4\n' | diff - "$out" || fail "$1: $(cat "$err")"
    wait_until used 0 0 || fail "$1: given back, $now MiB are used"
    rm "$scratch/enough"
}
# asks VERB [OPTION...]: a request of the session's owner
asks()
{
    session=$(vocl pool --json sessions | sed -n 's/.*"id": "\([^"]*\)".*/\1/p' | head -n 1)
    vocl pool "$@" "$session" > "$scratch/asked" 2>&1 || fail "$*: $(cat "$scratch/asked" "$err" "$scratch"/log*)"
}
goes_on()
{
    used 64 0 || used 0 64
}
for kind in pointer svm; do
    begins 2 $kind
    wait_until used 64 64 || fail "$kind, two workers: $now MiB are used: $(cat "$out" "$err")"
    ends "$kind, two workers"
done
begins 1 fine
wait_until used 64 0 || fail "fine: $now MiB are used: $(cat "$out" "$err")"
asks move --to two
wait_until used 0 64 || fail "moved: $now MiB are used: $(cat "$out" "$err")"
asks suspend
wait_until used 0 0 || fail "suspended: $now MiB are used: $(cat "$out" "$err")"
asks resume
wait_until goes_on || fail "it goes on: $now MiB are used: $(cat "$out" "$err")"
ends "moved, suspended"
exit 0
