#!/bin/sh
# Suspended sessions: programs print the same as natively, have no worker while they are suspended, and continue where
# suspending or resuming fails, in whichever phase.
. "$(dirname "$0")/../lib.sh"
parity=$top_builddir/tests/parity
session=$top_builddir/tests/session
mark=VOCL_TEST_MARK=$$
# Now and then PoCL itself takes long on a loaded machine.
at_most 900

suspensions()
{
    grep -c 'resumed:' "$scratch/err"
}

rested_twice()
{
    [ "$(suspensions)" -ge 2 ]
}

# native PROGRAM...: runs the program natively; leaves its status in $native
native()
{
    timeout -k 10 300 "$@" > "$scratch/native" 2> /dev/null
    native=$?
}

# as_natively STATUS HOW PROGRAM...: output and status are the native ones
as_natively()
{
    status=$1 how=$2
    shift 2
    [ $status = $native ] || fail "$*, $how: status $status, natively $native: $(tail -n 5 "$scratch/err")"
    diff "$scratch/native" "$scratch/out" > "$scratch/diff" || fail "$*, $how: $(head -n 20 "$scratch/diff")"
    echo "$how $*: $(suspensions) times"
}

# always HOW PROGRAM...: the program is suspended every 60 ms
always()
{
    how=$1
    shift
    native "$@"
    env $how "$mark" VOCL_SUSPEND_EVERY=60 VOCL_LOG=info timeout -k 10 300 vocl run -- "$@" > "$scratch/out" 2> "$scratch/err"
    as_natively $? "$how" "$@"
}

# until_suspended HOW PROGRAM...: the program is suspended every 200 ms, and runs until the file exists, which is when
# it has been suspended twice
until_suspended()
{
    how=$1
    shift
    rm -f "$scratch/enough"
    : > "$scratch/err"
    env $how "$mark" VOCL_SUSPEND_EVERY=200 VOCL_LOG=info timeout -k 10 300 vocl run -- "$@" "$scratch/enough" > "$scratch/out" \
        2> "$scratch/err" &
    program=$!
    wait_until rested_twice || fail "$*, $how: it has not been suspended: $(tail -n 5 "$scratch/err")"
    touch "$scratch/enough"
    wait $program
    as_natively $? "$how" "$@"
}

mkdir "$scratch/store"
native "$session/moved" 4 0
for how in VOCL_SHARE=1 "VOCL_SHARE=0 MOVED_LINKED=yes" "VOCL_SHARE=0 VOCL_SUSPEND_DIR=$scratch/store"; do
    until_suspended "$how" "$session/moved" 4 0
done
[ -z "$(ls -A "$scratch/store")" ] || fail "left in the directory: $(ls -A "$scratch/store")"
for program in $(few 2 map_unmap svm buffer_ops callbacks user_events); do
    always VOCL_SHARE=1 "$parity/$program"
done
for program in $(few 2 contents images several_contexts); do
    always VOCL_SHARE=0 "$parity/$program"
done
VOCL_SHARE=0 VOCL_SUSPEND_EVERY=60 VOCL_LOG=info timeout -k 10 300 vocl run --workers 2 -- "$session/graph" 1 600 \
    > "$scratch/out" 2> "$scratch/err" || fail "graph: $(tail -n 3 "$scratch/out" "$scratch/err")"
echo "graph: $(suspensions) times"
# So many workers that new ones need member numbers that were never used.
networks=auto
[ ! -e "$VOCL_LIBEXECDIR/vocl-tls.so" ] || networks="auto tls"
for network in $networks; do
    rm -f "$scratch/enough"
    : > "$scratch/err"
    VOCL_SHARE=0 VOCL_NETWORK=$network VOCL_SUSPEND_EVERY=1500 VOCL_LOG=info timeout -k 10 600 vocl run --workers 20 -- \
        "$session/graph" 1 40 "$scratch/enough" > "$scratch/out" 2> "$scratch/err" &
    program=$!
    wait_until grep -q 'resumed:' "$scratch/err" || fail "20 workers, $network: they have not been suspended: $(cat "$scratch/err")"
    touch "$scratch/enough"
    wait $program || fail "20 workers, $network: $(tail -n 3 "$scratch/out" "$scratch/err")"
    echo "graph on 20, $network: $(suspensions) times"
