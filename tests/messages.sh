#!/bin/sh
# Messages for something missing or misspelled say to a newcomer what is wrong, and what there is instead.
. "$(dirname "$0")/lib.sh"
need_foreign_programs
unset VOCL_LOG VOCL_POOL VOCL_HOSTS VOCL_WORKERS VOCL_LOCAL VOCL_MPI
VOCL_START_TIMEOUT=250 # no message here is about this time-out
export VOCL_START_TIMEOUT

# says PATTERN COMMAND...: the command fails, with a match of PATTERN on stderr
says()
{
    pattern=$1
    shift
    "$@" > "$scratch/out" 2> "$scratch/err" && fail "$* succeeds: $(cat "$scratch/out" "$scratch/err")"
    grep -q -e "$pattern" "$scratch/err" || fail "$*: no \"$pattern\": $(cat "$scratch/err")"
}

says 'VOCL_LOG takes none, error, warn, info or debug, not "debgu"' env VOCL_LOG=debgu vocl devices
says 'VOCL_MPI takes mpich or openmpi, not "mpi"' env VOCL_MPI=mpi vocl devices
says 'no pool to ask for devices' vocl run --gpus 1 -- true
says 'no pool to ask for devices' env VOCL_POOL=none vocl run --wait 5 -- true
says 'for pools only' vocl run --hosts a --count 2 -- true
says 'nosuchhost.invalid from .*: nobody knows a host of this name' vocl devices --network mpi --hosts nosuchhost.invalid
says 'nosuchhost.invalid:77: nobody knows' vocl devices --pool nosuchhost.invalid:77
says '127.0.0.1:1: Connection refused' vocl devices --pool 127.0.0.1:1
says 'has no OpenCL device' env OCL_ICD_VENDORS="$scratch" vocl devices
says 'VOCL_DEVICES=7 matches none of the available devices' vocl devices --devices 7
grep -q '  0: .*, on ' "$scratch/err" || fail "the devices that there are: $(cat "$scratch/err")"

# a program that is started without `vocl run`
VOCL_LOG=debgu LD_PRELOAD=${LD_PRELOAD:+$LD_PRELOAD:}$VOCL_LIBEXECDIR/libvocl.so "$top_builddir/tests/parity/vector_add" \
    > "$scratch/out" 2> "$scratch/err" || fail "vector_add: $(cat "$scratch/err")"
[ "$(grep -c 'VOCL_LOG takes' "$scratch/err")" = 1 ] || fail "once: $(cat "$scratch/err")"
VOCL_WORKERS=two vocl devices > "$scratch/out" 2> "$scratch/err" || fail "VOCL_WORKERS=two: $(cat "$scratch/err")"
grep -q 'VOCL_WORKERS=two is not a whole number' "$scratch/err" || fail "VOCL_WORKERS=two: $(cat "$scratch/err")"

# mpiexec says at once that ssh does not get through, and then waits
command -v ssh > /dev/null || skip "no ssh (package openssh-client): hosts that refuse were left out"
for mpi in ${MPIEXEC_MPICH:+mpich} ${MPIEXEC_OPENMPI:+openmpi}; do
    says 'ssh: .*nosuchhost' vocl devices --mpi $mpi --hosts 127.0.0.1,nosuchhost.invalid
done
says 'ssh: .*nosuchhost' vocl devices --network tls --hosts nosuchhost.invalid # ssh may know a name that the resolver does not
exit 0
