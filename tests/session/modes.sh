#!/bin/sh
# Other ways to get workers and to move data: several workers, a whole MPMD job, Open MPI, the chunked ring.
. "$(dirname "$0")/../lib.sh"

mark=VOCL_TEST_MARK=$$
parity=$top_builddir/tests/parity

# same NAME COMMAND...: the parity program NAME, run by COMMAND, prints the same as natively
same()
{
    name=$1
    shift
    [ -e "$scratch/$name.native" ] || "$parity/$name" > "$scratch/$name.native" 2> /dev/null || fail "$name natively"
    env "$mark" "$@" "$parity/$name" > "$scratch/out" 2> "$scratch/err"
    status=$?
    [ $status -eq 0 ] || fail "$*: $name: status $status: $(cat "$scratch/out" "$scratch/err")"
    cmp "$scratch/$name.native" "$scratch/out" || fail "$*: $name prints something else"
    wait_until none_left "$mark" || fail "left after $*: $(session_processes "$mark")"
}

for workers in 1 2 3; do
    same several_contexts vocl run --workers $workers --
    result=$(vocl run --workers $workers -- "$top_builddir/tests/session/every_device") || fail "$workers workers: $result"
    [ "$result" = "$workers devices" ] || fail "$workers workers: $result"
done

same svm vocl run --workers 2 --
same host_pointer vocl run --workers 2 --
same host_pointer_life vocl run --workers 2 --

# Memory that is not shared is coarse-grained; all else is the same.
coarse()
{
    sed -e '/^capabilities/d' -e '/^fine grain/d' "$1"
}
"$parity/svm" > "$scratch/svm" 2> /dev/null || fail "svm natively"
coarse "$scratch/svm" > "$scratch/svm.native"
VOCL_ZERO_COPY=0 vocl run -- "$parity/svm" > "$scratch/out" 2> "$scratch/err" ||
    fail "coarse svm: $(cat "$scratch/out" "$scratch/err")"
grep -q '^capabilities 0x1$' "$scratch/out" || fail "svm across hosts is $(head -n 1 "$scratch/out")"
coarse "$scratch/out" > "$scratch/svm.coarse"
diff "$scratch/svm.native" "$scratch/svm.coarse" || fail "coarse svm prints something else"
same errors_svm env VOCL_ZERO_COPY=0 vocl run --
same includes env VOCL_ZERO_COPY=0 vocl run --

for name in buffer_ops map_unmap map_writers profiling sgemm callbacks first_calls; do
    same $name env VOCL_ZERO_COPY=0 vocl run --
done

# CL_MEM_USE_HOST_PTR where the worker does not have the program's memory
"$parity/host_pointer" no-svm > "$scratch/host_pointer.native" 2> /dev/null || fail "host_pointer natively"
for setting in VOCL_SHARE VOCL_ZERO_COPY; do
    env $setting=0 VOCL_LOG=info vocl run -- "$parity/host_pointer" no-svm > "$scratch/out" 2> "$scratch/err" ||
        fail "host_pointer, $setting=0: $(cat "$scratch/out" "$scratch/err")"
    diff "$scratch/host_pointer.native" "$scratch/out" || fail "host_pointer, $setting=0, prints something else"
    [ "$(grep -c CL_MEM_USE_HOST_PTR "$scratch/err")" -eq 1 ] || fail "what is said of it: $(cat "$scratch/err")"
    same host_pointer_life env $setting=0 vocl run --
done

# Settings that switch optimizations off, to measure without them
for name in many_launches buffer_ops; do
    same $name env VOCL_ARGUMENT_CACHE=0 VOCL_PIPELINE=1 VOCL_ZERO_COPY=0 vocl run --
done

[ -z "$MPIEXEC_OPENMPI" ] || for name in vector_add sgemm buffer_ops user_events; do
    same $name vocl run --mpi openmpi --
done

# MPI finds no transport to the worker: the program gets no platform, and nothing else happens.
no_way()
{
    result=$(env "$mark" UCX_TLS=self vocl run -- "$parity/vector_add" 2>&1)
    status=$?
    case "$status $result" in
    1*"no session"*CL_PLATFORM_NOT_FOUND_KHR*) ;;
    *) fail "MPI cannot start: status $status: $result" ;;
    esac
    wait_until none_left "$mark" || fail "left after MPI could not start: $(session_processes "$mark")"
}

# Workers die in MPI_Init, or never call it: the program gets an error nevertheless, and in time.
no_worker()
{
    cat > "$scratch/worker" <<END
#!/bin/sh
exec env LD_PRELOAD= UCX_TLS= MPIR_CVAR_CH4_NETMOD=none "$VOCL_LIBEXECDIR/vocl-proxy" "\$@"
END
    chmod +x "$scratch/worker"
    link_libexec "$scratch/libexec"
    ln -sf "$scratch/worker" "$scratch/libexec/vocl-proxy"
    result=$(env "$mark" VOCL_NETWORK=mpi VOCL_LIBEXECDIR="$scratch/libexec" VOCL_START_TIMEOUT=5 "$VOCL_LIBEXECDIR/vocl" run -- \
        "$parity/vector_add" 2>&1)
    status=$?
    case "$status $result" in
    1*"no session"*CL_PLATFORM_NOT_FOUND_KHR*) ;;
    *) fail "a worker without MPI: status $status: $result" ;;
    esac
    wait_until none_left "$mark" || fail "left after a worker without MPI: $(session_processes "$mark")"
}

# Both need to catch exit() inside MPI, which a library under a sanitizer cannot.
if [ "$SANITIZER" = no ] || [ -z "$SANITIZER" ]; then
    no_way
    no_worker
fi

mpmd()
{
    mpiexec=$1 workers=$2
    shift 2
    "$mpiexec" -n 1 vocl run -- "$@" : -n "$workers" "$VOCL_LIBEXECDIR/vocl-proxy" --worker
}
for mpiexec in $MPIEXEC_MPICH $MPIEXEC_OPENMPI; do
    result=$(mpmd "$mpiexec" 2 "$top_builddir/tests/session/every_device") || fail "$mpiexec, MPMD: $result"
    [ "$result" = "2 devices" ] || fail "$mpiexec, MPMD: $result"
done
