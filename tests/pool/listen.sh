#!/bin/sh
# A daemon in a pool of several hosts that listens only for its own host, as in the shipped configuration: it reports
# that, and the other daemons report why they cannot connect to a node.
. "$(dirname "$0")/one-lib.sh"
need python3 python3
make_pool here
check()
{
    "$VOCL_LIBEXECDIR/vocl-proxy" --config "$1" --check-config > "$scratch/out" 2> "$scratch/err"
}
# where LINE...: the pool file has these nodes
where()
{
    sed -i '/^node/d' "$scratch/pool"
    printf 'node %s\n' "$@" >> "$scratch/pool"
}
cp "$scratch/pool" "$scratch/loopback"

# The shipped file does not set listen; by its default, only this host can connect.
grep -q '^listen' "$top_builddir/etc/proxy.conf" && fail "the shipped configuration listens somewhere"
{ grep -v '^network' "$top_builddir/etc/proxy.conf"; sed '/^listen/d' "$scratch/conf"; } > "$scratch/shipped"
where 'here 192.0.2.1:7801' 'there 192.0.2.2:7801'
check "$scratch/shipped" && fail "nobody reaches the daemon, and that is good: $(cat "$scratch/out")"
grep -q 'shipped: listen: .*127.0.0.1:7801.*no other host.*set listen = "192.0.2.1:7801"' "$scratch/err" ||
    fail "what to set is not told: $(cat "$scratch/err")"
rm "$scratch/pool"
check "$scratch/shipped" || fail "alone: $(cat "$scratch/err")"
grep -q 'alone in its pool.*no other host' "$scratch/out" || fail "no word of whom it listens for: $(cat "$scratch/out")"

# The message has the line of listen, if there is one; also for a name that is this host's loopback address, as Debian
# has them in /etc/hosts.
cp "$scratch/loopback" "$scratch/pool"
where "here 192.0.2.1:$port" "there 192.0.2.2:$port"
check "$scratch/conf" && fail "nobody reaches the daemon, and that is good: $(cat "$scratch/out")"
grep -q "conf:2: listen: .*no other host.*set listen = \"192.0.2.1:$port\"" "$scratch/err" || fail "$(cat "$scratch/err")"
sed "s/^listen.*/listen = \"localhost:$port\";/" "$scratch/conf" > "$scratch/name"
check "$scratch/name" && fail "localhost is reached by others: $(cat "$scratch/out")"
sed "s/^listen.*/listen = \"0.0.0.0:$port\";/" "$scratch/conf" > "$scratch/any"
check "$scratch/any" || fail "all addresses: $(cat "$scratch/err")"
grep -q "any:3: pool-file: .*has this node at 192.0.2.1:$port, which is not an address of this host" "$scratch/err" ||
    fail "no word of the foreign address: $(cat "$scratch/err")"

# The daemon listens for all, but the pool file says where nobody else finds it: all nodes, this node, or another one.
where "here 127.0.0.1:$port" "there 127.0.0.1:$((port + 3))"
check "$scratch/conf" || fail "a pool of one host: $(cat "$scratch/err")"
grep -q 'all nodes of .*/pool are on this host: no other host can reach them' "$scratch/out" || fail "no word of who reaches them: $(cat "$scratch/out")"
check "$scratch/any" || fail "a pool of one host: $(cat "$scratch/err")"
grep -q "any:3: pool-file: the daemon listens at 0.0.0.0:$port, but .* only this host can reach" "$scratch/err" ||
    fail "no word of who finds the daemon: $(cat "$scratch/err")"
where "here localhost:$port" "there 192.0.2.2:$port"
check "$scratch/any" && fail "the others look for it on themselves, and that is good: $(cat "$scratch/out")"
grep -q "any:3: pool-file: .*has this node, here, at localhost:$port, where every other host finds only itself" "$scratch/err" ||
    fail "no word of where the others look: $(cat "$scratch/err")"
where "here 192.0.2.1:$port" "there 127.0.0.1:$port"
check "$scratch/any" || fail "another's address: $(cat "$scratch/err")"
grep -q "any:3: pool-file: .*has node there at 127.0.0.1:$port, where every host finds only itself" "$scratch/err" ||
    fail "no word of the other's address: $(cat "$scratch/err")"
own=$(env -u LD_PRELOAD hostname -I 2> /dev/null | tr ' ' '\n' | grep '\.' | head -n 1)
if [ -n "$own" ]; then
    sed "s/^listen.*/listen = \"$own:$port\";/" "$scratch/conf" > "$scratch/one"
    where "here 192.0.2.1:$port" "there 192.0.2.2:$port"
    check "$scratch/one" || fail "one address: $(cat "$scratch/err")"
    grep -q "one:2: listen: .*has this node at 192.0.2.1:$port, but the daemon listens only at $own:$port" "$scratch/err" ||
        fail "no word of the other address: $(cat "$scratch/err")"
    where "here $own:$port" "there 192.0.2.2:$port"
    check "$scratch/one" || fail "its address: $(cat "$scratch/err")"
    ! grep ' listen:\|pool-file:' "$scratch/err" || fail "its address is doubted"
