#!/bin/sh
# The session continues while the contents of a new object are being sent.
. "$(dirname "$0")/../lib.sh"

for options in "" "--network tls"; do
    VOCL_SHARE=0 vocl run $options -- "$top_builddir/tests/session/creation" > "$scratch/out" 2> "$scratch/err" ||
        fail "${options:-over MPI}: status $?: $(cat "$scratch/out" "$scratch/err")"
    echo "${options:-over MPI}: $(cat "$scratch/out")"
done
