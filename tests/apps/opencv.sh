#!/bin/sh
# OpenCV's UMat, which opens libOpenCL.so.1 itself, gives the native results.
. "$(dirname "$0")/../lib.sh"
need_foreign_programs
[ "$SANITIZER" != address ] || skip "the address sanitizer cannot be preloaded into this C++ module"
python=/usr/bin/python3
"$python" -c 'import cv2' 2> /dev/null || skip "no OpenCV for $python (package python3-opencv)"

OPENCV_OPENCL_DEVICE=:CPU:
OPENCV_OPENCL_CACHE_ENABLE=false
export OPENCV_OPENCL_DEVICE OPENCV_OPENCL_CACHE_ENABLE
work=$top_srcdir/tests/apps/opencv_work.py
"$python" "$work" > "$scratch/native" 2> "$scratch/err" || fail "natively: $(cat "$scratch/err")"
for method in icd both; do
    vocl run --interpose $method -- "$python" "$work" > "$scratch/out" 2> "$scratch/err" || fail "$method: $(cat "$scratch/err")"
    diff "$scratch/native" "$scratch/out" || fail "$method: something else is printed"
done
