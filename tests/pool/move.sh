#!/bin/sh
# Sessions of a pool of three nodes move: programs print the same as natively while they move from node to node, and a
# node is emptied. Where a move is refused or fails, the program continues where it was, and nothing is left behind.
. "$(dirname "$0")/move-lib.sh"
for program in parity/images session/moved_commands; do
    "$top_builddir/libtool" --mode=execute cp "$top_builddir/tests/$program" "$scratch/bin/"
done
chmod -R a+rX "$scratch/bin"
for host in n1 n2 n3; do
    write_config $host 'devices = ( { match = "*"; sessions = 4; } );' 'sessions-per-user = 2;' 'devices-per-user = 2;'
    [ $host = n3 ] || sed -i 's/pthread pthread/pthread/' "$scratch/$host.conf" # PoCL's second device is not like its first
    start_daemon $host
done
await nodes=3 || fail "the daemons do not find each other: $(cat "$scratch"/n?.log)"

# stays WHY ARGUMENT...: the move is refused for that reason
stays()
{
    stays_why=$1 stays_at=$(part node)
    shift
    move "$@" && fail "moved: $*: $(cat "$scratch/asked")"
    grep -q "$stays_why" "$scratch/asked" || fail "$*: not \"$stays_why\": $(cat "$scratch/asked")"
    one_part || fail "$*: left: $(root vocl pool sessions)"
    [ "$(part node)" = "$stays_at" ] || fail "$*: it is elsewhere"
}

# From node to node, and to another device; chosen by name or by the policy.
begins $alice env MOVED_LINKED=yes "$scratch/bin/moved" 4 0 "$scratch/enough"
ready
session=$(part id)
[ "$(part node)" = n2 ] || move --to n2 || fail "to n2: $(cat "$scratch/asked" "$scratch/err" "$scratch"/n?.log)"
one_part || fail "the old place is held: $(root vocl pool sessions)"
move --to n3 --device 0 || fail "to n3: $(cat "$scratch/asked" "$scratch/err" "$scratch"/n?.log)"
grep -q 'moved from n. to n3: .*, paused for .* ms' "$scratch/asked" || fail "what is said: $(cat "$scratch/asked")"
one_part || fail "the old place is held: $(root vocl pool sessions)"
# How far it is, and how much was copied, is on standard error.
as $alice vocl pool move --to n2 "$session" > "$scratch/asked" 2> "$scratch/shown" || fail "back to n2: $(cat "$scratch/shown")"
one_part || fail "the old place is held: $(root vocl pool sessions)"
[ "$(wc -l < "$scratch/asked")" = 1 ] && grep -q '^moved from n3 to n2: ' "$scratch/asked" || fail "on standard output: $(cat "$scratch/asked")"
[ "$(grep -v : "$scratch/shown" | grep -vx waiting | tr '\n' ' ')" = "starting early copy objects contents change forget " ] &&
    grep -qE '^(copy|contents): [0-9.]+ [KM]?i?B(, |$)' "$scratch/shown" || fail "phases: $(cat "$scratch/shown")"
as $alice vocl pool move --quiet --to n3 "$session" > "$scratch/asked" 2>&1 || fail "to n3 again: $(cat "$scratch/asked")"
one_part || fail "the old place is held: $(root vocl pool sessions)"
[ ! -s "$scratch/asked" ] || fail "quiet: $(cat "$scratch/asked")"
# As the user of a program on this host.
as $alice vocl move --to n2 "$session" > "$scratch/asked" 2> "$scratch/shown" || fail "by vocl move: $(cat "$scratch/asked" "$scratch/shown")"
one_part || fail "the old place is held: $(root vocl pool sessions)"
grep -qx change "$scratch/shown" && grep -qE '^(copy|contents): ' "$scratch/shown" || fail "vocl move: $(cat "$scratch/asked" "$scratch/shown")"
as $alice vocl pool move --to n3 "$session" > "$scratch/asked" 2>&1 || fail "to n3 a third time: $(cat "$scratch/asked")"
one_part || fail "the old place is held: $(root vocl pool sessions)"
one_part || fail "the old place is held: $(root vocl pool sessions)"
[ "$(part node) $(part id)" = "n3 $session" ] || fail "it is on $(part node), and called $(part id)"
move --to n3 || fail "to the other device: $(cat "$scratch/asked" "$scratch"/n3.log)"
one_part && [ "$(part node)" = n3 ] || fail "to the other device: $(root vocl pool sessions)"
move || fail "anywhere: $(cat "$scratch/asked")"
one_part && [ "$(part node)" != n3 ] || fail "anywhere else: $(root vocl pool sessions)"
# The accounting file has the moves.
cat "$scratch"/accounting-n? | python3 -c '
import json, sys
moves = [r["move"] for r in map(json.loads, sys.stdin) if r["session"] == sys.argv[1] and r["why"].startswith("moved to ")]
assert len(moves) == int(sys.argv[2]) and all(m["bytes"] > 0 and m["pause_us"] > 0 and m["to"] for m in moves), moves' "$session" 8 ||
    fail "accounting: $(cat "$scratch"/accounting-n?)"

