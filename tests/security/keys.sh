#!/bin/sh
# Keys: a node's own key serves a daemon of the pool and nothing else; nobody becomes root by a key.
. "$(dirname "$0")/../pool/one-lib.sh"
make_pool here
add_daemon there
start_daemon
start_other there
VOCL_POOL=$scratch/pool
export VOCL_POOL
up()
{
    [ "$(vocl pool nodes | grep -c ' up ')" = "$1" ]
}
wait_until up 2 || fail "they do not find each other: $(cat "$scratch"/log*)"

public=$(awk '$1 == "@here" { print $2 }' "$scratch/keys")
secret=$(awk '$1 == "@there" { print $3 }' "$scratch/keys")
# answer NODE [DO]: prints the answer to a client that has there's key
answer()
{
    answer_node=$1
    shift
    "$top_builddir/tests/security/as_node" "$scratch/pool" "$answer_node" "$public" "$secret" "$@"
}
answer there | grep -q '"answered by"' || fail "a daemon's key is none: $(answer there)"
for what in drain resume; do
    answer there $what | grep -q 'only administrators' || fail "a daemon's key may $what: $(answer there $what)"
done
answer there kill | grep -q 'no such session' || fail "kill: $(answer there kill)"
answer there start | grep -q 'no such session of yours' || fail "start: $(answer there start)"
for gid in -1 4294967295 4294967296; do # no group; setgid() would take -1 as "unchanged", which is the daemon's group
    answer there reserve "$(id -un)" $gid > "$scratch/out"
    grep -q '"good":false' "$scratch/out" || fail "a worker in group $gid: $(cat "$scratch/out")"
done
answer there request > "$scratch/out" # a daemon has no devices for itself
grep -q granted "$scratch/out" && fail "devices for a daemon: $(cat "$scratch/out")"
answer here | grep -q 'refuses the key' || fail "there's key is here's: $(answer here)"
answer '' | grep -q 'has no key' || fail "no name: $(answer '')"
sed 's/^@there/@elsewhere/' "$scratch/keys" > "$scratch/more"
grep '^@elsewhere' "$scratch/more" >> "$scratch/keys"
answer elsewhere | grep -q 'no daemon of this pool' || fail "no node of the pool: $(answer elsewhere)"

# with another key than the others know, a daemon is alone
kill -TERM $other
wait $other
sed -i '/^@there/d' "$scratch/keys"
cp "$scratch/keys" "$scratch/keys.there"
"$VOCL_LIBEXECDIR/vocl-proxy" --make-key=there | cut -d ' ' -f 1,2 >> "$scratch/keys"
"$VOCL_LIBEXECDIR/vocl-proxy" --make-key=there >> "$scratch/keys.there"
sed -i "s,^key-file.*,key-file = \"$scratch/keys.there\";," "$scratch/conf.there"
start_other there
wait_until grep -q 'an invalid message (a wrong key?)' "$scratch/log" || fail "a wrong key: $(cat "$scratch/log")"
up 1 || fail "a daemon with another key: $(vocl pool nodes)"
# the secret part belongs only in a daemon's own file
sed -i 's/^@there \([0-9a-f]*\) .*/@there \1/' "$scratch/keys.there"
wait_until grep -q 'has no secret part' "$scratch/log.there" || fail "no secret: $(cat "$scratch/log.there")"

# users below least-uid have no keys, above all root
kill -9 $other
sed -i "/^node there/d" "$scratch/pool"
kill -TERM $daemon
wait $daemon
sed -i '/^least-uid/d' "$scratch/conf"
if [ "$(id -u)" = 0 ]; then
    start_daemon
    vocl pool nodes 2> "$scratch/err" && fail "root by a key"
    grep -q 'users below number 1000 have no keys' "$scratch/err" || fail "root's key: $(cat "$scratch/err")"
fi
grep 'Sanitizer' "$scratch"/log* && fail "the sanitizer found something"
exit 0
