#!/bin/sh
# libvocl.so is a complete OpenCL library and nothing else: it exports every function of the native loader, in the same
# version, and no other names, and has no dependency that a program would inherit from it.
. "$(dirname "$0")/lib.sh"
need nm binutils
library=$top_builddir/libexec/libvocl.so
[ -e "$library" ] || fail "no $library"

nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort -u > "$scratch/vocl"
if stray=$(grep -Ev '^(cl[A-Z]|vocl)' "$scratch/vocl"); then
    fail "exported, but neither OpenCL's nor VOCL's:" $stray
fi
sed -n 's/^EXPORTED[A-Z_]*(\(cl[A-Za-z0-9]*\),.*/\1/p' "$top_srcdir/base/opencl.def" | sort > "$scratch/rows"
[ -s "$scratch/rows" ] || fail "no rows in base/opencl.def"
other=$(grep '^cl' "$scratch/vocl" | grep -vx clIcdGetPlatformIDsKHR | comm -3 - "$scratch/rows") # which drivers export, too
[ -z "$other" ] || fail "rows of base/opencl.def without a symbol, or symbols without a row:" $other

dependencies=$(objdump -p "$library" | awk '$1 == "NEEDED" { print $2 }')
for dependency in $dependencies; do
    case $dependency in
    libc.so.* | libm.so.* | ld-linux*) ;;
    libasan.so.* | libubsan.so.* | libtsan.so.* | libgcc_s.so.*) ;; # in a sanitizer build
    *) fail "libvocl.so needs $dependency" ;;
    esac
done
if foreign=$(ldd "$library" | grep -iE 'mpi|OpenCL'); then
    fail "libvocl.so brings along:" "$foreign"
fi

loader=$(${CC:-cc} -print-file-name=libOpenCL.so.1)
[ -e "$loader" ] || skip "no libOpenCL.so.1 to compare with"
objdump -T "$loader" | awk '$4 == ".text" && $NF ~ /^cl[A-Z]/ { print $NF }' | sort -u > "$scratch/loader"
[ -s "$scratch/loader" ] || fail "no functions found in $loader"
# a program that is linked with the loader asks for functions with their versions
versions()
{
    objdump -T "$1" | awk '$4 == ".text" && $NF ~ /^cl[A-Z]/ { gsub(/[()]/, "", $(NF - 1)); print $NF, $(NF - 1) }' | sort -u
}
versions "$loader" > "$scratch/loader.versions"
versions "$library" > "$scratch/vocl.versions"
other=$(comm -23 "$scratch/loader.versions" "$scratch/vocl.versions")
[ -z "$other" ] || fail "base/opencl.def has other versions:" "$other"

missing=$(comm -23 "$scratch/loader" "$scratch/vocl")
[ -z "$missing" ] || fail "not exported:" $missing
echo "$(wc -l < "$scratch/loader") functions of $loader, $(wc -l < "$scratch/vocl") of libvocl.so"
