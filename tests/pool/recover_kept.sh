#!/bin/sh
# Sessions of a pool of three nodes whose contents two workers save for each other (VOCL_RECOVER_TO=node): a node
# vanishes, and then the one that had the copies; a node is emptied, or a session moved by hand, before the new worker
# is lost. Programs find their contents, and nothing is left behind.
. "$(dirname "$0")/move-lib.sh"
nodes_for_kept 'network = "tls";'

failed()
{
    fail "$*: $(cat "$scratch/out" "$scratch/asked" 2> /dev/null; grep -v debug: "$scratch/err" | tail -n 30; root vocl pool sessions; tail -n 5 "$scratch"/n?.log)"
}
# begin: starts a program on two nodes, $first and $second; both hold copies of all contents
begin()
{
    rm -f "$scratch/enough" "$scratch/enough.gate"
    : > "$scratch/out"
    as $alice VOCL_RECOVER=replay VOCL_RECOVER_TO=node VOCL_RECOVER_LOG=16K VOCL_LOG=debug \
        vocl run --count 2 --policy spread -- "$scratch/bin/kept" "$scratch/enough" > "$scratch/out" 2> "$scratch/err" &
    program=$!
    wait_until grep -q ready "$scratch/out" || failed "no program"
    wait_until grep -q 'contents of worker 1 are kept by itself and by' "$scratch/err" &&
        wait_until grep -q 'contents of worker 2 are kept by itself and by' "$scratch/err" || failed "nothing is kept"
    set -- $(part node)
    first=$1 second=$2
    [ -n "$second" ] && [ "$first" != "$second" ] || failed "it is not on two nodes"
}
ends_right()
{
    touch "$scratch/enough"
    wait $program || failed "$1: status $?"
    grep -qx right "$scratch/out" || failed "$1"
    await sessions=0 || failed "$1: left"
    none_left_on n1 n2 n3
    echo "$1: $(grep -c 'is worker [0-9]* now' "$scratch/err") changes"
}
# lose PROCESS...: another worker takes the place, and two workers hold copies of everything again
lose()
{
    had=$(grep -c 'of commands and data again' "$scratch/err") whole=$(by_two)
    kill -9 "$@"
    wait_until mended || failed "it is not replaced"
}
# lose_node NODE: kills its daemon and all its workers; the daemon is started again when they are replaced
lose_node()
{
    lose "$(cat "$scratch/$1.pid")" $(workers_on "$1")
    wait "$(cat "$scratch/$1.pid")" 2> /dev/null
    start_daemon "$1"
    await nodes=3 || failed "$1 is not back"
}
by_two()
{
    grep -c 'are stored by two workers again' "$scratch/err"
}
mended()
{
    [ "$(grep -c 'of commands and data again' "$scratch/err")" -gt "$had" ] && [ "$(by_two)" -ge $((whole + 2)) ]
}
none_on()
{
    ! part node | grep -qx "$1"
}
third()
{
    for host in n1 n2 n3; do
        [ "$host" = "$first" ] || [ "$host" = "$second" ] || echo $host
    done
}

# Nodes vanish, one after the other: each has copies of the other's contents.
begin
lose_node "$first"
lose_node "$second"
ends_right "two nodes gone"

# A node is emptied; then the worker that has replaced its worker is lost, and then the other one.
begin
root timeout -k 5 100 vocl pool drain --move "$first" > "$scratch/asked" 2>&1 || failed "drain --move $first"
root vocl pool resume "$first"
wait_until none_on "$first" || failed "$first is not empty"
lose $(workers_on "$(part node | grep -vx "$second")")
lose $(workers_on "$second")
ends_right "drained"

# The same while commands wait for a user event: the target executes the journal again. No failure is reported.
begin
touch "$scratch/enough.gate"
wait_until grep -q gated "$scratch/out" || failed "no gate"
root timeout -k 5 100 vocl pool drain --move "$first" > "$scratch/asked" 2>&1 || failed "drain --move $first, gated"
grep -q "moved from $first to $(third): all commands were sent again" "$scratch/asked" || failed "what is said"
root vocl pool resume "$first"
wait_until none_on "$first" || failed "$first is not empty"
ends_right "drained, gated"
tail -n 1 "$scratch/accounting-$first" | grep -q "\"why\":\"moved to $(third)\"" || fail "accounting: $(cat "$scratch/accounting-$first")"

# The session is moved by hand; then the node vanishes to which it has moved.
begin
session=$(part id | head -n 1) other=$(third)
as $alice timeout -k 5 100 vocl pool move --from "$first" --to "$other" "$session" > "$scratch/asked" 2>&1 || failed "move to $other"
lose_node "$other"
ends_right "moved"
grep Sanitizer "$scratch"/n?.log && fail "the sanitizer found something"
exit 0
