#!/bin/sh
# The program's MPI_Init takes longer than its workers', and longer than VOCL_PEER_TIMEOUT: the program answers
# meanwhile, and the workers wait for it.
. "$(dirname "$0")/../lib.sh"
need_whole_mpi
export VOCL_MPI="${VOCL_MPI:-mpich}" VOCL_NETWORK=mpi
[ -e "$VOCL_LIBEXECDIR/vocl-$VOCL_MPI.so" ] || skip "VOCL was built without $VOCL_MPI"
export VOCL_TEST_PLUGIN="$VOCL_LIBEXECDIR/vocl-$VOCL_MPI.so"

link_libexec "$scratch/libexec"
ln -sf "$(realpath "$top_builddir/tests/session/.libs/late_mpi.so")" "$scratch/libexec/vocl-$VOCL_MPI.so"
about_silence
export VOCL_TEST_LATE=$((VOCL_PEER_TIMEOUT * 2 + 1))
VOCL_LIBEXECDIR="$scratch/libexec" VOCL_LOG=debug timeout 300 vocl run --workers 2 -- \
    "$top_builddir/tests/parity/vector_add" > "$scratch/out" 2> "$scratch/err" ||
    fail "status $?: $(tail -n 20 "$scratch/out" "$scratch/err")"
# The program's log has the time between the call of MPI_Init and its return.
sed -n 's/.* \([0-9][0-9]*\)[.0-9]* ms all in MPI.*/\1/p' "$scratch/err" |
    awk -v late="$VOCL_TEST_LATE" '$1 >= late * 1000 { found = 1 } END { exit !found }' || fail "it was not late: $(cat "$scratch/err")"
exit 0
