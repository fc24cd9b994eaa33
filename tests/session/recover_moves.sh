#!/bin/sh
# A worker is lost while another one is about to change places with the target of a move, again and again, in random
# graphs of commands over both. SEEDS=30 runs so many, from FIRST on. LOGS: the folder where what one that fails has
# logged stays.
. "$(dirname "$0")/../lib.sh"
. "$top_srcdir/tests/session/recover-lib.sh"
losses=$(rounds 3)
at_most 1800

ended_moves()
{
    grep -c 'is worker [0-9]* now\|stays where it is' "$scratch/err"
}
one_more_ended()
{
    [ "$(ended_moves)" -gt "$seen" ]
}

effect() { :; } # what is lost may be nothing but the spare worker

# harm: each time a move has come so far, and waits there. It goes on at once: that a worker is lost is noticed before the
# change, during it, or after it.
harm()
{
    wait_until grep -q 'all devices are told;' "$scratch/err" || return 0
    for loss in $(seq $losses); do
        below 3
        [ $loss = 1 ] || held_at change
        held || break
        seen=$(ended_moves)
        kill -KILL "$(nth $((drawn + 1)))" 2> /dev/null
        release
        wait_until one_more_ended || break
    done
}

# moving SEED: how the workers are reached and which ones are lost is drawn
moving()
{
    draw=$(($1 * 48271 + 17))
    below 3
    how=VOCL_SHARE=$((drawn % 2))
    [ $drawn != 2 ] || [ ! -e "$VOCL_LIBEXECDIR/vocl-tls.so" ] || how="$how VOCL_NETWORK=tls"
    survives "one of three" "VOCL_MOVE_EVERY=60 $(held_at change) $how vocl run --workers 2 --spare 1" \
        "$top_builddir/tests/session/graph" "$1" "${COMMANDS:-1000}" "$scratch/enough"
}

for seed in $(seq "${FIRST:-1}" $((${FIRST:-1} + ${SEEDS:-3} - 1))); do
    beside moving "$seed"
done
well_beside
