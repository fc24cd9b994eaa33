#!/bin/sh
# vocl run --hold: devices of a pool of two nodes stay with a program from one session to the next, also when a daemon
# is killed and started again, and are free as soon as the program ends. A hold that is unused, or lasts longer than
# sessions may, ends.
. "$(dirname "$0")/one-lib.sh"
need python3 python3
need_foreign_programs
make_pool one 'network = "tls";'
setting "$scratch/conf" environment "[ \"POCL_DEVICES=pthread pthread\", \"POCL_CACHE_DIR=$POCL_CACHE_DIR\" ]"
add_daemon two
start_daemon
start_other two
meet_other
VOCL_POOL=$scratch/pool
export VOCL_POOL

# states: prints the state of all sessions, in the order of the nodes
states()
{
    vocl pool --json sessions | python3 -c '
import json, sys
for node in json.load(sys.stdin)["nodes"]:
    for session in node["sessions"]:
        print(node["name"], session["state"], len(session["devices"]))' | sort | tr '\n' ';'
}
are()
{
    [ "$(states)" = "$1" ]
}
# held OPTION...: starts a program that runs `vocl devices` each time it is told to
cat > "$scratch/steps" <<END
#!/bin/sh
for step in 1 2 3; do
    until [ -e $scratch/go.\$step ]; do sleep 0.05; [ -e $scratch ] || exit; done
    vocl devices > $scratch/out.\$step 2> $scratch/err.\$step
    echo \$? > $scratch/done.\$step
done
END
chmod +x "$scratch/steps"
held()
{
    rm -f "$scratch"/go.* "$scratch"/done.* "$scratch"/out.*
    vocl run --hold "$@" -- "$scratch/steps" 2> "$scratch/err" &
    program=$!
}
# step NUMBER DEVICES: tells it to, and it must see so many devices
step()
{
    touch "$scratch/go.$1"
    wait_until test -s "$scratch/done.$1" || fail "step $1 does not end"
    [ "$(cat "$scratch/done.$1")" = 0 ] && [ "$(grep -c ' CPU ' "$scratch/out.$1")" = "$2" ] ||
        fail "step $1: $(cat "$scratch/out.$1" "$scratch/err.$1")"
}
refused()
{
    vocl devices > "$scratch/out" 2>&1 && fail "$1: another has them: $(cat "$scratch/out")"
    grep -q "${2:-taken}" "$scratch/out" || fail "$1: $(cat "$scratch/out")"
}

# both nodes' devices, for as long as the program runs
held --count 4 --exclusive
wait_until are 'one held 2;two held 2;' || fail "held: $(states); $(cat "$scratch/err" "$scratch/log")"
refused "before a session"
step 1 4
wait_until are 'one held 2;two held 2;' || fail "after a session: $(states)"
refused "between sessions"
step 2 4
kill -9 $program
wait $program
wait_until are '' || fail "held after its program: $(states)"
vocl devices > "$scratch/out" 2>&1 || fail "nobody holds them: $(cat "$scratch/out")"
[ "$(grep -c '"program":"(hold)".*"end":"completed"' "$scratch/accounting")" -ge 1 ] || fail "not accounted: $(cat "$scratch/accounting")"

# requests for fewer devices than are held, for more, and for a hold that does not exist
held --count 2
wait_until are 'one held 2;' || fail "two of one node: $(states)"
step 1 2
wait_until are 'one held 2;' || fail "two of one node, after a session: $(states)"
hold=$(vocl pool --json sessions | python3 -c 'import json, sys; print(json.load(sys.stdin)["nodes"][0]["sessions"][0]["id"])')
[ "$(VOCL_POOL_HOLD=$hold VOCL_POOL_COUNT=1 vocl devices 2> "$scratch/err.one" | grep -c ' CPU ')" = 1 ] || fail "one of two: $(cat "$scratch/err.one")"
export VOCL_POOL_HOLD=$hold VOCL_POOL_COUNT=3
refused "more than are held" 'only 2 of these'
export VOCL_POOL_HOLD=00112233445566778899aabbccddeeff VOCL_POOL_COUNT=1
refused "no such hold" 'no such hold'
unset VOCL_POOL_HOLD VOCL_POOL_COUNT

# a daemon that is killed or stopped, and started again
for how in KILL TERM; do
    kill -$how $daemon
    wait $daemon 2> /dev/null
    start_daemon
    wait_until are 'one held 2;' || fail "held, by a new daemon after $how: $(states); $(cat "$scratch/log")"
done
step 2 2

# Users who may end a session may end a hold.
vocl pool kill "$hold" > "$scratch/out" 2>&1 || fail "kill: $(cat "$scratch/out")"
wait_until are '' || fail "killed: $(states)"
touch "$scratch/go.3"
wait_until test -s "$scratch/done.3"
grep -q 'no such hold' "$scratch/err.3" || fail "what is not held any more: $(cat "$scratch/out.3" "$scratch/err.3")"
wait $program

# holds that are unused, or last too long: checked in the accounting file, as they may end before anything else can be
# seen
cat > "$scratch/stay" <<END
#!/bin/sh
while [ -e $scratch ]; do sleep 0.1; done
END
chmod +x "$scratch/stay"
for limit in 'idle-limit = 2;' 'session-seconds = 2;'; do
    case $limit in
    idle*) why='it was held for 2 seconds for nothing' ;;
    *) why='its time is up' ;;
    esac
    kill $daemon
    wait $daemon
    sed -i '/^idle-limit\|^session-seconds/d' "$scratch/conf"
    echo "$limit" >> "$scratch/conf"
    start_daemon
    await nodes=2 || fail "they do not meet: $(cat "$scratch/log")"
    vocl run --hold --count 2 -- "$scratch/stay" 2> "$scratch/err" &
    program=$!
    wait_until grep -q '"program":"(hold)".*"devices":\["[^"]*","[^"]*"\].*"why":"'"$why"'"' "$scratch/accounting" ||
        fail "$limit: $(states) $(cat "$scratch/err" "$scratch/accounting")"
    wait_until are '' || fail "$limit: $(states)"
    kill $program
    wait $program
done
[ "$(status_of vocl run --hold --workers 1 -- true 2> "$scratch/err")" = 2 ] || fail "held without a pool: $(cat "$scratch/err")"
vocl run --hold --count 5 -- true 2> "$scratch/err" && fail "more than there are"
grep -q 'no devices are held: the pool: ' "$scratch/err" || fail "why there are none: $(cat "$scratch/err")"
exit 0
