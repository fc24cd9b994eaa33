#!/bin/sh
# Lost workers are replaced where several workers share a context: what they had sent each other is exchanged once more,
# and programs print the same as natively. SEEDS=30 runs 30 random graphs, from FIRST on. LOGS: the folder for the log
# of a graph that fails.
. "$(dirname "$0")/../lib.sh"
. "$top_srcdir/tests/session/recover-lib.sh"
parity=$top_builddir/tests/parity
graph=$top_builddir/tests/session/graph
at_most 1800

# mixed SEED: a random graph; draws how it runs and which workers are killed
mixed()
{
    draw=$(($1 * 48271 + 17))
    below 2
    workers=$((drawn + 2))
    below 2
    how="VOCL_SHARE=$drawn"
    below 2
    [ $drawn = 0 ] || [ ! -e "$VOCL_LIBEXECDIR/vocl-tls.so" ] || how="$how VOCL_NETWORK=tls"
    below 3
    how="$how VOCL_RECOVER_LOG=$((drawn * 400 + 64))K"
    draw_harm first last two all last
    survives "$harm" "$how vocl run --workers $workers" "$graph" "$1" "${COMMANDS:-1000}" "$scratch/enough"
}

for seed in $(seq "${FIRST:-1}" $((${FIRST:-1} + ${SEEDS:-4} - 1))); do
    beside mixed "$seed"
done
well_beside
[ -z "$SEEDS" ] || exit 0

# A second worker is lost just when the replacement of the first has joined: what that one receives may need data from
# the replacement of the second. The moment is so short that nothing else runs beside these tests.
for again in $(seq "$(rounds 2)"); do
    survives_well "last 0 first came" "vocl run --workers 2" "$parity/many_devices"
done

# Programs of all kinds
for program in many_devices halo relay contents; do
    beside survives_well "last 0.05 first 0.3" "vocl run --workers 2" "$parity/$program"
done
beside survives_well "all 0.1" "VOCL_SHARE=0 vocl run --workers 3" "$parity/contents"
if [ -e "$VOCL_LIBEXECDIR/vocl-tls.so" ]; then
    beside survives_well "last 0.1" "VOCL_NETWORK=tls vocl run --workers 3" "$parity/halo"
    beside survives_well "first 0.1" "VOCL_SHARE=0 VOCL_NETWORK=tls vocl run --workers 2" "$parity/events"
fi
beside survives_well "last 0.2" "VOCL_RECOVER_LOG=64K vocl run --workers 2" "$parity/map_unmap"

# No replacement can start: the loss is an error as without recovery, and what the other worker runs continues without
# waiting.
alone_again()
{
    mkdir "$scratch/libexec"
    ln -s "$VOCL_LIBEXECDIR"/* "$scratch/libexec/"
    mkfifo "$scratch/tell"
    : > "$scratch/out"
    env "$mark" VOCL_RECOVER=replay VOCL_LIBEXECDIR="$scratch/libexec" "$@" timeout -k 10 600 vocl run --workers 2 -- \
        "$top_builddir/tests/session/survivor" < "$scratch/tell" > "$scratch/out" 2> "$scratch/err" &
    program=$!
    exec 9> "$scratch/tell"
    wait_until grep -q ready "$scratch/out" || fail "no session: $(cat "$scratch/err")"
    rm "$scratch/libexec/vocl-proxy"
    kill -KILL $(one_of last)
    echo >&9
    wait $program || fail "alone: $*: status $?: $(cat "$scratch/out" "$scratch/err")"
    exec 9>&-
    grep -q 'is not replaced' "$scratch/err" || fail "alone: $*: no reason is told: $(cat "$scratch/err")"
    wait_until none_left "$mark" || fail "left: $(session_processes "$mark")"
}
beside alone_again VOCL_SHARE=1
[ ! -e "$VOCL_LIBEXECDIR/vocl-tls.so" ] || beside alone_again VOCL_NETWORK=tls VOCL_SHARE=0

# The second worker is asked whether it sees the program's memory, and does not answer; both workers are lost, and the
# replacement of the first is asked before the second has one.
both_asked()
{
    : > "$scratch/err"
    env "$mark" VOCL_RECOVER=replay VOCL_LOG=info timeout -k 10 600 vocl run --workers 2 -- "$top_builddir/tests/session/late_memory" \
        "$scratch/enough" > "$scratch/out" 2> "$scratch/err" &
    program=$!
    wait_until grep -q ready "$scratch/out" || fail "memory: no session: $(cat "$scratch/err")"
    first=$(one_of first) second=$(one_of last)
    kill -STOP $second
    touch "$scratch/enough"
    kill -KILL $first
    wait_until loss_noticed || fail "memory: the loss is not noticed: $(cat "$scratch/err")"
    kill -KILL $second
    wait $program || fail "memory: status $?: $(cat "$scratch/out" "$scratch/err")"
    wait_until none_left "$mark" || fail "memory: left: $(session_processes "$mark")"
    replaced > "$scratch/replaced"
    echo "memory: $(replaced) replaced"
}
beside both_asked

# A stopped worker is detected by its silence.
stopped()
{
    about_silence
    survives "STOP last 0.3" "vocl run --workers 2" "$graph" 77 1000 "$scratch/enough"
}
beside stopped
well_beside
all=$(cat "$scratch"/*/replaced | awk '{ all += $1 } END { print all }')
[ "$all" -gt 6 ] || fail "hardly anything was replaced: $all"