fi
where "here 192.0.2.1:$port" "there 192.0.2.2:$port"

# A daemon that listens at all addresses tells others the one in the pool file.
cp "$scratch/pool" "$scratch/far"
where "here localhost:$port"
cp "$scratch/conf" "$scratch/conf.one"
cp "$scratch/any" "$scratch/conf"
start_daemon
VOCL_POOL=$scratch/pool vocl pool nodes | grep -q "^here  *up .* localhost:$port" || fail "not where it is: $(VOCL_POOL=$scratch/pool vocl pool nodes)"
kill $daemon
wait $daemon 2> /dev/null
cp "$scratch/conf.one" "$scratch/conf"
cp "$scratch/far" "$scratch/pool"

# The daemon's log has the warning when the daemon starts, and when the pool becomes one of several hosts.
start_daemon
wait_until grep -q 'warning.*listen: .*no other host' "$scratch/log" || fail "no word in the log: $(cat "$scratch/log")"
kill $daemon
wait $daemon 2> /dev/null

# A daemon without a pool file is alone in its pool, and reads its configuration again.
rm "$scratch/pool"
start_daemon
kill -HUP $daemon
wait_until grep -q 'read .* again' "$scratch/log" || fail "no reload without a pool file: $(cat "$scratch/log")"
kill $daemon
wait $daemon 2> /dev/null

cp "$scratch/loopback" "$scratch/pool"
echo "there 127.0.0.1:$((port + 3))" | sed 's/^/node /' >> "$scratch/pool"
check "$scratch/conf" || fail "a pool of one host: $(cat "$scratch/err")"
start_daemon
grep 'no other host' "$scratch/log" && fail "all are on this host"
cp "$scratch/pool" "$scratch/before"
where "here 192.0.2.1:$port" "there 127.0.0.1:$((port + 3))"
kill -HUP $daemon
wait_until grep -q 'warning.*listen: .*no other host' "$scratch/log" || fail "no word after a reload: $(cat "$scratch/log")"

# Reasons why a node is lost
cp "$scratch/before" "$scratch/pool"
VOCL_POOL=127.0.0.1:$port
export VOCL_POOL
VOCL_POOL_USER=$user
# told NODE REASON: vocl pool reports the node lost for that reason
told()
{
    vocl pool nodes > "$scratch/nodes" 2>&1
    grep -q "^$1  *lost .*$2" "$scratch/nodes"
}
VOCL_POOL=$scratch/before
wait_until told there "refused connection at 127.0.0.1:$((port + 3))" || fail "not why: $(cat "$scratch/nodes")"
vocl pool drain there > "$scratch/out" 2>&1 && fail "a lost node is drained"
grep -q 'there: .*refused connection at' "$scratch/out" || fail "nor there: $(cat "$scratch/out")"
[ "$(grep -c 'node there is lost: refused connection' "$scratch/log")" = 1 ] || fail "the log: $(cat "$scratch/log")"
grep -q 'refused connection' "$scratch/log" || fail "nor in the log"

# Something else than a daemon of this pool listens at its port; and a daemon that lacks this one's key.
python3 -c '
import socket, sys
s = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    c = s.accept()[0]
    c.sendall(b"SSH-2.0-something that is no daemon of any pool, and says a lot\r\n" * 3)
    c.close()' $((port + 3)) &
other=$!
wait_until told there "127.0.0.1:$((port + 3)): .*not a VOCL daemon" || fail "not what is there: $(cat "$scratch/nodes")"
kill $other
wait $other 2> /dev/null
cp "$scratch/pool" "$scratch/pool.kept"
add_daemon there
cp "$scratch/pool.kept" "$scratch/pool"
sed '/^@here/d' "$scratch/keys" > "$scratch/keys.there"
chmod 600 "$scratch/keys.there"
setting "$scratch/conf.there" key-file "\"$scratch/keys.there\""
start_other there
wait_until told there "127.0.0.1:$((port + 3)) refuses this daemon: .*no key of @here" || fail "not whose key is missing: $(cat "$scratch/nodes")"
kill $other
wait $other 2> /dev/null
setting "$scratch/conf.there" key-file "\"$scratch/keys\""
start_other there
VOCL_POOL=$scratch/pool await nodes=2
vocl pool nodes | grep -q '^there  *up .*refused' && fail "it is there, and why it was not is still told"
exit 0
