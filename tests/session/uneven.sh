#!/bin/sh
# Each connection between the program and its workers has another delay, which changes all the time, so that messages on
# different connections overtake each other and stall; and the cable is cut for a moment, now in one direction, now in
# the other. Programs print the same as natively.
. "$(dirname "$0")/../lib.sh"
[ -e "$VOCL_LIBEXECDIR/vocl-tls.so" ] || skip "VOCL was built without TLS"
two=$top_srcdir/tests/net/two-hosts
parity=$top_builddir/tests/parity
graph=$top_builddir/tests/session/graph
mark=VOCL_TEST_MARK=$$
at_most 600
[ "$(status_of "$two" --delay 1000 --uneven 1000 -- true 2> "$scratch/err")" != 77 ] || skip "$(cat "$scratch/err")"

# far NETWORK WORKERS PROGRAM...: runs the program with such connections
far()
{
    network=$1 workers=$2
    shift 2
    rm -f "$scratch/cable"
    env "$mark" VOCL_NETWORK=$network VOCL_STREAMS=8 VOCL_LOG=${log:-warn} timeout -k 10 300 "$two" --delay 1000 --uneven 30000 \
        --cable "$scratch/cable" --workers "$workers" -- "$@" > "$scratch/out" 2> "$scratch/err" ||
        fail "$*, $network: status $?: $(tail -n 5 "$scratch/out" "$scratch/err")"
    wait_until none_left "$mark" || fail "left after $*: $(session_processes "$mark")"
}

# same NETWORK WORKERS PROGRAM: prints the same as natively
same()
{
    timeout -k 10 200 "$parity/$3" > "$scratch/native" 2> /dev/null || fail "$3 natively"
    far "$1" "$2" "$parity/$3"
    diff "$scratch/native" "$scratch/out" > "$scratch/diff" || fail "$3, $1: $(head -n 20 "$scratch/diff")"
}

has_heard()
{
    ! grep -q '^ShdPnd:.*[1-9a-f]' "/proc/$process/status" 2> /dev/null
}

# toggle SIGNAL: sends the signal, and waits until it is handled: two pending signals would count as one
toggle()
{
    kill -"$1" "$process" && wait_until has_heard
}

# cuts: cuts the cable for a third of a second each time, until it is gone
cuts()
{
    wait_until [ -s "$scratch/cable" ] || return
    read -r process spaces < "$scratch/cable"
    while sleep 0.7 && toggle USR1 && sleep 0.3 && toggle USR1 && sleep 0.7 && toggle USR2 && sleep 0.3 && toggle USR2; do
        echo cut >> "$scratch/cuts"
    done 2> /dev/null
}

# cut NETWORK WORKERS SEED: runs a random graph until the cable has been cut in both directions
cut()
{
    cuts &
    cutter=$!
    far $1 $2 "$graph" $3 400 "$scratch/cuts"
    wait $cutter
}

# little NETWORK WORKERS: sends more than its connection may have under way, so that frames travel over other
# connections, in both directions
little()
{
    log=info
    far "$1" "$2" "$top_builddir/tests/session/little"
    [ "$(grep -c ': 0 wrong$' "$scratch/out")" = 2 ] || fail "little, $1: $(cat "$scratch/out")"
    for way in 0 1; do
        grep -a -o "to $way: frames go by.*" "$scratch/err" || fail "little, $1: no frames aside: $(cat "$scratch/err")"
    done
}

for network in tls plain; do
    beside little $network 1
    beside far $network 1 "$top_builddir/tests/session/long_source" 70 # one frame, and more than may go aside
    case $network in
    tls) programs="images threads one_place buffer_ops map_unmap" ;;
    plain) programs="images one_place threads buffer_ops map_unmap" ;;
    esac
    for program in $(few 2 $programs); do
        beside same $network 1 $program
    done
    beside same $network 2 many_copies
    for seed in $(seq $(rounds 1)); do
        beside far $network 2 "$graph" $seed 400
        beside cut $network 2 1$seed
    done
done
well_beside
cut_count=$(cat "$scratch"/*/cuts 2> /dev/null | grep -c cut)
echo "cut $cut_count times, both ways"
[ "$cut_count" -gt 1 ] || fail "the cable was hardly ever cut"
