# A pool of many daemons, d1, d2 and so on, each with an address of its own on this host.
#
#     make_many COUNT [SETTING...]  $scratch/pool has all nodes, $scratch/only.N only dN; $NODES: 1 2 3...
#     start N                       starts dN; sets $pid_N; it is killed when the test ends
#     all_know CONDITION...         waits until each daemon but $silent knows this (vocl pool wait)
. "$(dirname "$0")/one-lib.sh"
all= silent=

make_many()
{
    NODES=$(seq "$1")
    shift
    make_pool d1 "$@"
    printf 'auth key\nkey-file %s\n' "$scratch/mine" > "$scratch/pool"
    for node in $NODES; do
        [ "$node" = 1 ] || "$VOCL_LIBEXECDIR/vocl-proxy" --make-key="d$node" >> "$scratch/keys"
        cp "$scratch/conf" "$scratch/conf.$node"
        setting "$scratch/conf.$node" name "\"d$node\""
        setting "$scratch/conf.$node" listen "\"127.0.0.$node:$port\""
        setting "$scratch/conf.$node" state-directory "\"$scratch/state.$node\""
        setting "$scratch/conf.$node" accounting "\"$scratch/accounting.$node\""
        printf 'auth key\nkey-file %s\nnode d%s 127.0.0.%s:%s\n' "$scratch/mine" "$node" "$node" "$port" > "$scratch/only.$node"
        echo "node d$node 127.0.0.$node:$port" >> "$scratch/pool"
    done
    trap end_all EXIT
}

end_all()
{
    kill -9 $all 2> /dev/null
    rm -rf "$scratch"
}

start()
{
    rm -f "$scratch/log.$1"
    "$VOCL_LIBEXECDIR/vocl-proxy" --config "$scratch/conf.$1" 2> "$scratch/log.$1" &
    all="$all $!"
    eval "pid_$1=$!"
}

all_know()
{
    for says_node in $NODES; do
        [ "$says_node" = "$silent" ] || VOCL_POOL=$scratch/only.$says_node await "$@" || fail "d$says_node: not $*: $(cat "$scratch"/log.*)"
    done
}
