# Shared by the scripts of tests/xtq, after lib.sh: MPI programs of both MPIs.

# ranks MPI NUMBER PROGRAM...: runs a program of tests/xtq, or of the folder $programs; its output is in $scratch/out.
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

# The MPIs to test, by what was built; with both, the programs for Open MPI have names of their own.
xtq_suffix=
[ -z "$MPIEXEC_MPICH" ] || xtq_suffix=-openmpi
mpis="${MPIEXEC_MPICH:+mpich} ${MPIEXEC_OPENMPI:+openmpi}"
# Open MPI does not work under the thread sanitizer, and leaks at its end.
case $SANITIZER in
thread) mpis=${MPIEXEC_MPICH:+mpich} ;;
esac
[ -n "${mpis% }" ] || skip "no MPI"
# Tests that do not depend on MPI use the first MPI alone; every program runs with the second once near and once far.
# MPICH's ranks do not yield the cores on which they wait, so tests in which many ranks use MPI take the second.
first=${mpis# } second=${mpis% }
first=${first%% *} second=${second##* }
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
export ASAN_OPTIONS

# must MPI NUMBER PROGRAM...: the program has to exit with 0.
must()
{
    ranks "$@"
    must_status=$?
    [ $must_status -eq 0 ] || { tail -n 30 "$scratch/out"; fail "$*${VOCL_SHARE:+, no memory shared}: status $must_status"; }
}

# survives PROGRAM WORD...: one of the program's three ranks ends as the words say, and the others continue. With MPICH,
# which lets them run: Open MPI ends the whole job.
survives()
{
    [ -n "$MPIEXEC_MPICH" ] || skip "needs MPICH, as Open MPI kills the others"
    # Hydra sees only a shell end, successfully, and its signals go to the shells: otherwise it kills the other ranks.
    $MPIEXEC_MPICH -disable-auto-cleanup -n 3 sh -c "trap '' USR1 TERM
        timeout -s KILL 300 $*
        exit 0" > "$scratch/out" 2>&1 < /dev/null
    grep -q 'rank 0 survives' "$scratch/out" && grep -q 'rank 1 survives' "$scratch/out" ||
        { cat "$scratch/out"; fail "$*${VOCL_SHARE:+, no memory shared}"; }
}

# survives_kills PROGRAM: a rank is killed at several times.
survives_kills()
{
    for us in $(few 3 50 1000 20000 300 5000 70000); do
        survives "$1" $us
    done
}

# across PROGRAM WORD...: two ranks on two hosts: network namespaces, TCP only.
across()
{
    need ip iproute2
    [ -n "$MPIEXEC_MPICH" ] || skip "tests/net/two-hosts needs MPICH"
    need_whole_mpi
    # ranks of two namespaces can share memory all the same, so this is switched off
    VOCL_SHARE=0 "$top_srcdir/tests/net/two-hosts" --mpi -- "$@" > "$scratch/out" 2>&1
    across_status=$?
    [ $across_status -ne 77 ] || skip "$(cat "$scratch/out")"
    [ $across_status -eq 0 ] || fail "$*: status $across_status: $(tail -n 20 "$scratch/out")"
}
