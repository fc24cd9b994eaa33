#!/bin/sh
# Moves to devices of another kind, which are accepted if they have all that the program was told, and only if
# requested; moves of commands that wait for a user event; and moves of pipes, as long as they are certainly empty.
. "$(dirname "$0")/../lib.sh"
moved=$top_builddir/tests/session/moved_any
older=$top_builddir/tests/drivers/.libs/older.so
oclgrind=/usr/lib/oclgrind/liboclgrind-rt-icd.so
mark=VOCL_TEST_MARK=$$
pocl=$(cat /etc/OpenCL/vendors/pocl.icd 2> /dev/null) || skip "no PoCL"
mkdir "$scratch/vendors"
export OCL_ICD_VENDORS="$scratch/vendors"
# oclgrind deletes objects through a smaller type.
export ASAN_OPTIONS="new_delete_type_mismatch=0:$ASAN_OPTIONS"

# driver LIBRARY: sets the driver of workers that start from here on
driver()
{
    echo "$1" > "$scratch/vendors/driver.icd"
}

# begin WORD...: starts the program, which makes these queries
begin()
{
    rm -f "$scratch/one" "$scratch/two"
    : > "$scratch/out"
    env "$mark" VOCL_LOG=info vocl run -- "$moved" "$scratch/one" "$scratch/two" "$@" > "$scratch/out" 2> "$scratch/err" &
    program=$!
    wait_until grep -q ready "$scratch/out" || fail "no program: $(cat "$scratch/out"; tail -n 5 "$scratch/err")"
}

# moves OPTION...: the program moves; refuses PATTERN OPTION...: it does not, and the message matches
moves()
{
    vocl move "$program" --to here "$@" > "$scratch/asked" 2>&1 || fail "$*: $(cat "$scratch/asked")"
}

refuses()
{
    pattern=$1
    shift
    vocl move "$program" --to here "$@" > "$scratch/asked" 2>&1 && fail "$*: moved: $(cat "$scratch/asked")"
    grep -q -- "$pattern" "$scratch/asked" || fail "$*: not $pattern: $(cat "$scratch/asked")"
    tail -n 1 "$scratch/asked"
}

finish()
{
    touch "$scratch/one" "$scratch/two"
    wait $program || fail "$1: $(cat "$scratch/out"; tail -n 5 "$scratch/err")"
    grep -qx right "$scratch/out" || fail "$1: $(cat "$scratch/out")"
    wait_until none_left "$mark" || fail "left after $1: $(session_processes "$mark")"
    echo "$1: right"
}

# From an older driver's device (its name, its version, the size of groups, its extensions) to a newer driver's. The
# session is then suspended, and gets a device of the newer kind when it is resumed.
export OLDER_VERSION=1.2
for share in 0 1; do
    export VOCL_SHARE=$share
    driver "$older"
    begin 0x102b 0x102f 0x1004 0x1030
    driver "$pocl"
    refuses " differs"
    moves --any
    moves --any
    vocl suspend "$program" > "$scratch/asked" || fail "not suspended: $(cat "$scratch/asked")"
    vocl resume "$program" > "$scratch/asked" || fail "not resumed: $(cat "$scratch/asked")"
    finish "older to newer, VOCL_SHARE=$share"
done

# The other direction: the older device lacks what the program was told.
driver "$pocl"
begin 0x102b 0x1030
driver "$older"
refuses "its version" --any
driver "$pocl"
moves
finish "newer to older"

# To an entirely different device
if [ -e $oclgrind ]; then
    export VOCL_SHARE=0
    driver $oclgrind
    begin 0x102b 0x1004 0x1000
    driver "$pocl"
    refuses " differs"
    moves --any
    finish "oclgrind to PoCL"
    driver $oclgrind
    begin 0x102b 0x1021
    driver "$pocl"
    refuses ": constant arguments" --any
    finish "oclgrind's constant arguments"
fi
unset OLDER_VERSION

# Commands that wait for a user event cannot complete before a move: the session moves if it has a journal, and
# otherwise refuses.
driver "$pocl"
export VOCL_SHARE=0
begin gate
refuses "user event"
finish "gate"
export VOCL_RECOVER=replay
begin gate
moves
moves
finish "gate with VOCL_RECOVER"
unset VOCL_RECOVER

# A pipe moves until a kernel may have written to it.
newer=$top_builddir/tests/drivers/.libs/newer.so
if [ -e "$newer" ]; then
    export VOCL_TEST_PIPES=1 VOCL_SHARE=1
    driver "$newer"
    begin pipe
    moves
    moves
    touch "$scratch/one"
    wait_until grep -q used "$scratch/out" || fail "pipe: $(cat "$scratch/out"; tail -n 5 "$scratch/err")"
    refuses "a pipe"
    finish "pipe"
fi
true
