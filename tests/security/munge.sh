#!/bin/sh
# A pool whose users MUNGE authenticates: which credentials the daemon accepts, and which users of one node are users of
# another.
. "$(dirname "$0")/../pool/one-lib.sh"
need munged munge
[ "$(id -u)" = 0 ] || skip "needs root: a munged, users"
credential=$top_builddir/tests/security/credential
chmod 755 "$scratch"

mungeds=
end_daemons()
{
    kill -9 $daemon $other $mungeds 2> /dev/null
    rm -rf "$scratch"
}
trap end_daemons EXIT
# start_munged REALM [KEY]: starts a munged with its own key, or with the given one
start_munged()
{
    mkdir "$scratch/$1" && chmod 755 "$scratch/$1"
    cat "${2:-/dev/null}" > "$scratch/$1/key"
    [ -s "$scratch/$1/key" ] || head -c 128 /dev/urandom > "$scratch/$1/key"
    chmod 600 "$scratch/$1/key"
    munged --foreground --force --key-file="$scratch/$1/key" --socket="$scratch/$1/socket" --pid-file="$scratch/$1/pid" \
        --log-file="$scratch/$1/log" --seed-file="$scratch/$1/seed" > "$scratch/$1/out" 2>&1 &
    mungeds="$mungeds $!"
    wait_until test -S "$scratch/$1/socket" || fail "munged: $(cat "$scratch/$1/out")"
}
start_munged here
start_munged elsewhere

make_pool one
add_daemon two
sed -i -e 's/^auth = .*/auth = "munge";/' -e "s,^key-file.*,munge-socket = \"$scratch/here/socket\";," -e 's/^least-uid.*//' \
    "$scratch/conf" "$scratch/conf.two"
sed -i -e 's/^auth .*/auth munge/' -e "s,^key-file.*,munge-socket $scratch/here/socket," "$scratch/pool"
chmod 644 "$scratch/pool"
start_daemon

# ---- credentials ----

# takes HOW ANSWER...: the answers match these patterns, one a line
takes()
{
    how=$1
    shift
    "$credential" 127.0.0.1:$port "$scratch/${realm:-here}/socket" "$how" > "$scratch/said" 2>&1
    for pattern; do echo "$pattern"; done > "$scratch/wanted"
    [ "$(wc -l < "$scratch/said")" = $# ] || fail "$how: $(cat "$scratch/said")"
    paste -d '\n' "$scratch/wanted" "$scratch/said" | while read -r pattern && read -r said; do
        echo "$said" | grep -qix "$pattern" || exit 1
    done || fail "$how: not \"$*\": $(cat "$scratch/said")"
}
takes good accepted
takes replayed accepted '.*replayed.*'
takes other '.*not for this connection'
takes payload '.*not for this connection'
takes long '.*not for this connection'
takes expired '.*expired.*'
takes theirs '.*unauthorized.*'
takes open '.*for all to read.*'
takes plain '.*for all to read.*'
takes noise '.*munge: .*'
realm=elsewhere takes good '.*invalid.*is the munge key .* the same.*'
grep -c 'refused 127.0.0.1' "$scratch/log" > "$scratch/count" # of some kinds only the number is told
[ "$(cat "$scratch/count")" -ge 5 ] || fail "the log: $(cat "$scratch/log")"
takes good accepted

# ---- munged does not answer ----

start_munged beside "$scratch/here/key"
sed "s,here/socket,beside/socket," "$scratch/pool" > "$scratch/pool.beside"
say=$top_builddir/tests/security/say
mkfifo "$scratch/fifo"
"$say" "$scratch/pool" '{"do":"status"}' stay '{"do":"status"}' < "$scratch/fifo" > "$scratch/before" 2>&1 &
says=$!
exec 5> "$scratch/fifo"
wait_until grep -q nodes "$scratch/before" || fail "no answer: $(cat "$scratch/before" "$scratch/log")"
here=$(echo $mungeds | cut -d ' ' -f 1)
kill -STOP "$here"
"$say" "$scratch/pool.beside" '{"do":"status"}' > "$scratch/said" 2>&1 5>&- &
waits=$!
asked()
{
    [ "$(grep -c " $scratch/here/socket$" /proc/net/unix)" -gt 1 ]
}
wait_until asked || fail "munged is not asked: $(cat "$scratch/said")"
exec 5>&-
wait $says || fail "no answer while munged is stopped: $(cat "$scratch/before" "$scratch/log")"
[ ! -s "$scratch/said" ] || fail "others are answered when that is over: $(cat "$scratch/said")"
wait $waits && fail "somebody gets in whom nobody knows: $(cat "$scratch/said")"
grep -q 'munge: ' "$scratch/said" || fail "why: $(cat "$scratch/said")"
kill -CONT "$here"
"$say" "$scratch/pool.beside" '{"do":"status"}' > "$scratch/said" 2>&1 || fail "afterwards: $(cat "$scratch/said" "$scratch/log")"

# ---- users ----

# as UID COMMAND...: runs the command as that user
as()
{
    as_uid=$1
    shift
    setpriv --reuid="$as_uid" --regid="$as_uid" --clear-groups env HOME=/ USER=root LOGNAME=root VOCL_POOL="$scratch/pool" "$@"
}
setpriv --reuid=4321 --regid=4321 --clear-groups test -x "$VOCL_LIBEXECDIR/vocl" ||
    { echo "the build is closed to other users: who they are is not tried"; exit 0; }
as 4321 vocl pool nodes > "$scratch/out" 2>&1 || fail "nobody's number: $(cat "$scratch/out")"
for user in 4321 65534; do
    as $user vocl pool drain one 2> "$scratch/err" && fail "$user drains a node, as whom he says that he is"
done
as 4321 vocl devices > "$scratch/out" 2>&1 && fail "a user that the node does not know gets its devices"
grep -q 'one .*no user 4321' "$scratch/out" || fail "why: $(cat "$scratch/out")"
as 65534 vocl devices > "$scratch/out" 2>&1 || fail "nobody gets none: $(cat "$scratch/out")"

# Another node, where the UID is another user's. (Mounts all of /etc: a mount on the file alone would go away when
# another test adds a user and so replaces the file.)
cp -a /etc "$scratch/etc"
sed -i 's/^nobody:/someone:/' "$scratch/etc/passwd"
kill $daemon
wait $daemon 2> /dev/null
cat > "$scratch/other-users" <<END
#!/bin/sh
mount --bind "$scratch/etc" /etc && exec "\$@"
END
chmod 755 "$scratch/other-users"
unshare --mount "$scratch/other-users" true || { echo "no mount namespaces: other nodes' users are not tried"; exit 0; }
start_at="unshare --mount $scratch/other-users"
start_daemon
start_other two
meet_other
# through the daemon that knows the user
chmod 644 "$scratch/pool.two"
as 65534 env VOCL_POOL="$scratch/pool.two" vocl run --exclusive --count 2 -- vocl devices > "$scratch/out" 2>&1 &&
    fail "another's number: $(cat "$scratch/out")"
grep -q 'one .*65534 .*someone.*nobody' "$scratch/out" || fail "why: $(cat "$scratch/out" "$scratch"/log*)"
grep 'Sanitizer' "$scratch"/log* && fail "the sanitizer found something"
exit 0
