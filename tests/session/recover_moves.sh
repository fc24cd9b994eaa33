#!/bin/sh
# A worker is lost while another one is about to change places with the target of a move, again and again, in random
# graphs of commands over both. SEEDS=30 runs so many, from FIRST on. LOGS: the folder where what one that fails has
# logged stays.
. "$(dirname "$0")/../lib.sh"
. "$top_srcdir/tests/session/recover-lib.sh"
losses=8
at_most 1800

about_to_change()
{
    [ "$(grep -c 'move: change' "$scratch/err")" -gt "$seen" ]
}

# harm: each time a move has come so far. That is a moment only: who is lost is chosen before.
harm()
{
    wait_until grep -q 'all devices are told;' "$scratch/err" || return 0
    for loss in $(seq $losses); do
        below 3
        lost=$(nth $((drawn + 1)))
        seen=$(grep -c 'move: change' "$scratch/err")
        await_moment about_to_change
        kill -KILL $lost 2> /dev/null
        sleep 0.3
    done
}

# moving SEED: how the workers are reached and which ones are lost is drawn
moving()
{
    draw=$(($1 * 48271 + 17))
    below 3
    how=VOCL_SHARE=$((drawn % 2))
    [ $drawn != 2 ] || [ ! -e "$VOCL_LIBEXECDIR/vocl-tls.so" ] || how="$how VOCL_NETWORK=tls"
    survives "one of three" "VOCL_MOVE_EVERY=60 VOCL_MOVE_HOLD=change:30 $how vocl run --workers 2 --spare 1" \
        "$top_builddir/tests/session/graph" "$1" "${COMMANDS:-8000}"
}

for seed in $(seq "${FIRST:-1}" $((${FIRST:-1} + ${SEEDS:-3} - 1))); do
    beside moving "$seed"
done
well_beside
