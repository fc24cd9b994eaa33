#!/bin/sh
# A daemon with an IPv6 address, and clients that connect to it.
. "$(dirname "$0")/one-lib.sh"
[ -e /proc/net/if_inet6 ] && grep -q '^0*1 ' /proc/net/if_inet6 || skip "no IPv6 here"
make_pool here 'network = "mpi";'
sed -i 's/127\.0\.0\.1:/[::1]:/' "$scratch/conf" "$scratch/pool"
start_daemon
grep -q "serves .* at \[::1\]:$port" "$scratch/log" || fail "elsewhere: $(cat "$scratch/log")"

program=$top_builddir/tests/parity/vector_add
"$program" > "$scratch/native" || fail "vector_add natively"
VOCL_POOL=$scratch/pool vocl pool nodes | grep -qF "[::1]:$port" || fail "nodes: $(VOCL_POOL=$scratch/pool vocl pool nodes)"
VOCL_POOL=$scratch/pool vocl run -- "$program" > "$scratch/out" 2> "$scratch/err" || fail "$(cat "$scratch/err" "$scratch/log")"
cmp "$scratch/native" "$scratch/out" || fail "vector_add prints something else"

# invalid addresses
for address in '::1' '[::1]' '[::1:7801' '[]:7801' 'host' '[::1]7801' ':7801'; do
    printf 'auth key\nnode here %s\n' "$address" > "$scratch/bad"
    VOCL_POOL=$scratch/bad vocl pool nodes 2> "$scratch/err" && fail "$address is taken"
    grep -q 'bad:2: no line of a pool file' "$scratch/err" || fail "$address: $(cat "$scratch/err")"
done
kill $daemon
wait $daemon || fail "the daemon ends with $?"
exit 0
