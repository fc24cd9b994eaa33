#!/bin/sh
# Broken frames for a live worker: it ends the session, says why, does not crash, and nothing is left.
# VOCL_HOSTILE_ROUNDS: how many sessions with flipped bits.
. "$(dirname "$0")/../lib.sh"

mark=VOCL_TEST_MARK=$$
hostile=$top_builddir/tests/wire/hostile

# attack ARGUMENTS...: stores hostile's output in $result, and checks the worker's reaction.
attack()
{
    result=$(env "$mark" VOCL_LOG=info timeout 300 "$hostile" "$@" 2> "$scratch/err") || fail "$*: $(cat "$scratch/err")"
    wait_until none_left "$mark" || fail "left after $*: $(session_processes "$mark")"
    if grep -E 'Segmentation|Abort|Sanitizer|runtime error|Bus error|Floating|Illegal' "$scratch/err"; then
        fail "$*: $result: $(cat "$scratch/err")"
    fi
    case $result in
    *ended) grep -qE 'error: (refused|bulk data)' "$scratch/err" || fail "$*: ended without a reason: $(cat "$scratch/err")" ;;
    esac
}

attack frame "nothing wrong"
[ "$result" = "nothing wrong: goes on" ] || fail "$result"
"$hostile" names | tail -n +2 > "$scratch/names"
[ -s "$scratch/names" ] || fail "no cases"
while read -r name; do
    attack frame "$name" < /dev/null
    [ "$result" = "$name: ended" ] || fail "$result"
done < "$scratch/names"

seed=1
while [ $seed -le "${VOCL_HOSTILE_ROUNDS:-$(rounds 12)}" ]; do
    attack flips $seed
    seed=$((seed + 1))
done
