#!/bin/sh
# clpeak completes the same measurements as natively; the results are not compared.
. "$(dirname "$0")/../lib.sh"
need clpeak clpeak
need_foreign_programs

# The size of the transfers depends on the device's memory.
POCL_MEMORY_LIMIT=1
export POCL_MEMORY_LIMIT

lines()
{
    # times below a microsecond give an infinite bandwidth
    sed -e 's/[0-9][0-9.]*//g' -e '/^Platform/d' -e 's/ *: *\(inf\)\{0,1\}$//' "$1"
}

try()
{
    what=$1
    shift
    clpeak "$what" > "$scratch/native" 2> "$scratch/err" || fail "$what natively: $(cat "$scratch/err")"
    lines "$scratch/native" > "$scratch/native.lines"
    for method in "$@"; do
        vocl run --interpose $method -- clpeak "$what" > "$scratch/out" 2> "$scratch/err" ||
            fail "$what, $method: $(cat "$scratch/out" "$scratch/err")"
        lines "$scratch/out" > "$scratch/out.lines"
        diff "$scratch/native.lines" "$scratch/out.lines" || fail "$what, $method: something else is printed"
    done
}

try --kernel-latency preload icd
try --transfer-bandwidth preload
