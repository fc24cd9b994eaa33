#!/bin/sh
# ffmpeg opens libOpenCL.so.1 itself (dlopen): filters on the device give the native checksum for each frame.
. "$(dirname "$0")/../lib.sh"
need ffmpeg ffmpeg
need_foreign_programs

# frames FILTER COMMAND...: prints the checksums of some frames after the filter
frames()
{
    filter=$1
    shift
    "$@" ffmpeg -nostdin -v error -init_hw_device opencl=cl:0.0 -filter_hw_device cl -f lavfi \
        -i testsrc=size=320x240:rate=5:duration=2 -vf "format=yuv420p,hwupload,$filter,hwdownload,format=yuv420p" \
        -f framemd5 -
}

for filter in avgblur_opencl=sizeX=5 unsharp_opencl=lx=7:ly=7 sobel_opencl transpose_opencl=dir=clock; do
    frames $filter > "$scratch/native" 2> "$scratch/err" || fail "$filter natively: $(cat "$scratch/err")"
    [ "$(grep -vc '^#' "$scratch/native")" = 10 ] || fail "$filter: not 10 frames natively"
    for method in icd both; do
        frames $filter vocl run --interpose $method -- > "$scratch/out" 2> "$scratch/err" ||
            fail "$filter, $method: $(cat "$scratch/err")"
        cmp "$scratch/native" "$scratch/out" || fail "$filter, $method: other frames"
    done
done
