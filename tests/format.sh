#!/bin/sh
# Every source is as clang-format 14 leaves it (make format). Other versions lay out differently.
. "$(dirname "$0")/lib.sh"
format=${CLANG_FORMAT:-clang-format}
need "$format" clang-format
"$format" --version | grep -q 'version 14\.' || skip "$("$format" --version) is not version 14"

cd "$top_srcdir" || exit 99
sources | grep -v "\.def$" > "$scratch/files"
xargs "$format" --dry-run -Werror < "$scratch/files" 2> "$scratch/differences" && exit 0
grep -o '^[^ ]*: error' "$scratch/differences" | cut -d: -f1 | sort | uniq -c
fail "not formatted; run make format"
