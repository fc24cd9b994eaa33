#!/bin/sh
# clinfo prints the native answers about the device, except for the lines below.
. "$(dirname "$0")/../lib.sh"
need clinfo clinfo
need_foreign_programs

# Extensions that VOCL withholds, and fine-grained system SVM, are permitted differences.
withheld=$(sed -n '/withheld\[\] = {/,/^};/s/^ *"\([a-z0-9_]*\)",.*/\1/p' "$top_srcdir/libvocl/extension.c" | paste -s -d '|')
[ -n "$withheld" ] || fail "no extensions are withheld"

# The platform is VOCL and not the native one; memory sizes vary from run to run; with preload there is no ICD loader to
# ask.
comparable()
{
    sed -e '/^ICD loader properties/,$d' \
        -e '/Platform \(Name\|Vendor\|Version\|Extensions function suffix\)/d' \
        -e '/^  cl\(GetPlatformInfo\|GetDeviceIDs\|CreateContext\)(NULL/d' \
        -e '/Fine-grained system sharing/d' \
        -e '/Global memory size\|Max memory allocation\|Max size for global variable\|Preferred total size/d' \
        -e '/^ *$/d' "$1" | sed -E -e "/^ {40,}($withheld)/d" -e "/(Device|Platform) Extensions  /s/($withheld)[a-z0-9_]* *//g" -e "s/ +$//"
}

clinfo > "$scratch/native" 2> /dev/null || fail "clinfo fails natively"
comparable "$scratch/native" > "$scratch/native.lines"
[ "$(wc -l < "$scratch/native.lines")" -gt 100 ] || fail "only $(wc -l < "$scratch/native.lines") lines to compare"
for method in preload icd both; do
    vocl run --interpose $method -- clinfo > "$scratch/out" 2> "$scratch/err" || fail "$method: $(cat "$scratch/err")"
    comparable "$scratch/out" > "$scratch/out.lines"
    diff "$scratch/native.lines" "$scratch/out.lines" || fail "$method: clinfo says something else"
    [ "$SANITIZER" = address ] || [ ! -s "$scratch/err" ] || fail "$method: $(cat "$scratch/err")"
done
