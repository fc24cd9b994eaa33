#!/bin/sh
# Daemons that mpiexec starts find each other by MPI and write the pool file; they serve sessions one after the other
# and many at once.
. "$(dirname "$0")/../lib.sh"
[ "$SANITIZER" != thread ] || skip "the daemon has one thread"
[ -n "$MPIEXEC_MPICH" ] || skip "needs MPICH"
[ -x "$VOCL_LIBEXECDIR/vocl-poold" ] || skip "VOCL was built without its pool"
user=$(id -un)
# daemons [NUMBER]: prints the running daemons, or that one
daemons()
{
    for conf in "$scratch"/conf${1:-[012]}; do
        daemons_of "$conf"
    done
}
secret=$(od -An -v -tx1 -N32 /dev/urandom | tr -d ' \n')
printf '%s %s\n' "$user" "$secret" > "$scratch/keys"
chmod 600 "$scratch/keys"
for number in 0 1 2; do
    "$VOCL_LIBEXECDIR/vocl-proxy" --make-key=host$number >> "$scratch/keys"
    cat > "$scratch/conf$number" <<END
name = "host$number";
listen = "127.0.0.1:0";
pool-file = "$scratch/pool";
auth = "key";
least-uid = 0;
sessions-per-user = 0;
key-file = "$scratch/keys";
state-directory = "$scratch/state$number";
devices = ( { match = "*"; sessions = 100; } );
environment = [ "POCL_CACHE_DIR=$POCL_CACHE_DIR" ];
END
done
"$MPIEXEC_MPICH" -disable-auto-cleanup -n 1 "$VOCL_LIBEXECDIR/vocl-proxy" --config "$scratch/conf0" : \
    -n 1 "$VOCL_LIBEXECDIR/vocl-proxy" --config "$scratch/conf1" : \
    -n 1 "$VOCL_LIBEXECDIR/vocl-proxy" --config "$scratch/conf2" > "$scratch/log" 2>&1 &
mpiexec=$!
end()
{
    kill -9 $(daemons) 2> /dev/null
    kill -9 $mpiexec 2> /dev/null
    rm -rf "$scratch"
}
trap end EXIT
wait_until test -s "$scratch/pool" || fail "no pool file: $(cat "$scratch/log")"
[ "$(grep -c '^node host[012] 127.0.0.1:[1-9]' "$scratch/pool")" = 3 ] || fail "the pool file: $(cat "$scratch/pool")"
echo "key-file $scratch/keys" >> "$scratch/pool"
VOCL_POOL=$scratch/pool
export VOCL_POOL
nodes_up()
{
    [ "$(vocl pool nodes 2> /dev/null | grep -c ' up ')" = "$1" ]
}
wait_until nodes_up 3 || fail "not all nodes are up: $(vocl pool nodes; cat "$scratch/log")"

program=$top_builddir/tests/parity/vector_add
"$program" > "$scratch/native" || fail "vector_add natively"
descriptors()
{
    for process in $(daemons); do
        ls "/proc/$process/fd" 2> /dev/null
    done | wc -l
}
idle()
{
    [ "$(vocl pool sessions | wc -l)" = 1 ]
}
before=$(descriptors)
for round in $(seq $(rounds 4)); do
    vocl run --policy spread -- "$program" > "$scratch/out" 2> "$scratch/err" ||
        fail "round $round: $(cat "$scratch/err"; tail -n 8 "$scratch/log")"
    cmp "$scratch/native" "$scratch/out" || fail "round $round prints something else"
done
running=
for one in $(seq $(rounds 5)); do
    { vocl run --policy spread --count $((one % 3 + 1)) -- "$program" > "$scratch/out$one" 2> "$scratch/err$one" &&
        cmp "$scratch/native" "$scratch/out$one"; } &
    running="$running $!"
done
for process in $running; do
    wait $process || fail "together: $(cat "$scratch"/err* "$scratch/log" | tail -n 20)"
done
wait_until idle || fail "sessions are left: $(vocl pool sessions)"
as_before()
{
    [ "$(descriptors)" -le "$before" ]
}
wait_until as_before || fail "descriptors are left: $before, $(descriptors)"

kill -INT $(daemons)
wait $mpiexec

# In the background: mpiexec ends, and the daemons stay.
rm "$scratch/pool"
"$MPIEXEC_MPICH" -n 1 "$VOCL_LIBEXECDIR/vocl-proxy" --config "$scratch/conf0" --detach : \
    -n 1 "$VOCL_LIBEXECDIR/vocl-proxy" --config "$scratch/conf1" --detach : \
    -n 1 "$VOCL_LIBEXECDIR/vocl-proxy" --config "$scratch/conf2" --detach > "$scratch/log" 2>&1 ||
    fail "mpiexec: $(cat "$scratch/log")"
echo "key-file $scratch/keys" >> "$scratch/pool"
wait_until nodes_up 3 || fail "in the background: $(vocl pool nodes; cat "$scratch"/state?/log)"
vocl run --count 2 --policy spread -- "$program" > "$scratch/out" 2> "$scratch/err" || fail "background: $(cat "$scratch/err")"
cmp "$scratch/native" "$scratch/out" || fail "in the background it prints something else"

# The first daemon is killed: the others are still a pool. (In the foreground, on one host, mpiexec would kill them.)
kill -9 $(daemons 0)
wait_until nodes_up 2 || fail "not two are left: $(vocl pool nodes; cat "$scratch"/state?/log | tail -n 8)"
vocl run --count 2 --policy spread -- "$program" > "$scratch/out" 2> "$scratch/err" ||
    fail "with two: $(cat "$scratch/err"; cat "$scratch"/state?/log | tail -n 8)"
cmp "$scratch/native" "$scratch/out" || fail "with two it prints something else"

# Two hosts whose daemons listen at a loopback address, each at its own: they could not connect to each other.
if unshare -n true 2> /dev/null; then
    kill $(daemons)
    rm "$scratch/pool"
    port=$((20000 + $$ % 10000))
    for number in 0 1; do
        sed "s/127.0.0.1:0/127.0.0.1:$port/; s/state$number/there$number/" "$scratch/conf$number" > "$scratch/alike$number"
    done
    timeout 100 "$MPIEXEC_MPICH" -n 1 "$VOCL_LIBEXECDIR/vocl-proxy" --config "$scratch/alike0" : \
        -n 1 unshare -n sh -c 'ip link set lo up; exec "$0" --config "$1"' "$VOCL_LIBEXECDIR/vocl-proxy" "$scratch/alike1" \
        > "$scratch/log" 2>&1 && fail "they are a pool: $(cat "$scratch/log")"
    grep -q "host0 and host1 both listen at 127.0.0.1:$port: set listen" "$scratch/log" || fail "not why: $(cat "$scratch/log")"
    [ ! -e "$scratch/pool" ] || fail "a pool file that leads nowhere: $(cat "$scratch/pool")"
fi
exit 0
