#!/bin/sh
# Each public header compiles alone, as C and as C++.
. "$(dirname "$0")/lib.sh"
# xtq.h needs mpi.h, of either MPI
mpi_flags=$(${MPICC_MPICH:-$MPICC_OPENMPI} -show | tr ' ' '\n' | grep '^-I')
compile()
{
    "$@" -I"$top_srcdir/include" $mpi_flags $OPENCL_CFLAGS -DCL_TARGET_OPENCL_VERSION=300 -Wall -Wextra -Werror -pedantic \
        -fsyntax-only "$scratch/$source"
}

for header in "$top_srcdir"/include/*.h; do
    [ -e "$header" ] || fail "no public headers"
    name=${header##*/}
    source=alone.c
    printf '#include <%s>\n#include <%s>\n' "$name" "$name" > "$scratch/$source"
    compile ${CC:-cc} -std=c99 || fail "$name does not compile alone as C"
    if [ -n "$CXX" ] || command -v c++ > /dev/null; then
        source=alone.cc
        cp "$scratch/alone.c" "$scratch/$source"
        compile ${CXX:-c++} -std=c++11 || fail "$name does not compile alone as C++"
    fi
done
command -v "${CXX:-c++}" > /dev/null || skip "no C++ compiler; compiled as C only"
