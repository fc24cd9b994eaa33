#!/bin/sh
# Devices that differ only in a number by which their driver distinguishes them: a session resumes on and moves to such
# a twin, and still sees the first device's number. A device of the same name that differs in more is skipped: another
# one is taken, or waited for.
. "$(dirname "$0")/one-lib.sh"
[ -e "$VOCL_LIBEXECDIR/vocl-tls.so" ] || skip "VOCL was built without TLS"
need python3 python3
export POCL_CACHE_DIR="${POCL_CACHE_DIR:-$scratch/pocl}"
# with_devices FILE DEVICES [VARIABLE]: sets the devices that PoCL has there
with_devices()
{
    setting "$1" environment "[ \"POCL_CACHE_DIR=$POCL_CACHE_DIR\", \"POCL_DEVICES=$2\"${3:+, \"$3\"} ]"
}
# begin_other NAME: starts its daemon; programs end with the test
begin_other()
{
    start_other "$1"
    trap 'kill -9 $program $others 2> /dev/null; end_daemons' EXIT
}
make_pool one 'devices = ( { match = "*"; sessions = 1; } );' 'policy = "order";'
add_daemon two
with_devices "$scratch/conf" "pthread pthread"
with_devices "$scratch/conf.two" "pthread pthread"
others= program=
start_daemon
begin_other two
meet_other
export VOCL_POOL="$scratch/pool" VOCL_SHARE=0

# begins [VARIABLE=VALUE]...: starts a program that queries the number, and waits; sets $program, $session
begins()
{
    rm -f "$scratch/go" "$scratch/end" "$scratch/out"
    env "$@" vocl run --wait 300 -- "$top_builddir/tests/session/moved_any" "$scratch/go" "$scratch/end" 0x1001 0x102b > "$scratch/out" \
        2> "$scratch/err" &
    program=$!
    wait_until grep -qs ready "$scratch/out" || fail "no program: $(cat "$scratch/err" "$scratch"/log*)"
    session=$(places moved_any | cut -d ' ' -f 2)
}
# takes FILE: another session has the next device until FILE exists
takes()
{
    takes_before=$(places burn | wc -l)
    vocl run -- "$top_builddir/tests/pool/burn" 0 "$1" > /dev/null 2> "$1.err" &
    others="$others $!"
    wait_until one_more || fail "no other session: $(cat "$1.err" "$scratch"/log*)"
}
one_more()
{
    [ "$(places burn | wc -l)" -gt "$takes_before" ]
}
# releases NUMBER: the only other session ends
releases()
{
    touch "$scratch/until.$1"
    wait $others || fail "the other session: status $?: $(cat "$scratch/until.$1.err")"
    others=
    wait_until no_other || fail "it stays: $(vocl pool sessions)"
}
no_other()
{
    [ -z "$(places burn)" ]
}
# worker STATE: prints the worker of the only session in that daemon's state directory
worker()
{
    python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["pid"])' "$1"/session-*
}
replaced_once()
{
    [ "$(replaced)" -ge 1 ]
}
asked()
{
    vocl pool "$@" > "$scratch/asked" 2>&1
}
# is_at PLACE: waits until it is only there; a place that it could not use is given back, which the pool notices a
# moment later
is_at()
{
    wait_until at "$1"
}
at()
{
    [ "$(places moved_any | cut -d ' ' -f 1)" = "$1" ]
}
at_three()
{
    at three:0 || at three:1
}
# ends WHAT: the program ends with the right results
ends()
{
    touch "$scratch/go" "$scratch/end"
    wait $program || fail "$1: status $?: $(cat "$scratch/out" "$scratch/err" "$scratch"/log*)"
    grep -qx right "$scratch/out" || fail "$1: $(cat "$scratch/out")"
    for until in 1 2; do touch "$scratch/until.$until"; done
    [ -z "$others" ] || wait $others
    others=
    rm -f "$scratch"/until.*
    await sessions=0 || fail "$1: left: $(vocl pool sessions)"
    echo "$1: right"
}

