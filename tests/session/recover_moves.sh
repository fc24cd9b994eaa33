#!/bin/sh
# A worker is lost while another one is about to change places with the target of a move, again and again, in random
# graphs of commands over both. SEEDS=30 runs 30 graphs, from FIRST on. LOGS: the folder for the log of a graph that
# fails.
. "$(dirname "$0")/../lib.sh"
. "$top_srcdir/tests/session/recover-lib.sh"
losses=$(rounds 3)
at_most 1800

ended_moves()
{
    grep -c 'is worker [0-9]* now\|stays where it is' "$scratch/err"
}
one_more_ended()
{
    [ "$(ended_moves)" -gt "$seen" ]
}

effect() { :; } # what is lost may be nothing but the spare worker

# harm: kills a worker each time a move has come to its change and waits there. The move then continues at once: the
# loss is noticed before the change, during it, or after it.
harm()
{
    wait_until grep -q 'all devices are known;' "$scratch/err" || return 0
    for loss in $(seq $losses); do
        below 3
        [ $loss = 1 ] || held_at change
        held || break
        seen=$(ended_moves)
        kill -KILL "$(nth $((drawn + 1)))" 2> /dev/null
        release
        wait_until one_more_ended || break
    done
}

# moving SEED: draws how the workers are reached and which ones are lost
moving()
{
    draw=$(($1 * 48271 + 17))
    below 3
    how=VOCL_SHARE=$((drawn % 2))
    [ $drawn != 2 ] || [ ! -e "$VOCL_LIBEXECDIR/vocl-tls.so" ] || how="$how VOCL_NETWORK=tls"
    survives "one of three" "VOCL_MOVE_EVERY=60 $(held_at change) $how vocl run --workers 2 --spare 1" \
        "$top_builddir/tests/session/graph" "$1" "${COMMANDS:-1000}" "$scratch/enough"
}

# Before worker and target change places, the worker is lost, and the target has to end: at once if the replacement has
# not started yet (early); or, if it has, when it has joined (late), which needs the answer of the second worker, which
# is stopped meanwhile.
moved=$top_builddir/tests/session/moved
target_goes()
{
    link_libexec "$scratch/libexec" \
        "[ ! -e '$scratch/late' ] || touch '$scratch/reached'; while [ -e '$scratch/late' ]; do sleep 0.05; done"
    libexec=$scratch/libexec
    "$moved" 1 0 | tail -n 1 > "$scratch/native"
    : > "$scratch/out"
    env "$mark" VOCL_LIBEXECDIR="$libexec" VOCL_RECOVER=replay VOCL_LOG=debug "$(held_at change)" timeout -k 10 600 \
        vocl run --workers 2 -- "$moved" 1 0 "$scratch/enough" > "$scratch/out" 2> "$scratch/err" &
    running=$!
    wait_until grep -q ready "$scratch/out" || fail "no program: $(tail -n 5 "$scratch/err")"
    vocl move "$(program_of "$moved")" --to here > "$scratch/asked" 2>&1 &
    asked=$!
    held || fail "no change: $(tail -n 5 "$scratch/asked" "$scratch/err")"
    other=$(nth 2) target=$(nth 3)
    touch "$scratch/late"
    kill -KILL "$(nth 1)" || fail "no worker"
    wait_until test -e "$scratch/reached" || fail "nobody comes: $(tail -n 5 "$scratch/err")"
    if [ $1 = late ]; then
        kill -STOP "$other"
        rm "$scratch/late"
        wait_until grep -q 'the other workers are informed' "$scratch/err"
        release
        wait_until grep -q 'stays where it is' "$scratch/err"
        kill -CONT "$other"
    else
        release
    fi
    wait_until has_ended "$target" || fail "$1: the target stays: $(session_workers "$mark"; tail -n 5 "$scratch/err")"
    rm -f "$scratch/late"
    ! wait $asked || fail "$1: moved: $(cat "$scratch/asked")"
    wait_until two_workers || fail "$1: workers: $(session_workers "$mark"; tail -n 5 "$scratch/err")"
    touch "$scratch/enough"
    wait $running || fail "$1: status $?: $(tail -n 5 "$scratch/out" "$scratch/err")"
    tail -n 1 "$scratch/out" | diff "$scratch/native" - || fail "$1: something else is printed"
    wait_until none_left "$mark" || fail "left: $(session_processes "$mark")"
    echo "$1: the target has gone"
}
has_ended()
{
    ! kill -0 "$1" 2> /dev/null
}
two_workers()
{
    [ "$(session_workers "$mark" | wc -l)" = 2 ] && [ "$(replaced)" = 1 ]
}

# The lost worker had reported the destruction of an object; its replacement reports it again, late, when it has become
# a spare worker because the session has moved away from it.
told_late()
{
    echo "$top_builddir/tests/drivers/.libs/strict.so" > "$scratch/strict.icd"
    : > "$scratch/out"
    touch "$scratch/tell"
    env "$mark" OCL_ICD_VENDORS="$scratch/strict.icd" STRICT_GONE="$scratch/tell" VOCL_RECOVER=replay VOCL_LOG=info timeout -k 10 600 \
        vocl run --spare 2 -- "$top_builddir/tests/session/gone" "$scratch/enough" > "$scratch/out" 2> "$scratch/err" &
    running=$!
    wait_until grep -q ready "$scratch/out" || fail "no program: $(tail -n 5 "$scratch/err")"
    pid=$(program_of "$top_builddir/tests/session/gone")
    rm "$scratch/tell"
    kill -KILL "$(nth 1)" || fail "no worker"
    wait_until replaced_one || fail "nobody came: $(tail -n 5 "$scratch/err")"
    vocl move "$pid" --to spare > "$scratch/asked" 2>&1 || fail "not moved: $(cat "$scratch/asked")"
    touch "$scratch/tell"
    vocl move "$pid" --to spare > "$scratch/asked" 2>&1 || fail "not moved back: $(cat "$scratch/asked")"
    touch "$scratch/enough"
    wait $running || fail "status $?: $(tail -n 5 "$scratch/out" "$scratch/err")"
    grep -qx "right, 2 gone" "$scratch/out" || fail "$(cat "$scratch/out")"
    ! grep malformed "$scratch/err" || fail "a worker is lost by what it told"
    wait_until none_left "$mark" || fail "left: $(session_processes "$mark")"
    echo "what is told late is no harm"
}
replaced_one()
{
    [ "$(replaced)" = 1 ]
}

for seed in $(seq "${FIRST:-1}" $((${FIRST:-1} + ${SEEDS:-3} - 1))); do
    beside moving "$seed"
done
beside target_goes early
beside target_goes late
beside told_late
well_beside
