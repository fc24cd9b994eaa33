#!/bin/sh
# VOCL_RECOVER_TO=node: workers that hold saved copies of contents move, one after the other, also while the program
# leaves no moment for a snapshot, and when there is no room for the copies. The copies move with the workers, or to the
# application's host, and a worker that is lost afterwards is replaced with its contents, among them images and buffers
# of several pieces.
. "$(dirname "$0")/../lib.sh"
. "$top_srcdir/tests/session/recover-lib.sh"
kept=$top_builddir/tests/session/kept
two=$top_srcdir/tests/net/two-hosts
at_most 900

# begin WORKERS SETTING...: starts a program with contents on the first two workers
begin()
{
    workers=$1
    shift
    : > "$scratch/out"
    : > "$scratch/err"
    env "$mark" VOCL_RECOVER=replay VOCL_RECOVER_TO=node VOCL_SHARE=0 VOCL_RECOVER_LOG=16K VOCL_LOG=debug "$@" \
        timeout -k 10 600 ${by:-vocl run} --workers "$workers" -- "$kept" "$scratch/enough" > "$scratch/out" 2> "$scratch/err" &
    program=$!
    wait_until grep -q ready "$scratch/out" || failed "no program"
}
failed()
{
    kill $program 2> /dev/null
    [ -z "$LOGS" ] || cp "$scratch/err" "$LOGS/kept-${scratch##*/}.log"
    fail "$*: $(cat "$scratch/out" "$scratch/asked" 2> /dev/null; grep -v debug: "$scratch/err" | tail -n 20)"
}
both_kept()
{
    wait_until grep -q 'contents of worker 1 are kept by itself and by' "$scratch/err" &&
        wait_until grep -q 'contents of worker 2 are kept by itself and by' "$scratch/err" || failed "nothing is kept"
}
gate()
{
    touch "$scratch/enough.gate"
    wait_until grep -q gated "$scratch/out" || failed "no gate"
}
ends_right()
{
    touch "$scratch/enough"
    wait $program || failed "$1: status $?"
    grep -qx right "$scratch/out" || failed "$1"
    grep -E 'ERROR: .*Sanitizer|runtime error' "$scratch/err" && fail "the sanitizer found something"
    wait_until none_left "$mark" || fail "left: $(session_processes "$mark")"
    echo "$1: $(replaced) replaced, $(grep -c 'is worker [0-9]* now' "$scratch/err") changes, $(snapshots) snapshots"
}
# lose WHO: the workers are replaced, and two workers hold copies of the contents again
lose()
{
    had=$(replaced) whole=$(by_two)
    kill -KILL $(one_of "$1")
    wait_until more_replaced || failed "$1 is not replaced"
    wait_until again_by_two || failed "what $1 kept is not kept anew"
}
by_two()
{
    grep -c 'are stored by two workers again' "$scratch/err"
}
again_by_two()
{
    [ "$(by_two)" -ge $((whole + 2)) ]
}
more_replaced()
{
    [ "$(replaced)" -gt "$had" ]
}
# moved WHERE...: the session moves, and the workers that it has left end
moved()
{
    many=$(session_workers "$mark" | wc -l)
    timeout -k 10 300 vocl move "$(program_of "$kept")" "$@" > "$scratch/asked" 2>&1 || failed "moved: $*"
    wait_until as_many || failed "who has gone has not ended"
}
as_many()
{
    [ "$(session_workers "$mark" | wc -l)" = "$many" ]
}

# All workers move, one after the other, without a snapshot in between; then the last and the first are lost.
all_go_gated()
{
    begin 2 "$@"
    both_kept
    gate
    moved --to here
    lose last
    lose first
    ends_right "gated, all moved: $*"
}
in_copy()
{
    [ "$(grep -c 'move: copy' "$scratch/err")" = "$1" ]
}
# While the third worker moves, the first, which has moved already, is lost: no snapshot was possible by then. The file
# that reports a held move is a named pipe here: each of the three moves waits until it is read.
lost_while_others_go()
{
    mkfifo "$scratch/held.reached"
    release
    begin 3 "VOCL_MOVE_HOLD=copy:$scratch/held" "$@"
    both_kept
    timeout -k 10 300 vocl move "$(program_of "$kept")" --to here > "$scratch/asked" 2>&1 &
    asked=$!
    for copies in 1 2 3; do
        wait_until in_copy $copies || failed "copy $copies of 3 does not begin"
        [ $copies = 3 ] || : < "$scratch/held.reached"
    done
    had=$(replaced)
    kill -KILL "$(nth 2)"
    wait_until more_replaced || failed "what has moved is not replaced"
    : < "$scratch/held.reached"
    wait $asked
    tail -n 1 "$scratch/asked"
    ends_right "lost while others go: $*"
}

# limit PROCESS BYTES: the process may allocate BYTES more memory, or less
limit()
{
    size=$(awk '/^VmSize:/ { print $2 * 1024 }' "/proc/$1/status")
    prlimit --as=$((size + $2)): --pid "$1" || failed "no limit"
}

