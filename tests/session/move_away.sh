#!/bin/sh
# Sessions that began on their program's host move to another host, back, and there again, over MPI, TLS and pairs of
# sockets, directly and by ssh alone. The memory shared by program and worker is left behind, and programs see the same
# as natively. If the target is killed in whichever phase, ssh fails, or the network is cut, the program continues where
# it was, and a later move succeeds. No socket listens on either host afterwards, and nothing is left behind.
. "$(dirname "$0")/../lib.sh"
[ -e "$VOCL_LIBEXECDIR/vocl-tls.so" ] || skip "VOCL was built without TLS"
tests=$(dirname "$VOCL_LIBEXECDIR")/tests
two=$top_srcdir/tests/net/two-hosts
away=$top_builddir/tests/session/away
stays=$top_builddir/tests/session/stays
parity=$top_builddir/tests/parity
far=10.93.0.2
mark=VOCL_TEST_MARK=$$
at_most 900
[ "$(status_of "$two" --embedded -- true 2> "$scratch/err")" != 77 ] || skip "$(cat "$scratch/err")"
unshare --pid --fork --kill-child --mount-proc true 2> "$scratch/err" || skip "$(cat "$scratch/err")"

# begin OPTIONS PROGRAM...: starts the program with these options of two-hosts, and waits until it prints "ready"; $pid
# is its PID
begin()
{
    options=$1
    shift
    : > "$scratch/out"
    env "$mark" VOCL_LOG=debug timeout -k 10 800 "$two" --embedded $options -- "$@" > "$scratch/out" 2> "$scratch/err" &
    running=$!
    wait_until grep -q ready "$scratch/out" || fail "$*: $(tail -n 5 "$scratch/out" "$scratch/err")"
    pid=$(program_of "$1")
}

# goes PLACE...: moves the program to these places, one after the other
goes()
{
    for place in "$@"; do
        timeout -k 5 300 vocl move "$pid" --to "$place" > "$scratch/asked" 2>&1 ||
            fail "to $place: $(cat "$scratch/asked"; tail -n 20 "$scratch/out" "$scratch/err")"
        moves=$((moves + 1))
    done
}
moves=0

# refuses PLACE PATTERN: the program does not move, and the message matches
refuses()
{
    ! timeout -k 5 300 vocl move "$pid" --to "$1" > "$scratch/asked" 2>&1 || fail "moved: $(cat "$scratch/asked")"
    grep -q -- "$2" "$scratch/asked" || fail "not $2: $(cat "$scratch/asked")"
    wait_until one_worker || fail "workers that were left: $(session_processes "$mark")"
    tail -n 1 "$scratch/asked"
}
# Whether no socket listens in the network namespaces of the program and of its workers.
nothing_listens()
{
    command -v ss nsenter > /dev/null || return 0
    for process in $pid $(session_workers "$mark"); do
        nsenter -t "$process" -n ss -Hltn > "$scratch/listens" 2> /dev/null
        [ ! -s "$scratch/listens" ] || return 1
    done
}

finish()
{
    touch "$scratch/enough" "$scratch/one" "$scratch/two"
    wait $running || fail "status $?: $(tail -n 5 "$scratch/out" "$scratch/err")"
    grep -q '^right' "$scratch/out" || fail "$(cat "$scratch/out")"
    wait_until none_left "$mark" || fail "left: $(session_processes "$mark")"
    echo "$moves moves: $(tail -n 1 "$scratch/out")"
}

# again NETWORK OPTIONS [host]: the session moves back and forth
again()
{
    export VOCL_NETWORK=$1
    begin "$2" "$away" "$scratch/enough" ${3:+"$3"}
    goes $far here $far
    wait_until nothing_listens || fail "listens: $(cat "$scratch/listens")"
    goes here $far
    wait_until one_worker || fail "workers that were left: $(session_processes "$mark")"
    goes here
    finish
}

# Other workers, on both hosts, beside the one that moves
several()
{
    export VOCL_NETWORK=$1
    begin "--workers 3" "$away" "$scratch/enough"
    goes 10.93.0.3 10.93.0.2 here 10.93.0.4
    finish
}
several_kept()
{
    export VOCL_RECOVER=replay
    several mpi
}

