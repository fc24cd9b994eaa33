#!/bin/sh
# A client that does not read the daemon's messages is disconnected, whatever the daemon was doing for others when it
# noticed.
. "$(dirname "$0")/../pool/one-lib.sh"
make_pool here 'devices = ( { match = "*"; sessions = 8; } );'
start_at='env MALLOC_PERTURB_=165 GLIBC_TUNABLES=glibc.malloc.tcache_count=0' # memory that was given back is not what it was
start_daemon
export VOCL_POOL="$scratch/pool"
mkfifo "$scratch/stay"
closed_or_over()
{
    grep -q 'does not read its messages: closed' "$scratch/log" || ! kill -0 $unread 2> /dev/null
}
for how in hold; do # queue is for hands: its filling does not always come to an end
    "$top_builddir/tests/security/unread" "$scratch/pool" $how < "$scratch/stay" > "$scratch/out" 2>&1 &
    unread=$!
    exec 6> "$scratch/stay"
    wait_until closed_or_over || fail "$how: it was not closed: $(cat "$scratch/out" "$scratch/log")"
    exec 6>&-
    wait $unread || fail "$how: $(cat "$scratch/out" "$scratch/log")"
    grep -q 'does not read its messages: closed' "$scratch/log" || fail "$how: it ended: $(cat "$scratch/out" "$scratch/log")"
    await sessions=0 queue=0 || fail "$how: something stays"
    cp "$scratch/log" "$scratch/log.$how"
    kill -TERM $daemon
    wait $daemon || fail "$how: the daemon ended with $?: $(cat "$scratch/log.$how")"
    start_daemon
done
grep 'Sanitizer' "$scratch/log".* && fail "the sanitizer found something"

# A user who may not use the node does not wait for its devices, either.
kill -TERM $daemon
wait $daemon
printf 'nobody %s\n' "$(new_key)" > "$scratch/theirs"
cat "$scratch/theirs" >> "$scratch/keys"
chmod 600 "$scratch/theirs"
sed "s,^key-file.*,key-file $scratch/theirs," "$scratch/pool" > "$scratch/pool.nobody"
echo 'deny = [ "nobody" ];' >> "$scratch/conf"
start_daemon
mkfifo "$scratch/fifo"
say="$top_builddir/tests/security/say"
"$say" "$scratch/pool" '{"do":"request","exclusive":true}' stay < "$scratch/fifo" > "$scratch/first" 2>&1 &
exec 5> "$scratch/fifo"
wait_until grep -q granted "$scratch/first" || fail "no device: $(cat "$scratch/first")"
"$say" "$scratch/pool.nobody" as:nobody '{"do":"request","wait":600}' > "$scratch/out" 2>&1
grep -q 'nobody may not use the devices of here' "$scratch/out" || fail "who is denied: $(cat "$scratch/out")"
exec 5>&-
exit 0
