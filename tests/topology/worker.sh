#!/bin/sh
# Workers in a PCIe tree: the same results in whatever order copies are released, and threads and memory near the
# devices.
. "$(dirname "$0")/../lib.sh"
[ "$SANITIZER" != thread ] || skip "the thread sanitizer finds fault with LLVM in the native run, too"
halo=$top_builddir/tests/parity/halo

# eight devices, assumed to be in the paper's T2
POCL_DEVICES="pthread pthread pthread pthread pthread pthread pthread pthread"
export POCL_DEVICES
"$halo" > "$scratch/native" 2> /dev/null || fail "halo natively"
# by_source WHAT FILE: writes the copies in the worker's log lines WHAT into FILE, in their order for each source
by_source()
{
    sed -n "s/.*debug: $1: //p" "$scratch/err" > "$scratch/said"
    [ "$(wc -l < "$scratch/said")" -ge 100 ] || fail "only $(wc -l < "$scratch/said") copies were put in order"
    for device in 0 1 2 3 4 5 6 7; do
        grep "^$device > [0-9]" "$scratch/said"
    done > "$scratch/$2"
}
# exchange ORDER: runs the halo exchange through a worker
exchange()
{
    VOCL_TRANSFER_ORDER=$1 VOCL_LOG=debug VOCL_TOPOLOGY=T2 vocl run -- "$halo" > "$scratch/out" 2> "$scratch/err" ||
        fail "halo: $(tail -n 5 "$scratch/err")"
    diff "$scratch/native" "$scratch/out" > /dev/null || fail "halo in order $1 prints something else"
    by_source 'waits to move' came
    by_source moves went
}
exchange 0
# a copy that completes before arbitration is asked is in no "moves" line
diff "$scratch/came" "$scratch/went" | grep '^>' && fail "not first come first served"
exchange 1
diff "$scratch/came" "$scratch/went" | grep -q '^>' || fail "the model changed nothing"
# reads from devices with their own memory are ordered, too
VOCL_ZERO_COPY=0 VOCL_LOG=debug VOCL_TOPOLOGY=T2 vocl run -- "$halo" > "$scratch/out" 2> "$scratch/err" ||
    fail "halo, staged: $(tail -n 5 "$scratch/err")"
diff "$scratch/native" "$scratch/out" > /dev/null || fail "halo, staged, prints something else"
[ "$(grep -c 'debug: moves: [0-7] > -1, ' "$scratch/err")" -ge 60 ] || fail "reads were not put in order"
grep -q 'device 7 is 7' "$scratch/err" || fail "where the devices are: $(head "$scratch/err")"
unset POCL_DEVICES

# a worker runs near its devices: a machine with two processors, each near its own NUMA node
case $SANITIZER in
no) ;;
*)  exit 0 ;; # what is looked at here is not in the code
esac
[ "$(nproc)" -eq 2 ] || exit 0 # the machine below has two
numa()
{
    printf '<object type="NUMANode" os_index="%d" cpuset="0x%x" complete_cpuset="0x%x" nodeset="0x%x" ' "$1" "$2" "$2" "$2"
    printf 'complete_nodeset="0x%x" gp_index="%d" local_memory="1000000000"/>' "$2" "$((10 + $1))"
    printf '<object type="PU" os_index="%d" cpuset="0x%x" complete_cpuset="0x%x" nodeset="0x%x" ' "$1" "$2" "$2" "$2"
    printf 'complete_nodeset="0x%x" gp_index="%d"/>\n' "$2" "$((20 + $1))"
}
{
    printf '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n<topology version="2.0">\n'
    sets='cpuset="0x3" complete_cpuset="0x3" allowed_cpuset="0x3" nodeset="0x3" complete_nodeset="0x3" allowed_nodeset="0x3"'
    printf '<object type="Machine" os_index="0" %s gp_index="1">\n' "$sets"
    for node in 0 1; do
        mask=$((1 << node))
        printf '<object type="Package" os_index="%d" cpuset="0x%x" complete_cpuset="0x%x" ' $node $mask $mask
        printf 'nodeset="0x%x" complete_nodeset="0x%x" gp_index="%d">\n' $mask $mask $((2 + node))
        numa $node $mask
        printf '</object>\n'
    done
    printf '</object>\n</topology>\n'
} > "$scratch/machine.xml"
# near DEVICE...: starts a worker for devices below these switches, and sets $places to the processors where it may run
near()
{
    printf 'root R\nswitch A R numa 0\nswitch B R numa 1\n' > "$scratch/tree"
    number=0
    for parent; do
        echo "device d$number $parent" >> "$scratch/tree"
        number=$((number + 1))
    done
    mkfifo "$scratch/say"
    rm -f "$scratch/out" # or "ready" may be another's
    env "VOCL_TEST_MARK=$scratch" "POCL_DEVICES=$(echo "$@" | sed 's/[AB]/pthread/g')" "VOCL_TOPOLOGY=$scratch/tree" \
        "HWLOC_XMLFILE=$scratch/machine.xml" HWLOC_THISSYSTEM=1 VOCL_LOG=info \
        vocl run -- "$top_builddir/tests/session/sleeper" < "$scratch/say" > "$scratch/out" 2> "$scratch/err" &
    job=$!
    exec 8> "$scratch/say"
    wait_until grep -q ready "$scratch/out" || fail "no session: $(cat "$scratch/err")"
    worker=
    for process in /proc/[0-9]*; do
        tr '\0' '\n' 2> /dev/null < "$process/environ" | grep -qx "VOCL_TEST_MARK=$scratch" || continue
        [ "$(cat "$process/comm")" != vocl-proxy ] || worker=${process#/proc/}
    done
    [ -n "$worker" ] || fail "no worker"
    places=$(sed -n 's/^Cpus_allowed_list:\t//p' "/proc/$worker/status")
    preferred=$(grep -c 'prefer\|bind' "/proc/$worker/numa_maps" 2> /dev/null)
    kill $job
    wait $job 2> /dev/null
    exec 8>&-
    rm "$scratch/say"
}
near A A
[ "$places" = 0 ] || fail "near node 0 is on processors $places: $(cat "$scratch/err")"
[ ! -e /proc/self/numa_maps ] || [ "$preferred" -gt 0 ] || fail "its memory is anywhere"
near A B
[ "$places" = 0-1 ] || fail "near both nodes is on processors $places: $(cat "$scratch/err")"
