#!/bin/sh
# The cache that lasts from one session to the next: in its second run, a program waits for its node only twice before
# its first launch is over. Nothing in the cache is trusted blindly: neither files that are changed, truncated or of
# another version, nor the entries of another driver under the same name, nor a build whose result is not what the cache
# says.
. "$(dirname "$0")/../lib.sh"
need python3 python3
export VOCL_NETWORK=tls VOCL_SHARE=0 VOCL_CACHE="$scratch/cache"

# turns NAME: counts how often the program waits for its node, from the first call to the end of the first launch
turns()
{
    VOCL_TRACE=1 VOCL_LOG=warn timeout -k 10 60 vocl run -- "$top_builddir/tests/session/waits" launch 1 > "$scratch/out" 2> "$scratch/$1" ||
        fail "$1: status $?: $(cat "$scratch/out"; grep -v ' 1: ' "$scratch/$1" | tail -n 5)"
    turns=$(grep -o -e '\(->\|<-\) 1: ' "$scratch/$1" | uniq | grep -c '<-')
    echo "$1: $turns"
    ! grep -q 'gave another result than the cached one' "$scratch/$1" || [ "$1" = lying ] || fail "$1: $(grep ended "$scratch/$1")"
}
expect()
{
    turns "$1"
    [ "$turns" -le "$2" ] || fail "$1: it waits $turns times: $(grep -o -e '\(->\|<-\) 1: [a-z_]*' "$scratch/$1")"
}
# change HOW: damages each file of the cache
change()
{
    for file in "$scratch"/cache/*; do
        python3 - "$file" "$1" << 'END'
import sys
name, how = sys.argv[1:]
with open(name, "rb") as file:
    data = bytearray(file.read())
if how == "flip":
    for at in range(0, len(data), max(len(data) // 50, 1)):
        data[at] ^= 0x55
elif how == "last":
    data[-1] ^= 1
elif how == "version":
    data[16:20] = b"9.9\0"
elif how == "empty":
    data = b""
elif how == "shorten":
    data = data[:len(data) // 2]
with open(name, "wb") as file:
    file.write(data)
END
    done
}

expect first 3
[ "$(ls "$scratch/cache" | wc -l)" = 2 ] || fail "kept: $(ls "$scratch/cache")"
expect second 2
expect third 2
for how in flip last version empty shorten; do
    change $how
    expect "after-$how" 3
    expect "mended-$how" 2
done
rm -rf "$scratch/cache"
ln -s /etc/passwd "$scratch/cache"
expect unwritable 3
rm "$scratch/cache"
VOCL_CACHE=off expect off 3
[ ! -e "$scratch/cache" ] || fail "something is kept that is not to be"

# An entry says that a build ends otherwise than it does: this is noticed, reported, and not trusted again.
expect anew 3
python3 - "$scratch"/cache/build-* << 'END'
import struct, sys
MASK, ODD = (1 << 64) - 1, 0x9e3779b97f4a7c15
def mix(value, word):
    value = ((value ^ word) * ODD) & MASK
    return value ^ value >> 29
def hash_bytes(data):
    lanes = [len(data), 1, 2, 3]
    whole = len(data) // 32 * 32
    for at in range(0, whole, 32):
        lanes = [mix(lane, word) for lane, word in zip(lanes, struct.unpack_from("<4Q", data, at))]
    words = struct.unpack("<4Q", data[whole:].ljust(32, b"\0"))
    lanes = [mix(lane, word) for lane, word in zip(lanes, words)]
    value = lanes[0]
    for lane in lanes[1:]:
        value = mix(value, lane)
    return value
with open(sys.argv[1], "rb") as file:
    data = bytearray(file.read())
head, rest = data[:56], data[56:]
assert struct.unpack_from("<Q", head, 48)[0] == hash_bytes(rest)
at = rest.rindex(b"number")
rest[at:at + 6] = b"figure"
struct.pack_into("<Q", head, 48, hash_bytes(rest))
with open(sys.argv[1], "wb") as file:
    file.write(head + rest)
END
expect lying 2
grep -q 'gave another result than the cached one' "$scratch/lying" || fail "nobody notices: $(grep vocl "$scratch/lying" | grep -v trace)"
expect after-lying 3
expect believed 2

# Another driver on the same node: the program sees what the node has.
named()
{
    timeout -k 5 60 vocl run -- "$top_builddir/tests/session/platform" 2> /dev/null
}
mkdir "$scratch/vendors"
echo "$top_builddir/tests/drivers/.libs/older.so" > "$scratch/vendors/driver.icd"
turns before
VOCL_CACHE=off OCL_ICD_VENDORS=$scratch/vendors named > "$scratch/other"
VOCL_CACHE=off named > "$scratch/own"
! cmp -s "$scratch/other" "$scratch/own" || fail "the other driver is no other"
named | cmp - "$scratch/own" || fail "what was kept is not what there is"
OCL_ICD_VENDORS=$scratch/vendors named | cmp - "$scratch/other" || fail "what was kept of one driver is told of another"
named | cmp - "$scratch/own" || fail "what was kept of another driver is told of this one"
