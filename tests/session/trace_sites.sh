#!/bin/sh
# Traces name the functions and lines that call OpenCL: in programs with debugging information, without it, and
# stripped; in a shared library; with each interposition method; and with an ICD loader that calls OpenCL functions
# instead of jumping to them.
. "$(dirname "$0")/../lib.sh"
[ -x "$VOCL_LIBEXECDIR/vocl-trace" ] || skip "built without traces"
grep -q 'libdw\.so' "$VOCL_LIBEXECDIR/vocl-trace" || skip "built without elfutils"
need python3 python3
need gcc gcc
need strip binutils
need objcopy binutils
source=$top_srcdir/tests/session/traced.c
trace=$scratch/out.json

# line FUNCTION: prints the line in which the program calls it
line()
{
    grep -n "$1(" "$source" | head -n 1 | cut -d : -f 1
}

# sites PROGRAM [OPTION...]: writes each call's function and call site to $scratch/sites
sites()
{
    what=$1
    shift
    timeout -k 10 300 vocl run --trace "$trace" --report="$scratch/report.json" "$@" -- "$what" 3 > "$scratch/out" 2>&1 ||
        fail "$at: $?: $(cat "$scratch/out")"
    python3 - "$trace" "$scratch/report.json" > "$scratch/sites" <<'PY' || fail "$at: $(cat "$scratch/sites")"
import json, sys
from collections import Counter
trace, report = (json.load(open(name)) for name in sys.argv[1:])
calls = Counter((e["name"], e["args"]["site"]) for e in trace["traceEvents"] if e.get("cat") == "call")
assert calls == {(s["name"], s["site"]): s["calls"] for s in report["sites"]}, (calls, report["sites"])
known = {s["site"]: s for s in trace["otherData"]["programs"][0]["sites"]}
for (function, site), count in sorted(calls.items()):
    assert known[site]["module"] and known[site]["offset"] > 0, known
    print(function, site, count, sep="\t")
PY
}

# has FUNCTION SITE COUNT: there are so many such calls
has()
{
    printf '%s\t%s\t%s\n' "$@" | grep -qxFf - "$scratch/sites" || fail "$at: $1 is not $3 times in $2: $(cat "$scratch/sites")"
}

for level in 0 2; do
    gcc -g -O$level -pthread -o "$scratch/program" "$source" -lOpenCL || fail "$source does not build"
    for method in preload icd; do
        at="-g -O$level, $method"
        sites "$scratch/program" --interpose $method
        for function in clEnqueueWriteBuffer clEnqueueNDRangeKernel clEnqueueReadBuffer; do
            has $function "work (traced.c:$(line $function))" 6
        done
        has clFinish "work (traced.c:$(line clFinish))" 2
        has clBuildProgram "main (traced.c:$(line clBuildProgram))" 1
        has clCreateContext "main (traced.c:$(line clCreateContext))" 1
    done
done
at="the report"
vocl explain "$trace" > "$scratch/text" || fail "$at: vocl explain: $?"
grep -q "^  clEnqueueReadBuffer *work (traced.c:$(line clEnqueueReadBuffer)) *6 " "$scratch/text" || fail "$at: $(cat "$scratch/text")"
vocl run --report -- "$scratch/program" 2000 2> "$scratch/text" || fail "$at: $?"
grep -q "4000 round trips by clEnqueueReadBuffer in work (traced.c:$(line clEnqueueReadBuffer)), " "$scratch/text" ||
    fail "$at: no hint: $(cat "$scratch/text")"

at="debugging information in a file of its own"
objcopy --only-keep-debug "$scratch/program" "$scratch/program.debug"
strip "$scratch/program"
(cd "$scratch" && objcopy --add-gnu-debuglink=program.debug program)
sites "$scratch/program"
has clEnqueueReadBuffer "work (traced.c:$(line clEnqueueReadBuffer))" 6
rm "$scratch/program.debug"
sites "$scratch/program"
grep -q '^clEnqueueReadBuffer	program+0x[0-9a-f]*	6$' "$scratch/sites" || fail "$at, which is gone: $(cat "$scratch/sites")"

at="a function within another"
{
    echo '#include <CL/cl.h>'
    echo 'static inline __attribute__((always_inline)) cl_int finish(cl_command_queue queue) { return clFinish(queue); }'
    echo '#define clFinish finish'
} > "$scratch/finish.h"
gcc -g -O2 -pthread -D_GNU_SOURCE= -include "$scratch/finish.h" -o "$scratch/program" "$source" -lOpenCL ||
    fail "$at: it does not build"
sites "$scratch/program"
has clFinish "finish (finish.h:2)" 2

at="without -g"
gcc -O1 -fno-inline -pthread -o "$scratch/program" "$source" -lOpenCL
sites "$scratch/program"
has clEnqueueReadBuffer "work (program)" 6
has clBuildProgram "main (program)" 1

at="stripped"
strip "$scratch/program"
sites "$scratch/program"
[ "$(grep -c '^clEnqueueReadBuffer	program+0x[0-9a-f]*	6$' "$scratch/sites")" = 1 ] || fail "$at: $(cat "$scratch/sites")"

at="a shared library"
gcc -g -O2 -shared -fPIC -pthread -Dmain=traced -o "$scratch/libtraced.so" "$source" -lOpenCL
echo 'int traced(int, char **); int main(int count, char **words) { return traced(count, words); }' > "$scratch/main.c"
gcc -o "$scratch/program" "$scratch/main.c" "$scratch/libtraced.so" -Wl,-rpath,"$scratch"
sites "$scratch/program"
has clEnqueueReadBuffer "work (traced.c:$(line clEnqueueReadBuffer))" 6
strip "$scratch/libtraced.so"
sites "$scratch/program"
has clBuildProgram "traced (libtraced.so)" 1 # a dynamic symbol stays
grep -q '^clEnqueueReadBuffer	libtraced.so+0x[0-9a-f]*	6$' "$scratch/sites" || fail "$at, stripped: $(cat "$scratch/sites")"

at="a loader that calls"
cat > "$scratch/loader.c" <<'C'
#include <CL/cl.h>
static volatile int calls;
static cl_int pass(cl_command_queue queue) { cl_int status = clFinish(queue); calls++; return status; }
cl_int finish(cl_command_queue queue) { cl_int status = pass(queue); calls++; return status; }
C
gcc -O0 -shared -fPIC -o "$scratch/libOpenCL.so.99" "$scratch/loader.c"
gcc -g -O2 -pthread -D_GNU_SOURCE= -DclFinish=finish -o "$scratch/program" -include CL/cl.h "$source" "$scratch/libOpenCL.so.99" -lOpenCL \
    -Wl,-rpath,"$scratch" || fail "$at: it does not build"
sites "$scratch/program"
has clFinish "work (traced.c:$(line clFinish))" 2
exit 0