done

# Shared virtual memory that only the worker has is restored at its address.
echo "ready
right" > "$scratch/native"
native=0
for how in VOCL_SHARE=0 "VOCL_SHARE=0 VOCL_SUSPEND_DIR=$scratch/store" "VOCL_SHARE=0 VOCL_RECOVER=replay"; do
    until_suspended "$how" "$session/moved_svm"
done

# ---- on request ----

# prints the session's processes of that name
named()
{
    session_processes "$mark" | while read -r process; do
        [ "$(cat "/proc/$process/comm" 2> /dev/null)" != "$1" ] || echo "$process"
    done
}

no_worker()
{
    [ -z "$(named vocl-proxy)" ]
}

# idle HOW: starts a program that waits, with 4 MiB in each of its buffers, and 64 MiB in one that was never written
idle()
{
    rm -rf "$scratch/words"
    mkdir "$scratch/words"
    : > "$scratch/out"
    : > "$scratch/err"
    env "$mark" VOCL_LOG=debug $1 vocl run -- "$session/suspended" 4 "$scratch/words" > "$scratch/out" 2> "$scratch/err" &
    program=$!
    wait_until grep -q ready "$scratch/out" || fail "no program: $(tail -n 5 "$scratch/err")"
}

# Its contents are right in the end.
finish()
{
    touch "$scratch/words/ask" "$scratch/words/resume" "$scratch/words/again"
    wait $program || fail "$1: status $?: $(tail -n 5 "$scratch/out" "$scratch/err")"
    grep -qx right "$scratch/out" || fail "$1: $(cat "$scratch/out")"
    wait_until none_left "$mark" || fail "$1: left: $(session_processes "$mark")"
    echo "$1: right"
}

for how in VOCL_SHARE=0 "VOCL_SHARE=0 VOCL_SUSPEND_DIR=$scratch/store VOCL_NETWORK=tls" "VOCL_SHARE=1 VOCL_NETWORK=tls"; do
    idle "$how"
    said=$(vocl suspend $program) || fail "$how: not suspended: $(tail -n 5 "$scratch/err")"
    wait_until no_worker || fail "$how: there is a worker"
    case $how in
    *SHARE=0*) # two buffers and a small image
        kept=$(echo "$said" | tr -dc '0-9 ' | awk '{ print $1 }')
        [ "$kept" -ge 8388608 ] && [ "$kept" -lt 8392704 ] || fail "$how: $said"
        echo "$said" | grep -q " 0 of them taken in the pause" || fail "$how: what is suspended is read in the pause: $said"
        ;;
    esac
    vocl sessions | grep -qE "^ *$program .* suspended$" || fail "$how: it is not listed as suspended: $(vocl sessions)"
    vocl move $program --to here > "$scratch/asked" 2>&1 && fail "$how: what is suspended has moved"
    case $how in
    *SHARE=0*tls) # all that is left of the session: its channel, its control socket and its alarm
        ls -l /proc/$program/fd | grep -c socket: > "$scratch/sockets"
        [ "$(cat "$scratch/sockets")" -le 3 ] || fail "sockets: $(ls -l /proc/$program/fd)"
        ! grep -q ' [r-][w-][x-]s .*\(memfd\|shm\|SYSV\)' /proc/$program/maps || fail "shared: $(grep ' ...s ' /proc/$program/maps)"
        ;;
    esac
    touch "$scratch/words/ask"
    wait_until grep -q asked "$scratch/out" || fail "$how: not answered: $(tail -n 5 "$scratch/out" "$scratch/err")"
    no_worker || fail "$how: a question has resumed it: $(tail "$scratch/err")"
    finish "$how"
done

