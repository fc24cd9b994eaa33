# An MPI program with libxtqmpi preloaded gives the same results as without, and its reductions and accumulates go
# through XTQ. For a script of one MPI: mpi, mpicc and library are set.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/xtq-lib.sh"
case $SANITIZER in
no) sanitize= ;;
*)  sanitize="-g -fsanitize=$SANITIZER" ;; # a library that is does not bear programs that are not
esac

# run NUMBER WORD...: runs the command with so many ranks of $mpi.
run()
{
    number=$1
    shift
    case $mpi in
    mpich) $MPIEXEC_MPICH -n $number "$@" ;;
    *)     $MPIEXEC_OPENMPI --oversubscribe -n $number "$@" ;;
    esac < /dev/null
}

through()
{
    through_number=$1
    shift
    run $through_number env LD_PRELOAD="${LD_PRELOAD:+$LD_PRELOAD:}$top_builddir/.libs/$library" VOCL_LOG=info "$@" \
        2> "$scratch/err" ||
        fail "$mpi, $through_number ranks${VOCL_SHARE:+, no memory shared}: $*: $(tail -n 40 "$scratch/err")" >&2
}

# same NUMBER [few]: so many ranks print the same with XTQ as without. few: fewer rounds, and few windows.
same()
{
    how="$(rounds 10)"
    [ -z "$2" ] || how="$(rounds 4) $2"
    plain=$scratch/plain.$1.$2
    [ -e "$plain" ] || run $1 "$scratch/mpi_program" $how > "$plain" 2> "$scratch/err" || fail "$mpi alone: $(cat "$scratch/err")"
    through $1 "$scratch/mpi_program" $how > "$scratch/through"
    diff "$plain" "$scratch/through" || fail "$mpi, $1 ranks${VOCL_SHARE:+, no memory shared}: not the same"
    grep -q "$told" "$scratch/err" || fail "$mpi: not \"$told\": $(cat "$scratch/err")"
}

told='xtq: [1-9][0-9]* collectives, [1-9][0-9]* accumulates'

build_programs()
{
    for program in atomics epochs meetings mpi_program requests; do
        $mpicc -O1 $sanitize "$top_srcdir/tests/xtq/$program.c" -o "$scratch/$program" || fail "no $program for $mpi"
    done
    $mpicc -std=gnu11 -O1 -D_GNU_SOURCE= -DCL_TARGET_OPENCL_VERSION=300 -I"$top_srcdir" -I"$top_srcdir/include" $OPENCL_CFLAGS \
        "$top_srcdir/tests/xtq/datatypes.c" "$top_srcdir/mpi/pieces.c" "$top_srcdir/ground/rows.c" -lOpenCL \
        -o "$scratch/datatypes" || fail "no datatypes for $mpi"
}

# epochs NUMBER: accumulates stay within their epoch, of each kind, and XTQ carries them.
epochs()
{
    for kind in fence lock lock_all flush pscw; do
        through $1 "$scratch/epochs" $kind $(rounds 6)
        grep -q 'xtq: [0-9]* collectives, [1-9][0-9]* accumulates' "$scratch/err" ||
            fail "$mpi: not XTQ's in epochs of $kind: $(cat "$scratch/err")"
    done
}

# atomics NUMBER: in 24 rounds each rank does each operation to each target.
atomics()
{
    through $1 "$scratch/atomics" $(rounds 24)
}

meetings()
{
    through $1 "$scratch/meetings" $(rounds 10)
}

# try_all FEW MANY [few]: the tests for both MPIs. MPICH's ranks do not yield the cores on which they wait, so few ranks
# run the tests with many barriers.
try_all()
{
    few=$1 many=$2 less=$3
    build_programs
    run 1 "$scratch/datatypes" $(rounds 2000) 2> "$scratch/err" || fail "$mpi: datatypes: $(cat "$scratch/err")"
    same 2
    atomics 2
    through 2 "$scratch/requests"
    meetings $few
    [ "$SANITIZER" != thread ] || exit 0 # that has taken a minute
    same $many $less
    epochs $few
    # however small: XTQ's own use of MPI does not go through XTQ, and small windows do
    export VOCL_XTQ_BYTES=0 VOCL_XTQ_WINDOW_BYTES=0
    same 2
    atomics 2
    unset VOCL_XTQ_BYTES VOCL_XTQ_WINDOW_BYTES
}
