#!/bin/sh
# Eight daemons that are too many to be all connected with each other ("mesh"): all of them learn the state of each,
# also when it is drained, has a session, is lost, and is back; and sessions get devices on nodes that are not connected
# with the daemon that was asked.
. "$(dirname "$0")/many-lib.sh"
make_many 8 'mesh = 3;' 'policy = "order";' 'devices = ( { match = "*"; sessions = 2; } );'
began=$(date +%s%3N)
start 1

# What it tells of itself, right after a refusal, too, is no older than the daemon is (and a minute, if clocks are set).
public=$(awk '$1 == "@d1" { print $2 }' "$scratch/keys") secret=$(awk '$1 == "@d2" { print $3 }' "$scratch/keys")
wait_until grep -qs ' serves ' "$scratch/log.1" || fail "d1 does not start: $(cat "$scratch/log.1")"
for i in 1 2 3 4 5 6 7 8; do
    "$top_builddir/tests/security/as_node" "$scratch/only.1" d2 "$public" "$secret" record "$user" -1 > "$scratch/out"
    age=$(sed -n 's/.*"record":"d1".*"age":\([0-9]*\).*/\1/p' "$scratch/out")
    [ -n "$age" ] || fail "no record: $(cat "$scratch/out" "$scratch/log.1")"
    [ "$age" -le $(($(date +%s%3N) - began + 60000)) ] || fail "its state is $age ms old"
done
for node in $NODES; do [ "$node" = 1 ] || start "$node"; done
all_know nodes=8

# d1 watches d2, d3 and d5, and is watched by three daemons
connections=$(ls -l "/proc/$pid_1/fd" | grep -c socket:)
[ "$connections" -le 14 ] || fail "d1 has $connections sockets"

VOCL_POOL=$scratch/pool vocl pool drain --reason test d6 > /dev/null || fail "drain"
all_know "state=d6:draining"
VOCL_POOL=$scratch/pool vocl pool resume d6 > /dev/null || fail "resume"
all_know "state=d6:up"

# only d4 and d7, which d1 does not watch, have devices left
for node in 1 2 3 5 6 8; do
    VOCL_POOL=$scratch/pool vocl pool drain --reason test "d$node" > /dev/null || fail "drain d$node"
done
all_know state=d1:draining state=d2:draining state=d3:draining state=d5:draining state=d6:draining state=d8:draining
program=$top_builddir/tests/parity/vector_add
"$program" > "$scratch/native" || fail "vector_add natively"
VOCL_POOL=$scratch/only.1 vocl run -- "$program" > "$scratch/out" 2> "$scratch/err" || fail "by d1: $(cat "$scratch/err")"
cmp "$scratch/native" "$scratch/out" || fail "vector_add prints something else"
wait_until grep -q '"program"' "$scratch/accounting.4" || fail "the session was not at d4"

silent=4
kill -9 $pid_4
all_know "state=d4:lost"
# Daemons that have not tried to connect to d4 know the reason, too.
for node in 1 2 3 5 6 7 8; do
    says_why()
    {
        VOCL_POOL=$scratch/only.$node vocl pool nodes | grep -q "^d4  *lost .*127.0.0.4:$port  *.*127.0.0.4:$port"
    }
    wait_until says_why || fail "d$node does not know why d4 is lost: $(VOCL_POOL=$scratch/only.$node vocl pool nodes)"
done
VOCL_POOL=$scratch/only.1 vocl run -- "$program" > "$scratch/out" 2> "$scratch/err" || fail "without d4: $(cat "$scratch/err")"
start 4
silent=
all_know "state=d4:up"
