#!/bin/sh
# pyopencl: contexts, arrays, elementwise and reduction kernels, scans, maps, events, callbacks, exceptions.
. "$(dirname "$0")/../lib.sh"
need_foreign_programs
[ "$SANITIZER" != address ] || skip "the address sanitizer cannot be preloaded into this C++ module"
python=/usr/bin/python3
"$python" -c 'import pyopencl' 2> /dev/null || skip "no pyopencl for $python (package python3-pyopencl)"

# Without the user's caches; warnings about their absence are off.
PYOPENCL_NO_CACHE=1 XDG_CACHE_HOME=$scratch/cache PYTHONWARNINGS=ignore
export PYOPENCL_NO_CACHE XDG_CACHE_HOME PYTHONWARNINGS
work=$top_srcdir/tests/apps/pyopencl_work.py
"$python" "$work" > "$scratch/native" 2> "$scratch/err" || fail "natively: $(cat "$scratch/err")"
for method in preload icd both; do
    vocl run --interpose $method -- "$python" "$work" > "$scratch/out" 2> "$scratch/err" || fail "$method: $(cat "$scratch/err")"
    diff "$scratch/native" "$scratch/out" || fail "$method: something else is printed"
done
