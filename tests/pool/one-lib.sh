# A pool of one daemon on this host, run by this user, with keys.
#
#     make_pool NAME [SETTING...]   writes $scratch/pool, $scratch/conf and others; $port and the next two are its
#     start_daemon                  sets $daemon; killed when the test ends. $start_at: a command before it, or empty
#     add_daemon NAME [SETTING...]  another daemon of the same pool: $scratch/conf.NAME; its port is $port + 3
#     start_other NAME              sets $other
#     await CONDITION...            waits until $VOCL_POOL is so (vocl pool wait); otherwise reports its state
#     meet_other                    waits until one and two know each other; $scratch/pool.two lists two first
. "$(dirname "$0")/${to_tests:-..}/lib.sh"
case $SANITIZER in
thread) skip "the daemon has one thread" ;;
esac
[ -x "$VOCL_LIBEXECDIR/vocl-poold" ] || skip "VOCL was built without its pool"
user=$(id -un)
# Five ports that are not in use, as far as can be seen; other scripts begin their search elsewhere.
port=$((20000 + $$ % 2000 * 5))
used()
{
    ports=$(printf ' [0-9A-F]*:%04X ' $port $((port + 1)) $((port + 2)) $((port + 3)) $((port + 4)) | sed 's/  /\\| /g')
    cat /proc/net/tcp /proc/net/tcp6 2> /dev/null | grep -q "$ports"
}
while used; do port=$((20000 + (port + 3335) % 10000)); done
daemon= other= start_at=

new_key()
{
    od -An -v -tx1 -N32 /dev/urandom | tr -d ' \n'
}

make_pool()
{
    pool_name=$1
    shift
    printf '%s %s\n# a comment\n' "$user" "$(new_key)" > "$scratch/keys"
    "$VOCL_LIBEXECDIR/vocl-proxy" --make-key="$pool_name" >> "$scratch/keys"
    grep "^$user " "$scratch/keys" > "$scratch/mine"
    chmod 600 "$scratch/keys" "$scratch/mine"
    cat > "$scratch/pool" <<END
auth key
key-file $scratch/mine # this user's only
node $pool_name 127.0.0.1:$port
END
    cat > "$scratch/conf" <<END
name = "$pool_name";
listen = "127.0.0.1:$port";
pool-file = "$scratch/pool";
auth = "key";
key-file = "$scratch/keys";
state-directory = "$scratch/state";
least-uid = 0; // whoever runs the tests
accounting = "$scratch/accounting";
environment = [ "POCL_CACHE_DIR=$POCL_CACHE_DIR" ];
END
    for setting; do
        echo "$setting"
    done >> "$scratch/conf"
}

add_daemon()
{
    add_name=$1
    shift
    "$VOCL_LIBEXECDIR/vocl-proxy" --make-key="$add_name" >> "$scratch/keys"
    echo "node $add_name 127.0.0.1:$((port + 3))" >> "$scratch/pool"
    cp "$scratch/conf" "$scratch/conf.$add_name"
    setting "$scratch/conf.$add_name" name "\"$add_name\""
    setting "$scratch/conf.$add_name" listen "\"127.0.0.1:$((port + 3))\""
    setting "$scratch/conf.$add_name" state-directory "\"$scratch/state.$add_name\""
    setting "$scratch/conf.$add_name" http
    for setting; do
        echo "$setting"
    done >> "$scratch/conf.$add_name"
}

end_daemons()
{
    kill -9 $daemon $other 2> /dev/null
    rm -rf "$scratch"
}

start_other()
{
    rm -f "$scratch/log.$1" # or what is there may be the last one's
    "$VOCL_LIBEXECDIR/vocl-proxy" --config "$scratch/conf.$1" 2> "$scratch/log.$1" &
    other=$!
    trap end_daemons EXIT
    wait_until grep -qs ' serves ' "$scratch/log.$1" || fail "$1 does not start: $(cat "$scratch/log.$1")"
}

start_daemon()
{
    rm -f "$scratch/log"
    $start_at "$VOCL_LIBEXECDIR/vocl-proxy" --config "$scratch/conf" 2> "$scratch/log" &
    daemon=$!
    trap end_daemons EXIT
    wait_until grep -qs ' serves ' "$scratch/log" || fail "the daemon does not start: $(cat "$scratch/log")"
}

# children PID NAME: prints its children of that name
children()
{
    for children_stat in /proc/[0-9]*/stat; do
        sed -n "s/^\([0-9]*\) ($2) [A-Za-z] $1 .*/\1/p" "$children_stat" 2> /dev/null
    done
}

await()
{
    vocl pool wait --timeout=300 "$@"
}

# places PROGRAM: prints where its sessions are, each as NODE:DEVICE,... and its ID
places()
{
    vocl pool --json sessions | python3 -c '
import json, sys
for node in json.load(sys.stdin)["nodes"]:
    for s in node["sessions"]:
        if s["program"] == sys.argv[1]:
            print("%s:%s" % (node["name"], ",".join(map(str, sorted(s["devices"])))), s["id"])' "$1"
}

meet_other()
{
    VOCL_POOL=$scratch/pool await nodes=2 || fail "they do not find each other: $(cat "$scratch"/log*)"
    { grep -v '^node' "$scratch/pool"; grep '^node two' "$scratch/pool"; grep '^node one' "$scratch/pool"; } > "$scratch/pool.two"
}
