#!/bin/sh
# Random graphs of commands, which check their own results, while at random their workers are killed, and their sessions
# move and are suspended. Runs one graph, and many in make check-stress; SEEDS=30 runs 30 graphs, from seed FIRST on.
# LOGS: the folder for the log of a graph that fails.
. "$(dirname "$0")/../lib.sh"
graph=$top_builddir/tests/session/graph
mark=VOCL_TEST_MARK=$$
at_most 1800

# below LIMIT: draws a number from the generator of this seed
below()
{
    draw=$(((draw * 1103515245 + 12345) % 2147483648))
    drawn=$((draw / 65536 % $1))
}

# kill_some COUNT: kills that many workers, now and then
kill_some()
{
    wait_until grep -q 'all devices are known;' "$scratch/err" || return 0
    for kill in $(seq "$1"); do
        below 60
        sleep 0.$((drawn + 20))
        below 4
        kill -KILL "$(session_workers "$mark" | tail -n $((drawn + 1)) | head -n 1)" 2> /dev/null
    done
}

count()
{
    grep -c "$1" "$scratch/err"
}

# mix SEED: runs a graph with settings that depend on the seed
mix()
{
    draw=$(($1 * 7919 + 11))
    below 2
    share=$drawn
    below 2
    how="VOCL_SHARE=$share VOCL_SPARE=$drawn"
    below 3
    [ $drawn = 0 ] || how="$how VOCL_MOVE_EVERY=$((drawn * 60))"
    below 3
    [ $drawn = 0 ] || how="$how VOCL_SUSPEND_EVERY=$((drawn * 120))"
    below 4
    kills=$drawn
    [ $kills = 0 ] || how="$how VOCL_RECOVER=replay VOCL_RECOVER_LOG=${kills}00K"
    below 2
    workers=$((drawn + 1))
    below 2
    local=$([ $drawn = 0 ] || echo --local)
    [ $kills = 0 ] || local= # what devices of the program's own process have told workers is not told again
    below 2
    [ $drawn = 0 ] || how="$how VOCL_NETWORK=tls"
    : > "$scratch/err"
    env "$mark" VOCL_LOG=debug $how timeout -k 10 400 vocl run $local --workers $workers -- "$graph" "$1" "$commands" > "$scratch/out" 2> "$scratch/err" &
    program=$!
    kill_some $kills > /dev/null 2>&1 &
    harmer=$!
    wait $program
    status=$?
    kill $harmer 2> /dev/null
    wait $harmer 2> /dev/null
    [ $status = 0 ] || { [ -z "$LOGS" ] || cp "$scratch/err" "$LOGS/graph-$1.log"; }
    [ $status = 0 ] || fail "graph $1, $how, $workers workers: status $status: $(cat "$scratch/out"; grep -v debug: "$scratch/err" | tail -n 9)"
    wait_until none_left "$mark" || fail "left after graph $1, $how: $(session_processes "$mark")"
    echo "graph $1: $how: $local $workers workers, $(count 'objects, .* of pause') moves, $(count 'stays where it is') refused, $(count 'resumed:') suspensions, $(count 'is not suspended') refused, $(count 'of commands and data again') replaced"
}

commands=${COMMANDS:-4000}
for seed in $(seq "${FIRST:-1}" $((${FIRST:-1} + ${SEEDS:-$(rounds 1)} - 1))); do
    mix "$seed"
done