# Moves the program back and forth while it runs.
mover()
{
    while [ ! -e "$scratch/ended" ]; do
        for place in $far here; do
            pid=$(program_of "$1")
            [ -z "$pid" ] || timeout -k 5 200 vocl move "$pid" --to $place 2>&1
            sleep 0.2
        done
    done
}

fine='over shared virtual memory\|^capabilities\|^fine grain'
# same METHOD PROGRAM: prints the same as natively, except for fine-grained shared virtual memory, which exists only
# natively
same()
{
    timeout -k 10 400 "$2" > "$scratch/all" 2> /dev/null
    native=$?
    mover "$2" > "$scratch/moves" &
    mover=$!
    env "$mark" VOCL_LOG=info timeout -k 10 800 "$two" --embedded --interpose "$1" -- "$2" > "$scratch/out" 2> "$scratch/err"
    status=$?
    touch "$scratch/ended"
    wait $mover
    [ $status = $native ] || fail "$2: status $status, natively $native: $(tail -n 5 "$scratch/out" "$scratch/err")"
    grep -v "$fine" "$scratch/all" > "$scratch/native"
    grep -v "$fine" "$scratch/out" | diff "$scratch/native" - > "$scratch/diff" || fail "$2, $1: $(head -n 20 "$scratch/diff")"
    wait_until none_left "$mark" || fail "left: $(session_processes "$mark")"
    echo "$2, $1: $(grep -c 'is worker . now' "$scratch/err") moves"
}

# Prints the workers on the other host, which are in another network namespace.
far_worker()
{
    for process in $(session_workers "$mark"); do
        [ "$(readlink /proc/"$process"/ns/net)" = "$(readlink /proc/"$pid"/ns/net)" ] || echo "$process"
    done
}

# Whether the target has started, which is before the first phase.
target_there()
{
    target=$(far_worker)
    [ -n "$target" ]
}

# The target is killed at the beginning of the phase.
dies_at()
{
    export "$(held_at "$1")"
    begin "" "$away" "$scratch/enough" host
    vocl move "$pid" --to $far > "$scratch/asked" 2>&1 &
    asked=$!
    wait_until target_there || fail "no worker there: $(cat "$scratch/asked")"
    held || fail "no phase $1: $(tail -n 5 "$scratch/err" "$scratch/asked")"
    kill -KILL $target || fail "no worker there"
    wait_until loss_noticed || fail "killed at $1: $(tail -n 5 "$scratch/err")"
    release
    ! wait $asked || fail "killed at $1: moved: $(cat "$scratch/asked")"
    wait_until one_worker || fail "workers that were left: $(session_processes "$mark")"
    rounds=$(grep -c 'stays where it is' "$scratch/err")
    [ "$rounds" = 1 ] || fail "killed at $1: $(cat "$scratch/asked")"
    goes $far here
    finish
}

# The network is cut at the beginning of the phase, and restored afterwards.
cut_at()
{
    about_silence
    export "$(held_at "$1")"
    begin "--cable $scratch/cable" "$away" "$scratch/enough"
    vocl move "$pid" --to $far > "$scratch/asked" 2>&1 &
    asked=$!
    held || fail "no phase $1: $(tail -n 5 "$scratch/err" "$scratch/asked")"
    read -r cable rest < "$scratch/cable"
    kill -STOP "$cable"
    wait_until loss_noticed || fail "cut at $1: $(tail -n 5 "$scratch/err")"
    release
    ! wait $asked || fail "cut at $1: moved: $(cat "$scratch/asked")"
    kill -CONT "$cable"
    wait_until one_worker || fail "workers that were left: $(session_processes "$mark")"
    goes $far here
    finish
}

# The stand-in for ssh fails while a file exists.
with_broken()
{
    printf '#!/bin/sh\n[ ! -e "%s/broken" ] || exit 7\nexec "$@"\n' "$scratch" > "$scratch/through"
    chmod +x "$scratch/through"
    export RSH_THROUGH=$scratch/through
}
no_ssh()
{
    with_broken
    begin "" "$away" "$scratch/enough"
    touch "$scratch/broken"
    refuses $far "ended with status 7"
    rm "$scratch/broken"
    goes $far here
    finish
}

