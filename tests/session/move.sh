#!/bin/sh
# Sessions move from worker to worker: programs print the same as natively. Where a move fails, in whichever phase, the
# program continues where it was, and nothing is left behind.
. "$(dirname "$0")/../lib.sh"
parity=$top_builddir/tests/parity
moved=$top_builddir/tests/session/moved
mark=VOCL_TEST_MARK=$$
# Now and then PoCL itself takes long on a loaded machine.
at_most 900

# always HOW PROGRAM...: the program prints the same as natively while it moves every 30 ms
always()
{
    how=$1
    shift
    timeout -k 10 600 "$@" > "$scratch/native" 2> /dev/null
    native=$?
    compared "$@"
}

# Compares the program's output with the file native, and its status with $native.
compared()
{
    env $how "$mark" VOCL_SPARE=1 VOCL_MOVE_EVERY=30 VOCL_LOG=info timeout -k 10 600 vocl run -- "$@" > "$scratch/out" 2> "$scratch/err"
    status=$?
    [ $status = $native ] || fail "$*, $how: status $status, natively $native: $(tail -n 5 "$scratch/err")"
    diff "$scratch/native" "$scratch/out" > "$scratch/diff" || fail "$*, $how: $(head -n 20 "$scratch/diff")"
    echo "$how $*: $(grep -c 'is worker . now' "$scratch/err") moves"
}

# Without shared memory, devices support less of shared virtual memory: the output is compared with that of vocl run
# without moves.
apart()
{
    how=VOCL_SHARE=0
    env $how timeout -k 10 600 vocl run -- "$@" > "$scratch/native" 2> /dev/null
    native=$?
    compared "$@"
}

# really HOW PROGRAM...: the program runs until the file named by its last argument exists, which is when it has moved
really()
{
    how=$1
    shift
    touch "$scratch/enough"
    timeout -k 10 600 "$@" "$scratch/enough" > "$scratch/native" 2> /dev/null
    native=$?
    rm "$scratch/enough"
    : > "$scratch/err"
    (wait_until moved_some && touch "$scratch/enough") &
    compared "$@" "$scratch/enough"
    [ "$(moves)" -gt 0 ] || fail "nothing has moved: $(cat "$scratch/err")"
}

graph()
{
    VOCL_SPARE=1 VOCL_SHARE=$(($1 % 2)) VOCL_MOVE_EVERY=30 VOCL_LOG=info timeout -k 10 600 \
        vocl run --workers $(($1 % 2 + 1)) -- "$top_builddir/tests/session/graph" $1 1000 > "$scratch/out" 2> "$scratch/err" ||
        fail "graph $1: $(tail -n 3 "$scratch/out" "$scratch/err")"
    echo "graph $1: $(moves) moves"
}

moves()
{
    grep -c 'is worker . now' "$scratch/err"
}
moved_some()
{
    [ "$(moves)" -ge 3 ]
}

beside really VOCL_SHARE=1 "$moved" 1 0
beside really "VOCL_SHARE=0 MOVED_LINKED=yes" "$moved" 8 0
beside really VOCL_SHARE=0 "$top_builddir/tests/session/moved_writes" 10
for round in $(seq "$(rounds 1)"); do
    beside really VOCL_SHARE=1 "$top_builddir/tests/session/statuses" 8 1000
done
for program in $(few 4 map_unmap svm images user_events buffer_ops callbacks command_buffer events programs several_contexts); do
    beside always VOCL_SHARE=1 "$parity/$program"
done
for program in $(few 2 threads host_access contents kernel_printf); do
    beside always VOCL_SHARE=0 "$parity/$program"
done
beside apart "$parity/svm"
for seed in 1 2 3; do
    beside graph $seed
done

# Prints the workers of the running program.
workers()
{
    session_processes "$mark" | while read -r process; do
        [ "$(cat /proc/$process/comm 2> /dev/null)" != vocl-proxy ] || echo "$process"
    done
}

# Moves are requested, to a spare worker and to a new one.
asked()
{
    : > "$scratch/out"
    : > "$scratch/err"
    env "$mark" vocl run --spare 1 -- "$moved" 4 0 "$scratch/enough" > "$scratch/out" 2> "$scratch/err" &
    program=$!
    wait_until grep -q ready "$scratch/out" || fail "no program: $(tail -n 5 "$scratch/err")"
    vocl move $program --to spare || fail "not to a spare worker"
    vocl move $program --to here || fail "not to one that comes"
    touch "$scratch/enough"
    wait $program || fail "asked to move: status $?: $(tail -n 5 "$scratch/out" "$scratch/err")"
}
beside asked

# Command buffers keep their recorded commands across a move, and sub-devices move, too.
# with_parts WHAT SHARE: the program moved_WHAT moves twice
with_parts()
{
    : > "$scratch/out"
    env "$mark" VOCL_SHARE=$2 vocl run --spare 1 -- "$top_builddir/tests/session/moved_$1" "$scratch/enough" \
        > "$scratch/out" 2> "$scratch/err" &
    program=$!
    wait_until grep -q ready "$scratch/out" || fail "moved_$1: $(tail -n 5 "$scratch/out" "$scratch/err")"
    for again in 1 2; do
        vocl move $program --to spare > "$scratch/asked" || fail "moved_$1, $2: $(cat "$scratch/asked")"
    done
    touch "$scratch/enough"
    wait $program || fail "moved_$1, $2: status $?: $(tail -n 5 "$scratch/out" "$scratch/err")"
    grep right "$scratch/out"
}
for what in commands parts; do
    [ $what != commands ] || has_command_buffers || continue
    for share in 0 1; do
        beside with_parts $what $share
    done
