#!/bin/sh
# tests/net/two-hosts: COMMAND gets its input, its status is returned, and COMMAND and all its processes end when
# two-hosts is told to end.
. "$(dirname "$0")/../lib.sh"
need ip iproute2
need_foreign_programs
two=$top_srcdir/tests/net/two-hosts
export HERE=$scratch

[ "$(status_of "$two" -- true 2> "$scratch/err")" != 77 ] || skip "$(cat "$scratch/err")"
[ "$(status_of "$two" -- sh -c 'exit 7')" = 7 ] || fail "another status than the command's"
[ "$(echo input | "$two" -- cat)" = input ] || fail "the command has other input"

spaces()
{
    ip netns list | grep -cE "^vocl-(near|far)-$running( |\$)"
}
ended()
{
    ! kill -0 "$(cat "$scratch/pid")" 2> /dev/null && [ "$(spaces)" = 0 ] && ! kill -0 $running 2> /dev/null
}
for signal in TERM INT HUP; do
    for command in 'exec sleep 1000' 'trap "" TERM INT HUP; sleep 1000 & wait; wait'; do
        rm -f "$scratch/pid"
        # A process that is started in the background would ignore SIGINT.
        env --default-signal=INT "$two" -- sh -c 'echo $$ > "$HERE/pid"; '"$command" > "$scratch/out" 2>&1 &
        running=$!
        wait_until test -s "$scratch/pid" || fail "it does not start: $(cat "$scratch/out")"
        kill -$signal $running
        wait_until ended || fail "SIG$signal, $command: $(spaces) namespaces are left, $(ps -o pid,args -p "$(cat "$scratch/pid")")"
        wait $running
    done
done
exit 0
