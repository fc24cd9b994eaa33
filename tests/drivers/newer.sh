#!/bin/sh
# Functions that Debian's PoCL does not have yet, with a driver that adds them (newer.h): unified shared memory, buffers
# with addresses, SPIR-V, Intel's name for buffers with properties. The results are those of the native run with that
# driver; across hosts, as far as is possible.
. "$(dirname "$0")/../lib.sh"
need spirv-as spirv-tools
need llvm-spirv-15 llvm-spirv-15

mark=VOCL_TEST_MARK=$$
parity=$top_builddir/tests/parity
nodes=$top_builddir/tests/drivers/usm_nodes
mkdir "$scratch/vendors"
echo "$top_builddir/tests/drivers/.libs/newer.so" > "$scratch/vendors/newer.icd"
spirv-as --target-env spv1.2 -o "$scratch/scale.spv" "$top_srcdir/tests/drivers/scale.spvasm" || fail "spirv-as"
export OCL_ICD_VENDORS="$scratch/vendors" VOCL_TEST_IL="$scratch/scale.spv"

# both interposition methods, on the same host
for name in usm device_address il extensions kernel_info errors_queue errors_buffer; do
    "$top_srcdir/tests/run-parity" "$parity/$name" > "$scratch/tap" 2>&1
    [ "$(grep -c '^ok [12] - [a-z]*$' "$scratch/tap")" = 2 ] || fail "$name: $(cat "$scratch/tap")"
done

# same LINES NAME COMMAND...: NAME, run by the command, prints its native output, except for LINES.
same()
{
    without=$1
    name=$2
    shift 2
    "$parity/$name" 2> /dev/null | grep -v "$without" > "$scratch/native"
    env "$mark" "$@" "$parity/$name" > "$scratch/all" 2> "$scratch/err"
    status=$?
    [ $status -eq 0 ] || fail "$*: $name: status $status: $(cat "$scratch/all" "$scratch/err")"
    grep -v "$without" "$scratch/all" > "$scratch/out"
    diff "$scratch/native" "$scratch/out" || fail "$*: $name prints something else"
}

for name in usm device_address il extensions; do
    same '^$' $name vocl run --local --
    same '^$' $name vocl run --workers 2 --
    same '^shared:' $name env VOCL_ZERO_COPY=0 vocl run --
done

# With a device that takes only its own addresses, host and shared memory work only in the program's own process.
VOCL_TEST_GPU=1
export VOCL_TEST_GPU
same '^$' usm vocl run --local --
same '^shared:' usm vocl run --
grep -q '^shared: 0 0$' "$scratch/all" || fail "shared memory of a GPU: $(grep '^shared' "$scratch/all")"
unset VOCL_TEST_GPU

# The driver receives what kernels are told about memory.
VOCL_TEST_LOG=1 vocl run -- "$parity/usm" > "$scratch/out" 2> "$scratch/err" || fail "usm: $(cat "$scratch/err")"
for line in '0x4203, 64 bytes: 0' '0x4201, 4 bytes: 0' '0x4200, 4 bytes: 0' '0x4202, 4 bytes: 0'; do
    grep -q "exec info $line" "$scratch/err" || fail "no exec info $line: $(cat "$scratch/err")"
done
VOCL_TEST_LOG=1 vocl run -- "$parity/device_address" > "$scratch/out" 2> "$scratch/err" || fail "$(cat "$scratch/err")"
grep -q "exec info 0x5002, 32 bytes: 0" "$scratch/err" || fail "no addresses: $(cat "$scratch/err")"

# The driver receives the hints of queues.
VOCL_TEST_LOG=1 vocl run -- "$parity/errors_queue" > "$scratch/out" 2> "$scratch/err" || fail "$(cat "$scratch/err")"
grep -q '(priority) = CL_SUCCESS' "$scratch/out" || fail "no queue with a priority: $(cat "$scratch/out")"
for line in '0x1096: 4' '0x1096: 2' '0x1097: 1' '0x1097: 2'; do
    grep -q "queue property $line" "$scratch/err" || fail "no property $line: $(cat "$scratch/err")"
done

# Command buffers are withheld where the driver's functions take other arguments than the headers' version: 0.9.4,
# 0.9.5.
withheld=
for version in 36868 36869; do
    export VOCL_TEST_RECORDS=$version
    "$parity/command_buffer" > "$scratch/native" 2>&1
    grep -q 'takes other arguments' "$scratch/native" || continue
    withheld=yes
    vocl run -- "$parity/command_buffer" > "$scratch/out" 2>&1
    grep -q '^no cl_khr_command_buffer here' "$scratch/out" || fail "version $version is offered: $(cat "$scratch/out")"
done
[ -n "$withheld" ] || fail "both versions are taken: $(cat "$scratch/native")"
unset VOCL_TEST_RECORDS

# Extensions of versions that are not known yet are withheld: 1.0.0 of command buffers, 2.0.0 of device addresses.
export VOCL_TEST_RECORDS=4194304 VOCL_TEST_ADDRESSES=8388608
vocl run -- "$parity/command_buffer" > "$scratch/out" 2>&1
grep -q '^no cl_khr_command_buffer here' "$scratch/out" || fail "command buffers 1.0 are offered: $(cat "$scratch/out")"
vocl run -- "$parity/device_address" > "$scratch/out" 2>&1
grep -q '^buffers have no addresses here' "$scratch/out" || fail "addresses 2.0 are offered: $(cat "$scratch/out")"
unset VOCL_TEST_RECORDS VOCL_TEST_ADDRESSES

