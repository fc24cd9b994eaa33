#!/bin/sh
# A worker gets no more memory, because of its control group or of its process's limit: the program gets an error, the
# daemon continues, nothing is left, and the next session gets its memory.
. "$(dirname "$0")/one-lib.sh"
[ "${SANITIZER:-no}" = no ] || skip "the sanitizers' memory is not bounded so"
need prlimit util-linux
export POCL_CACHE_DIR="${POCL_CACHE_DIR:-$scratch/pocl}"
make_pool here 'worker-memory = 400000000;'
start_daemon
export VOCL_POOL="$scratch/pool"
eat=$top_builddir/tests/pool/eat
group=
end_daemons()
{
    kill -9 $daemon 2> /dev/null
    [ -z "$group" ] || rmdir "$group" 2> /dev/null
    rm -rf "$scratch"
}
trap end_daemons EXIT

# begin: starts a session whose program waits; sets $program, $worker
begin()
{
    rm -f "$scratch/wait" "$scratch/out"
    mkfifo "$scratch/wait"
    "$@" vocl run -- "$eat" 1600 wait < "$scratch/wait" > "$scratch/out" 2> "$scratch/err" &
    program=$!
    exec 5> "$scratch/wait"
    wait_until grep -q ready "$scratch/out" || fail "no session: $(cat "$scratch/out" "$scratch/err" "$scratch/log")"
    worker=$(sed 's/.*"pid":\([0-9]*\).*/\1/' "$scratch"/state/session-*)
}
nothing_left()
{
    [ -z "$(ls "$scratch"/state/session-* 2> /dev/null)" ] && ! kill -0 "$worker" 2> /dev/null
}
# finish WHAT: the program ends by itself, with an error of memory, of resources, or of a lost device
finish()
{
    exec 5>&-
    ended()
    {
        grep -q '^after' "$scratch/out"
    }
    wait_until ended || fail "$1: the program does not end: $(cat "$scratch/out" "$scratch/err" "$scratch/log")"
    wait $program || fail "$1: the program ends with $?: $(cat "$scratch/out" "$scratch/err")"
    echo "$1: $(tail -n 2 "$scratch/out" | paste -s -d ';')"
    grep -q '^ate [0-9]* MiB, then -\([2456]\|14\)$' "$scratch/out" || fail "$1: $(cat "$scratch/out" "$scratch/err")"
    kill -0 $daemon || fail "$1: the daemon has ended: $(cat "$scratch/log")"
    wait_until nothing_left || fail "$1: left: $(ls "$scratch/state"; cat "$scratch/log")"
    vocl run --wait 20 -- "$eat" 32 > "$scratch/out" 2>&1 || fail "$1: the next session: $(cat "$scratch/out")"
    [ "$(tail -n 1 "$scratch/out")" = "after: 0" ] || fail "$1: the next session: $(cat "$scratch/out")"
}

# The process may not map more memory. (Memory that it shares with the program, VOCL_SHARE, is mapped already.)
begin env VOCL_SHARE=0
size=$(($(cut -d' ' -f1 /proc/"$worker"/statm) * 4096))
prlimit --pid "$worker" --as=$((size + 400000000)) || fail "prlimit"
finish "a process that may have no more"

# The control group has no more memory: the kernel kills the worker. The group is the daemon's, or one of the test's.
for share in 0 1; do
    begin env VOCL_SHARE=$share
    path=$(awk '/ - cgroup2 / { print $5; exit }' /proc/self/mountinfo)$(sed -n 's/^0:://p' "/proc/$worker/cgroup")
    old=$(awk '/ - cgroup .*memory/ { print $5; exit }' /proc/self/mountinfo)
    if [ "$(cat "$path/memory.max" 2> /dev/null)" = 399998976 ]; then
        finish "the session's control group, VOCL_SHARE=$share"
    elif [ -n "$old" ] && mkdir -p "$old/vocl-test-$$" 2> /dev/null; then
        group=$old/vocl-test-$$
        echo 400000000 > "$group/memory.limit_in_bytes" && echo "$worker" > "$group/cgroup.procs" || fail "$group"
        finish "a control group, VOCL_SHARE=$share"
    else
        kill $program
        echo "no control group bounds memory here: that is not tried"
        break
    fi
done
grep 'Sanitizer' "$scratch/log" && fail "the sanitizer found something"
exit 0
