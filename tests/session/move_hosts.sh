#!/bin/sh
# Sessions over TLS move, on one host and between two, to spare workers and to new workers on a named host; programs
# print the same as natively.
. "$(dirname "$0")/../lib.sh"
[ -e "$VOCL_LIBEXECDIR/vocl-tls.so" ] || skip "VOCL was built without TLS"
parity=$top_builddir/tests/parity
moved=$top_builddir/tests/session
two=$top_srcdir/tests/net/two-hosts
mark=VOCL_TEST_MARK=$$
at_most 600

moves()
{
    grep -c 'is worker . now' "$scratch/err"
}

# always HOW PROGRAM...: HOW is the command before the program, which moves every 30 ms
always()
{
    how=$1
    shift
    "$@" > "$scratch/native" 2> /dev/null || fail "$* natively"
    env "$mark" VOCL_NETWORK=tls VOCL_SHARE=0 VOCL_SPARE=1 VOCL_MOVE_EVERY=30 VOCL_LOG=info timeout -k 10 300 $how -- "$@" \
        > "$scratch/out" 2> "$scratch/err" || fail "$*, $how: status $?: $(tail -n 5 "$scratch/err")"
    diff "$scratch/native" "$scratch/out" > "$scratch/diff" || fail "$*, $how: $(head -n 20 "$scratch/diff")"
    echo "$* : $(moves) moves"
}

# asked WHAT PLACES HOW...: moved_WHAT moves to each of the places in turn
asked()
{
    program=$moved/moved_$1
    places=$2
    shift 2
    rm -f "$scratch/enough"
    : > "$scratch/out"
    env "$mark" VOCL_NETWORK=tls VOCL_SHARE=0 VOCL_LOG=info timeout -k 10 300 "$@" -- "$program" "$scratch/enough" \
        > "$scratch/out" 2> "$scratch/err" &
    running=$!
    wait_until grep -q ready "$scratch/out" || fail "$program: $(tail -n 5 "$scratch/out" "$scratch/err")"
    pid=$(grep -lszxFe "$mark" /proc/[0-9]*/environ | while read -r process; do
        [ "$(readlink "${process%environ}exe")" != "$(readlink -f "$program")" ] || echo "$process" | tr -dc 0-9
    done)
    for place in $places; do
        timeout -k 5 200 vocl move "$pid" --to "$place" > "$scratch/asked" 2>&1 ||
            fail "$program, to $place: $(cat "$scratch/asked" "$scratch/err")"
        echo "$program: $(tail -n 1 "$scratch/asked")"
    done
    touch "$scratch/enough"
    wait $running || fail "$program: status $?: $(tail -n 5 "$scratch/out" "$scratch/err")"
    grep right "$scratch/out"
    wait_until none_left "$mark" || fail "left: $(session_processes "$mark")"
}

! has_command_buffers || asked commands "here here" vocl run
asked parts "spare here" vocl run --spare 1
always "vocl run" "$parity/programs"

[ "$(status_of "$two" -- true 2> "$scratch/err")" != 77 ] || exit 0
! has_command_buffers || asked commands "10.93.0.3 10.93.0.2" "$two"
asked svm "10.93.0.3 10.93.0.2" "$two"
asked parts "10.93.0.4 10.93.0.3" "$two" --workers 2
for program in buffer_ops images; do
    always "$two --workers 2" "$parity/$program"
done
exit 0