# In place of pointers to texts the worker sends the texts. A query whose answer is handles is refused: it would crash
# the program, and tell it the worker's addresses.
queries=$top_builddir/tests/drivers/queries
"$queries" > "$scratch/native" || fail "queries natively: $(cat "$scratch/native")"
grep -q '^  SPV_KHR_no_integer_wrap_decoration$' "$scratch/native" || fail "queries natively: $(cat "$scratch/native")"
sed 's/^\(CL_DEVICE_COMMAND_BUFFER_SYNC_DEVICES_KHR\): 0/\1: -30/' "$scratch/native" > "$scratch/expected"
for where in "" --local; do
    vocl run $where -- "$queries" > "$scratch/out" || fail "queries: $(cat "$scratch/out")"
    diff "$scratch/expected" "$scratch/out" || fail "queries $where"
done

# A node of OpenCL 3.1 says 3.0, whose rules VOCL has, and no platform of VOCL can be unloaded.
versions=$top_builddir/tests/drivers/versions
VOCL_TEST_LATER=1 "$versions" > "$scratch/native" || fail "versions natively: $(cat "$scratch/native")"
grep -q '^local argument of size 0: 0$' "$scratch/native" || fail "versions natively: $(cat "$scratch/native")"
cat > "$scratch/expected" << end
platform: OpenCL 3.0
device: OpenCL 3.0
language: OpenCL C 3.0 later, all of it
cannot be unloaded
numbers: 0xc00000 0xc00000
OpenCL C 1.0
OpenCL C 1.1
OpenCL C 1.2
OpenCL C 3.0
local argument of size 0: -51
end
for where in "" --local "--interpose icd"; do
    VOCL_TEST_LATER=1 vocl run $where -- "$versions" > "$scratch/out" || fail "versions: $(cat "$scratch/out")"
    diff "$scratch/expected" "$scratch/out" || fail "versions $where"
done

# A context has the image formats of all its devices, an image is where its format is.
VOCL_TEST_FORMATS=1 vocl run --workers 2 -- "$top_builddir/tests/drivers/two_formats" > "$scratch/out" 2> "$scratch/err" ||
    fail "formats: $(cat "$scratch/out" "$scratch/err")"
diff - "$scratch/out" << end || fail "formats of two devices"
CL_FLOAT: named, created: 0
device 0: read: -10, no contents, launch: -10, 0
device 1: read: 0, the contents, launch: 0, 0
CL_UNSIGNED_INT8: named, created: 0
device 0: read: 0, the contents
device 1: read: -10, no contents
end

# Two devices in one context.
POCL_DEVICES="pthread pthread" "$nodes" > "$scratch/two" 2>&1 || fail "two devices natively: $(cat "$scratch/two")"
together()
{
    env "$mark" "$@" > "$scratch/out" 2> "$scratch/err" || fail "$*: $(cat "$scratch/out" "$scratch/err")"
    diff "$scratch/two" "$scratch/out" || fail "$*: something else is printed"
}
together env POCL_DEVICES="pthread pthread" vocl run -- "$nodes"
together vocl run --workers 2 -- "$nodes" nodes
together vocl run --workers 1 --local -- "$nodes" nodes
together env VOCL_ZERO_COPY=0 vocl run --workers 2 -- "$nodes" nodes

# The session's memory limit, of each device, includes these allocations: -5 is CL_OUT_OF_RESOURCES; buffers return -4.
env POCL_DEVICES="pthread pthread" VOCL_WORKER_MEMORY=64000000 vocl run -- "$nodes" limit > "$scratch/out" 2> "$scratch/err" ||
    fail "limits: $(cat "$scratch/out" "$scratch/err")"
printf '0 -5 -5 -4\n0 -5 0 -5\n0 0 -5 -5\n0 0 -4 -4\n' | diff - "$scratch/out" || fail "limits"

# On another host.
across()
{
    env "$mark" VOCL_LOG=warn "$top_srcdir/tests/net/two-hosts" "$@"
}
across -- true 2> "$scratch/err"
[ $? -ne 77 ] || skip "only on one host: $(cat "$scratch/err")"
for name in usm device_address; do
    same '^shared:' $name env VOCL_LOG=warn "$top_srcdir/tests/net/two-hosts" --
done
together env VOCL_LOG=warn "$top_srcdir/tests/net/two-hosts" --workers 2 -- "$nodes" nodes

# The second node is lost.
mkfifo "$scratch/say"
across --workers 2 -- "$nodes" lose < "$scratch/say" > "$scratch/out" 2> "$scratch/err" &
program=$!
exec 9> "$scratch/say"
wait_until grep -q ready "$scratch/out" || fail "no session: $(cat "$scratch/err")"
killed=
for process in $(session_processes "$mark"); do
    if [ "$(cat "/proc/$process/comm")" = vocl-proxy ] && tr '\0' '\n' < "/proc/$process/environ" | grep -q '^PMI_RANK=2$'
    then
        kill -KILL "$process" && killed=yes
    fi
done
[ -n "$killed" ] || fail "no second worker: $(session_processes "$mark")"
wait_until grep -q "is lost" "$scratch/err" || fail "the loss was not noticed: $(cat "$scratch/err")"
echo >&9
wait $program || fail "after the loss: $(cat "$scratch/out" "$scratch/err")"
grep -q freed "$scratch/out" || fail "after the loss: $(cat "$scratch/out" "$scratch/err")"
wait_until none_left "$mark" || fail "left after it all: $(session_processes "$mark")"
