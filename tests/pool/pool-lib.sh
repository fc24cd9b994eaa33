# Three hosts with a daemon each, and one for programs, in network namespaces around a bridge:
#
#     near 10.94.0.1 --+-- n1 10.94.0.2
#                      +-- n2 10.94.0.3
#                      +-- n3 10.94.0.4
#
# with a munged of their own, users that only this script has, and a copy of the programs that these users can read.
. "$(dirname "$0")/../lib.sh"
need ip iproute2
need munged munge
[ "$(id -u)" = 0 ] || skip "needs root: namespaces, users"
case $SANITIZER in
thread) skip "the daemon has one thread" ;;
esac
[ -x "$VOCL_LIBEXECDIR/vocl-poold" ] || skip "VOCL was built without its pool"

base=vp$$
alice=alice$$ bob=bob$$
# users COMMAND...: changes the users; all tests share one password file
users()
{
    flock "${TMPDIR:-/tmp}/vocl-tests-users" "$@" > /dev/null 2>&1
}
cleanup_pool()
{
    for file in "$scratch"/*.pid; do
        [ -s "$file" ] && kill -9 "$(cat "$file")" 2> /dev/null
    done
    [ -z "$munged" ] || kill "$munged" 2> /dev/null
    for host in near n1 n2 n3 switch; do
        ip netns pids $base-$host 2> /dev/null | xargs -r kill -9 2> /dev/null
        ip netns delete $base-$host 2> /dev/null
    done
    for user in $alice $bob; do
        users userdel -rf $user
    done
    [ -z "$group" ] || rmdir "$group" 2> /dev/null
    rm -rf "$scratch"
}
trap cleanup_pool EXIT

# The users may be unable to read this checkout, for instance one in root's home.
cd "$scratch" && chmod 755 "$scratch" || exit 99
for user in $alice $bob; do
    users useradd -m $user || skip "no users can be made here"
done

"$top_srcdir/tests/net/namespace" $base-switch 2> /dev/null || skip "no network namespaces"
ip -n $base-switch link add br0 type bridge && ip -n $base-switch link set br0 up || skip "no bridges"
number=0
for host in near n1 n2 n3; do
    number=$((number + 1))
    "$top_srcdir/tests/net/namespace" $base-$host
    ip link add eth0 netns $base-$host type veth peer name $host netns $base-switch || skip "no veth"
    ip -n $base-switch link set $host master br0 up
    ip -n $base-$host address add 10.94.0.$number/24 dev eth0
    ip -n $base-$host link set lo up
    ip -n $base-$host link set eth0 up
done

# Programs for the users: links and folders of the build tree may be inaccessible to them.
cp -rL "$VOCL_LIBEXECDIR" "$scratch/libexec" && chmod -R a+rX "$scratch/libexec"
library=$(cat "$scratch/libexec/vendors/vocl.icd")
echo "$scratch/libexec/${library##*/}" > "$scratch/libexec/vendors/vocl.icd"
mkdir "$scratch/bin"
for program in parity/vector_add parity/many_devices parity/many_copies pool/burn pool/limits session/phases; do
    "$top_builddir/libtool" --mode=execute cp "$top_builddir/tests/$program" "$scratch/bin/" 2> /dev/null
done
cp "$top_builddir/vocl" "$scratch/libexec/vocl" 2> /dev/null
chmod -R a+rX "$scratch/bin"

head -c 128 /dev/urandom > "$scratch/munge.key"
chmod 600 "$scratch/munge.key"
mkdir "$scratch/munge" && chmod 755 "$scratch/munge"
munged --foreground --force --key-file="$scratch/munge.key" --socket="$scratch/munge/socket" \
    --pid-file="$scratch/munge/pid" --log-file="$scratch/munge/log" --seed-file="$scratch/munge/seed" \
    > "$scratch/munged.out" 2>&1 &
munged=$!
wait_until test -S "$scratch/munge/socket" || fail "munged: $(cat "$scratch/munged.out")"

cat > "$scratch/pool" <<END
auth munge
munge-socket $scratch/munge/socket
node n1 10.94.0.2:7801
node n2 10.94.0.3:7801
node n3 10.94.0.4:7801
END

# write_config HOST [SETTING...]
write_config()
{
    config_host=$1
    shift
    {
        cat <<END
# the daemon of $config_host
name = "$config_host";
listen = "10.94.0.$((${config_host#n} + 1)):7801";
pool-file = "$scratch/pool";
auth = "munge";
munge-socket = "$scratch/munge/socket";
state-directory = "$scratch/state-$config_host";
accounting = "$scratch/accounting-$config_host";
environment = [ "POCL_DEVICES=pthread pthread", "UCX_TLS=tcp,self" ];
END
        for setting in "$@"; do
            echo "$setting"
        done
    } > "$scratch/$config_host.conf"
}

# start_daemon HOST
start_daemon()
{
    start_before=$(grep -cs "$1 serves" "$scratch/$1.log")
    # not `ip netns exec`, whose mount of /sys hides the control groups
    nsenter --net=/run/netns/$base-$1 env VOCL_LIBEXECDIR="$scratch/libexec" "$scratch/libexec/vocl-proxy" \
        --config "$scratch/$1.conf" 2>> "$scratch/$1.log" &
    echo $! > "$scratch/$1.pid"
    wait_until serves "$1" || fail "$1 does not start: $(cat "$scratch/$1.log")"
}

# serves HOST: its log reports that once more than before
serves()
{
    [ "$(cat "$scratch/$1.log" 2> /dev/null | grep -c "$1 serves")" -gt "${start_before:-0}" ]
}

# reload HOST PATTERN: its daemon reads its files again, and its log then matches
reload()
{
    reload_before=$(grep -c "$2" "$scratch/$1.log")
    kill -HUP "$(cat "$scratch/$1.pid")"
    wait_until reloaded "$1" "$2"
}
reloaded()
{
    [ "$(grep -c "$2" "$scratch/$1.log")" -gt "$reload_before" ]
}

# as USER COMMAND...: runs it on the host for programs
as()
{
    as_user=$1
    shift
    ip netns exec $base-near setpriv --reuid "$as_user" --regid "$as_user" --init-groups env -i \
        PATH="$scratch/libexec:$PATH" HOME="/home/$as_user" USER="$as_user" VOCL_LIBEXECDIR="$scratch/libexec" \
        VOCL_POOL="$scratch/pool" VOCL_SHARE=0 UCX_TLS=tcp,self \
        VOCL_START_TIMEOUT="$VOCL_START_TIMEOUT" VOCL_PEER_TIMEOUT="$VOCL_PEER_TIMEOUT" \
        ${LD_PRELOAD:+"LD_PRELOAD=$LD_PRELOAD"} ${ASAN_OPTIONS:+"ASAN_OPTIONS=$ASAN_OPTIONS"} "$@"
}

root()
{
    ip netns exec $base-near env VOCL_LIBEXECDIR="$scratch/libexec" VOCL_POOL="$scratch/pool" VOCL_SHARE=0 UCX_TLS=tcp,self \
        PATH="$scratch/libexec:$PATH" "$@"
}

# await CONDITION...: waits until the pool is so (vocl pool wait); otherwise reports its state
await()
{
    root vocl pool wait --timeout=300 "$@"
}
