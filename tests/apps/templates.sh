#!/bin/sh
# C++ template libraries on OpenCL: Boost.Compute and ViennaCL.
. "$(dirname "$0")/../lib.sh"
need_foreign_programs
need g++ g++
if [ ! -e /usr/include/boost/compute.hpp ] || [ ! -e /usr/include/viennacl/vector.hpp ]; then
    skip "no Boost.Compute or no ViennaCL (packages libboost-dev, libviennacl-dev)"
fi

# clang compiles them in two thirds of the time
compiler=$(command -v clang++) || compiler=g++
for name in boost_compute viennacl; do
    "$compiler" -std=c++14 -O0 -w "$top_srcdir/tests/apps/$name.cpp" -o "$scratch/$name" -lOpenCL || fail "$name does not build"
    HOME=$scratch "$scratch/$name" > "$scratch/native" 2> "$scratch/err" || fail "$name natively: $(cat "$scratch/err")"
    for method in preload icd; do
        HOME=$scratch vocl run --interpose $method -- "$scratch/$name" > "$scratch/out" 2> "$scratch/err" ||
            fail "$name, $method: $(cat "$scratch/err")"
        diff "$scratch/native" "$scratch/out" || fail "$name, $method: something else is printed"
    done
done