# Resumed on request; doing it twice does no harm.
idle VOCL_SHARE=0
vocl resume $program > "$scratch/asked" || fail "what is not suspended: $(cat "$scratch/asked")"
vocl suspend $program > "$scratch/asked" || fail "not suspended: $(cat "$scratch/asked")"
vocl suspend $program > "$scratch/asked" || fail "not suspended again: $(cat "$scratch/asked")"
vocl resume $program > "$scratch/asked" || fail "not resumed: $(cat "$scratch/asked")"
no_worker && fail "no worker has come"
vocl sessions | grep -qE "^ *$program .* suspended$" && fail "it is still listed as suspended"
finish "resume"

# There is no room for the contents: a directory that does not exist, and a file system that is too small.
idle "VOCL_SHARE=0 VOCL_SUSPEND_DIR=$scratch/nothing"
vocl suspend $program > "$scratch/asked" 2>&1 && fail "suspended without a directory"
grep -q "nothing.*No such file" "$scratch/asked" || fail "no directory: $(cat "$scratch/asked")"
finish "no directory"
if unshare -rm true 2> /dev/null; then
    rm -rf "$scratch/words"
    mkdir "$scratch/words" "$scratch/small"
    : > "$scratch/out"
    env "$mark" VOCL_SHARE=0 VOCL_SUSPEND_DIR="$scratch/small" unshare -rm sh -c \
        'mount -t tmpfs -o size=1m none "$0" && exec vocl run -- "$@"' "$scratch/small" "$session/suspended" 4 "$scratch/words" \
        > "$scratch/out" 2> "$scratch/err" &
    program=$!
    wait_until grep -q ready "$scratch/out" || fail "no program: $(tail -n 5 "$scratch/err")"
    nsenter -t $program -U --preserve-credentials vocl suspend $program > "$scratch/asked" 2>&1 && fail "suspended in too small a file"
    grep -q "small.*No space left" "$scratch/asked" || fail "disk full: $(cat "$scratch/asked")"
    finish "disk full"
fi

# A worker that dies while it is suspended is lost as at any other time; nothing is left, and no process hangs.
for phase in ahead list take; do
    idle "VOCL_SHARE=0 $(held_at $phase)"
    vocl suspend $program > "$scratch/asked" 2>&1 &
    asked=$!
    held || fail "no phase $phase: $(tail -n 5 "$scratch/err")"
    kill -KILL $(named vocl-proxy)
    wait_until loss_noticed || fail "killed at $phase: $(tail -n 5 "$scratch/err")"
    release
    wait $asked && fail "killed at $phase: vocl suspend says $(cat "$scratch/asked")"
    touch "$scratch/words/resume" "$scratch/words/ask" "$scratch/words/again"
    wait $program && fail "killed at $phase: the program has not noticed"
    wait_until none_left "$mark" || fail "left after $phase: $(session_processes "$mark")"
    echo "killed at $phase: lost"
done

# A worker that dies while the session is resumed is a lost device for the command that needed it; the next command
# resumes the session again.
for phase in objects give resume; do
    idle "VOCL_SHARE=0 $(held_at $phase)"
    vocl suspend $program > "$scratch/asked" 2>&1 || fail "not suspended: $(cat "$scratch/asked")"
    touch "$scratch/words/ask" "$scratch/words/resume"
    held || fail "no phase $phase: $(tail -n 5 "$scratch/err")"
    kill -KILL $(named vocl-proxy)
    wait_until loss_noticed || fail "killed at $phase: $(tail -n 5 "$scratch/err")"
    release
    wait_until grep -q 'error -2' "$scratch/out" || fail "killed at $phase: no error: $(tail -n 5 "$scratch/out" "$scratch/err")"
    finish "killed at $phase"
done

# The program is killed while it is suspended.
idle VOCL_SHARE=0
vocl suspend $program > "$scratch/asked" || fail "not suspended: $(cat "$scratch/asked")"
kill -KILL $program
wait $program
wait_until none_left "$mark" || fail "left after the program: $(session_processes "$mark")"
