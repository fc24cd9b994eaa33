#!/bin/sh
# Workers that are killed at any moment while their session starts are replaced if VOCL_RECOVER is set: the program
# notices nothing, and nothing is left behind.
. "$(dirname "$0")/../lib.sh"
need_whole_mpi # what failed once is another's namespace
program=$top_builddir/tests/parity/vector_add # whose workers tell each other nothing: that could not be told again
mark=VOCL_TEST_MARK=$$
at_most 600

# Workers are as usual, except for one: it kills itself at its start, or after a number of seconds.
link_libexec "$scratch/libexec" "$(cat <<END
if mv "$scratch/doomed" "$scratch/dies" 2> /dev/null; then
    read -r delay < "$scratch/dies"
    [ "\$delay" != 0 ] || kill -KILL \$\$
    (sleep "\$delay"; kill -KILL \$\$) > /dev/null 2>&1 &
fi
END
)"

# early DELAY SETTING...: runs a session of which one worker is killed DELAY seconds after its start
early()
{
    delay=$1
    shift
    echo "$delay" > "$scratch/doomed"
    env "$mark" VOCL_RECOVER=replay VOCL_LOG=debug VOCL_LIBEXECDIR="$scratch/libexec" "$@" timeout -k 10 300 vocl run -- "$program" \
        > "$scratch/out" 2> "$scratch/err" || fail "$* after $delay s: status $?: $(tail -n 30 "$scratch/err")"
    diff "$scratch/native" "$scratch/out" || fail "$* after $delay s: it prints something else"
    wait_until none_left "$mark" || fail "$*: left: $(session_processes "$mark")"
    echo "$delay s, $*: $(grep -h 'starts once more\|is worker . now' "$scratch/err" | sed 's/^.*warn: //')"
    grep -ho 'starts once more\|is worker . now' "$scratch/err" | sed 's/worker ./another/' >> "$scratch/said"
}

# one_of ROUND MOMENT...: prints the moment for that round
one_of()
{
    shift $((($1 - 1) % ($# - 1) + 1))
    echo "$1"
}
moments="0.1 0.03 0.2 0.06 0.01 0.15 0.3"

network=mpi
[ ! -e "$VOCL_LIBEXECDIR/vocl-tls.so" ] || network="mpi tls"
for carried in $network; do
    for workers in 1 2; do
        VOCL_WORKERS=$workers VOCL_POOL=none vocl run -- "$program" > "$scratch/native" 2> "$scratch/err" || fail "undisturbed: $(cat "$scratch/err")"
        early 0 VOCL_NETWORK=$carried VOCL_WORKERS=$workers
        for round in $(seq "$(rounds 1)"); do
            early "$(one_of $round $moments)" VOCL_NETWORK=$carried VOCL_WORKERS=$workers
        done
    done
done
sort "$scratch/said" | uniq -c
grep -q 'starts once more' "$scratch/said" || fail "no worker was lost before it had come"
# Without recovery the loss is an error, as always.
echo 0 > "$scratch/doomed"
VOCL_LIBEXECDIR="$scratch/libexec" timeout -k 10 300 vocl run -- "$program" > "$scratch/out" 2> "$scratch/err" && fail "a lost worker is no error"
grep -q 'no session\|worker 1 on .* is lost: ' "$scratch/err" || fail "no reason is told: $(cat "$scratch/err")"
