#!/bin/sh
# Programs whose session moves while they run print what they print natively: between two workers of this host, and of
# another host. PROGRAMS=all takes all parity programs, and WAYS names the ways ("here apart pool"); see moved for other
# programs.
. "$(dirname "$0")/../lib.sh"
at_most 900
case $PROGRAMS in
'') programs=$(few 5 buffer_ops callbacks events kernel_printf many_copies contents images map_unmap programs threads) ;;
all) programs=$(cd "$top_builddir/tests/parity" && ls | grep -v '[-.]') ;;
*) programs=$PROGRAMS ;;
esac
for program in $programs; do
    echo "$top_builddir/tests/parity/$program"
done > "$scratch/list"
moved=$(dirname "$0")/moved
for way in ${WAYS:-here apart}; do
    "$moved" --"$way" --every ${EVERY:-100} --list "$scratch/list" > "$scratch/said"
    status=$?
    cat "$scratch/said"
    [ $status = 77 ] || [ $status = 0 ] || fail "$way"
    [ $status = 77 ] || grep -q ' [1-9][0-9]* moves' "$scratch/said" || fail "$way: nothing has moved"
done