done

# Of a large buffer, only the written part moves: 1 MiB, in two pieces. The other buffer belongs to a kernel's
# arguments.
rm -f "$scratch/enough"
: > "$scratch/out"
env "$mark" VOCL_SHARE=0 VOCL_LOG=info vocl run --spare 1 -- "$top_builddir/tests/session/moved_little" "$scratch/enough" > "$scratch/out" 2> "$scratch/err" &
program=$!
wait_until grep -q ready "$scratch/out" || fail "moved_little: $(tail -n 5 "$scratch/out" "$scratch/err")"
vocl move $program --to spare > "$scratch/asked" || fail "moved_little: $(cat "$scratch/asked")"
touch "$scratch/enough"
wait $program || fail "moved_little: status $?: $(tail -n 5 "$scratch/out" "$scratch/err")"
bytes=$(sed -n 's/.* objects, \([0-9]*\) bytes.*/\1/p' "$scratch/err")
[ "$bytes" -ge 1114112 ] && [ "$bytes" -lt 12000000 ] || fail "moved_little: $bytes bytes: $(cat "$scratch/err")"
echo "of 64 MiB and 64 KiB go $bytes bytes"

# Shared virtual memory is copied while it is written: memory that was never written is not copied, and little is copied
# in the pause. If calls take long to return, as on a loaded machine, more is copied in the pause; then another move is
# tried.
shared()
{
    : > "$scratch/out"
    : > "$scratch/err"
    env "$mark" VOCL_SHARE=0 $1 VOCL_LOG=info vocl run --spare 1 -- "$top_builddir/tests/session/moved_svm" "$scratch/enough" > "$scratch/out" 2> "$scratch/err" &
    program=$!
    wait_until grep -q ready "$scratch/out" || fail "moved_svm: $(tail -n 5 "$scratch/out" "$scratch/err")"
    wait_until goes_before || fail "moved_svm: it goes in the pause: $(cat "$scratch/asked")"
    cat "$scratch/asked"
    touch "$scratch/enough"
    wait $program || fail "moved_svm: status $?: $(tail -n 5 "$scratch/out" "$scratch/err")"
    grep -qx right "$scratch/out" || fail "moved_svm: $(cat "$scratch/out")"
}
goes_before()
{
    vocl move $program --to spare > "$scratch/asked" 2>&1 || return 1
    sed -n 's/.* objects, \([0-9]*\) bytes, \([0-9]*\) of them.*/\1 \2/p' "$scratch/asked" |
        awk '{ good = $1 > 36000000 && $1 < 80000000 && $2 < 8000000 } END { exit !good }'
}
beside shared
beside shared VOCL_RECOVER=replay

# The program creates its first buffer while the move begins.
first()
{
    env "$mark" "$(held_at early)" VOCL_LOG=info vocl run --spare 1 -- "$top_builddir/tests/session/moved_first" \
        "$scratch/make" "$scratch/read" > "$scratch/out" 2> "$scratch/err" &
    program=$!
    wait_until grep -q ready "$scratch/out" || fail "no program: $(tail -n 5 "$scratch/err")"
    vocl move $program --to spare > "$scratch/asked" 2>&1 &
    asked=$!
    held || fail "no move: $(tail -n 5 "$scratch/err")"
    touch "$scratch/make"
    wait_until grep -q made "$scratch/out" || fail "no first buffer: $(tail -n 5 "$scratch/err")"
    release
    wait $asked || fail "the first buffer while a move begins: $(cat "$scratch/asked" "$scratch/err")"
    touch "$scratch/read"
    wait $program || fail "the first buffer while a move begins: status $?: $(cat "$scratch/out" "$scratch/err")"
    echo "the first buffer was made while a move began"
}
beside first

# The target is killed at the beginning of a phase.
"$moved" 4 0 | tail -n 1 > "$scratch/native"
dies_at()
{
    phase=$1
    : > "$scratch/out"
    : > "$scratch/err"
    env "$mark" VOCL_SHARE=0 "$(held_at $phase)" VOCL_LOG=debug \
        vocl run --spare 1 -- "$moved" 4 0 "$scratch/enough" > "$scratch/out" 2> "$scratch/err" &
    program=$!
    wait_until grep -q ready "$scratch/out" || fail "no program: $(tail -n 5 "$scratch/err")"
    vocl move $program --to spare > "$scratch/asked" 2>&1 &
    asked=$!
    held || fail "no phase $phase: $(tail -n 5 "$scratch/err")"
    spare=$(for worker in $(workers); do grep -zqx PMI_RANK=2 "/proc/$worker/environ" && echo "$worker"; done)
    kill -KILL "$spare" || fail "no spare worker: $(cat "$scratch/err")"
    wait_until loss_noticed || fail "killed at $phase: $(tail -n 5 "$scratch/err")"
    release
    wait $asked
    status=$?
    touch "$scratch/enough"
    wait $program || fail "killed at $phase: status $?: $(tail -n 5 "$scratch/out" "$scratch/err")"
    [ $status = 1 ] || fail "killed at $phase: vocl move says $(cat "$scratch/asked")"
    tail -n 1 "$scratch/out" | diff "$scratch/../native" - || fail "killed at $phase: something else is printed"
    grep -q 'stays where it is' "$scratch/err" || fail "killed at $phase: the move did not fail: $(tail -n 9 "$scratch/err")"
    wait_until none_left "$mark" || fail "left after $phase: $(session_processes "$mark")"
    echo "killed at $phase: the program went on"
}
for phase in early copy objects contents change; do
    beside dies_at $phase
done
well_beside
