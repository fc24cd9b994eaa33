#!/bin/sh
# vocl sessions --wait: scripts wait until the session of a program is running, is suspended, or has ended completely.
. "$(dirname "$0")/../lib.sh"
mark=VOCL_TEST_MARK=$$
mkdir "$scratch/words"
waits()
{
    timeout -k 5 130 vocl sessions --timeout=120 --wait="$1" "$program" || fail "$1: $(cat "$scratch/out" "$scratch/err"; vocl sessions)"
}
# is_not SAID STATE: the time-out expires, with this message
is_not()
{
    vocl sessions --wait="$2" --timeout=0 "$program" > "$scratch/said" 2>&1
    [ $? = 1 ] && grep -q "$1" "$scratch/said" || fail "$2: not \"$1\": $(cat "$scratch/said")"
}

# The program waits to be started before it calls OpenCL.
mkfifo "$scratch/begin"
env "$mark" sh -c ': < "$0" && exec vocl run -- "$@"' "$scratch/begin" "$top_builddir/tests/session/suspended" 4 "$scratch/words" \
    > "$scratch/out" 2> "$scratch/err" &
program=$!
is_not 'has no session' running
waits ended
vocl sessions --wait=running $program &
waiting=$!
: > "$scratch/begin"
wait $waiting || fail "running"
waits running
wait_until grep -q ready "$scratch/out" || fail "no program: $(cat "$scratch/err")"
is_not 'is running, not suspended' suspended
vocl suspend $program > "$scratch/asked" || fail "suspend: $(cat "$scratch/asked")"
waits suspended
is_not 'is suspended, not running' running
is_not 'is suspended, not ended' ended
vocl sessions --wait=running $program &
waiting=$!
vocl resume $program > "$scratch/asked" || fail "resume: $(cat "$scratch/asked")"
wait $waiting || fail "running again"

vocl sessions --wait=ended $program &
waiting=$!
is_not 'is running, not ended' ended
kill -0 $waiting 2> /dev/null || fail "it did not wait"
touch "$scratch/words/ask" "$scratch/words/resume" "$scratch/words/again"
wait $waiting || fail "ended"
[ -z "$(session_processes "$mark" | while read -r process; do cat "/proc/$process/comm"; done | grep launcher)" ] ||
    fail "it waited too short: $(session_processes "$mark")"
wait $program || fail "the program: $? $(cat "$scratch/out" "$scratch/err")"
waits ended
is_not "process $program has ended" running
wait_until none_left "$mark" || fail "left: $(session_processes "$mark")"

# misused WORD...: the command line is refused
misused()
{
    vocl sessions "$@" > "$scratch/said" 2>&1
    [ $? = 2 ] || fail "$*: $(cat "$scratch/said")"
}
misused --wait=ill $$
misused --wait=running
misused --wait=running $$ $$
misused --wait=running nobody
misused --wait=running --timeout=ever $$
misused $$
