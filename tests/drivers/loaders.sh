#!/bin/sh
# Other ICD loaders than this machine's, under programs and workers: programs print the same as natively with that
# loader, by either interposition method. `./quickstart test` fetches releases of ocl-icd from Debian (loaders.txt) into
# build/loaders; Khronos's loader is beside Intel's OpenCL, if that was fetched (intel.sh).
. "$(dirname "$0")/../lib.sh"
need_foreign_programs
loaders=$top_builddir/loaders
folders=$(ls -d "$loaders"/*/ "$top_builddir/intel/lib/" 2> /dev/null)
[ -n "$folders" ] || skip "no other loaders: ./quickstart test fetches them"

for folder in $folders; do
    [ -e "$folder/libOpenCL.so.1" ] || continue
    for name in $(few 2 many_devices callbacks vector_add events first_calls svm build_callback sub_devices); do
        program=$top_builddir/tests/parity/$name
        env LD_LIBRARY_PATH="$folder" "$program" > "$scratch/native" 2> "$scratch/err" || fail "$folder: $name natively: $(cat "$scratch/err")"
        for method in icd preload; do
            env LD_LIBRARY_PATH="$folder" vocl run --interpose $method -- "$program" > "$scratch/out" 2> "$scratch/err" ||
                fail "$folder: $name by $method: $(cat "$scratch/err")"
            diff "$scratch/native" "$scratch/out" || fail "$folder: $name by $method prints something else"
        done
    done
    case $folder in
    *2.3.3*)
        env LD_LIBRARY_PATH="$folder" vocl doctor > "$scratch/out" 2>&1
        grep -q '^note .*loader: .*crashes' "$scratch/out" || fail "$folder: doctor knows nothing of it: $(cat "$scratch/out")" ;;
    esac
    echo "$folder"
done
exit 0
