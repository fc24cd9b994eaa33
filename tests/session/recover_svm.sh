#!/bin/sh
# Lost workers are replaced with their shared virtual memory, at the same addresses, and with the contents of pipes:
# programs print the same as natively, with one worker and with several, also while they move and are suspended.
# SEEDS=30 runs 30 random programs, from FIRST on. LOGS: the folder for the log of a program that fails.
. "$(dirname "$0")/../lib.sh"
. "$top_srcdir/tests/session/recover-lib.sh"
mapped=$top_builddir/tests/session/mapped_svm
moved=$top_builddir/tests/session/moved_svm
piped=$top_builddir/tests/session/piped
newer=$top_builddir/tests/drivers/.libs/newer.so
two=$top_srcdir/tests/net/two-hosts
at_most 1200
SANITIZED= # addresses are not to be limited then
case $SANITIZER in
address | thread) SANITIZED=1 ;;
esac

# mixed SEED: draws how the program runs and which workers are killed
mixed()
{
    draw=$(($1 * 69621 + 13))
    below 2 # the first has little of the seed
    below 2
    workers=$((drawn + 1))
    below 2
    how="VOCL_SHARE=$drawn"
    below 2
    [ $drawn = 0 ] || [ ! -e "$VOCL_LIBEXECDIR/vocl-tls.so" ] || how="$how VOCL_NETWORK=tls"
    below 3
    how="$how VOCL_RECOVER_LOG=$((drawn * drawn * 900 + 100))K"
    below 4
    [ $drawn != 0 ] || how="$how VOCL_MOVE_EVERY=110"
    below 4
    [ $drawn != 0 ] || how="$how VOCL_SUSPEND_EVERY=170"
    draw_harm first last all last
    survives_well "$harm" "$how vocl run --workers $workers" "$mapped" "$1" "${COMMANDS:-5000}"
}

for seed in $(seq "${FIRST:-1}" $((${FIRST:-1} + ${SEEDS:-$(rounds 3)} - 1))); do
    beside mixed "$seed"
done
[ -z "$SEEDS" ] || { well_beside && exit 0; }

# A list whose items are allocations of their own, and large allocations that are written once, with and without
# snapshots
listed()
{
    survives "$@" "$moved" "$scratch/enough"
    grep -qx right "$scratch/out" || fail "a list: $(cat "$scratch/out")"
}
beside listed "last 0.5 last 0.4" "VOCL_RECOVER_LOG=300K vocl run"
beside listed "last 0.6" "VOCL_SHARE=0 vocl run"

# Workers also hold saved copies of buffers.
beside survives_well "last 0.4" "VOCL_RECOVER_TO=node VOCL_SHARE=0 VOCL_RECOVER_LOG=300K vocl run --workers 2" "$mapped" 9 5000

# The worker is on another host.
if [ -e "$VOCL_LIBEXECDIR/vocl-tls.so" ] && [ "$(status_of "$two" -- true 2> /dev/null)" != 77 ]; then
    beside survives_well "last 0.4 last 0.3" "VOCL_RECOVER_LOG=1M $two" "$mapped" 8 3000
fi

# An allocation that failed on a worker is not requested again from its replacement.
refused()
{
    ulimit -S -v 5000000
    survives_well "last 0.4" "VOCL_SHARE=0 vocl run" "$mapped" 7 2000 6
}
[ -n "$SANITIZED" ] || beside refused

# The contents of pipes are restored as long as the journal reaches back to when the pipes became arguments of kernels.
piped()
{
    mkdir "$scratch/vendors"
    echo "$newer" > "$scratch/vendors/newer.icd"
    export OCL_ICD_VENDORS="$scratch/vendors" VOCL_TEST_PIPES=1
    survives_well "$@"
}
kept_short()
{
    piped "last 0.3 last 0.2" "VOCL_SHARE=0 VOCL_RECOVER_LOG=16K vocl run" "$piped" 600 1000
    [ "$(snapshots)" -gt 0 ] || fail "no snapshot was taken between pipes"
}
if [ -e "$newer" ]; then
    beside piped "last 0.3 last 0.2" "VOCL_SHARE=1 vocl run" "$piped" 500 1000 old
    beside piped "last 0.3 last 0.2" "VOCL_SHARE=0 vocl run" "$piped" 500 1000 old
    beside kept_short
fi
well_beside
all=$(cat "$scratch"/*/replaced | awk '{ all += $1 } END { print all }')
[ "$all" -gt 6 ] || fail "hardly anything was replaced: $all"

# ---- sessions that cannot be recreated: the loss is an error, as without recovery, and the log has the reason ----

# begin HOW PROGRAM...: starts the program with these settings
begin()
{
    how=$1
    shift
    : > "$scratch/out"
    : > "$scratch/err"
    env "$mark" VOCL_RECOVER=replay VOCL_LOG=debug timeout -k 10 600 env $how vocl run -- "$@" > "$scratch/out" 2> "$scratch/err" &
    program=$!
}

# lost REASON: the worker is killed, the program notices, and the log has REASON
lost()
{
    kill -KILL $(one_of all)
    touch "$scratch/one" "$scratch/two"
    wait $program && fail "$1: it has survived: $(cat "$scratch/out")"
    grep -q "not replaced: .*$1" "$scratch/err" || fail "not $1: $(grep error: "$scratch/err")"
    wait_until none_left "$mark" || fail "left after $1: $(session_processes "$mark")"
    grep "not replaced" "$scratch/err"
    rm -f "$scratch/one" "$scratch/two"
}

launcher()
{
    for process in $(session_processes "$mark"); do
        grep -qx vocl-launcher "/proc/$process/comm" && echo "$process"
    done
}

# Later workers have a smaller limit, and so not the same addresses.
if [ -z "$SANITIZED" ] && command -v prlimit > /dev/null; then
    begin VOCL_SHARE=0 "$mapped" 7 300000 3
    wait_until grep -q 'to be had' "$scratch/err" || fail "no memory was asked for: $(cat "$scratch/out")"
    if grep -q '3 of 3' "$scratch/err"; then
        prlimit --as=5000000000: --pid "$(launcher)"
        lost "shared virtual memory at the old addresses"
    else
        kill $program
        wait $program
        wait_until none_left "$mark" || fail "left: $(session_processes "$mark")"
    fi
fi

[ -e "$newer" ] || exit 0
mkdir "$scratch/vendors"
echo "$newer" > "$scratch/vendors/newer.icd"
export OCL_ICD_VENDORS="$scratch/vendors"

# A pipe lives longer than the journal can be kept.
begin "VOCL_TEST_PIPES=1 VOCL_SHARE=0 VOCL_RECOVER_LOG=4K" "$piped" 20000 1000 old
wait_until grep -q 'not replaced: .*pipe' "$scratch/err" || fail "a pipe: all is kept: $(tail -n 5 "$scratch/err")"
lost pipe

# stays HOW WHAT REASON: the program stays with WHAT is lost for REASON
stays()
{
    begin "$1" "$top_builddir/tests/session/stays" "$scratch/one" "$scratch/two" "$2"
    wait_until grep -q ready "$scratch/out" || fail "$2: $(cat "$scratch/out" "$scratch/err")"
    lost "$3"
}
stays VOCL_SHARE=1 usm "unified shared memory"
# Sanitized processes all have their memory at the same addresses, so that no range is free in both.
[ -n "$SANITIZED" ] || stays VOCL_TEST_GPU=1 svm "shared virtual memory at an address that the native OpenCL chose"
