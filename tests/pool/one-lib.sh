# A pool of one daemon: this host's, this user's, with keys.
#
#     make_pool NAME [SETTING...]   $scratch/pool and what belongs to it, $scratch/conf; $port and the two after it are its
#     start_daemon                  $daemon; killed when the test ends
. "$(dirname "$0")/../lib.sh"
case $SANITIZER in
thread) skip "the daemon has one thread" ;;
esac
[ -x "$VOCL_LIBEXECDIR/vocl-poold" ] || skip "VOCL was built without its pool"
user=$(id -un)
port=$((20000 + $$ % 10000))

new_key()
{
    od -An -v -tx1 -N32 /dev/urandom | tr -d ' \n'
}

make_pool()
{
    pool_name=$1
    shift
    printf '%s %s\n@daemon %s\n# a comment\n' "$user" "$(new_key)" "$(new_key)" > "$scratch/keys"
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
accounting = "$scratch/accounting";
environment = [ "POCL_CACHE_DIR=$POCL_CACHE_DIR" ];
END
    for setting; do
        echo "$setting"
    done >> "$scratch/conf"
}

start_daemon()
{
    "$VOCL_LIBEXECDIR/vocl-proxy" --config "$scratch/conf" 2> "$scratch/log" &
    daemon=$!
    trap 'kill -9 $daemon 2> /dev/null; rm -rf "$scratch"' EXIT
    wait_until 20 grep -q ' serves ' "$scratch/log" || fail "the daemon does not start: $(cat "$scratch/log")"
}
