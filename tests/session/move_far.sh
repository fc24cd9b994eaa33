#!/bin/sh
# Sessions over TLS move on another host with a delay of 5 ms each way: other messages cross a move than on one host.
# Programs print the same as natively.
. "$(dirname "$0")/../lib.sh"
[ -e "$VOCL_LIBEXECDIR/vocl-tls.so" ] || skip "VOCL was built without TLS"
two=$top_srcdir/tests/net/two-hosts
mark=VOCL_TEST_MARK=$$
at_most 600
[ "$(status_of "$two" --delay 5000 -- true 2> "$scratch/err")" != 77 ] || skip "$(cat "$scratch/err")"

# far EVERY WITHOUT PROGRAM...: the program moves every EVERY ms and prints the same, except for lines that match
# WITHOUT
far()
{
    every=$1
    without=$2
    shift 2
    timeout -k 10 500 "$@" > "$scratch/native" 2> /dev/null
    native=$?
    rm -f "$scratch/enough"
    env "$mark" VOCL_NETWORK=tls VOCL_SPARE=1 VOCL_MOVE_EVERY="$every" VOCL_LOG=info timeout -k 10 500 \
        "$two" --delay 5000 --workers 2 -- "$@" > "$scratch/out" 2> "$scratch/err"
    status=$?
    [ $status = $native ] || fail "$*: status $status, natively $native: $(tail -n 5 "$scratch/out" "$scratch/err")"
    for which in native out; do
        grep -v "$without" "$scratch/$which" > "$scratch/$which.same"
    done
    diff "$scratch/native.same" "$scratch/out.same" > "$scratch/diff" || fail "$*: $(head -n 20 "$scratch/diff")"
    wait_until none_left "$mark" || fail "left: $(session_processes "$mark")"
    echo "$* : $(moves) moves, $(grep -c 'stays where it is' "$scratch/err") refused"
}

moves()
{
    grep -c 'is worker . now' "$scratch/err"
}

# The program that uses something of everything runs until it has moved three times.
enough()
{
    [ -e "$scratch/err" ] && [ "$(moves)" -ge 3 ]
}
everything()
{
    touch "$scratch/enough"
    (wait_until enough && touch "$scratch/enough") &
    far 1000 '^$' "$top_builddir/tests/session/moved" 4 0 "$scratch/enough"
}

beside everything
for program in contents buffer_ops events images threads callbacks; do
    beside far 200 '^$' "$top_builddir/tests/parity/$program"
done
# On another host there is no fine-grained memory.
beside far 200 '^capabilities\|^fine grain' "$top_builddir/tests/parity/svm"
well_beside
