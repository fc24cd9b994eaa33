#!/bin/sh
# client/ depends on nothing of libvocl/: it calls no function of the front end, and none of OpenCL's. The front end
# passes its callbacks when the session starts (struct front_end).
. "$(dirname "$0")/lib.sh"
need nm binutils

# names TYPES DIRECTORY...: prints the symbols of these types in the directories' objects
names()
{
    types=$1
    shift
    for directory; do
        for source in "$top_srcdir/$directory"/*.c; do
            source=${source##*/}
            echo "$top_builddir/$directory/.libs/${source%.c}.o"
        done
    done | tr '\n' '\0' | xargs -0 nm -g | awk -v types="^[$types]$" 'NF > 1 && $(NF - 1) ~ types { print $NF }' | sort -u
}

client="client client/core client/data client/memory client/survive client/trace"
names U $client > "$scratch/wanted"
names TDBRVW libvocl > "$scratch/front"
names TDBRVW $client > "$scratch/own"
[ -s "$scratch/wanted" ] && [ -s "$scratch/front" ] && [ -s "$scratch/own" ] || fail "no objects found"
upward=$(comm -12 "$scratch/wanted" "$scratch/front")
[ -z "$upward" ] || fail "client/ uses of libvocl/:" $upward
if opencl=$(grep -hE '^cl[A-Z]' "$scratch/wanted" "$scratch/own"); then
    fail "client/ knows OpenCL's functions:" $opencl
fi
echo "$(wc -l < "$scratch/own") names of client/, none of which stands on one of the $(wc -l < "$scratch/front") of libvocl/"
