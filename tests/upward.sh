#!/bin/sh
# client/ stands on nothing of libvocl/: no function of the front end, and none of OpenCL's, is called from below. What
# the front end has to say it hands over when the session starts (struct front_end).
. "$(dirname "$0")/lib.sh"
need nm binutils

# names TYPES DIRECTORY: the symbols of these types in the directory's objects.
names()
{
    for source in "$top_srcdir/$2"/*.c; do
        nm -g "$top_builddir/$2/.libs/$(basename "$source" .c).o"
    done | awk -v types="^[$1]$" 'NF > 1 && $(NF - 1) ~ types { print $NF }' | sort -u
}

names U client > "$scratch/wanted"
names TDBRVW libvocl > "$scratch/front"
names TDBRVW client > "$scratch/own"
[ -s "$scratch/wanted" ] && [ -s "$scratch/front" ] && [ -s "$scratch/own" ] || fail "no objects found"
upward=$(comm -12 "$scratch/wanted" "$scratch/front")
[ -z "$upward" ] || fail "client/ uses of libvocl/:" $upward
if opencl=$(grep -hE '^cl[A-Z]' "$scratch/wanted" "$scratch/own"); then
    fail "client/ knows OpenCL's functions:" $opencl
fi
echo "$(wc -l < "$scratch/own") names of client/, none of which stands on one of the $(wc -l < "$scratch/front") of libvocl/"
