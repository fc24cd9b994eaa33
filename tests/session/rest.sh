#!/bin/sh
# Sessions that rest: what programs print is what they print natively, while they rest there is no worker, and where
# resting or waking fails, the program goes on.
. "$(dirname "$0")/../lib.sh"
parity=$top_builddir/tests/parity
moved=$top_builddir/tests/session/moved
mark=VOCL_TEST_MARK=$$
# Once in a while PoCL itself takes long on a loaded machine.
at_most 900

rests()
{
    grep -c 'it goes on' "$scratch/err"
}

# always HOW PROGRAM...: put to rest every half second.
always()
{
    how=$1
    shift
    timeout -k 10 200 "$@" > "$scratch/native" 2> /dev/null
    native=$?
    env $how "$mark" VOCL_REST_EVERY=${every:-500} VOCL_LOG=info timeout -k 10 200 vocl run -- "$@" > "$scratch/out" 2> "$scratch/err"
    [ $? = $native ] || fail "$*, $how: status $?, natively $native: $(tail -n 5 "$scratch/err")"
    diff "$scratch/native" "$scratch/out" > "$scratch/diff" || fail "$*, $how: $(head -n 20 "$scratch/diff")"
    echo "$how $*: $(rests) rests"
}

mkdir "$scratch/store"
always VOCL_SHARE=1 "$moved" 1 3000
[ "$(rests)" -gt 0 ] || fail "it has not rested: $(cat "$scratch/err")"
always VOCL_SHARE=0 "$moved" 8 3000
[ "$(rests)" -gt 0 ] || fail "it has not rested: $(cat "$scratch/err")"
always "VOCL_SHARE=0 VOCL_REST_DIR=$scratch/store" "$moved" 8 3000
[ "$(rests)" -gt 0 ] || fail "it has not rested: $(cat "$scratch/err")"
[ -z "$(ls -A "$scratch/store")" ] || fail "left in the directory: $(ls -A "$scratch/store")"
