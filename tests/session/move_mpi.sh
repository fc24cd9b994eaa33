#!/bin/sh
# Sessions over MPI with workers on other hosts get new members, which connect over TLS: one worker moves, to either
# host, while the other keeps MPI with the program; and sessions are suspended.
. "$(dirname "$0")/../lib.sh"
[ -e "$VOCL_LIBEXECDIR/vocl-tls.so" ] || skip "VOCL was built without TLS"
moved=$top_builddir/tests/session
two=$top_srcdir/tests/net/two-hosts
mark=VOCL_TEST_MARK=$$
at_most 600
[ "$(status_of "$two" -- true 2> "$scratch/err")" != 77 ] || skip "$(cat "$scratch/err")"

# begin PROGRAM WORD...: starts the program over MPI; its PID is $pid
begin()
{
    program=$moved/$1
    shift
    rm -f "$scratch/enough"
    : > "$scratch/out"
    env "$mark" VOCL_NETWORK=mpi VOCL_SHARE=0 VOCL_LOG=info timeout -k 10 500 "$@" -- "$program" "$scratch/enough" \
        > "$scratch/out" 2> "$scratch/err" &
    running=$!
    wait_until grep -q ready "$scratch/out" || fail "$program: $(tail -n 5 "$scratch/out" "$scratch/err")"
    pid=$(grep -lszxFe "$mark" /proc/[0-9]*/environ | while read -r process; do
        [ "$(readlink "${process%environ}exe")" != "$(readlink -f "$program")" ] || echo "$process" | tr -dc 0-9
    done)
}

# ask WORD...: runs vocl WORD on the program
ask()
{
    ask_what=$1
    shift
    timeout -k 5 200 vocl "$ask_what" "$pid" "$@" > "$scratch/asked" 2>&1 ||
        fail "$program, $ask_what $*: $(cat "$scratch/asked" "$scratch/err")"
    echo "$program: $(tail -n 1 "$scratch/asked")"
}

finish()
{
    touch "$scratch/enough"
    wait $running || fail "$program: status $?: $(tail -n 5 "$scratch/out" "$scratch/err")"
    grep right "$scratch/out" || fail "$program: $(cat "$scratch/out")"
    wait_until none_left "$mark" || fail "left: $(session_processes "$mark")"
}

if has_command_buffers; then
    begin moved_commands "$two"
    ask move --to 10.93.0.3
    ask move --to 10.93.0.2
    ask suspend
    ask resume
    finish
fi

# Two workers move one after the other: they use MPI with the program, then one of them TLS, then both.
begin moved_parts "$two" --workers 2
ask move --to 10.93.0.3
ask move --to 10.93.0.3
finish