# refused WHAT PATTERN: the program does not move while it has WHAT
refused()
{
    begin "" "$stays" "$scratch/one" "$scratch/two" "$1"
    refuses $far "$2"
    finish
}
# A session that is suspended on the other host is resumed there. A worker that is lost there is replaced there, or here
# if no worker can be started there.
suspended()
{
    begin "" "$away" "$scratch/enough" host
    goes $far
    timeout -k 5 200 vocl suspend "$pid" > "$scratch/asked" 2>&1 || fail "suspend: $(cat "$scratch/asked")"
    timeout -k 5 200 vocl resume "$pid" > "$scratch/asked" 2>&1 || fail "resume: $(cat "$scratch/asked")"
    wait_until one_worker || fail "workers that were left: $(session_processes "$mark")"
    [ -n "$(far_worker)" ] || fail "it came here"
    goes here
    finish
}
replaced_times()
{
    [ "$(replaced)" = "$1" ]
}
came_again()
{
    replaced_times "$1" && one_worker
}
# lose COUNT: kills the worker, and waits until COUNT workers have been replaced in all
lose()
{
    wait_until one_worker || fail "no worker, or one that has not gone: $(session_processes "$mark")"
    kill -KILL $(session_workers "$mark") || fail "no worker"
    wait_until came_again "$1" || fail "nobody came again: $(tail -n 5 "$scratch/err")"
}
recovers()
{
    export VOCL_SHARE=0 VOCL_RECOVER=replay
    with_broken
    begin "" "$away" "$scratch/enough"
    goes $far
    [ -n "$(far_worker)" ] || fail "no worker there"
    lose 1
    goes here $far
    touch "$scratch/broken"
    lose 2
    [ -z "$(far_worker)" ] || fail "it came there"
    finish
}

# The same with memory that program and worker share until the move. The worker is lost before the move, on the other
# host, and back here, when some memory is shared and some is not.
recovers_shared()
{
    export VOCL_SHARE=1 VOCL_RECOVER=replay VOCL_RECOVER_LOG=$1
    begin "" "$away" "$scratch/enough" $2
    lose 1
    goes $far
    lose 2
    [ -n "$(far_worker)" ] || fail "it came here"
    goes here
    lose 3
    goes $far here $far
    lose 4
    lose 5
    finish
}

# At the beginning of the phase the target or the worker itself is lost: the journal that was kept for the one is right
# for the other.
lost_at()
{
    export VOCL_SHARE=1 VOCL_RECOVER=replay "$(held_at "$1")"
    begin "" "$away" "$scratch/enough"
    vocl move "$pid" --to $far > "$scratch/asked" 2>&1 &
    asked=$!
    wait_until target_there || fail "no worker there: $(cat "$scratch/asked")"
    held || fail "no phase $1: $(tail -n 5 "$scratch/err" "$scratch/asked")"
    case $2 in
    target) came=0 && kill -KILL $target ;;
    itself) came=1 && kill -KILL $(session_workers "$mark" | grep -vx "$target") ;;
    esac || fail "no worker"
    wait_until loss_noticed && wait_until replaced_times $came || fail "killed at $1: $(tail -n 5 "$scratch/err")"
    release
    ! wait $asked || fail "killed at $1: moved: $(cat "$scratch/asked")"
    wait_until came_again $came || fail "not one worker: $(session_processes "$mark"; tail -n 5 "$scratch/err")"
    lose $((came + 1))
    goes $far
    lose $((came + 2))
    finish
}

beside again mpi ""
beside again tls "" host
beside again mpi --apart host
beside again pairs "" host
beside again pairs --apart
beside several mpi
beside several pairs
beside several_kept
for program in $(few 3 host_pointer threads contents buffer_ops map_unmap many_copies); do
    beside same both "$parity/$program"
done
beside same icd "$parity/map_unmap"
beside same preload "$parity/host_pointer"
same_kept()
{
    export VOCL_RECOVER=replay VOCL_RECOVER_LOG=1M
    same both "$1"
}
for program in $(few 2 svm buffer_ops map_unmap contents); do
    beside same_kept "$parity/$program"
done
for phase in early copy objects contents change; do
    beside dies_at $phase
done
beside cut_at copy
beside cut_at contents
beside no_ssh
beside refused svm "shared virtual memory"
beside refused mapped "the program's memory is mapped"
beside suspended
beside recovers
beside recovers_shared 256M
beside recovers_shared 2M host
for phase in copy contents change; do
    beside lost_at $phase target
    beside lost_at $phase itself
done
well_beside
grep -hq '[1-9][0-9]* moves' "$scratch"/*/said || fail "no parity program has moved"
exit 0
