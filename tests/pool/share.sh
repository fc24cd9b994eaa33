#!/bin/sh
# A device that sessions share: each has its part of the time, by its weight; one that does nothing leaves its part to the
# others.
. "$(dirname "$0")/one-lib.sh"
[ "${SANITIZER:-no}" = no ] || skip "sanitizers take the time"
make_pool here
start_daemon
VOCL_POOL=$scratch/pool
export VOCL_POOL

all_accounted()
{
    [ "$(wc -l < "$scratch/accounting")" -ge "$1" ]
}

# parts SECONDS SHARE...: whether sessions with these weights have these parts (in per cent) of the device's time
parts()
{
    seconds=$1
    shift
    : > "$scratch/accounting"
    running=
    for share; do
        vocl run --share "$share" -- "$top_builddir/tests/pool/burn" "$seconds" > /dev/null 2>> "$scratch/err" &
        running="$running $!"
    done
    for process in $running; do
        wait $process || fail "shares $*: $(cat "$scratch/err")"
    done
    wait_until 10 all_accounted $# || fail "not all are accounted for"
    sed 's/.*"device_seconds":\([0-9.]*\).*/\1/' "$scratch/accounting" | sort -n > "$scratch/had"
    printf '%s\n' "$@" | sort -n | paste - "$scratch/had" | awk '
        { share[NR] = $1; had[NR] = $2; all += $2 }
        END {
            for (i = 1; i <= NR; i++) {
                part = 100 * had[i] / all
                printf "share %d: %.1f per cent of %.1f s\n", share[i], part, all
                if (part < share[i] - 3 || part > share[i] + 3)
                    bad = 1
            }
            exit bad
        }' || fail "shares $* are not kept"
}
parts 10 30 70
parts 10 50 50
parts 10 10 20 30 40

# One is idle, but open: the other two have all
: > "$scratch/accounting"
vocl run --share 80 -- "$top_builddir/tests/pool/burn" 0.1 8 > /dev/null &
idle=$!
sleep 1
vocl run --share 10 -- "$top_builddir/tests/pool/burn" 5 > /dev/null &
first=$!
vocl run --share 10 -- "$top_builddir/tests/pool/burn" 5 > /dev/null &
wait $first $! $idle || fail "beside an idle session"
wait_until 10 all_accounted 3 || fail "not all are accounted for"
sed 's/.*"device_seconds":\([0-9.]*\).*/\1/' "$scratch/accounting" | sort -n | awk '
    { had[NR] = $1; print $1 " s" }
    END { exit !(had[2] > 1.8 && had[3] > 1.8 && had[1] < 0.5) }' || fail "an idle session's part is lost"
kill $daemon
wait $daemon
exit 0
