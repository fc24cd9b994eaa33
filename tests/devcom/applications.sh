#!/bin/sh
# The applications of examples/, with 1 to 3 ranks, in all forms: with shared memory, and as if each rank had its own
# host, where there is no global address space. They compare all results with a serial program's, bit by bit.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../xtq/xtq-lib.sh"
one_at_a_time ranks
programs=../examples
case $SANITIZER in
thread) skip "the thread sanitizer sees neither the order that kernels keep nor PoCL's own, as it compiles these kernels" ;;
esac

# application MPI NUMBER FORMS PROGRAM OPTIONS...: the program has to print times for each of these forms.
application()
{
    application_mpi=$1 application_number=$2 forms=$3 name=$4
    shift 4
    must "$application_mpi" "$application_number" "devcom_$name" "$@"
    for form in $forms; do
        grep -q "^${name}_${form}_step [0-9]" "$scratch/out" || fail "$name, $form: $(cat "$scratch/out")"
    done
}

# all MPI NUMBER FORMS
all()
{
    application "$@" stencil --steps 7 --rows 8 --columns 16
    application "$@" himeno --steps 7 --total 7 --rows 6 --columns 9
    application "$@" random_access --table 300 --look-ahead 100
    application "$@" reduction --steps 7 --values 128
    application "$@" nbody --steps 5 --bodies 40
}

far="mpi hybrid stream control kernel"
# One rank first: otherwise all ranks would compile the kernels, which are then in the cache.
all $first 1 "$far ggas"
all $first 2 "$far ggas"
all $first 3 "$far ggas"

# one form, several rounds, another label for the times; and wrong options
application $first 2 stream himeno --steps 2 --planes 1 --rows 4 --columns 4 --rounds 2 --form stream
! grep -q _mpi_ "$scratch/out" || fail "--form stream: $(cat "$scratch/out")"
must $first 1 devcom_himeno --steps 2 --planes 1 --rows 4 --columns 4 --label weak --form mpi
grep -q '^weak_mpi_step ' "$scratch/out" || fail "--label: $(cat "$scratch/out")"
! ranks $first 1 devcom_himeno --form nothing || fail "there is no such form"
! ranks $first 1 devcom_himeno --steps 0 || fail "no steps"

VOCL_SHARE=0
export VOCL_SHARE
for mpi in $mpis; do
    all $mpi 2 "$far"
done
