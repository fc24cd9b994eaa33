#!/bin/sh
# Lost workers are replaced: programs print the same as natively, however often and whenever their worker is killed or
# stopped, and nothing is left behind.
. "$(dirname "$0")/../lib.sh"
. "$top_srcdir/tests/session/recover-lib.sh"
parity=$top_builddir/tests/parity
moved=$top_builddir/tests/session/moved
graph=$top_builddir/tests/session/graph
epochs=$top_builddir/tests/session/epochs
two=$top_srcdir/tests/net/two-hosts
# Now and then PoCL itself takes long on a loaded machine.
at_most 900

# harm SIGNAL PAUSE...: once the program has begun, sends the signal to a worker after each PAUSE, in seconds
harm()
{
    signal=$1
    shift
    wait_until grep -q 'all devices are known;' "$scratch/err"
    for pause in "$@"; do
        sleep "$pause"
        wait_until any_worker || break
        kill -$signal "$(session_workers "$mark" | $which -n 1)" 2> /dev/null
    done
}

effect()
{
    is_over || { [ "$(replaced)" -gt 0 ] && [ "$(snapshots)" -ge $taken ]; }
}

any_replaced()
{
    [ "$(replaced)" -gt 0 ] || fail "nothing was replaced: $(grep -v debug: "$scratch/err")"
}

# first HOW...: the worker is killed in the middle of a program that runs for a while, and is replaced at least once
first()
{
    cp "$scratch/../native" "$scratch/native"
    survives "$@" "$scratch/enough"
    same_as_natively "$@"
    any_replaced
}

shortened()
{
    taken=1
    first "KILL 0.5 0.3" "VOCL_RECOVER_LOG=4K vocl run" "$moved" 1 0
    [ "$(snapshots)" -gt 0 ] || fail "no snapshot was taken: $(cat "$scratch/err")"
}

spared()
{
    which=head
    first "KILL 0.5" "VOCL_NETWORK=tls vocl run --spare 1" "$moved" 1 0
}

which=tail taken=0
"$moved" 1 100 > "$scratch/native" || fail "moved, natively"

# Workers are killed once, again and again, and while the journal is sent to the next one; or a spare worker takes the
# lost one's place.
beside first "KILL 0.5" "MOVED_LINKED=yes vocl run" "$moved" 1 0
beside first "KILL 0.5" "VOCL_SHARE=0 vocl run" "$moved" 1 0
beside shortened
beside first "KILL 0.5 0 0 0.1 0.1" "VOCL_RECOVER_LOG=64K vocl run" "$moved" 1 0
beside spared

# A stopped worker is detected by its silence.
stopped()
{
    about_silence
    first "STOP 0.5" "vocl run" "$moved" 1 0
}
beside stopped

# The worker is on another host.
if [ -e "$VOCL_LIBEXECDIR/vocl-tls.so" ] && [ "$(status_of "$two" -- true 2> /dev/null)" != 77 ]; then
    beside first "KILL 0.5" "$two" "$moved" 1 0
fi

# What the program itself writes to its buffers is consistent with the commands that are executed again.
for seed in $(seq "$(rounds 1)"); do
    beside survives "KILL 0.3 0.$seed 0.2" "vocl run" "$epochs" $seed 200
done
beside survives "KILL 0.3 0.2" "vocl run" "$epochs" 9 200 image

# Programs of all kinds; the worker is killed at some moment or other.
large()
{
    export VOCL_TEST_MODEST= # more than 64 MiB at a time
    survives_well "$@"
}
beside large "KILL 0.05 0.3" "VOCL_RECOVER_LOG=1M vocl run" "$parity/contents"
for program in $(few 4 effects images map_unmap threads buffer_ops callbacks programs kernel_printf); do
    beside survives_well "KILL 0.05 0.3" "VOCL_RECOVER_LOG=1M vocl run" "$parity/$program"
done

beside survives_well "KILL 0.1 0.3 0.2" "VOCL_SHARE=0 VOCL_RECOVER_LOG=1M vocl run" "$parity/one_place" 60

# Random graphs of commands, which check their own results.
graphs()
{
    survives "KILL 0.3 0.$(($1 % 10)) 0.2" "VOCL_SHARE=$(($1 / 2 % 2)) VOCL_RECOVER_LOG=$(($1 % 2 * 200 + 56))K vocl run" "$graph" $1 1000 "$scratch/enough"
}
for seed in $(seq "$(rounds 4)"); do
    beside graphs $seed
done
well_beside
all=$(cat "$scratch"/*/replaced | awk '{ all += $1 } END { print all }')
[ "$all" -gt 9 ] || fail "hardly anything was replaced: $all"

# wait_ready PROGRAM...: starts the program, and waits until it prints "ready"
wait_ready()
{
    rm -f "$scratch/enough"
    : > "$scratch/out"
    env "$mark" VOCL_RECOVER=replay VOCL_LOG=debug vocl run -- "$@" > "$scratch/out" 2> "$scratch/err" &
    program=$!
    wait_until grep -q ready "$scratch/out" || fail "no program: $(cat "$scratch/out" "$scratch/err")"
}

# lose_all WHAT: the program's workers are killed and replaced; it continues when the file exists, and ends well
lose_all()
{
    kill -KILL $(session_workers "$mark") 2> /dev/null
    wait_until grep -q 'is worker . now' "$scratch/err"
    touch "$scratch/enough"
    wait $program || fail "$*: status $?: $(cat "$scratch/out"; grep -v debug: "$scratch/err" | tail -n 9)"
    wait_until none_left "$mark" || fail "left after $*: $(session_processes "$mark")"
}

# lost_after move|suspend: a worker is lost that joined for a move or a resume, which also gave it a user event
lost_after()
{
    wait_ready "$top_builddir/tests/session/unset" "$scratch/enough"
    case $1 in
    move) vocl move $program --to here ;;
    suspend) vocl suspend $program && vocl resume $program ;;
    esac > "$scratch/asked" 2>&1 || fail "$1: $(cat "$scratch/asked")"
    lose_all "$1"
}
lost_after move
lost_after suspend

# overwritten CASE: the worker is lost after a write-only buffer has been read, and the buffer is written again without
# its earlier contents
overwritten()
{
    wait_ready "$top_builddir/tests/session/overwritten" $1 "$scratch/enough"
    lose_all "$1"
    "$top_builddir/tests/session/overwritten" $1 "$scratch/enough" > "$scratch/native" || fail "overwritten $1, natively"
    same_as_natively "overwritten $1"
    any_replaced
}
overwritten again
overwritten gated
overwritten both
overwritten threads

# A command that changes an object stays in the journal as long as the object exists (CHANGES in wire/commands.def),
# also after a snapshot. Here the command sets the content size of a buffer, and the snapshot comes after another such
# buffer has been released.
sized_kept()
{
    sed '1,/-> .*: release[_a-z]* kind=4/d' "$scratch/err" | grep -q 'snapshot of worker'
}
sized()
{
    stays="$top_builddir/tests/session/stays"
    touch "$scratch/enough"
    [ "$(status_of "$stays" "$scratch/enough" "$scratch/enough" sized)" != 77 ] || return 0
    export VOCL_RECOVER_EVERY=1 VOCL_TRACE=1
    wait_ready "$stays" "$scratch/enough" "$scratch/enough" sized
    wait_until sized_kept
    lose_all sized
    any_replaced
    told=$(grep -c '=> .*: set_content_size' "$scratch/err")
    [ "$told" = 1 ] || fail "sized: told $told times: $(grep 'set_content_size' "$scratch/err")"
}
sized
