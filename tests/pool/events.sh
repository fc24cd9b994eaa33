#!/bin/sh
# vocl pool events: what happens in a pool, a line of JSON for each event, afterwards and as it happens: sessions,
# requests, drains, nodes. Other users' reasons are not shown, and a client that does not read holds nobody up.
. "$(dirname "$0")/one-lib.sh"
need python3 python3
make_pool one 'devices = ( { match = "*"; sessions = 1; } );'
add_daemon two
# begin_other: starts daemon two; programs end with the test
begin_other()
{
    start_other two
    trap 'kill -9 $follower $holder $waiting 2> /dev/null; end_daemons' EXIT
}
follower= holder= waiting=
start_daemon
begin_other
VOCL_POOL=$scratch/pool
export VOCL_POOL
meet_other
vocl pool events --follow --since 1h > "$scratch/events" 2> "$scratch/events.err" &
follower=$!

# among FILE EXPRESSION: whether one of the events there is so; e is the event
among()
{
    case $2 in # python is started only if there is an event of that kind
    "e['event'] == '"*)
        among_kind=${2#"e['event'] == '"}
        grep -q "\"event\":\"${among_kind%%\'*}\"" "$1" || return 1
        ;;
    esac
    python3 - "$@" << 'END_OF_PROGRAM'
import json, sys
events = [json.loads(line) for line in open(sys.argv[1])]
assert all({"time", "event", "node", "daemon"} <= e.keys() for e in events)
sys.exit(not any(eval(sys.argv[2]) for e in events))
END_OF_PROGRAM
}
# happens EXPRESSION: the follower prints such an event
happens()
{
    wait_until among "$scratch/events" "$1" || fail "not: $1: $(cat "$scratch/events" "$scratch/events.err")"
}
kind()
{
    printf "e['event'] == '%s'" "$1"
}

happens "$(kind daemon-start) and e['node'] == 'two' and e['version']"
happens "$(kind node-up) and e['node'] == 'two' and e['daemon'] == 'one'"
vocl run -- "$top_builddir/tests/parity/vector_add" > /dev/null 2> "$scratch/err" || fail "vector_add: $(cat "$scratch/err")"
happens "$(kind request-granted) and e['user'] == '$user' and len(e['nodes']) == 1 and e['session']"
happens "$(kind session-begin) and e['program'] == 'vector_add' and e['devices'] == [0]"
happens "$(kind session-end) and e['program'] == 'vector_add' and e['end'] == 'completed' and e['seconds'] > 0"

# the queue, and a refusal
vocl run --count 2 -- "$top_builddir/tests/pool/burn" "$scratch/never" > /dev/null 2> "$scratch/burn.err" &
holder=$!
await running=2 || fail "no session: $(cat "$scratch/burn.err")"
vocl devices > /dev/null 2>&1 && fail "there are devices"
happens "$(kind request-refused) and 'taken' in e['why']"
vocl run --wait 600 -- "$top_builddir/tests/parity/vector_add" > /dev/null 2>&1 &
waiting=$!
happens "$(kind request-queued) and 'taken' in e['why'] and e['program'] == 'vector_add'"
kill $waiting
wait $waiting
happens "$(kind request-gone) and e['program'] == 'vector_add'"
vocl pool kill "$(vocl pool sessions | awk 'NR == 2 { print $1 }')" || fail "kill"
wait $holder
happens "$(kind session-end) and e['end'] == 'ended' and e['why'] == 'ended by $user'"
vocl run --hold -- vocl run -- "$top_builddir/tests/parity/vector_add" > /dev/null 2> "$scratch/err" || fail "hold: $(cat "$scratch/err")"
happens "$(kind hold-begin) and e['user'] == '$user'"
happens "$(kind hold-end) and e['user'] == '$user'"