# The move is refused, and the session stays.
here=$(part node)
stays 'there is no node n9' --to n9
stays 'there is no other suitable place' --to n1 --device 7
other=n1
[ "$here" != n1 ] || other=n2
root vocl pool drain $other || fail "drain"
stays "$other takes no sessions: it is draining" --to $other
root vocl pool resume $other
as $bob vocl pool move --to $other "$session" 2> "$scratch/asked" && fail "another user moves it"
grep -q 'no such session here that you may move' "$scratch/asked" || fail "another user: $(cat "$scratch/asked")"

# With one session, the policy (which fills used nodes first) changes nothing, once the place that was requested in vain
# is free again.
balanced()
{
    root vocl pool rebalance > "$scratch/asked" 2>&1 && grep -q 'every session is where pack would place it' "$scratch/asked"
}
wait_until balanced || fail "rebalance: $(cat "$scratch/asked")"

# An administrator empties the node.
here=$(part node)
root vocl pool drain --move $here > "$scratch/asked" 2>&1 || fail "drain --move: $(cat "$scratch/asked")"
one_part && [ "$(part node)" != "$here" ] || fail "drained: $(root vocl pool sessions)"
root vocl pool resume $here
ends "moved by hand"

# Programs are moved again and again; the first one runs until it has moved often enough.
for command in moved images; do
    arguments=
    [ $command != moved ] || arguments="8 0 $scratch/enough"
    touch "$scratch/enough"
    "$scratch/bin/$command" $arguments > "$scratch/native" 2> /dev/null || fail "$command natively"
    starts $alice "$scratch/bin/$command" $arguments
    moves=0 most=$(rounds 4)
    while kill -0 $program 2> /dev/null; do
        case $(part node) in
        n1) other=n2 ;;
        n2) other=n1 ;;
        *) continue ;; # no worker yet, two for a moment, or the session has ended
        esac
        move --quiet --to $other && moves=$((moves + 1))
        [ $moves -lt $most ] || touch "$scratch/enough"
    done
    wait $program || fail "$command: status $?: $(tail -n 5 "$scratch/err" "$scratch"/n?.log)"
    diff "$scratch/native" "$scratch/out" || fail "$command prints something else"
    echo "$command: $moves moves"
    await sessions=0 || fail "$command: left: $(root vocl pool sessions)"
done

mkdir "$scratch/holds" && chown $alice "$scratch/holds" || fail "no folder"
hold=$scratch/holds/copy
# No fault ends the program: the new worker is killed in the copy phase, then the command, then the daemon; and the
# network is cut.
for victim in worker command daemon network; do
    [ $victim != network ] || about_silence
    begins $alice env "$(held_at copy)" VOCL_PEER_TIMEOUT=$VOCL_PEER_TIMEOUT VOCL_LOG=debug \
        "$scratch/bin/moved" 4 0 "$scratch/enough"
    ready
    here=$(part node) other=n1
    [ "$here" != n1 ] || other=n2
    : > "$scratch/asked"
    as $alice vocl pool move --to $other "$(part id)" > "$scratch/asked" 2>&1 &
    asking=$!
    held && wait_until grep -q copy "$scratch/asked" || fail "$victim: $(cat "$scratch/asked")"
    root vocl pool sessions | grep -q 'copy' || fail "what is seen: $(root vocl pool sessions)"
    case $victim in
    worker)
        workers_on $other | xargs -r kill -9
        wait_until loss_noticed || fail "the worker's loss is not noticed: $(tail -n 5 "$scratch/err")"
        ;;
    command) pkill -9 -P $asking vocl-pool || kill -9 $asking ;;
    daemon)
        kill -9 "$(cat "$scratch/$other.pid")"
        wait "$(cat "$scratch/$other.pid")" 2> /dev/null # its port and state directory are free again
        start_daemon $other
        ;;
    network) ip -n $base-switch link set $other down ;;
    esac
    release
    wait $asking
    echo "$victim: status $?: $(tail -n 1 "$scratch/asked")"
    [ $victim != network ] || ip -n $base-switch link set $other up
    one_part || fail "$victim: left: $(root vocl pool sessions)"
    case $victim in
    worker | network) [ "$(part node)" = "$here" ] || fail "$victim: it is elsewhere" ;;
    esac
    ends "$victim"
done
grep Sanitizer "$scratch"/n?.log && fail "the sanitizer found something"
none_left_on n1 n2 n3
exit 0
