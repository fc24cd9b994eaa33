#!/bin/sh
# A session with two devices that are not alike moves to a node that has two such devices and, between them, one that is
# like neither. The policy would choose the last two devices: then only the one in the middle is excluded, and the first
# and the last are found.
. "$(dirname "$0")/one-lib.sh"
[ -e "$VOCL_LIBEXECDIR/vocl-tls.so" ] || skip "VOCL was built without TLS"
oclgrind=/usr/lib/oclgrind/liboclgrind-rt-icd.so
[ -e $oclgrind ] || skip "no oclgrind"
need python3 python3
export POCL_CACHE_DIR="${POCL_CACHE_DIR:-$scratch/pocl}"
mkdir "$scratch/vendors"
cp "${OCL_ICD_VENDORS:-/etc/OpenCL/vendors}"/pocl*.icd "$scratch/vendors" || skip "PoCL is not in OCL_ICD_VENDORS"
echo $oclgrind > "$scratch/vendors/oclgrind.icd"
make_pool one 'devices = ( { match = "*"; sessions = 2; } );' 'policy = "spread";'
add_daemon two
# with_devices FILE DEVICES: sets Oclgrind's device, and those of PoCL
with_devices()
{
    setting "$1" environment "[ \"POCL_CACHE_DIR=$POCL_CACHE_DIR\", \"OCL_ICD_VENDORS=$scratch/vendors\", \"POCL_DEVICES=$2\" ]"
}
with_devices "$scratch/conf" pthread
with_devices "$scratch/conf.two" "basic pthread"
program= burn=
start_daemon
start_other two
trap 'kill -9 $program $burn 2> /dev/null; end_daemons' EXIT
meet_other
export VOCL_POOL="$scratch/pool" VOCL_SHARE=0

is_at()
{
    [ "$(places "$1" | cut -d ' ' -f 1)" = "$2" ]
}
vocl pool --json nodes | python3 -c '
import json, sys
names = {n["name"]: [d["name"].split("-")[0] for d in n["devices"]] for n in json.load(sys.stdin)["nodes"]}
sys.exit(names != {"one": ["Oclgrind Simulator", "pthread"], "two": ["Oclgrind Simulator", "basic", "pthread"]})' ||
    skip "the devices are in another order: $(vocl pool devices)"

# The session on the first device of node two makes the policy prefer the other two devices.
vocl pool drain one || fail "drain"
await state=one:draining
vocl run --name 'Oclgrind*' -- "$top_builddir/tests/pool/burn" 0 "$scratch/enough" > /dev/null 2> "$scratch/burn.err" &
burn=$!
wait_until is_at burn two:0 || fail "no other session: $(vocl pool sessions; cat "$scratch/burn.err" "$scratch"/log*)"
vocl pool resume one || fail "resume"
await state=one:up
vocl pool drain two || fail "drain"
await state=two:draining
vocl run --count 2 --wait 300 -- "$top_builddir/tests/session/moved_any" "$scratch/go" "$scratch/end" 0x102b > "$scratch/out" \
    2> "$scratch/err" &
program=$!
wait_until grep -qs ready "$scratch/out" || fail "no program: $(cat "$scratch/err" "$scratch"/log*)"
is_at moved_any one:0,1 || fail "at first: $(places moved_any)"
vocl pool resume two || fail "resume"
await state=two:up
vocl pool drain --move one > "$scratch/asked" 2>&1 || fail "not moved: $(cat "$scratch/asked" "$scratch/err" "$scratch"/log*)"
wait_until is_at moved_any two:0,2 || fail "moved: $(places moved_any)"
touch "$scratch/go" "$scratch/end"
wait $program || fail "status $?: $(cat "$scratch/out" "$scratch/err" "$scratch"/log*)"
grep -qx right "$scratch/out" || fail "$(cat "$scratch/out")"
touch "$scratch/enough"
wait $burn || fail "the other session: $(cat "$scratch/burn.err")"
echo "the two that fit were found"
grep Sanitizer "$scratch"/log* && fail "the sanitizer found something"
exit 0
