#!/bin/sh
# What programs meet beside OpenCL: signals, a removed working folder, few descriptors, missing rights, no /proc, no
# loopback, layers, a platform chosen by name. VOCL works, or its message names the cause.
. "$(dirname "$0")/../lib.sh"

program=$top_builddir/tests/parity/vector_add
platform=$top_builddir/tests/session/platform
mark=VOCL_TEST_MARK=$$
"$program" > "$scratch/native" || fail "vector_add does not work natively"

# works WHAT COMMAND...: prints the same as the program prints natively
works()
{
    what=$1
    shift
    env "$mark" "$@" > "$scratch/out" 2> "$scratch/err" || fail "$what: status $?: $(cat "$scratch/err")"
    cmp "$scratch/native" "$scratch/out" || fail "$what: something else is printed"
    wait_until none_left "$mark" || fail "left after $what: $(session_processes "$mark")"
}

# names PATTERN WHAT COMMAND...: fails without a crash, with a message that matches the pattern
names()
{
    pattern=$1 what=$2
    shift 2
    env "$mark" "$@" > "$scratch/out" 2> "$scratch/err"
    status=$?
    [ $status -ne 0 ] && [ $status -lt 124 ] || fail "$what: status $status: $(cat "$scratch/err")"
    grep -q "no session: .*$pattern" "$scratch/err" || fail "$what is not named: $(cat "$scratch/err")"
    wait_until none_left "$mark" || fail "left after $what: $(session_processes "$mark")"
}

# The working folder has been removed.
mkdir "$scratch/gone"
(cd "$scratch/gone" && rmdir "$scratch/gone" && works "a removed folder" vocl run -- "$program") || exit 1

# Variables without a value: PoCL would take the first for a path and fail an assertion.
works "empty variables" env POCL_CACHE_DIR= OCL_ICD_VENDORS= VOCL_PIPELINE= vocl run -- "$program"

# Few descriptors: a soft limit, and a hard limit that the program cannot raise.
if [ "$SANITIZER" != address ]; then
    (ulimit -Sn 16 && works "a limit of 16 descriptors" vocl run -- "$program") || exit 1
    (ulimit -n 40 && works "a limit of 40 descriptors" vocl run -- "$program") || exit 1
    (ulimit -n 24 && names "24 files" "24 descriptors" vocl run -- "$program") || exit 1
    (ulimit -n 16 && names "16 files" "16 descriptors" vocl run -- "$program") || exit 1
    (ulimit -n 16 && works "16 descriptors, devices of its own" vocl run --local -- "$program") || exit 1
fi

# In namespaces
if unshare -m true 2> /dev/null; then
    names "/proc" "no /proc" unshare -m sh -c 'mount -t tmpfs none /proc && exec vocl run --network mpi -- "$0"' "$program"
    works "no /proc, by pairs" unshare -m sh -c 'mount -t tmpfs none /proc && exec vocl run --network pairs -- "$0"' \
        "$program"
    works "no /proc, devices of its own" unshare -m sh -c 'mount -t tmpfs none /proc && exec vocl run --local -- "$0"' \
        "$program"
    works "no network" unshare -n vocl run -- "$program"
    works "no network, devices of its own" unshare -n vocl run --local -- "$program"
else
    echo "no namespaces here"
fi

# A program with other rights than its user's (setuid) starts nothing that the user names.
if [ "$(id -u)" = 0 ] && [ "$SANITIZER" = no ]; then
    install -m 4755 "$platform" "$scratch/setuid"
    chmod 755 "$scratch"
    if setpriv --reuid=nobody --regid=nogroup --clear-groups test -x "$VOCL_LIBEXECDIR/vocl-proxy"; then
        for option in "" --local "--interpose icd"; do
            names setuid "a setuid program" setpriv --reuid=nobody --regid=nogroup --clear-groups \
                vocl run $option -- "$scratch/setuid"
        done
    fi
fi

