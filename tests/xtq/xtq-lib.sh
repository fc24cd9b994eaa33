# Shared by the scripts of tests/xtq, after lib.sh: MPI programs of both MPIs.

# ranks MPI NUMBER PROGRAM...: run a program of tests/xtq, or of the folder $programs; its output is in $scratch/out.
programs=xtq
ranks()
{
    ranks_mpi=$1 ranks_number=$2 ranks_program=$3
    shift 3
    case $ranks_mpi in
    mpich)   set -- $MPIEXEC_MPICH -n "$ranks_number" "$top_builddir/tests/$programs/$ranks_program" "$@" ;;
    openmpi) set -- $MPIEXEC_OPENMPI --oversubscribe -n "$ranks_number" \
                 "$top_builddir/tests/$programs/$ranks_program$xtq_suffix" "$@" ;;
    esac
    "$@" > "$scratch/out" 2>&1 < /dev/null
}

# The MPIs to try, by what was built; with both, Open MPI's programs have a name of their own.
xtq_suffix=
[ -z "$MPIEXEC_MPICH" ] || xtq_suffix=-openmpi
mpis="${MPIEXEC_MPICH:+mpich} ${MPIEXEC_OPENMPI:+openmpi}"
# Open MPI does not bear the thread sanitizer, and leaks at its end.
case $SANITIZER in
thread) mpis=${MPIEXEC_MPICH:+mpich} ;;
esac
[ -n "${mpis% }" ] || skip "no MPI"
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
export ASAN_OPTIONS

# must MPI NUMBER PROGRAM...: it has to end with 0.
must()
{
    ranks "$@"
    must_status=$?
    [ $must_status -eq 0 ] || { tail -n 30 "$scratch/out"; fail "$*${VOCL_SHARE:+, no memory shared}: status $must_status"; }
}
