#!/bin/sh
# Devices of different nodes differ in all that programs tell devices apart by, even if their drivers give the same
# answers on all hosts (tests/drivers/same.c); those on the program's own host are what they are natively. In every
# session, by both interposition methods, and after a move, a device has the same identity. Programs that want each
# device of several platforms once, hashcat among them, neither miss one nor take one twice.
. "$(dirname "$0")/../lib.sh"
need ip iproute2
need python3 python3
need_foreign_programs
mark=VOCL_TEST_MARK=$$
two=$top_srcdir/tests/net/two-hosts
identity=$top_builddir/tests/session/identity
[ "$(status_of "$two" -- true 2> "$scratch/err")" != 77 ] || skip "$(cat "$scratch/err")"

# The program's host has VOCL beside its own driver in $scratch/both.
mkdir "$scratch/vendors" "$scratch/both" "$scratch/home"
echo "$top_builddir/tests/drivers/.libs/same.so" | tee "$scratch/both/same.icd" > "$scratch/vendors/same.icd"
cp "$VOCL_LIBEXECDIR/vendors/vocl.icd" "$scratch/both/"
HOME=$scratch/home OCL_ICD_VENDORS=$scratch/vendors
export HOME OCL_ICD_VENDORS

# list FILE COMMAND...: writes what the program lists
list()
{
    list_file=$scratch/$1
    shift
    env "$mark" "$@" > "$list_file" 2> "$scratch/err" || fail "$*: $(cat "$list_file" "$scratch/err")"
}
# distinct FILE PATTERN: counts the devices' answers that match
distinct()
{
    grep device "$scratch/$1" | grep -o "$2" | sort -u | wc -l
}

# ---- on the program's own host ----

for vendor in "" "NVIDIA Corporation" "Advanced Micro Devices, Inc."; do
    SAME_VENDOR=$vendor
    [ -n "$vendor" ] && export SAME_VENDOR
    list native "$identity"
    for way in "--interpose preload" "--interpose icd" --local; do
        list own vocl run $way -- "$identity"
        diff "$scratch/native" "$scratch/own" || fail "$vendor, $way: not as natively"
    done
done

# ---- on other hosts ----

# Two devices of each of two nodes. A part of a device has its device's identity.
POCL_DEVICES="pthread pthread"
export POCL_DEVICES
list natively "$identity"
[ "$(distinct natively 'uuid [0-9a-f]*')" = 1 ] || fail "this driver tells its devices apart: $(cat "$scratch/natively")"
list far "$two" --named --workers 2 -- "$identity"
[ "$(grep -c device "$scratch/far")" = 4 ] || fail "not four devices: $(cat "$scratch/far")"
[ "$(distinct far 'uuid [0-9a-f]*')" = 4 ] || fail "not four UUIDs: $(cat "$scratch/far")"
for address in 'pci [0-9a-f:.]*' 'amd 1 [0-9a-f:.]*'; do
    [ "$(distinct far "$address")" = 2 ] || fail "not one address for each node: $(cat "$scratch/far")"
done
[ "$(distinct far 'driver [0-9a-f]*')" = 1 ] || fail "not one driver: $(cat "$scratch/far")"
grep -v 'luid 0 0*  *0$' "$scratch/far" && fail "a LUID of another system"
sed 's/ part / device /' "$scratch/far" | uniq -d | grep -c . | grep -qx 4 || fail "parts: $(cat "$scratch/far")"
list again "$two" --named --workers 2 --interpose icd -- "$identity"
diff "$scratch/far" "$scratch/again" || fail "another identity in the next session"

# The UUIDs are those that the documents say, and no address is one of the native devices', or on this host.
python3 - "$scratch/far" << 'END' || fail "not the documented UUIDs: $(cat "$scratch/far")"
import hashlib, sys, uuid

def mixed(space, name):
    digest = hashlib.sha1(space.bytes + name).digest()[:16]
    return uuid.UUID(bytes=digest, version=5)

found = [line.split()[3] for line in open(sys.argv[1]) if " device " in line]
native = b"a device's UUID\0"
expected = [mixed(uuid.uuid5(uuid.NAMESPACE_DNS, "far-10.93.0.%d" % node), native + twin).hex
            for node in (2, 3) for twin in (b"", b"1")]
sys.exit(found != expected)
END
unset POCL_DEVICES

# ---- moved ----

# asked ANSWER...: the program's session moves; the devices stay those that the program has seen
: > "$scratch/out"
env "$mark" timeout -k 10 300 "$two" --named --workers 2 -- "$identity" "$scratch/enough" \
    > "$scratch/out" 2> "$scratch/err" &
running=$!
wait_until grep -q ready "$scratch/out" || fail "$(cat "$scratch/out" "$scratch/err")"
pid=$(program_of "$identity")
for how in "--to 10.93.0.4 --from far-10.93.0.2" "--to 10.93.0.2 --from far-10.93.0.4 --any"; do
    timeout -k 5 200 vocl move "$pid" $how > "$scratch/asked" 2>&1 ||
        fail "move $how: $(cat "$scratch/asked" "$scratch/err")"
done
vocl move "$pid" --to 10.93.0.4 --from far-10.93.0.2 > "$scratch/asked" 2>&1 || fail "the third: $(cat "$scratch/asked")"
touch "$scratch/enough"
wait $running || fail "moved: status $?: $(cat "$scratch/out" "$scratch/err")"
sed '/^ready$/,$d' "$scratch/out" > "$scratch/before"
sed '1,/^ready$/d' "$scratch/out" > "$scratch/after"
[ -s "$scratch/before" ] && diff "$scratch/before" "$scratch/after" || fail "another identity after moves"
grep -c . "$scratch/before" | grep -qx 4 || fail "not two devices and their parts: $(cat "$scratch/before")"

# ---- matched ----

# the native platform beside VOCL's: settings for a program
beside_native="OCL_ICD_VENDORS=$scratch/both VOCL_NATIVE_ICD_VENDORS=$scratch/vendors"
for vendor in "" "NVIDIA Corporation" "Advanced Micro Devices, Inc."; do
    SAME_VENDOR=$vendor
    list match env $beside_native VOCL_WORKERS=1 "$identity" match
    grep -qx "2 listed, by UUID 1, by address 1, as hashcat 1" "$scratch/match" ||
        fail "$vendor: its own host's device: $(cat "$scratch/match" "$scratch/err")"
    # two nodes' devices, and the native one
    list match "$two" --named --workers 2 --interpose icd -- env $beside_native "$identity" match
    grep -qx "3 listed, by UUID 3, by address 3, as hashcat ${vendor:+3}.*" "$scratch/match" ||
        fail "$vendor: other hosts' devices: $(cat "$scratch/match" "$scratch/err")"
done

# ---- hashcat, which looks at addresses only if the platform is the vendor's, too ----

command -v hashcat > /dev/null || { echo "without hashcat: it is not installed"; exit 0; }
SAME_VENDOR="NVIDIA Corporation" VOCL_PLATFORM=native
export SAME_VENDOR VOCL_PLATFORM
list hashcat env $beside_native VOCL_WORKERS=1 hashcat -I
[ "$(grep -c 'Device ID.*Alias' "$scratch/hashcat")" = 2 ] || fail "hashcat, its own host's device: $(cat "$scratch/hashcat")"
list hashcat "$two" --named --workers 2 --interpose icd -- env $beside_native hashcat -I
[ "$(grep -c 'Backend Device ID' "$scratch/hashcat")" = 3 ] && ! grep Alias "$scratch/hashcat" ||
    fail "hashcat, other hosts' devices: $(cat "$scratch/hashcat")"
exit 0
