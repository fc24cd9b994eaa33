#!/bin/sh
# A host has less memory than when the program began, as virtual machines at times do: its sessions still move between
# its workers. PoCL gets the size of memory from hwloc, which reads it from a file here.
. "$(dirname "$0")/../lib.sh"
moved=$top_builddir/tests/session/moved
mark=VOCL_TEST_MARK=$$
export VOCL_SHARE=0 HWLOC_XMLFILE="$scratch/host.xml"

# object TYPE NUMBER SET ATTRIBUTE...: prints the beginning of an object with the processors in SET
object()
{
    type=$1 number=$2 set=$3
    shift 3
    names=$((names + 1))
    echo "<object type=\"$type\" os_index=\"$number\" cpuset=\"$set\" complete_cpuset=\"$set\" nodeset=\"0x1\"" \
        "complete_nodeset=\"0x1\" gp_index=\"$names\" $*"
}

# memory BYTES: sets the memory of the host from here on
memory()
{
    {
        names=0
        echo '<topology version="2.0">'
        object Machine 0 0x3 'allowed_cpuset="0x3" allowed_nodeset="0x1">'
        object NUMANode 0 0x3 "local_memory=\"$1\"/>"
        for number in 0 1; do
            object Core $number 0x$((number + 1)) '>'
            object PU $number 0x$((number + 1)) '/></object>'
        done
        echo '</object></topology>'
    } > "$scratch/new.xml"
    mv "$scratch/new.xml" "$scratch/host.xml"
}

memory 4000000000
[ "$(vocl run -- clinfo --raw | grep -c 'CL_DEVICE_GLOBAL_MEM_SIZE *[1-3][0-9]\{9\}$')" = 1 ] ||
    skip "PoCL does not have the memory from hwloc"
"$moved" 4 1000 | tail -n 1 > "$scratch/native"
: > "$scratch/out"
env "$mark" VOCL_LOG=info vocl run -- "$moved" 4 0 "$scratch/enough" > "$scratch/out" 2> "$scratch/err" &
program=$!
wait_until grep -q ready "$scratch/out" || fail "no program: $(cat "$scratch/out"; tail -n 5 "$scratch/err")"
for bytes in 3000000000 3500000000 2000000000; do
    memory $bytes
    vocl move $program --to here > "$scratch/asked" 2>&1 || fail "with $bytes bytes: $(cat "$scratch/asked")"
done
touch "$scratch/enough"
wait $program || fail "status $?: $(tail -n 5 "$scratch/out" "$scratch/err")"
tail -n 1 "$scratch/out" | diff "$scratch/native" - || fail "something else is printed"
wait_until none_left "$mark" || fail "left: $(session_processes "$mark")"
echo "moved to less memory, to more and to less"

# A buffer that is larger than the target's device may allocate does not move.
rm -f "$scratch/one" "$scratch/two"
memory 4000000000
: > "$scratch/out"
env "$mark" VOCL_LOG=info vocl run -- "$top_builddir/tests/session/stays" "$scratch/one" "$scratch/two" large > "$scratch/out" 2> "$scratch/err" &
program=$!
wait_until grep -q ready "$scratch/out" || fail "no program: $(cat "$scratch/out"; tail -n 5 "$scratch/err")"
worker=$(session_workers "$mark")
memory 600000000
vocl move $program --to here > "$scratch/asked" 2>&1 && fail "moved to where there is no room: $(cat "$scratch/asked")"
grep -q "a memory object cannot be created there: OpenCL's error -" "$scratch/asked" || fail "no room: $(cat "$scratch/asked")"
is_alone()
{
    [ "$(session_workers "$mark")" = "$worker" ]
}
wait_until is_alone || fail "left: $(session_processes "$mark")"
memory 3000000000
vocl move $program --to here > "$scratch/asked" 2>&1 || fail "where there is room again: $(cat "$scratch/asked")"
touch "$scratch/one" "$scratch/two"
wait $program || fail "status $?: $(tail -n 5 "$scratch/out" "$scratch/err")"
grep -qx right "$scratch/out" || fail "no room: $(cat "$scratch/out")"
wait_until none_left "$mark" || fail "left: $(session_processes "$mark")"
echo "no room: it stays"
