#!/bin/sh
# Objects and states that prevent a move, a suspension or a checkpoint in files, each with its reason; a worker that
# cannot start; and a client that is killed during its request: the program continues where it was, with right results,
# and a new worker is gone. Also what does not prevent them: programs with specialization constants, programs that were
# built for some of their devices and then for others, and linked programs.
. "$(dirname "$0")/../lib.sh"
stays=$top_builddir/tests/session/stays
newer=$top_builddir/tests/drivers/.libs/newer.so
mark=VOCL_TEST_MARK=$$
at_most 300

begun()
{
    grep -q ready "$scratch/out" || ! kill -0 $program 2> /dev/null
}

# begin SHARE WHAT [OPTION]...: starts the program
begin()
{
    export VOCL_SHARE=$1
    what=$2
    shift 2
    rm -f "$scratch/one" "$scratch/two"
    : > "$scratch/out"
    env "$mark" VOCL_LOG=debug vocl run "$@" -- "$stays" "$scratch/one" "$scratch/two" "$what" > "$scratch/out" 2> "$scratch/err" &
    program=$!
    wait_until begun || fail "$what: no program: $(cat "$scratch/out"; tail -n 5 "$scratch/err")"
    if ! grep -q ready "$scratch/out"; then
        wait $program
        [ $? = 77 ] || fail "$what: $(cat "$scratch/out"; tail -n 5 "$scratch/err")"
        echo "$what: not to be had here"
        exit 0
    fi
    workers=$(session_workers "$mark" | sort)
}

# Whether the session has the same workers as before, and no others.
same_workers()
{
    [ "$(session_workers "$mark" | sort)" = "$workers" ]
}

# refuses PATTERN [OPTION]...: a move is refused, with that reason
refuses()
{
    pattern=$1
    shift
    timeout -k 10 300 vocl move "$program" --to "${@:-here}" > "$scratch/asked" 2>&1 && fail "$what: moved: $(cat "$scratch/asked")"
    grep -q -- "$pattern" "$scratch/asked" || fail "$what: not $pattern: $(cat "$scratch/asked")"
    wait_until same_workers || fail "$what: other workers than before: $(session_processes "$mark")"
    echo "$what: $(tail -n 1 "$scratch/asked")"
}

# refuses_rest PATTERN; refuses_checkpoint PATTERN: a suspension, a checkpoint is refused
refuses_rest()
{
    timeout -k 10 300 vocl suspend "$program" > "$scratch/asked" 2>&1 && fail "$what: suspended: $(cat "$scratch/asked")"
    grep -q -- "$1" "$scratch/asked" || fail "$what, suspended: not $1: $(cat "$scratch/asked")"
    wait_until same_workers || fail "$what: other workers than before: $(session_processes "$mark")"
}
refuses_checkpoint()
{
    timeout -k 10 300 vocl checkpoint "$program" "$scratch/none" > "$scratch/saved" 2>&1 && fail "$what: saved: $(cat "$scratch/saved")"
    grep -q -- "$1" "$scratch/saved" || fail "$what, checkpoint: not $1: $(cat "$scratch/saved")"
    [ -z "$(ls "$scratch/none")" ] || fail "$what: left: $(ls "$scratch/none")"
}

# The workers that the session has left end after the move has been reported.
as_many_workers()
{
    [ "$(session_workers "$mark" | wc -l)" = "$many" ]
}
moves()
{
    many=$(session_workers "$mark" | wc -l)
    timeout -k 10 300 vocl move "$program" --to here > "$scratch/asked" 2>&1 || fail "$what: $(cat "$scratch/asked")"
    wait_until as_many_workers || fail "$what: workers that were left: $(session_processes "$mark")"
    workers=$(session_workers "$mark" | sort)
}

use()
{
    touch "$scratch/one"
    wait_until grep -q used "$scratch/out" || fail "$what: $(cat "$scratch/out"; tail -n 5 "$scratch/err")"
}

finish()
{
    touch "$scratch/one" "$scratch/two"
    wait $program || fail "$what: status $?: $(cat "$scratch/out"; tail -n 5 "$scratch/err")"
    grep -qx right "$scratch/out" || fail "$what: $(cat "$scratch/out")"
    wait_until none_left "$mark" || fail "$what: left: $(session_processes "$mark")"
    echo "$what: right"
}

# stays SHARE WHAT PATTERN: a move is refused before the object is used, and afterwards
stays()
{
    begin "$1" "$2"
    refuses "$3"
    refuses_rest "$3"
    use
    refuses "$3"
    finish
}

# Memory that cannot move cannot be saved for another program either.
memory_stays()
{
    begin "$1" "$2"
    refuses "$3"
    refuses_rest "$3"
    refuses_checkpoint "$3"
    use
    refuses_checkpoint "$3"
    refuses "$3"
    finish
}

