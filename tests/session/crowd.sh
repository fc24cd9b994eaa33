#!/bin/sh
# More workers than a word has bits: a context over all of them, and nothing left of any when they are lost.
. "$(dirname "$0")/../lib.sh"

many=${VOCL_CROWD:-70}
crowd=$top_builddir/tests/session/crowd
mark=VOCL_TEST_MARK=$$

wanted=$("$crowd") || fail "natively: $wanted"
[ "$wanted" = "1 devices" ] || fail "natively: $wanted"

# Where not many files may be open unless who starts the workers asks for it.
(
    ulimit -S -n 1024
    env "$mark" VOCL_LOG=info vocl run --workers "$many" -- "$crowd" > "$scratch/out" 2> "$scratch/err"
) || fail "$many workers: $(cat "$scratch/out" "$scratch/err")"
[ "$(cat "$scratch/out")" = "$many devices" ] || fail "$many workers: $(cat "$scratch/out")"
wait_until none_left "$mark" || fail "left of $many workers: $(session_processes "$mark")"

# They begin as copies of one process, but with a sanitizer, and are children of who started it.
[ "${SANITIZER:-no}" != no ] || grep -q "$many workers begin as copies" "$scratch/err" || fail "they do not begin as copies"

# Where too few may be open that is said: each worker has some with the program.
if (ulimit -n 192 && env "$mark" vocl run --workers "$many" -- "$crowd" > "$scratch/out" 2>&1); then
    fail "$many workers with 192 files"
fi
grep -q 'Too many open files' "$scratch/out" || fail "what there is too little of is not said: $(cat "$scratch/out")"
wait_until none_left "$mark" || fail "left of too many: $(session_processes "$mark")"

# A few of them are killed, all of them, or who has started them, while the program waits: it ends, and they do.
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
