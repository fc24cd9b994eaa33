#!/bin/sh
# The daemon's messages to systemd (Type=notify): it serves, it reads its files again and has done so, it ends.
. "$(dirname "$0")/one-lib.sh"
need python3 python3
make_pool here

# hears ADDRESS: writes what is sent to that socket to $scratch/said, a line for each datagram
hears()
{
    python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1].replace("@", "\0", 1) if sys.argv[1].startswith("@") else sys.argv[1])
open(sys.argv[2] + ".listens", "w")
with open(sys.argv[2], "a") as file:
    while True:
        print(s.recv(4096).decode().replace("\n", " "), file=file, flush=True)' "$1" "$scratch/said" &
    other=$! # killed when the test ends
    wait_until test -e "$scratch/said.listens" || fail "nobody hears"
    rm "$scratch/said.listens"
}
# said N PATTERN: so many lines match
said()
{
    [ "$(grep -cs "$2" "$scratch/said")" = "$1" ]
}
for address in "$scratch/notify" "@vocl-test-$$"; do
    rm -f "$scratch/said"
    hears "$address"
    start_at="env NOTIFY_SOCKET=$address"
    # The daemon answers clients before it reports that it serves.
    start_daemon
    wait_until said 1 "^READY=1 STATUS=here serves [0-9]* devices at 127.0.0.1:$port$" || fail "not ready: $(cat "$scratch/said" "$scratch/log")"
    VOCL_POOL=$scratch/pool vocl pool nodes | grep -q '^here  *up ' || fail "it says that it serves, and does not"

    kill -HUP $daemon
    wait_until said 2 '^READY=1 STATUS=here serves' || fail "after a reload: $(cat "$scratch/said")"
    [ "$(grep -c '^RELOADING=1 MONOTONIC_USEC=[1-9][0-9]*$' "$scratch/said")" = 1 ] || fail "no reload: $(cat "$scratch/said")"
    [ "$(sed -n 2p "$scratch/said" | cut -d' ' -f1)" = RELOADING=1 ] || fail "in another order: $(cat "$scratch/said")"
    cp "$scratch/conf" "$scratch/conf.good"
    echo 'nonsense = 1;' >> "$scratch/conf"
    kill -HUP $daemon
    wait_until said 1 '^READY=1 STATUS=The configuration stays as it was: .*nonsense: no such setting' ||
        fail "of a bad file: $(cat "$scratch/said")"
    mv "$scratch/conf.good" "$scratch/conf"

    # None of the processes that it starts can send messages in its name, except for copies of itself, which look up
    # names.
    for process in $(pgrep -P $daemon); do
        [ ! "/proc/$process/exe" -ef "/proc/$daemon/exe" ] || continue
        tr '\0' '\n' < "/proc/$process/environ" 2> /dev/null | grep -q '^NOTIFY_SOCKET=' && fail "$process has its socket"
    done
    kill $daemon
    wait $daemon
    wait_until said 1 '^STOPPING=1$' || fail "no word of its end: $(cat "$scratch/said")"
    kill $other
    wait $other 2> /dev/null
done

# A socket that does not exist, or whose name is too long, does not disturb the daemon.
for address in "$scratch/nobody" "/$(printf %0200d 0)" relative ''; do
    start_at="env NOTIFY_SOCKET=$address"
    start_daemon
    kill $daemon
    wait $daemon || fail "NOTIFY_SOCKET=$address: $(cat "$scratch/log")"
done

# The unit waits for these messages.
grep -qx 'Type=notify' "$top_builddir/etc/vocl-proxy.service" || fail "the unit does not wait"
exit 0
