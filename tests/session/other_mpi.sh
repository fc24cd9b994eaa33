#!/bin/sh
# A worker on another host has another version of MPI: the session does not begin, before MPI is entered, and both
# versions are named. With the same version it begins.
. "$(dirname "$0")/../lib.sh"
need_whole_mpi
need_foreign_programs
unset VOCL_HOSTS VOCL_WORKERS VOCL_LOCAL
export VOCL_MPI=mpich VOCL_NETWORK=mpi VOCL_ADDRESS=127.0.0.1
[ -e "$VOCL_LIBEXECDIR/vocl-mpich.so" ] || skip "VOCL was built without MPICH"
export VOCL_TEST_PLUGIN="$VOCL_LIBEXECDIR/vocl-mpich.so"

# elsewhere HOST COMMAND: stands for ssh.
printf '#!/bin/sh\nexec sh -c "$2"\n' > "$scratch/elsewhere"
chmod +x "$scratch/elsewhere"
export VOCL_RSH="$scratch/elsewhere"
timeout 300 vocl run --hosts elsewhere -- "$top_builddir/tests/parity/vector_add" > "$scratch/out" 2> "$scratch/err" ||
    fail "the same MPI: status $?: $(cat "$scratch/out" "$scratch/err")"

link_libexec "$scratch/libexec"
ln -sf "$(realpath "$top_builddir/tests/session/.libs/other_mpi.so")" "$scratch/libexec/vocl-mpich.so"
VOCL_LIBEXECDIR="$scratch/libexec" timeout 300 vocl run --hosts elsewhere -- "$top_builddir/tests/parity/vector_add" \
    > "$scratch/out" 2> "$scratch/err"
grep -q 'a worker on .*: MPI is "MPICH 77.7 ch4:ucx" there, and "MPICH [0-9.]* ch4:[a-z]*" here: use --network tls' "$scratch/err" ||
    fail "the versions are not named: $(cat "$scratch/out" "$scratch/err")"
