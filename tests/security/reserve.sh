#!/bin/sh
# A user who reserves devices and starts nothing keeps nobody else from them for long, with the default limits.
. "$(dirname "$0")/../pool/one-lib.sh"
make_pool here 'devices = ( { match = "*"; sessions = 8; } );'
printf 'nobody %s\n' "$(new_key)" > "$scratch/theirs"
cat "$scratch/theirs" >> "$scratch/keys"
chmod 600 "$scratch/theirs"
sed "s,^key-file.*,key-file $scratch/theirs," "$scratch/pool" > "$scratch/pool.nobody"
start_daemon
mkfifo "$scratch/fifo"
"$top_builddir/tests/security/reserve" "$scratch/pool.nobody" nobody 20 < "$scratch/fifo" > "$scratch/held" 2>&1 &
exec 5> "$scratch/fifo"
wait_until grep -q granted "$scratch/held" || fail "no reservations: $(cat "$scratch/held")"
grep -q '^granted 8: .*as many sessions as you may: 8' "$scratch/held" || fail "all there are: $(cat "$scratch/held")"
VOCL_POOL=$scratch/pool vocl run --wait 300 -- "$top_builddir/tests/parity/vector_add" > /dev/null 2> "$scratch/err" ||
    fail "another user: $(cat "$scratch/err" "$scratch/log")"
# the reservations have expired, though their client is connected; it gets no others
none()
{
    [ "$(VOCL_POOL=$scratch/pool vocl pool sessions | grep -c nobody)" = 0 ]
}
wait_until none || fail "reservations stay: $(VOCL_POOL=$scratch/pool vocl pool sessions)"
"$top_builddir/tests/security/reserve" "$scratch/pool.nobody" nobody 1 < /dev/null > "$scratch/again"
grep -q '^granted 0: .*without using them; try again in' "$scratch/again" || fail "again: $(cat "$scratch/again")"
exec 5>&-

# the limit of devices
VOCL_POOL=$scratch/pool vocl devices --count 1 > /dev/null || fail "one device"
kill -TERM $daemon
wait $daemon
sed -i '$adevices-per-user = 1;' "$scratch/conf"
sed -i 's/^environment = .*/environment = [ "POCL_DEVICES=pthread pthread" ];/' "$scratch/conf"
start_daemon
VOCL_POOL=$scratch/pool vocl devices --count 2 > /dev/null 2> "$scratch/err" && fail "two devices of one"
grep -q 'you may have 1 devices at a time' "$scratch/err" || fail "why: $(cat "$scratch/err")"
grep 'Sanitizer' "$scratch/log" && fail "the sanitizer found something"
exit 0
