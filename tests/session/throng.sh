#!/bin/sh
# Many more workers than can all be connected with each other: one application has them all, data travel between some of
# them, and a worker that is killed or stopped is missed only by the members that communicate with it. Nothing is left
# of any.
. "$(dirname "$0")/../lib.sh"

throng=$top_builddir/tests/session/throng
mark=VOCL_TEST_MARK=throng$$

[ "$("$throng")" = "1 devices" ] || fail "natively: $("$throng")"

begun()
{
    grep -q devices "$scratch/out.$name" || ! kill -0 "$program" 2> /dev/null
}

# round NAME WORKERS SIGNAL SETTINGS...: runs a session, and sends the signal to one of its workers
round()
{
    name=$1
    many=$2
    signal=$3
    shift 3
    mkfifo "$scratch/end.$name"
    env "$mark" VOCL_LOG=info "$@" vocl run --workers "$many" -- "$throng" < "$scratch/end.$name" \
        > "$scratch/out.$name" 2> "$scratch/err.$name" &
    program=$!
    exec 8> "$scratch/end.$name"
    wait_until begun || fail "$name: it does not start: $(cat "$scratch/out.$name" "$scratch/err.$name")"
    [ "$(cat "$scratch/out.$name")" = "$many devices" ] || fail "$name: $(cat "$scratch/out.$name")"
    descriptors=0
    for worker in $(session_workers "$mark"); do
        open=$(ls "/proc/$worker/fd" | wc -l)
        [ "$open" -le $descriptors ] || descriptors=$open
    done
    [ "$descriptors" -lt "$many" ] || fail "$name: a worker has $descriptors descriptors, so many as there are others"
    kill -$signal $(session_workers "$mark" | sed -n "$((many / 3))p")
    echo > "$scratch/line"
    cat "$scratch/line" >&8
    exec 8>&-
    wait "$program" || fail "$name: status $? of the program: $(cat "$scratch/out.$name"; tail -n 20 "$scratch/err.$name")"
    [ "$(cat "$scratch/out.$name")" = "$many devices
$((many - 1)) devices" ] || fail "$name: $(cat "$scratch/out.$name")"
    ! grep -E 'ERROR: .*Sanitizer|runtime error' "$scratch/err.$name" || fail "$name: $(cat "$scratch/err.$name")"
    [ "$(grep -c 'is lost:' "$scratch/err.$name")" = 1 ] || fail "$name: lost: $(grep 'is lost:' "$scratch/err.$name")"
    wait_until none_left "$mark" || fail "$name: left: $(session_processes "$mark")"
}

round memory ${VOCL_THRONG:-96} KILL
grep -q "$many workers are reached by pairs of sockets, without MPI: they are on this host" "$scratch/err.memory" ||
    fail "it is not said what carries the session"
round blocks ${VOCL_THRONG:-96} KILL VOCL_SHARE=0 VOCL_RING=0
[ -e "$VOCL_LIBEXECDIR/vocl-tls.so" ] || exit 0
round tls ${VOCL_THRONG:-48} KILL VOCL_NETWORK=tls
# So many workers have little processor time each: the time-outs are as long as those of users' sessions, or longer.
about_silence
VOCL_PEER_TIMEOUT=$((VOCL_PEER_TIMEOUT * 5))
round stopped 48 STOP VOCL_NETWORK=tls
exit 0
