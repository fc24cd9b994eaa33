#!/bin/sh
# What vocl move, suspend, resume and checkpoint show on standard error while they work: in a file a line for each phase,
# and how much it has copied; on a terminal one line that is renewed. Results are on standard output. (Texts:
# progress_text.c; reports of other sessions: requests.sh; vocl run --deploy: deploy.sh.)
. "$(dirname "$0")/../lib.sh"
need script bsdutils
mark=VOCL_TEST_MARK=$$
copied='8\.0 MiB(, [0-9.]+ [KMG]?i?B/s)?$' # of the two buffers
# begin PHASE: starts a program with 4 MiB in each of two buffers; what is asked of it is held in that phase
begin()
{
    rm -rf "$scratch/words"
    mkdir "$scratch/words"
    : > "$scratch/out"
    env "$mark" VOCL_SHARE=0 "$(held_at "$1")" vocl run --spare 1 -- "$top_builddir/tests/session/suspended" 4 "$scratch/words" \
        > "$scratch/out" 2> "$scratch/err" &
    program=$!
    wait_until grep -q ready "$scratch/out" || fail "no program: $(cat "$scratch/err")"
}
finish()
{
    touch "$scratch/words/ask" "$scratch/words/resume" "$scratch/words/again"
    wait $program || fail "status $?: $(cat "$scratch/out" "$scratch/err")"
    grep -qx right "$scratch/out" || fail "$(cat "$scratch/out")"
}
# while_held WORD...: runs vocl WORD... and waits until its program is held; then over: what it has printed is complete
while_held()
{
    vocl "$@" > "$scratch/printed" 2> "$scratch/shown" &
    asked=$!
    held || fail "$*: not held: $(cat "$scratch/printed" "$scratch/shown")"
}
over()
{
    release
    wait $asked || fail "status $?: $(cat "$scratch/printed" "$scratch/shown")"
    ! grep -q "$(printf '[\033\r]')" "$scratch/shown" "$scratch/printed" || fail "escape codes in a file: $(cat -A "$scratch/shown")"
    [ "$(wc -l < "$scratch/printed")" = "$1" ] || fail "standard output: $(cat "$scratch/printed")"
}
# shown PHASE...: these phases have begun, in this order
shown()
{
    [ "$(grep -v : "$scratch/shown" | tr '\n' ' ')" = "$* " ]
}
# has_copied PHASES: one of them has copied all
has_copied()
{
    grep -qE "^($1): $copied" "$scratch/shown" || fail "no $1 of 8 MiB: $(cat "$scratch/shown")"
}
# quiet WORD...: vocl WORD... shows nothing; what it prints is in printed
quiet()
{
    vocl "$@" > "$scratch/printed" 2> "$scratch/shown" || fail "$*: $(cat "$scratch/shown")"
    [ ! -s "$scratch/shown" ] || fail "$*: $(cat "$scratch/shown")"
}

moves()
{
    begin change
    while_held move $program --to spare
    wait_until shown early copy objects contents change || fail "moves: $(cat "$scratch/shown")"
    [ ! -s "$scratch/printed" ] || fail "on standard output while it moves: $(cat "$scratch/printed")"
    # On a busy machine nothing is copied before the pause.
    has_copied 'copy|contents'
    over 2
    shown early copy objects contents change forget || fail "moved: $(cat "$scratch/shown")"
    quiet move --quiet $program --to spare
    [ "$(cat "$scratch/printed")" = "moved to spare" ] || fail "quiet: $(cat "$scratch/printed")"
    # On a terminal the total is there as soon as it is known.
    script -qec "vocl move $program --to spare" "$scratch/terminal" > /dev/null || fail "$(cat "$scratch/terminal")"
    tr '\r' '\n' < "$scratch/terminal" > "$scratch/lines"
    grep -qE '^(copy|contents): 0 B of 8\.0 MiB *$' "$scratch/lines" || fail "no total: $(cat -A "$scratch/terminal")"
    ! grep -q "$(printf '\033')" "$scratch/terminal" || fail "escape codes: $(cat -A "$scratch/terminal")"
    # The line is gone when the result is printed.
    grep -qE "^worker [0-9]+ is worker" "$scratch/lines" || fail "the result: $(cat -A "$scratch/terminal")"
    finish
}
suspends()
{
    begin go
    while_held suspend $program
    wait_until shown ahead list take go || fail "suspends: $(cat "$scratch/shown")"
    has_copied 'ahead|take'
    over 1
    vocl resume $program > "$scratch/printed" 2> "$scratch/shown" || fail "resume: $(cat "$scratch/shown")"
    shown come objects give resume || fail "resumes: $(cat "$scratch/shown")"
    has_copied give
    for verb in suspend resume; do
        quiet $verb --quiet $program
        [ -s "$scratch/printed" ] || fail "$verb, quiet: no result"
    done
    finish
}
saves()
{
    begin write
    while_held checkpoint $program "$scratch/saved"
    wait_until shown ahead save write || fail "saves: $(cat "$scratch/shown")"
    has_copied 'ahead|save'
    over 1
    shown ahead save write sync || fail "saved: $(cat "$scratch/shown")"
    has_copied write
    quiet checkpoint --quiet $program "$scratch/saved"
    [ ! -s "$scratch/printed" ] || fail "quiet: $(cat "$scratch/printed")"
    finish
}
beside moves
beside suspends
beside saves
well_beside
