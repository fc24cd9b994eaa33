#!/bin/sh
# A session has devices of two nodes: each part moves by itself, one right after the other, also to where the other part
# was; and nothing is left behind.
. "$(dirname "$0")/move-lib.sh"
nodes_for_kept

# moves FROM TO: that part moves
moves()
{
    as $alice timeout -k 5 60 vocl pool move --from "$1" --to "$2" "$session" > "$scratch/asked" 2>&1 ||
        fail "from $1 to $2: $(cat "$scratch/asked" "$scratch/err"; root vocl pool sessions; tail -n 5 "$scratch"/n?.log)"
}
on()
{
    [ "$(part node | sort | tr '\n' ' ')" = "$* " ]
}

as $alice vocl run --count 2 --policy spread -- "$scratch/bin/kept" "$scratch/enough" > "$scratch/out" 2> "$scratch/err" &
program=$!
wait_until grep -q ready "$scratch/out" || fail "no program: $(cat "$scratch/err" "$scratch"/n?.log)"
set -- $(part node)
first=$1 second=$2
[ -n "$second" ] && [ "$first" != "$second" ] || fail "it is not on two nodes: $(root vocl pool sessions)"
[ "$(part id | uniq | wc -l)" = 1 ] || fail "it has two names: $(root vocl pool --json sessions)"
[ "$(part part | sort | uniq | wc -l)" = 2 ] || fail "its parts have one name: $(root vocl pool --json sessions)"
session=$(part id | head -n 1)
for host in n1 n2 n3; do
    [ $host = "$first" ] || [ $host = "$second" ] || third=$host
done

moves "$second" "$third"
wait_until on $(printf '%s\n' "$first" "$third" | sort) || fail "the second part: $(root vocl pool sessions)"
moves "$first" "$second"
wait_until on $(printf '%s\n' "$second" "$third" | sort) || fail "the first part: $(root vocl pool sessions)"
moves "$third" "$first"
wait_until on $(printf '%s\n' "$first" "$second" | sort) || fail "the second part, again: $(root vocl pool sessions)"
touch "$scratch/enough"
wait $program || fail "status $?: $(cat "$scratch/out" "$scratch/err")"
grep -qx right "$scratch/out" || fail "wrong: $(cat "$scratch/out")"
await sessions=0 || fail "left: $(root vocl pool sessions)"
none_left_on n1 n2 n3
exit 0
