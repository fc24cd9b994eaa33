#!/bin/sh
# `vocl top` in a terminal of 80 columns: lines do not run into each other, the loss of the daemon is told, and whatever ends it
# leaves the terminal as it was.
. "$(dirname "$0")/one-lib.sh"
need tmux tmux
make_pool a-node-with-a-long-name
start_daemon
# lives in the server's processes, which the address sanitizer's library is not for
terminals=0
screen() { env -u LD_PRELOAD tmux -f /dev/null -S "$scratch/tmux$terminals" "$@"; }
trap 'screen kill-server 2> /dev/null; kill -9 $daemon $running 2> /dev/null; rm -rf "$scratch"' EXIT
shows()
{
    screen capture-pane -p -t top > "$scratch/screen"
    grep -q -e "$1" "$scratch/screen"
}
VOCL_POOL=$scratch/pool vocl run -- "$top_builddir/tests/pool/burn" 0 60 > /dev/null 2>&1 &
running=$!

cat > "$scratch/shell" <<END
stty -a > "$scratch/before"
echo was here
VOCL_POOL="$scratch/pool" vocl top
stty -a > "$scratch/after"
sleep 1000
END
# start COLUMNS: a terminal with `vocl top`
start()
{
    rm -f "$scratch/after"
    terminals=$((terminals + 1)) # a server that ends may still be at the last one's socket
    screen new-session -d -s top -x "$1" -y 24 "exec sh '$scratch/shell'" || fail "no terminal"
    wait_until 20 shows 'burn' || fail "no session on the screen: $(cat "$scratch/screen" "$scratch/log")"
}
# ended: the terminal is as it was before
ended()
{
    wait_until 10 test -s "$scratch/after" || fail "$1: it goes on: $(cat "$scratch/screen")"
    cmp "$scratch/before" "$scratch/after" || fail "$1: the terminal is otherwise than before"
    shows '^was here' || fail "$1: the screen is not as it was: $(cat "$scratch/screen")"
    screen kill-server
}

for columns in 80 140; do
    start $columns
    [ "$(grep -c . "$scratch/screen")" = 5 ] || fail "$columns columns: not five lines: $(cat "$scratch/screen")"
    for line in '^vocl top: 1 nodes' '^NODE  *NR ' '^a-node-with-a.* 0 cpu ' '^SESSION ' "^[0-9a-f]* *$(echo "$user" | cut -c 1-10)"; do
        grep -q -e "$line" "$scratch/screen" || fail "$columns columns: no line $line: $(cat "$scratch/screen")"
    done
    screen send-keys -t top q
    ended q
done
for signal in TERM HUP INT QUIT; do
    start 80
    pkill -$signal -P "$(screen list-panes -t top -F '#{pane_pid}')" || fail "nobody to send SIG$signal to"
    ended SIG$signal
done

start 80
kill -9 $daemon
wait_until 20 shows 'no daemon answers' || fail "the loss is not told: $(cat "$scratch/screen")"
screen send-keys -t top q
ended "the daemon's loss"
exit 0