# MPI between hosts needs descriptors all the time: their loss is an error, not a crash or a hang. TLS gets them back.
descriptors=$top_builddir/tests/parity/descriptors
closed="the program has closed descriptors"
if "$top_srcdir/tests/net/two-hosts" -- true 2> /dev/null; then
    "$descriptors" > "$scratch/native" 2> /dev/null
    VOCL_LOG=error VOCL_NETWORK=tls "$top_srcdir/tests/net/two-hosts" -- "$descriptors" > "$scratch/out" 2> "$scratch/err" ||
        fail "closefrom, two hosts, TLS: $(cat "$scratch/err")"
    diff "$scratch/native" "$scratch/out" || fail "closefrom, two hosts, TLS: something else is printed"
    VOCL_LOG=error VOCL_NETWORK=mpi "$top_srcdir/tests/net/two-hosts" -- "$descriptors" > "$scratch/out" 2> "$scratch/err"
    status=$?
    [ $status -eq 1 ] && grep -q "$closed" "$scratch/err" || fail "closefrom, two hosts: $status: $(cat "$scratch/err")"
fi
if [ -n "$MPICC_OPENMPI" ]; then
    vocl run --mpi openmpi -- "$descriptors" > "$scratch/out" 2> "$scratch/err"
    status=$?
    [ $status -eq 1 ] && grep -q -e "$closed" -e 'mpiexec ended with signal' "$scratch/err" || fail "closefrom, Open MPI: $status: $(cat "$scratch/err")"
fi

# Layers of the loader: loaded in the program, not in the worker.
layers=
if [ "$SANITIZER" = no ]; then
    gcc -shared -fPIC $OPENCL_CFLAGS -DCL_TARGET_OPENCL_VERSION=300 "$top_srcdir/tests/session/layer.c" \
        -o "$scratch/layer.so" || fail "layer.c does not build"
    (cat "$scratch/native"; echo "layer: 1") > "$scratch/layered"
    OPENCL_LAYERS=$scratch/layer.so "$program" > "$scratch/out" || fail "a layer does not work natively"
    cmp "$scratch/layered" "$scratch/out" && layers=yes || echo "the loader knows no layers"
    for option in "" "--interpose icd" --local "--local --workers 1"; do
        [ -n "$layers" ] || break
        OPENCL_LAYERS=$scratch/layer.so vocl run $option -- "$program" > "$scratch/out" 2> "$scratch/err" ||
            fail "a layer $option: $(cat "$scratch/err")"
        cmp "$scratch/layered" "$scratch/out" || fail "a layer $option: $(cat "$scratch/out")"
    done
fi

# Signals arrive all the time.
"$platform" > "$scratch/native" 2> /dev/null || fail "no native platform"
for option in "" "--network tls" "--network mpi" "--workers 2" --local; do
    for round in 1 2 3 4 5 6; do
        VOCL_PLATFORM=native works "a timer, round $round $option" vocl run $option -- "$platform" 300
    done
done

# VOCL_PLATFORM=native: the native platform's name is reported, and VOCL can still be recognized (cl_vocl_remote).
for option in "" "--interpose icd" "--interpose preload" --local "--workers 2"; do
    VOCL_PLATFORM=native vocl run $option -- "$platform" > "$scratch/out" 2> "$scratch/err" ||
        fail "VOCL_PLATFORM=native $option: $(cat "$scratch/err")"
    diff "$scratch/native" "$scratch/out" || fail "VOCL_PLATFORM=native $option"
    grep -qx "remote: 1 1" "$scratch/err" || fail "VOCL_PLATFORM=native $option: no cl_vocl_remote"
    vocl run $option -- "$platform" > "$scratch/out" 2> "$scratch/err" || fail "$option: $(cat "$scratch/err")"
    [ "$(grep -c VOCL "$scratch/out")" = 4 ] || fail "VOCL's own platform $option: $(cat "$scratch/out")"
    grep -qx "remote: 0 0" "$scratch/err" || fail "$option: cl_vocl_remote"
done
echo "all of it"