# The session is suspended, another one gets its place meanwhile, and it resumes on the other device.
begins
is_at one:0 || fail "at first: $(places moved_any)"
asked suspend "$session" || fail "not suspended: $(cat "$scratch/asked" "$scratch/err")"
takes "$scratch/until.1"
asked resume "$session" || fail "not resumed on the twin: $(cat "$scratch/asked" "$scratch/err")"
is_at one:1 || fail "resumed: $(places moved_any)"
# The first device of the other node is taken.
releases 1
vocl pool drain one || fail "drain"
await state=one:draining
takes "$scratch/until.2"
asked drain --move one || fail "not moved to the twin: $(cat "$scratch/asked" "$scratch/err")"
is_at two:1 || fail "moved: $(places moved_any)"
vocl pool resume one || fail "resume"
ends "twins"

# The same with a worker that is lost.
begins VOCL_RECOVER=replay VOCL_LOG=warn
is_at one:0 || fail "at first: $(places moved_any)"
vocl pool drain one || fail "drain"
await state=one:draining
takes "$scratch/until.1"
kill -9 "$(worker "$scratch/state")" || fail "no worker: $(ls "$scratch/state")"
is_at two:1 || fail "not recovered on the twin: $(cat "$scratch/err" "$scratch"/log*)"
vocl pool resume one || fail "resume"
ends "recovered"

# Node two has a device of the same name that is not alike.
kill $other
wait $other
with_devices "$scratch/conf.two" pthread POCL_MAX_WORK_GROUP_SIZE=256
begin_other two
await nodes=2
begins
is_at one:0 || fail "at first: $(places moved_any)"
asked drain --move one && fail "it moves to what is not alike: $(places moved_any)"
grep -q 'CL_DEVICE_MAX_WORK_GROUP_SIZE differs' "$scratch/asked" || fail "the query: $(cat "$scratch/asked")"
is_at one:0 || fail "it does not stay: $(places moved_any)"
vocl pool resume one || fail "resume"
# The session waits until one of the devices that are alike is free.
asked suspend "$session" || fail "not suspended: $(cat "$scratch/asked" "$scratch/err")"
takes "$scratch/until.1"
takes "$scratch/until.2"
touch "$scratch/go"
await --user="$user" queue=1 || fail "it does not wait: $(cat "$scratch/err" "$scratch"/log*)"
touch "$scratch/until.2"
ends "waited"

# Node three is like node one, and comes after node two: the session moves there, resumes there, and is recovered there.
"$VOCL_LIBEXECDIR/vocl-proxy" --make-key=three >> "$scratch/keys"
echo "node three 127.0.0.1:$((port + 4))" >> "$scratch/pool"
cp "$scratch/conf" "$scratch/conf.three"
setting "$scratch/conf.three" name '"three"'
setting "$scratch/conf.three" listen "\"127.0.0.1:$((port + 4))\""
setting "$scratch/conf.three" state-directory "\"$scratch/state.three\""
kill -HUP $daemon $other
two=$other
begin_other three
other="$two $other"
await nodes=3
begins VOCL_RECOVER=replay VOCL_LOG=warn
is_at one:0 || fail "at first: $(places moved_any)"
asked drain --move one || fail "not moved to the one that is alike: $(cat "$scratch/asked" "$scratch/err" "$scratch"/log*)"
is_at three:0 || fail "moved: $(places moved_any)"
asked suspend "$session" || fail "not suspended: $(cat "$scratch/asked" "$scratch/err")"
asked resume "$session" || fail "not resumed: $(cat "$scratch/asked" "$scratch/err" "$scratch"/log*)"
is_at three:0 || fail "resumed: $(places moved_any)"
kill -9 "$(worker "$scratch/state.three")" || fail "no worker: $(ls "$scratch/state.three")"
wait_until replaced_once || fail "not recovered: $(cat "$scratch/err" "$scratch"/log*)"
wait_until at_three || fail "recovered: $(places moved_any)"
ends "past one that is not alike"
grep Sanitizer "$scratch"/log* && fail "the sanitizer found something"
exit 0
