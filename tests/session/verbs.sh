#!/bin/sh
# One barrier, every verb (verbs-lib.sh): where a parity program has most of its objects, two of these happen to it: it
# loses its worker, moves, is suspended, is saved. It prints the same as natively. With VOCL_TEST_ROUNDS > 1 also each
# verb by itself, all pairs, restored, with two workers, without recovery, and with shared memory and without.
. "$(dirname "$0")/../lib.sh"
. "$top_srcdir/tests/session/verbs-lib.sh"
at_most 900
once="spare here suspend doze restore"

# in_pairs: applies each verb after each other one
in_pairs()
{
    for first in here suspend kill save; do
        for second in here suspend kill restore doze; do
            verbs "$1" --recover -- $first $second
        done
    done
}

stress()
{
    for share in VOCL_SHARE=0 VOCL_SHARE=1; do
        for verb in $once; do
            verbs $share --spare=1 -- $verb
        done
        in_pairs $share
        verbs $share --workers=2 --recover -- kill here suspend restore doze
    done
}

# each PROGRAM SHARE VERB...: runs the program with these verbs
each()
{
    prepare "$1"
    [ $native != 77 ] || { echo "$name: $(tail -n 1 "$scratch/native")"; return 0; }
    share=$2
    shift 2
    verbs "$share" --recover -- "$@"
    [ "$(rounds 1)" = 1 ] || stress
}

# The verbs that a program gets, and whether memory is shared, alternate.
number=0
for program in $(cd "$top_builddir/tests/parity" && ls | grep -v '[-.]'); do
    number=$((number + 1))
    case $((number % 4)) in
    0) these="kill restore" ;;
    1) these="suspend kill" ;;
    2) these="here save" ;;
    3) these="kill doze" ;;
    esac
    beside each "$top_builddir/tests/parity/$program" VOCL_SHARE=$((number / 4 % 2)) $these
done
well_beside