# The second worker has room for only a piece of the first one's contents: all of them are saved at the application's
# host, and the second worker does not keep what it has received of them.
keeper_is_full()
{
    for again in $(seq 20); do # until it is limited before anything is kept
        begin 2 VOCL_RECOVER_LOG=256M VOCL_RECOVER_EVERY=10 MALLOC_ARENA_MAX=1 "$@"
        limit "$(one_of last)" 25000000
        grep -q 'bytes of contents are kept' "$scratch/err" || break
        ends_right "kept before"
        rm "$scratch/enough"
    done
    wait_until grep -q 'have no room for contents, which are kept at' "$scratch/err" || failed "there is room"
    before=$(snapshots)
    wait_until more_snapshots || failed "no snapshots"
    stays=$(sed -n "s/^vocl.$(one_of last)\].* \([0-9]*\) bytes of contents are kept$/\1/p" "$scratch/err" | tail -n 1)
    [ "${stays:-0}" -lt 4000000 ] || failed "the second keeps $stays bytes"
    had=$(replaced)
    kill -KILL "$(one_of first)"
    wait_until more_replaced || failed "it is not replaced"
    ends_right "a keeper without room, which keeps $stays bytes: $*"
}
more_snapshots()
{
    [ "$(snapshots)" -gt $((before + 2)) ]
}

# The first worker is to move to a target that has room for a number of bytes: for nothing; for the first one's contents
# but not for its snapshot; for both but not for the copies that the second one keeps there; or for everything. It moves
# or stays, and then a worker with contents is lost.
newcomer_has_room()
{
    room=$1 lost=$2
    by="vocl run --spare 1"
    shift 2
    begin 2 VOCL_RECOVER_LOG=256M VOCL_RECOVER_EVERY=10 MALLOC_ARENA_MAX=1 "$@"
    both_kept
    moved --to spare # now the third is the first, the first is the second, and the second, which has a device open, is spare
    first=$(nth 3) second=$(nth 1) spare=$(nth 2)
    limit "$spare" "$room"
    if timeout -k 10 300 vocl move "$(program_of "$kept")" --to spare > "$scratch/asked" 2>&1; then
        second=$first first=$spare
    fi
    tail -n 1 "$scratch/asked"
    had=$(replaced)
    [ "$lost" = first ] && lost=$first || lost=$second
    kill -KILL "$lost"
    wait_until more_replaced || failed "it is not replaced"
    ends_right "a newcomer with room for $room bytes: $*"
}

# Commands that wait for the program would be sent again to a target that has no room for the copies that the first
# worker holds: the session does not move.
gated_stays()
{
    by="vocl run --spare 1"
    begin 2 VOCL_RECOVER_LOG=256M MALLOC_ARENA_MAX=1 "$@"
    both_kept
    moved --to spare
    limit "$(nth 2)" 10000000
    gate
    timeout -k 10 300 vocl move "$(program_of "$kept")" --to spare > "$scratch/asked" 2>&1 && failed "it has moved"
    grep -q 'the contents that it keeps cannot be kept there' "$scratch/asked" || failed "why it stays"
    ends_right "gated, and no room: $*"
}

# The workers are on another host, which the program's contents do not leave: one is lost, and the other once two
# workers hold copies again.
on_another_host()
{
    by=$two
    begin 2 "$@"
    both_kept
    lose first
    lose first
    lose last
    ends_right "on another host: $*"
}

# One worker is on this host and one on another, which fails with everything it holds; the worker here has copies.
host_is_gone()
{
    printf '#!/bin/sh\n[ ! -e "%s/broken" ] || exit 7\nexec "$@"\n' "$scratch" > "$scratch/through"
    chmod +x "$scratch/through"
    by="$two --embedded --cable $scratch/cable"
    about_silence
    begin 2 RSH_THROUGH="$scratch/through" "$@"
    both_kept
    moved --to 10.93.0.2
    touch "$scratch/broken" # so that who comes comes here
    lose first
    read -r cable rest < "$scratch/cable"
    had=$(replaced) whole=$(by_two)
    kill -STOP "$cable"
    wait_until more_replaced || failed "what was there is not replaced"
    wait_until again_by_two || failed "what was kept there is not kept anew"
    kill -CONT "$cable"
    ends_right "a host is gone: $*"
}

beside all_go_gated
beside lost_while_others_go
case $SANITIZER in
address | thread) ;; # addresses are not to be limited then
*)
    beside keeper_is_full
    beside gated_stays
    for room in 10000000 50000000 85000000; do
        beside newcomer_has_room $room first
        beside newcomer_has_room $room second
    done
    ;;
esac
if [ -e "$VOCL_LIBEXECDIR/vocl-tls.so" ]; then
    beside all_go_gated VOCL_NETWORK=tls
    if [ "$(status_of "$two" --embedded -- true 2> "$scratch/err")" != 77 ]; then
        beside on_another_host
        beside on_another_host VOCL_NETWORK=tls
        beside host_is_gone
    fi
fi
well_beside
