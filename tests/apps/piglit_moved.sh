#!/bin/sh
# Piglit's programs for OpenCL's functions report their native results while their sessions move. They are short, so
# each of their calls waits a little (slow_calls.c). WAYS are those of moved ("here apart pool").
. "$(dirname "$0")/../lib.sh"
need_foreign_programs
at_most 900
piglit=/usr/lib/x86_64-linux-gnu/piglit
[ -x $piglit/bin/cl-program-tester ] || skip "no piglit (package piglit)"
for program in $piglit/bin/cl-api-* $piglit/bin/cl-custom-flush* $piglit/bin/cl-custom-run* $piglit/bin/cl-custom-use*; do
    # create-command-queue sometimes crashes natively
    [ $program = $piglit/bin/cl-api-create-command-queue ] || echo "cd $piglit && $program -auto | grep '^PIGLIT:'"
done > "$scratch/list"
moved=$(dirname "$0")/moved
for way in ${WAYS:-here apart}; do
    "$moved" --"$way" --every ${EVERY:-20} --slow ${SLOW:-5000} --interpose preload --list "$scratch/list" > "$scratch/said"
    status=$?
    cat "$scratch/said"
    [ $status = 77 ] || [ $status = 0 ] || fail "$way"
    [ $status = 77 ] || grep -q ' [1-9][0-9]* moves' "$scratch/said" || fail "$way: nothing has moved"
done
