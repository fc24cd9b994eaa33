#!/bin/sh
# Workers that are lost are replaced: what programs print is what they print natively, however often and whenever their
# worker is killed or stopped, and nothing is left behind.
. "$(dirname "$0")/../lib.sh"
parity=$top_builddir/tests/parity
moved=$top_builddir/tests/session/moved
mark=VOCL_TEST_MARK=$$
# Once in a while PoCL itself takes long on a loaded machine.
at_most 900

# the workers of the running program
workers()
{
    session_processes "$mark" | while read -r process; do
        [ "$(cat /proc/$process/comm 2> /dev/null)" != vocl-proxy ] || echo "$process"
    done
}

any_worker()
{
    [ -n "$(workers)" ]
}

# harm SIGNAL TIMES PAUSE...: a worker gets the signal after so many seconds, and then again the next one
harm()
{
    signal=$1
    times=$2
    shift 2
    [ $# -gt 0 ] || set -- 0
    while [ $times -gt 0 ]; do
        wait_until 20 any_worker || return 0
        sleep "$1"
        worker=$(workers | head -n 1)
        [ -z "$worker" ] || kill -$signal "$worker" 2> /dev/null
        times=$((times - 1))
        [ $# -eq 1 ] || shift
    done
}

replaced()
{
    grep -c 'is worker . now' "$scratch/err"
}

# survives HOW PROGRAM...: as natively, with $signal to its worker $times times, after $pauses
survives()
{
    how=$1
    shift
    timeout -k 10 200 "$@" > "$scratch/native" 2> /dev/null
    native=$?
    : > "$scratch/err"
    env $how "$mark" VOCL_RECOVER=replay VOCL_LOG=info timeout -k 10 120 vocl run -- "$@" > "$scratch/out" 2> "$scratch/err" &
    program=$!
    harm $signal $times $pauses &
    harmer=$!
    wait $program
    status=$?
    kill $harmer 2> /dev/null
    wait $harmer 2> /dev/null
    [ $status = $native ] || fail "$*, $how: status $status, natively $native: $(tail -n 9 "$scratch/err")"
    diff "$scratch/native" "$scratch/out" > "$scratch/diff" || fail "$*, $how: $(head -n 20 "$scratch/diff")"
    wait_until 5 none_left "$mark" || fail "left after $*: $(session_processes "$mark")"
    all=$((all + $(replaced)))
    echo "$signal $how $*: $(replaced) replaced, $(grep -c 'checkpoint of worker' "$scratch/err") checkpoints"
}

all=0
signal=KILL

# Without it a loss is an error.
: > "$scratch/err"
env "$mark" VOCL_LOG=info vocl run -- "$moved" 1 3000 > "$scratch/out" 2> "$scratch/err" &
program=$!
harm KILL 1 1
wait $program && fail "a program that does not recover has not missed its worker"

# Killed once, twice, and again while the next one is told everything.
times=1 pauses=0.7
survives "VOCL_RECOVER_LOG=256M" "$moved" 1 1500
[ "$all" -gt 0 ] || fail "nothing was replaced: $(cat "$scratch/err")"
times=2 pauses="0.9 0.3"
survives "VOCL_RECOVER_LOG=4K" "$moved" 1 1500
grep -q 'checkpoint of worker' "$scratch/err" || fail "no checkpoint was taken: $(cat "$scratch/err")"
times=5 pauses="0.8 0"
survives "VOCL_RECOVER_LOG=64K" "$moved" 1 1500

# Stopped: found by its silence.
signal=STOP times=1 pauses=0.7
survives "VOCL_PEER_TIMEOUT=2" "$moved" 1 1500

# Programs of all kinds, at some moment or other.
signal=KILL times=3 pauses="0.3 0.2 0.1"
for program in buffer_ops callbacks command_buffer events images map_unmap programs several_contexts user_events contents \
        host_access threads kernel_printf; do
    survives "VOCL_RECOVER_LOG=1M" "$parity/$program"
done

# Random graphs of commands: each checks itself.
for seed in 1 2 3 4; do
    times=4 pauses="0.4 0.$seed 0.2 0.3"
    survives "VOCL_RECOVER_LOG=$((seed % 2 * 200 + 56))K" "$top_builddir/tests/session/graph" $seed 3000
done
[ "$all" -gt 9 ] || fail "hardly anything was replaced: $all"

true
