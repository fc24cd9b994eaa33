#!/bin/sh
# Unauthenticated connections delay nobody; an authenticated user cannot take all connections; and nobody fills the log.
. "$(dirname "$0")/../pool/one-lib.sh"
need python3 python3
make_pool here 'connection-limit = 64;' 'connections-per-user = 20;'
printf 'nobody %s\n' "$(new_key)" > "$scratch/theirs"
cat "$scratch/theirs" >> "$scratch/keys"
chmod 600 "$scratch/theirs"
sed "s,^key-file.*,key-file $scratch/theirs," "$scratch/pool" > "$scratch/pool.nobody"
start_daemon

# hold NAME NUMBER HOW: holds connections in the background; sets $held
hold()
{
    python3 "$top_srcdir/tests/security/hold.py" 127.0.0.1 $port "$2" "$3" > "$scratch/held.$1" 2>&1 &
    held=$!
    wait_until grep -q held "$scratch/held.$1" || fail "$1: no connections: $(cat "$scratch/held.$1")"
}
serves()
{
    VOCL_POOL=$scratch/pool vocl pool nodes > "$scratch/out" 2> "$scratch/err" || fail "$1: $(cat "$scratch/err")"
}
lines()
{
    wc -l < "$scratch/log"
}
for how in silent named drip; do
    hold $how 200 $how
    serves "200 that are $how"
    wait $held
    grep -q '^closed' "$scratch/held.$how" || fail "$how: $(cat "$scratch/held.$how")"
done
VOCL_POOL=$scratch/pool vocl devices > /dev/null 2> "$scratch/err" || fail "a session: $(cat "$scratch/err")"

# One user's connections are limited, and others can still connect.
mkfifo "$scratch/fifo"
"$top_builddir/tests/security/crowd" "$scratch/pool.nobody" nobody 100 < "$scratch/fifo" > "$scratch/crowd" 2>&1 &
crowd=$!
exec 5> "$scratch/fifo"
wait_until grep -q '^in' "$scratch/crowd" || fail "no crowd: $(cat "$scratch/crowd")"
grep -q '^in 20: .*as many connections as you may' "$scratch/crowd" || fail "nobody's crowd: $(cat "$scratch/crowd")"
serves "a crowd of another user's"
exec 5>&-
wait $crowd

# The log is limited, however many are refused; it has the kind and the number.
[ "$(lines)" -lt 100 ] || fail "$(lines) lines: $(head -c 3000 "$scratch/log")"
before=$(lines)
python3 - "$scratch/state/control" << 'END' || fail "no control socket"
import socket, sys
for _ in range(3000):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(sys.argv[1])
    s.close()
END
serves "3000 at the control socket"
[ $(($(lines) - before)) -lt 20 ] || fail "the control socket: $(($(lines) - before)) lines"
told()
{
    grep -q 'not a worker of a session (and [0-9]* more' "$scratch/log"
}
wait_until told || fail "not told how many: $(tail "$scratch/log")"
kill -TERM $daemon
wait $daemon

# Without free descriptors the daemon pauses until there are some.
sed -i 's/^connection-limit.*/connection-limit = 4000;/' "$scratch/conf"
rm -f "$scratch/log"
(ulimit -n 64 && exec "$VOCL_LIBEXECDIR/vocl-proxy" --config "$scratch/conf" 2> "$scratch/log") &
daemon=$!
wait_until grep -qs ' serves ' "$scratch/log" || fail "the daemon does not start: $(cat "$scratch/log")"
"$top_builddir/tests/security/crowd" "$scratch/pool" "$user" 100 < "$scratch/fifo" > "$scratch/crowd" 2>&1 &
crowd=$!
exec 5> "$scratch/fifo"
wait_until grep -q 'Too many open files' "$scratch/log" || fail "no word of descriptors: $(cat "$scratch/log" "$scratch/crowd")"
ticks()
{
    sed 's/.*) //' "/proc/$daemon/stat" | awk '{ print $12 + $13 }'
}
before=$(ticks)
sleep 1 # the processor time of one second is measured
spent=$(($(ticks) - before))
[ $spent -lt 40 ] || fail "it spins: $spent ticks in a second"
[ "$(lines)" -lt 20 ] || fail "without descriptors $(lines) lines"
kill $crowd
exec 5>&-
answers()
{
    VOCL_POOL=$scratch/pool vocl pool nodes > /dev/null 2> "$scratch/err"
}
wait_until answers || fail "it does not come back: $(cat "$scratch/err" "$scratch/log")"
grep 'Sanitizer' "$scratch/log" && fail "the sanitizer found something"
exit 0