# goes SHARE WHAT [OPTION]...: the session moves
goes()
{
    begin "$@"
    moves
    use
    moves
    finish
}

# It moves and is suspended, but cannot be saved for another program.
svm()
{
    begin 0 "$1"
    moves
    refuses_checkpoint "shared virtual memory"
    use
    moves
    vocl suspend "$program" > "$scratch/asked" 2>&1 || fail "$1: not suspended: $(cat "$scratch/asked")"
    wait_until sh -c "! kill -0 $workers 2> /dev/null"
    use
    finish
}

# A command that ends prevents a move no longer. A move waits for it for ten seconds.
ends()
{
    begin 1 "$1"
    refuses "$2" &
    asked=$!
    refuses_checkpoint "$2"
    wait $asked || exit 1
    use
    moves
    finish
}
mapped()
{
    begin 1 mapped
    refuses "the program's memory is mapped"
    refuses_rest "the program's memory is mapped"
    refuses_checkpoint "the program's memory is mapped"
    use
    moves
    finish
}

# Moves to places that do not exist
elsewhere()
{
    export VOCL_RSH=false
    begin 1 plain
    refuses "status 1" 192.0.2.1
    refuses "there is no spare worker" spare
    finish
}
suspended()
{
    begin 0 plain
    vocl suspend "$program" > "$scratch/asked" || fail "not suspended: $(cat "$scratch/asked")"
    wait_until sh -c "! kill -0 $workers 2> /dev/null"
    workers=
    refuses "it is suspended"
    finish
}
own()
{
    begin 1 plain --local --workers 1
    moves
    finish
    begin 1 plain --local
    refuses "nothing to move\|no session"
    finish
}

# The new worker ends before it joins, in a session over MPI or TLS; the next one joins.
broken()
{
    link_libexec "$scratch/libexec" "[ ! -e '$scratch/broken' ] || exit 7"
    export VOCL_LIBEXECDIR="$scratch/libexec" VOCL_NETWORK=$1
    begin 0 plain
    touch "$scratch/broken"
    refuses "status 7"
    rm "$scratch/broken"
    moves
    finish
}

# Nothing can be started on another host.
no_ssh()
{
    export VOCL_NETWORK=tls VOCL_RSH=false
    begin 0 plain --hosts localhost
    refuses "ended with status 1" not.a.host.example
    timeout -k 10 300 vocl move "$program" --to localhost > "$scratch/asked" 2>&1 || fail "to localhost: $(cat "$scratch/asked")"
    finish
}

# killed PHASE: the client is killed in that phase
killed()
{
    export "$(held_at "$1")"
    begin 0 plain
    vocl move "$program" --to here > "$scratch/asked" 2>&1 &
    asked=$!
    held || fail "no phase $1: $(cat "$scratch/asked" "$scratch/err")"
    kill -KILL $asked || fail "killed at $1: too late"
    wait $asked
    release
    wait_until one_worker || fail "killed at $1: workers $(session_workers "$mark")"
    use
    workers=$(session_workers "$mark")
    moves
    finish
}

# with_newer COMMAND...: runs it with the driver that has these features
with_newer()
{
    mkdir "$scratch/vendors"
    echo "$newer" > "$scratch/vendors/newer.icd"
    export OCL_ICD_VENDORS="$scratch/vendors" VOCL_TEST_IL="$scratch/../scale.spv"
    "$@"
}

# A device that accepts only its own addresses
placed()
{
    VOCL_TEST_GPU=1
    export VOCL_TEST_GPU
    memory_stays 0 svm "shared virtual memory"
}

beside ends busy "a command that does not end"
beside ends native "does not end\|runs in the program"
beside mapped
beside stays 0 loose "an argument that had been released"
beside stays 0 anew "was compiled again since"
beside goes 0 linked
beside goes 0 each --workers 2
beside memory_stays 0 sized "a content-size buffer"
beside svm svm
beside svm over_svm
beside elsewhere
beside suspended
beside own
beside broken mpi
for phase in early copy objects contents change forget; do
    beside killed $phase
done
if [ -e "$VOCL_LIBEXECDIR/vocl-tls.so" ]; then
    beside broken tls
    beside no_ssh
fi
if [ -e "$newer" ] && command -v spirv-as llvm-spirv-15 > /dev/null; then
    spirv-as --target-env spv1.2 -o "$scratch/scale.spv" "$top_srcdir/tests/drivers/scale.spvasm" || fail "spirv-as"
    beside with_newer goes 0 special
    beside with_newer memory_stays 0 usm "unified shared memory"
    beside with_newer memory_stays 0 address "an address on its device"
    beside with_newer placed
fi
well_beside
