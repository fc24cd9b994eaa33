#!/bin/sh
# `vocl top` in a terminal of 80 columns: lines do not run into each other, the loss of the daemon is reported, and
# however it ends, the terminal is as before.
. "$(dirname "$0")/one-lib.sh"
need tmux tmux
make_pool a-node-with-a-long-name
start_daemon
# Runs in the server's processes, which must not have the address sanitizer's library.
terminals=0
screen() { env -u LD_PRELOAD tmux -f /dev/null -S "$scratch/tmux$terminals" "$@"; }
trap 'screen kill-server 2> /dev/null; kill -9 $daemon $running 2> /dev/null; rm -rf "$scratch"' EXIT
shows()
{
    screen capture-pane -p -t top > "$scratch/screen"
    grep -q -e "$1" "$scratch/screen"
}
VOCL_POOL=$scratch/pool vocl run -- "$top_builddir/tests/pool/burn" 0 "$scratch/enough" > /dev/null 2>&1 &
running=$!

cat > "$scratch/shell" <<END
stty -a > "$scratch/before"
echo was here
VOCL_POOL="$scratch/pool" vocl top
stty -a > "$scratch/after"
sleep 1000
END
# start COLUMNS: opens a terminal with `vocl top`
start()
{
    rm -f "$scratch/after"
    terminals=$((terminals + 1)) # a server that is ending may still have the last socket
    screen new-session -d -s top -x "$1" -y 24 "exec sh '$scratch/shell'" || fail "no terminal"
    wait_until shows 'burn' || fail "no session on the screen: $(cat "$scratch/screen" "$scratch/log")"
}
# ended: the terminal is as before
ended()
{
    wait_until test -s "$scratch/after" || fail "$1: it goes on: $(cat "$scratch/screen")"
    cmp "$scratch/before" "$scratch/after" || fail "$1: the terminal is otherwise than before"
    shows '^was here' || fail "$1: the screen is not as it was: $(cat "$scratch/screen")"
    screen kill-server
}

# key KEYS PATTERN: after these keys the screen matches
key()
{
    screen send-keys -t top $1
    wait_until shows "$2" || fail "$columns columns: no $2 after $1: $(cat "$scratch/screen")"
}
for columns in 80 140; do
    start $columns
    for line in '^vocl top: 1 nodes, 1 devices, 1 sessions, 0 waiting' '^NODE  *NR TYPE SESS LOAD  *MEMORY  *NAME' \
            '^a-node-with-a.* 0 cpu  *1 *\[[| ]*\] *[0-9]*% *\[[| ]*\] *[0-9]*%' '^LOAD of all devices' '^100%' '^  0%' \
            '^SESSION .* DEV%v' "^[0-9a-f]* *$(echo "$user" | cut -c 1-10)  *burn  *a-node-wit" '^q quit  h help'; do
        grep -q -e "$line" "$scratch/screen" || fail "$columns columns: no line $line: $(cat "$scratch/screen")"
    done
    [ "$(awk '{ print length }' "$scratch/screen" | sort -n | tail -n 1)" -le $columns ] || fail "longer than the screen"
    key h 'keys$'
    key x '^NODE '
    key '>' 'DEVICE Sv'
    key r 'DEVICE S^'
    key '< <' 'TIME^'
    key n '^LOAD of a-node-with-a-long-name 0'
    key d 'LOAD v'
    key p 'PAUSED'
    key p '0 waiting$'
    screen send-keys -t top c
    gone()
    {
        ! shows '^LOAD of'
    }
    wait_until gone || fail "the chart stays: $(cat "$scratch/screen")"
    screen send-keys -t top q
    ended q
done
columns=80
# Another session begins, and a third one has to wait.
sorted()
{
    shows ' burn ' && [ "$(grep -c ' burn ' "$scratch/screen")" = 2 ]
}
start 80
VOCL_POOL=$scratch/pool vocl run -- "$top_builddir/tests/pool/burn" 0 "$scratch/enough" > /dev/null 2>&1 &
second=$!
running="$running $second"
wait_until sorted || fail "not both sessions: $(cat "$scratch/screen")"
VOCL_POOL=$scratch/pool vocl run --exclusive --wait 60 -- "$top_builddir/tests/pool/burn" 0 1 > /dev/null 2>&1 &
running="$running $!"
wait_until shows 'waits for 1 devices' || fail "who waits: $(cat "$scratch/screen")"
# The whole reason is shown, also where it takes more than one line.
why=$(VOCL_POOL=$scratch/pool vocl pool --json queue | sed -n 's/^ *"why": "\(..*\)",$/\1/p' | tail -n 1)
[ -n "$why" ] || fail "no reason: $(VOCL_POOL=$scratch/pool vocl pool queue)"
whole()
{
    shows 'waits for' && tr '\n' ' ' < "$scratch/screen" | tr -s ' ' | grep -qF "so far: $why "
}
for columns in 80 60 45; do
    wait_until whole || fail "$columns columns: why is cut, \"$why\": $(cat "$scratch/screen")"
    [ $columns = 45 ] && break
    screen send-keys -t top q
    ended q
    start $((columns == 80 ? 60 : 45))
done
columns=80
screen send-keys -t top q
ended q
kill $second $!
# without colours; in a terminal that has none; and in a small one
for environment in 'NO_COLOR=1' 'TERM=vt100' 'COLUMNS=40 LINES=8'; do
    sed -i "s,^.*VOCL_POOL,$environment VOCL_POOL," "$scratch/shell"
    start 80
    screen capture-pane -e -p -t top | grep -q "$(printf '\033')\[[0-9;]*3[0-7]m" && fail "$environment: colours"
    screen send-keys -t top q
    wait_until test -s "$scratch/after" || fail "$environment: it goes on: $(cat "$scratch/screen")"
    screen kill-server # a vt100 has no other screen to go back to
done
sed -i 's,^.*VOCL_POOL,VOCL_POOL,' "$scratch/shell"
for signal in TERM HUP INT QUIT; do
    start 80
    pkill -$signal -P "$(screen list-panes -t top -F '#{pane_pid}')" || fail "nobody to send SIG$signal to"
    ended SIG$signal
done

# A suspended session has no node.
start 80
session=$(VOCL_POOL=$scratch/pool vocl pool --json sessions | sed -n 's/.*"id": "\([0-9a-f]*\)".*/\1/p' | head -n 1)
VOCL_POOL=$scratch/pool vocl pool suspend --quiet "$session" 2> "$scratch/asked"
case $(cat "$scratch/asked") in
'') wait_until shows 'burn .*suspended ' && shows '0 sessions, 1 suspended, 0 waiting' || fail "suspended: $(cat "$scratch/screen")" ;;
*vocl-tls.so*) ;; # built without TLS
*) fail "it is not suspended: $(cat "$scratch/asked" "$scratch/log")" ;;
esac
kill -9 $daemon
wait_until shows 'no daemon answers' || fail "the loss is not told: $(cat "$scratch/screen")"
screen send-keys -t top q
ended "the daemon's loss"
exit 0
