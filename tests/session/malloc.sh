#!/bin/sh
# Programs with another allocator than libc's (linked, linked statically or preloaded), or with the address sanitizer:
# the same results as natively, with both interposition methods, on a worker and inside the program, under both MPIs.
. "$(dirname "$0")/../lib.sh"
need_whole_mpi

parity=$top_srcdir/tests/parity
build="$OPENCL_CFLAGS -DCL_TARGET_OPENCL_VERSION=300 -I$parity -I$top_srcdir $parity/vector_add.c $parity/parity.c"
tried=
ASAN_OPTIONS=detect_leaks=0 # those of the native OpenCL are not ours
export ASAN_OPTIONS

# file NAME PACKAGE: prints where the C compiler finds that library, or reports what is missing
file()
{
    path=$(gcc -print-file-name="$1")
    [ "$path" != "$1" ] || { echo "no $1 (package $2)" >&2; return 1; }
    echo "$path"
}

# same WHAT PROGRAM OPTION...: prints the same as natively, with $preload in LD_PRELOAD
same()
{
    what=$1 program=$2
    shift 2
    LD_PRELOAD=$preload "$program" > "$scratch/native" 2> "$scratch/err" ||
        fail "$what does not work natively: $(cat "$scratch/err")"
    LD_PRELOAD=$preload vocl run "$@" -- "$program" > "$scratch/out" 2> "$scratch/err"
    status=$?
    [ $status -eq 0 ] || fail "$what, $*: status $status: $(tail -n 5 "$scratch/err")"
    cmp "$scratch/native" "$scratch/out" || fail "$what, $*: something else is printed"
}

every_way()
{
    for method in preload icd; do
        same "$1" "$2" --interpose $method
        same "$1" "$2" --interpose $method --local
    done
    tried="$tried, $1"
}

# build NAME COMPILER ARGUMENT...: builds vector_add
build()
{
    name=$1 compiler=$2
    shift 2
    $compiler $build -o "$scratch/$name" "$@" -lOpenCL -lm -lpthread || fail "$name does not build"
}

preload=
build plain gcc
for library in libjemalloc.so.2:libjemalloc2 libtcmalloc_minimal.so.4:libtcmalloc-minimal4 \
        libmimalloc.so.2:libmimalloc2.0 libmimalloc.so.3:libmimalloc3; do
    allocator=$(file ${library%:*} ${library#*:}) || continue
    build linked gcc -Wl,--no-as-needed "$allocator"
    every_way "${library%%.*} linked" "$scratch/linked"
    [ -z "$MPICC_OPENMPI" ] || same "${library%%.*}" "$scratch/linked" --mpi openmpi
    preload=$allocator
    every_way "${library%%.*} preloaded" "$scratch/plain"
    preload=
done
if allocator=$(file libjemalloc_pic.a libjemalloc-dev); then
    build static gcc "$allocator" -ldl
    every_way "jemalloc linked statically" "$scratch/static"
fi
build sanitized gcc -fsanitize=address
every_way "the address sanitizer of gcc" "$scratch/sanitized"
if command -v clang > /dev/null && build sanitized clang -fsanitize=address 2> /dev/null; then
    every_way "the address sanitizer of clang" "$scratch/sanitized"
fi

# The program is an MPI program as well.
allocator=$(file libjemalloc.so.2 libjemalloc2) && for mpi in mpich openmpi; do
    [ $mpi = mpich ] && mpicc=$MPICC_MPICH mpiexec=$MPIEXEC_MPICH || mpicc=$MPICC_OPENMPI mpiexec=$MPIEXEC_OPENMPI
    [ -n "$mpicc" ] || continue
    $mpicc $OPENCL_CFLAGS -DCL_TARGET_OPENCL_VERSION=120 "$top_srcdir/tests/session/mpi_app.c" -o "$scratch/mpi_app" \
        -Wl,--no-as-needed "$allocator" -lOpenCL || fail "mpi_app.c does not build with $mpi"
    for when in after first; do
        result=$($mpiexec -n 2 vocl run -- "$scratch/mpi_app" $when) || fail "$mpi with jemalloc: status $?: $result"
        [ "$result" = "2 ranks: 8590000128" ] || fail "$mpi with jemalloc, OpenCL $when: $result"
    done
    tried="$tried, $mpi with jemalloc"
done
echo "tried${tried#,}"
