#!/bin/sh
# Snapshots with which lost workers are replaced: of contexts of two workers, each of which has contents of its own of
# the same buffers; and of contents that are read while the program keeps writing them, also for a move or a suspension.
. "$(dirname "$0")/../lib.sh"
mark=VOCL_TEST_MARK=$$
at_most 300

both_saved()
{
    [ "$(tail -n +"$seen" "$scratch/err" | grep -o 'snapshot of worker [0-9]*' | sort -u | wc -l)" -ge 2 ]
}

# stage TEXT: waits until the program has got there, and each worker has a snapshot of what it was sent for that
stage()
{
    wait_until grep -q "^$1" "$scratch/out" || fail "not $1: $(cat "$scratch/out"; grep -v debug: "$scratch/err" | tail -n 9)"
    wait_until both_saved || fail "$1: no snapshot: $(tail -n 9 "$scratch/err")"
}

# go_on: starts the next stage
go_on()
{
    seen=$(($(wc -l < "$scratch/err") + 1))
    echo >&7
}

# lose head|tail: kills the worker that started first, or last
lose()
{
    before=$(grep -c 'is worker . now' "$scratch/err")
    kill -KILL "$(session_workers "$mark" | "$1" -n 1)"
    wait_until one_more || fail "$1: not replaced: $(grep -v debug: "$scratch/err" | tail -n 9)"
}
one_more()
{
    [ "$(grep -c 'is worker . now' "$scratch/err")" -gt "$before" ]
}

two()
{
    mkfifo "$scratch/lines"
    : > "$scratch/err"
    : > "$scratch/out"
    seen=1
    env "$mark" VOCL_RECOVER=replay VOCL_RECOVER_EVERY=1 VOCL_SHARE=$1 VOCL_LOG=debug timeout -k 10 200 \
        vocl run --workers 2 -- "$top_builddir/tests/session/two_saved" < "$scratch/lines" > "$scratch/out" 2> "$scratch/err" &
    program=$!
    exec 7> "$scratch/lines"
    stage begun
    go_on
    stage "the second has written"
    lose tail
    go_on
    stage "the second has written again"
    go_on
    stage "the first has got it"
    lose head
    go_on
    wait $program || fail "two, $1: status $?: $(cat "$scratch/out"; grep -v debug: "$scratch/err" | tail -n 9)"
    exec 7>&-
    wait_until none_left "$mark" || fail "left: $(session_processes "$mark")"
}

# early: the program keeps writing, most contents are saved before the pause, and the worker is lost at any time
early()
{
    : > "$scratch/err"
    : > "$scratch/out"
    env "$mark" VOCL_RECOVER=replay VOCL_RECOVER_LOG=8M VOCL_SHARE=0 VOCL_LOG=debug timeout -k 10 200 \
        vocl run -- "$top_builddir/tests/session/rewritten" "$scratch/enough" > "$scratch/out" 2> "$scratch/err" &
    program=$!
    wait_until saved_early 3 || fail "nothing is saved early: $(grep 'snapshot' "$scratch/err" | tail -n 9)"
    for loss in $(seq "$(rounds 3)"); do
        sleep 0.$((loss * 7 % 5 + 1))
        lose tail
    done
    touch "$scratch/enough"
    wait $program || fail "early: status $?: $(cat "$scratch/out"; grep -v debug: "$scratch/err" | tail -n 9)"
    grep -qx right "$scratch/out" || fail "early: $(cat "$scratch/out")"
    wait_until none_left "$mark" || fail "left: $(session_processes "$mark")"
}
# saved_early LEAST: so many snapshots had most of their contents saved before the pause
saved_early()
{
    sed -n 's/.*snapshot of worker [0-9]*: \([0-9]*\) bytes .*, \([0-9]*\) of them .*/\1 \2/p' "$scratch/err" |
        awk -v least="$1" '$1 > 2 * $2 { early++ } END { exit early < least }'
}

# done_ahead COMMAND...: the command succeeds, and most contents are saved before the pause
done_ahead()
{
    vocl "$1" $program $2 > "$scratch/asked" 2>&1 && saved_early 1 && return
    [ "$1" != suspend ] || vocl resume $program > "$scratch/asked" 2>&1 || fail "resume: $(cat "$scratch/asked")"
    return 1
}

# asked WORD...: a snapshot is taken of contents that are written meanwhile, most of it before the pause; the new worker
# is lost. If calls take long to return, as on a loaded machine, all contents are read in the pause; then the command is
# tried again.
asked()
{
    : > "$scratch/err"
    : > "$scratch/out"
    env "$mark" VOCL_RECOVER=replay VOCL_RECOVER_LOG=1G VOCL_RECOVER_EVERY=0 VOCL_SHARE=0 VOCL_LOG=debug \
        vocl run --spare 1 -- "$top_builddir/tests/session/rewritten" "$scratch/enough" > "$scratch/out" 2> "$scratch/err" &
    program=$!
    wait_until grep -q ready "$scratch/out" || fail "no program: $(tail -n 9 "$scratch/err")"
    before=$(grep -c 'is worker . now' "$scratch/err")
    wait_until done_ahead "$@" || fail "$1: it is read in the pause: $(cat "$scratch/asked"; grep snapshot "$scratch/err")"
    grep 'snapshot' "$scratch/err" | tail -n 1
    [ "$1" != suspend ] || vocl resume $program > "$scratch/asked" 2>&1 || fail "resume: $(cat "$scratch/asked")"
    lose tail
    touch "$scratch/enough"
    wait $program || fail "$1: status $?: $(cat "$scratch/out"; grep -v debug: "$scratch/err" | tail -n 9)"
    grep -qx right "$scratch/out" || fail "$1: $(cat "$scratch/out")"
    wait_until none_left "$mark" || fail "left: $(session_processes "$mark")"
}

# lost_ahead PHASE COMMAND...: the worker is lost while contents are copied for a move or a suspension, and is replaced
# as at any other time
lost_ahead()
{
    phase=$1
    shift
    : > "$scratch/err"
    : > "$scratch/out"
    env "$mark" VOCL_RECOVER=replay VOCL_SHARE=0 VOCL_LOG=debug "$(held_at $phase)" \
        vocl run --spare 1 -- "$top_builddir/tests/session/rewritten" "$scratch/enough" > "$scratch/out" 2> "$scratch/err" &
    program=$!
    wait_until grep -q ready "$scratch/out" || fail "no program: $(tail -n 9 "$scratch/err")"
    vocl "$1" $program $2 > "$scratch/asked" 2>&1 &
    asked=$!
    held || fail "no phase $phase: $(tail -n 9 "$scratch/err")"
    lose head
    release
    wait $asked
    echo "$1: $(cat "$scratch/asked")"
    touch "$scratch/enough"
    wait $program || fail "$1, lost ahead: status $?: $(cat "$scratch/out"; grep -v debug: "$scratch/err" | tail -n 9)"
    grep -qx right "$scratch/out" || fail "$1, lost ahead: $(cat "$scratch/out")"
    wait_until none_left "$mark" || fail "left: $(session_processes "$mark")"
}

beside two 0
beside two 1
beside early
beside asked move --to=spare
beside asked suspend
beside lost_ahead copy move --to=spare
beside lost_ahead ahead suspend
well_beside
