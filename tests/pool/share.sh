#!/bin/sh
# Sessions share a device: each gets its part of the time, by its weight; an idle session's part goes to the others.
. "$(dirname "$0")/one-lib.sh"
alone
[ "${SANITIZER:-no}" = no ] || skip "sanitizers take the time"
make_pool here
start_daemon
VOCL_POOL=$scratch/pool
export VOCL_POOL

all_accounted()
{
    [ "$(wc -l < "$scratch/accounting")" -ge "$1" ]
}

# begin SHARE LENGTH [IDLE]: starts a program that begins together with the others, see burn.c; adds it to $running
begin()
{
    vocl run --share "$1" -- "$top_builddir/tests/pool/burn" "$2" "${3:-0}" 0 wait < "$scratch/wait" >> "$scratch/out" \
        2>> "$scratch/err" &
    running="$running $!"
}
all_ready()
{
    [ "$(grep -c ready "$scratch/out")" = "$1" ]
}
# together COMMAND: starts programs, which begin when all are ready
together()
{
    : > "$scratch/accounting"
    : > "$scratch/out"
    mkfifo "$scratch/wait"
    exec 5<> "$scratch/wait"
    running=
    "$@" 5>&-
    wait_until all_ready "$(echo $running | wc -w)" || fail "not all begin: $(cat "$scratch/err" "$scratch/log")"
    exec 5>&-
    rm "$scratch/wait"
}

# kept SECONDS SHARE...: whether sessions with these weights get these parts (in per cent) of the device's time
begin_parts()
{
    for share; do begin "$share" "$seconds"; done
}
kept()
{
    seconds=$1
    shift
    together begin_parts "$@"
    for process in $running; do
        wait $process || fail "shares $*: $(cat "$scratch/err")"
    done
    wait_until all_accounted $# || fail "not all are accounted for"
    sed 's/.*"device_seconds":\([0-9.]*\).*/\1/' "$scratch/accounting" | sort -n > "$scratch/had"
    printf '%s\n' "$@" | sort -n | paste - "$scratch/had" | awk '
        { share[NR] = $1; had[NR] = $2; all += $2 }
        END {
            for (i = 1; i <= NR; i++) {
                part = 100 * had[i] / all
                printf "share %d: %.1f per cent of %.1f s\n", share[i], part, all
                if (part < share[i] - 5 || part > share[i] + 5)
                    bad = 1
            }
            exit bad
        }'
}
# parts SECONDS SHARE...: so at least once in three tries, as other processes take time from some of them
parts()
{
    kept "$@" || kept "$@" || kept "$@" || fail "shares $* are not kept"
}
parts 5 30 70
parts 3 50 50
parts 8 10 20 30 40

# One session is idle, but open: the other two get all the time.
begin_beside_idle()
{
    begin 80 0.1 "$scratch/enough"
    begin 10 5
    begin 10 5
}
together begin_beside_idle
idle=${running% * *}
for process in ${running#$idle}; do
    wait $process || fail "beside an idle session"
done
touch "$scratch/enough"
wait $idle || fail "the idle session"
wait_until all_accounted 3 || fail "not all are accounted for"
sed 's/.*"device_seconds":\([0-9.]*\).*/\1/' "$scratch/accounting" | sort -n | awk '
    { had[NR] = $1; print $1 " s" }
    END { exit !(had[2] > 1.8 && had[3] > 1.8) }' || fail "an idle session's part is lost"
kill $daemon
wait $daemon
exit 0