# A session that moves, and is suspended until it needs its device again, at once
vocl run -- "$top_builddir/tests/pool/burn" "$scratch/enough" > /dev/null 2> "$scratch/burn.err" &
holder=$!
await running=1 || fail "no session: $(cat "$scratch/burn.err")"
session=$(vocl pool sessions | awk 'NR == 2 { print $1 }')
vocl pool move --quiet "$session" || fail "move"
happens "$(kind session-move) and e['session'].startswith('$session') and {e['from'], e['to']} == {'one', 'two'}"
happens "$(kind session-end) and e['end'] == 'moved'"
vocl pool suspend --quiet "$session" || fail "suspend"
happens "$(kind session-suspend) and e['session'].startswith('$session') and e['program'] == 'burn'"
happens "$(kind session-end) and e['end'] == 'suspended'"
happens "$(kind session-resume) and e['session'].startswith('$session')"
touch "$scratch/enough"
wait $holder || fail "burn: $(cat "$scratch/burn.err")"

vocl pool drain --reason "a new fan" two || fail "drain"
happens "$(kind node-drain) and e['node'] == 'two' and e['reason'] == 'a new fan' and e['by'] == '$user'"
vocl pool resume two || fail "resume"
happens "$(kind node-resume) and e['node'] == 'two' and not e['draining']"

# Without --follow: the same, in the order of time
vocl pool events > "$scratch/last" 2> "$scratch/err" || fail "events: $(cat "$scratch/err")"
among "$scratch/last" "$(kind node-drain) and e['reason'] == 'a new fan'" || fail "the last: $(cat "$scratch/last")"
python3 -c '
import json, sys
times = [json.loads(line)["time"] for line in sys.stdin]
assert times == sorted(times) and len(times) > 20, times' < "$scratch/last" || fail "the order"
vocl pool events --user nobody > "$scratch/last" || fail "of nobody"
[ ! -s "$scratch/last" ] || fail "of nobody: $(cat "$scratch/last")"

# Another user sees the events, but not why a session was ended.
if id nobody > /dev/null 2>&1 && [ "$user" != nobody ]; then
    printf 'nobody %s\n' "$(new_key)" >> "$scratch/keys"
    grep '^nobody ' "$scratch/keys" > "$scratch/nobodys"
    chmod 600 "$scratch/nobodys"
    sed "s,^key-file.*,key-file $scratch/nobodys," "$scratch/pool" > "$scratch/pool.nobody"
    VOCL_POOL_USER=nobody vocl pool --pool "$scratch/pool.nobody" events > "$scratch/last" 2> "$scratch/err" || fail "as nobody: $(cat "$scratch/err")"
    among "$scratch/last" "$(kind session-end) and e['end'] == 'ended' and 'why' not in e" || fail "as nobody: $(cat "$scratch/last")"
    among "$scratch/last" "e.get('user') == '$user' and e.get('why')" && fail "nobody sees why: $(cat "$scratch/last")"
fi

# A node that is lost and comes back: once each
kill -9 $other
happens "$(kind node-lost) and e['node'] == 'two' and e['daemon'] == 'one' and e['why']"
vocl pool events > /dev/null 2> "$scratch/err" && fail "a lost node's events are there"
grep -q 'the events of two are missing' "$scratch/err" || fail "no word of what is missing: $(cat "$scratch/err")"
begin_other
# starts N: daemon two has started that often
starts()
{
    [ "$(grep -c '"event":"daemon-start","node":"two"' "$scratch/events")" = "$1" ]
}
wait_until starts 2 || fail "its new daemon is not followed: $(cat "$scratch/events" "$scratch/events.err")"
await nodes=2

# A client that does not read: the daemon keeps no more for it than its last events. They are more than it keeps.
kill -STOP $follower
many=$(yes one | head -n 300)
vocl pool drain $many || fail "many drains"
vocl pool drain --reason "the last one" $many || fail "many drains"
vocl pool resume one
await state=one:up || fail "the daemon is held up"
kill -CONT $follower
happens "$(kind node-resume) and e['node'] == 'one'"
grep -q 'the events of one are missing: there were too many' "$scratch/events.err" || fail "no word of those it missed: $(cat "$scratch/events.err")"
kill $follower
wait $follower 2> /dev/null
vocl pool events --follow now 2> /dev/null
[ $? = 2 ] || fail "an argument"
grep 'Sanitizer' "$scratch"/log* && fail "the sanitizer found something"
exit 0
