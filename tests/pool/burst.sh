#!/bin/sh
# More clients connect at one moment than a daemon has places for clients that are not yet authenticated: all are
# served.
. "$(dirname "$0")/one-lib.sh"
make_pool here
start_at="prlimit --nofile=64" # a quarter of them for strangers, half of that for those of one address
start_daemon
export VOCL_POOL="$scratch/pool"

kill -STOP $daemon # until all clients have connected
for number in $(seq 60); do
    vocl pool nodes > "$scratch/out.$number" 2>&1 || echo "$number: $?" >> "$scratch/failed" &
    clients="$clients $!"
done
# all_are_there: a connection that the daemon has not accepted counts, too
all_are_there()
{
    [ "$(awk -v port="$(printf '%04X' $port)" '$4 == "01" && $3 ~ ":" port "$"' /proc/net/tcp | wc -l)" -ge 60 ]
}
wait_until all_are_there || fail "not all come: $(cat "$scratch"/out.*)"
kill -CONT $daemon
wait $clients
[ ! -e "$scratch/failed" ] || fail "$(wc -l < "$scratch/failed") of 60 failed: $(cat "$scratch/out.$(head -n 1 "$scratch/failed" | cut -d: -f1)")"

# Some were refused, and tried again.
grep -q 'another one of its address has its place' "$scratch/log" || fail "nobody was turned away"

# A client with a wrong key gets an error soon, and not after many tries.
sed "s/ .*/ $(new_key)/" "$scratch/mine" > "$scratch/other"
chmod 600 "$scratch/other"
{ echo "auth key"; echo "key-file $scratch/other"; grep '^node' "$scratch/pool"; } > "$scratch/pool.other"
[ "$(status_of env VOCL_POOL="$scratch/pool.other" vocl pool nodes 2> "$scratch/err")" != 0 ] || fail "another key opens"
grep -q 'refuses the key' "$scratch/err" || fail "$(cat "$scratch/err")"
kill $daemon
wait $daemon
exit 0
