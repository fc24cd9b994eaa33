#!/bin/sh
# Data are in the program's memory when their command is complete, whichever way they travel: tests/parity/effects and
# relay over each way, also on a busy host, and to another host and back.
. "$(dirname "$0")/../lib.sh"
effects=$top_builddir/tests/parity/effects relay=$top_builddir/tests/parity/relay
spinners=

# run NAME COMMAND...: prints the same as natively
run()
{
    name=$1
    shift
    timeout -k 10 200 "$@" > "$scratch/out" 2> "$scratch/err" ||
        fail "$name: status $?: $(tail -n 5 "$scratch/out" "$scratch/err")"
    diff "$scratch/native" "$scratch/out" > "$scratch/diff" || fail "$name: $(head -n 20 "$scratch/diff")"
    echo "$name: right"
}

# both NAME SIZES COMMAND...
both()
{
    what=$1 sizes=$2
    shift 2
    "$effects" $sizes > "$scratch/native" || fail "effects, natively: $(head -n 5 "$scratch/native")"
    run "effects, $what" "$@" "$effects" $sizes
    "$relay" $sizes > "$scratch/native" || fail "relay, natively: $(head -n 5 "$scratch/native")"
    run "relay, $what" "$@" "$relay" $sizes
}
both "staged in pieces" "5000 300000" env VOCL_ZERO_COPY=0 vocl run --
both "one piece at a time" 2097152 env VOCL_ZERO_COPY=0 VOCL_PIPELINE=1 vocl run --
both "no memory shared" 300000 env VOCL_SHARE=0 VOCL_RING=0 vocl run --
both "two workers" 300000 env VOCL_WORKERS=2 vocl run --
both "in this process, and a worker" 5000 env VOCL_LOCAL=1 VOCL_WORKERS=1 vocl run --

# Other processes use the processors, too.
spin()
{
    while :; do :; done
}
for processor in $(seq "$(nproc)"); do
    spin &
    spinners="$spinners $!"
done
trap 'kill $spinners 2> /dev/null; rm -rf "$scratch"' EXIT
both "on a busy host" 40000 env VOCL_SHARE=0 vocl run --
kill $spinners

far="$top_srcdir/tests/net/two-hosts"
"$far" -- true 2> "$scratch/err"
[ $? -ne 77 ] || { echo "not to another host: $(cat "$scratch/err")"; exit 0; }
both "another host" 100000 "$far" --
both "another host with two workers" 5000 "$far" --workers 2 --
both "far away" 100000 "$far" --delay 300 --
