#!/bin/sh
# Counts how often a program waits for a distant node, by the notes of the node: it sends none here without being asked,
# and several questions at once are one wait.
. "$(dirname "$0")/../lib.sh"
alone
export VOCL_NETWORK=tls VOCL_SHARE=0 VOCL_CACHE="$scratch/cache"

# traced NAME KIND STEPS: writes the trace of so many steps
traced()
{
    VOCL_TRACE=1 timeout -k 10 300 vocl run -- "$top_builddir/tests/session/waits" "$2" "$3" > "$scratch/out" 2> "$scratch/$1" ||
        fail "$2 $3: status $?: $(cat "$scratch/out"; grep -v ' 1: ' "$scratch/$1" | tail -n 5)"
}

# each KIND MOST: the node sends at most MOST notes for each additional step
each()
{
    traced few "$1" 20
    traced many "$1" 120
    told=$((($(grep -c '<- 1: ' "$scratch/many") - $(grep -c '<- 1: ' "$scratch/few") + 50) / 100))
    echo "$1: $told"
    [ "$told" -le "$2" ] || fail "$1: $told a step: $(grep -o '<- 1: [a-z_]*' "$scratch/many" | sort | uniq -c)"
}
each read 1
each read_much 1
each map_read 1
each write 0
each overwrite 0
each refill 0
each launch 0
each divide 1

# After many commands in sequence the program waits once: it asks the node about all of them together.
for kind in each_launch each_write; do
    traced all "$kind" 100
    asked=$(grep -o -e '-> 1: subscribe_event\|<- 1: event_status' "$scratch/all" | uniq | grep -c subscribe)
    echo "$kind: asked $asked times"
    [ "$asked" -le 2 ] || fail "$kind: asked $asked times"
done

# The start: counts each time the node sends after it has received: for what the node has, for the build, and for the
# finish. No cache is used; with a cache, see tests/session/cache.sh.
VOCL_CACHE=off traced start launch 1
turns=$(grep -o -e '\(->\|<-\) 1: ' "$scratch/start" | uniq | grep -c '<-')
echo "start: $turns"
[ "$turns" -le 3 ] || fail "the start waits $turns times: $(grep -o -e '\(->\|<-\) 1: [a-z_]*' "$scratch/start")"
