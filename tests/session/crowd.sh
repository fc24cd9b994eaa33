#!/bin/sh
# A session with more workers than a machine word has bits: a context over all of them works, and when workers are lost
# no process is left.
. "$(dirname "$0")/../lib.sh"

many=${VOCL_CROWD:-70}
crowd=$top_builddir/tests/session/crowd
mark=VOCL_TEST_MARK=$$

wanted=$("$crowd") || fail "natively: $wanted"
[ "$wanted" = "1 devices" ] || fail "natively: $wanted"

# The soft limit of open files is low; the process that starts the workers raises it.
(
    ulimit -S -n 1024
    env "$mark" VOCL_LOG=info vocl run --workers "$many" -- "$crowd" > "$scratch/out" 2> "$scratch/err"
) || fail "$many workers: $(cat "$scratch/out" "$scratch/err")"
[ "$(cat "$scratch/out")" = "$many devices" ] || fail "$many workers: $(cat "$scratch/out")"
wait_until none_left "$mark" || fail "left of $many workers: $(session_processes "$mark")"

# Without a sanitizer the workers begin as copies of one process; they are children of the launcher.
[ "${SANITIZER:-no}" != no ] || grep -q "$many workers begin as copies" "$scratch/err" || fail "they do not begin as copies"

# Each worker has descriptors shared with the program; a hard limit that is too low is reported.
if (ulimit -n 192 && env "$mark" vocl run --workers "$many" -- "$crowd" > "$scratch/out" 2>&1); then
    fail "$many workers with 192 files"
fi
grep -q 'Too many open files' "$scratch/out" || fail "what there is too little of is not said: $(cat "$scratch/out")"
wait_until none_left "$mark" || fail "left of too many: $(session_processes "$mark")"

# While the program waits, a few workers, all workers, or the launcher are killed: the program and the workers end.
begin_crowd()
{
    mkfifo "$scratch/end.$1"
    env "$mark" vocl run --workers "$many" -- "$crowd" 600 < "$scratch/end.$1" > "$scratch/out.$1" 2> "$scratch/err.$1" &
    program=$!
    exec 8> "$scratch/end.$1"
    wait_until grep -q devices "$scratch/out.$1" || fail "$1: it does not start: $(cat "$scratch/err.$1")"
}

end_crowd()
{
    echo > "$scratch/line"
    cat "$scratch/line" >&8
    exec 8>&-
    wait "$program" || fail "$1: status $? of the program: $(cat "$scratch/out.$1" "$scratch/err.$1")"
    wait_until none_left "$mark" || fail "$1: left: $(session_processes "$mark")"
}

begin_crowd some
for worker in $(session_workers "$mark"); do
    parent=$(sed -n 's/^PPid:[^0-9]*//p' "/proc/$worker/status")
    [ "$(cat "/proc/$parent/comm")" = vocl-launcher ] || fail "worker $worker is a child of $(cat "/proc/$parent/comm")"
done
kill -9 $(session_workers "$mark" | head -n 10)
end_crowd some
begin_crowd all
kill -9 $(session_workers "$mark")
end_crowd all
begin_crowd launcher
for process in $(session_processes "$mark"); do
    if grep -qx vocl-launcher "/proc/$process/comm"; then
        kill -9 "$process"
    fi
done
end_crowd launcher
