#!/bin/sh
# Sessions of a pool over MPI get new workers, which connect over TLS: the sessions move, are suspended, and have lost
# workers replaced, like sessions over TLS.
. "$(dirname "$0")/move-lib.sh"
for host in n1 n2; do
    write_config $host 'devices = ( { match = "*"; sessions = 2; } );' 'network = "mpi";'
    sed -i 's/pthread pthread/pthread/' "$scratch/$host.conf" # one device, and all nodes have the same
    start_daemon $host
done
await nodes=2 || fail "the daemons do not find each other: $(cat "$scratch"/n?.log)"

# over_mpi COMMAND...: starts a program that runs until it is told to end
over_mpi()
{
    rm -f "$scratch/enough"
    begins $alice env UCX_TLS=tcp,self VOCL_LOG=info "$@" "$scratch/bin/moved" 4 0 "$scratch/enough"
    ready
    grep -q libmpi "/proc/$(pgrep -u $alice -x moved)/maps" || fail "it is not over MPI: $(cat "$scratch/err")"
    here=$(part node) other=n1
    [ "$here" != n1 ] || other=n2
}
moved_to()
{
    move --to "$1" || fail "to $1: $(cat "$scratch/asked" "$scratch/err" "$scratch"/n?.log)"
    one_part && [ "$(part node)" = "$1" ] || fail "to $1: $(root vocl pool sessions)"
}
replaced()
{
    grep -q 'is worker [0-9]* now' "$scratch/err"
}

over_mpi
moved_to "$other"
moved_to "$here"
ends "moved"

over_mpi
as $alice vocl pool suspend "$(part id)" > "$scratch/asked" 2>&1 || fail "suspend: $(cat "$scratch/asked" "$scratch/err" "$scratch"/n?.log)"
one_part || fail "it does not come again: $(root vocl pool sessions; tail -n 9 "$scratch/err")"
ends "suspended"

over_mpi VOCL_RECOVER=replay
workers_on "$here" | xargs kill -KILL
wait_until replaced || fail "it is not replaced: $(tail -n 20 "$scratch/err" "$scratch"/n?.log)"
one_part || fail "replaced: $(root vocl pool sessions)"
ends "lost"
none_left_on n1 n2
exit 0
