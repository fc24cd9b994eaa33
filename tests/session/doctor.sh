#!/bin/sh
# vocl doctor finds nothing where nothing is wrong; and where something is, it reports that, one fault at a time, as a
# session would meet it.
. "$(dirname "$0")/../lib.sh"
need_foreign_programs
unset VOCL_LOG VOCL_HOSTS VOCL_WORKERS VOCL_LOCAL VOCL_MPI VOCL_NETWORK
VOCL_POOL=none
export VOCL_POOL

# right OPTION...: doctor finds nothing
right()
{
    vocl doctor "$@" > "$scratch/out" 2>&1 || fail "doctor $*: status $?: $(cat "$scratch/out")"
    ! grep '^wrong' "$scratch/out" || fail "doctor $*: status 0"
    grep -q '^ok .*a session: [1-9].* ms workers started and their devices told ([0-9.]* ms [^()]*, [0-9.]* ms devices told), .* kernel compiled' "$scratch/out" || fail "doctor $*: no stages: $(cat "$scratch/out")"
}

# wrong WHAT PATTERN COMMAND...: doctor finds the fault, and says what to do about it
found=0
wrong()
{
    what=$1 pattern=$2
    shift 2
    timeout -k 5 200 "$@" > "$scratch/out" 2>&1
    status=$?
    [ $status -eq 1 ] || fail "$what: status $status: $(cat "$scratch/out")"
    grep -q "^wrong .*$pattern" "$scratch/out" || fail "$what: no \"$pattern\": $(cat "$scratch/out")"
    found=$((found + 1))
    echo "$what: $(grep "^wrong .*$pattern" "$scratch/out")"
}

right
grep -q '^ok .*devices: [1-9]' "$scratch/out" || fail "no devices: $(cat "$scratch/out")"
grep -q '^ok .*driver: .*, OpenCL [1-9]' "$scratch/out" || fail "no versions of drivers: $(cat "$scratch/out")"
right --hosts localhost
grep -q '^ok .*localhost: clocks: the same' "$scratch/out" || fail "nobody has looked at the host: $(cat "$scratch/out")"
grep -q '^ok .*localhost: devices: [1-9]' "$scratch/out" || fail "nor at its drivers: $(cat "$scratch/out")"

# Faults of this host
mkdir "$scratch/empty" "$scratch/broken"
wrong "no driver" 'driver: none in .*/empty: install' env OCL_ICD_VENDORS="$scratch/empty" vocl doctor
echo libthereisnosuchthing.so > "$scratch/broken/broken.icd"
wrong "a driver that is gone" 'broken.icd: libthereisnosuchthing.so: .*install' env OCL_ICD_VENDORS="$scratch/broken" vocl doctor
# Another driver stands for Mesa's, by its name.
mkdir "$scratch/mesa"
ln -s "$top_builddir/tests/drivers/.libs/strict.so" "$scratch/libRusticlOpenCL.so.1"
echo "$scratch/libRusticlOpenCL.so.1" > "$scratch/mesa/rusticl.icd"
for enabled in "" llvmpipe; do
    OCL_ICD_VENDORS="$scratch/mesa" RUSTICL_ENABLE=$enabled vocl doctor > "$scratch/out" 2>&1
    [ "$(grep -c '^note .*RUSTICL_ENABLE' "$scratch/out")" = "$([ -n "$enabled" ]; echo $?)" ] || fail "RUSTICL_ENABLE=$enabled: $(cat "$scratch/out")"
done
if [ "$SANITIZER" != address ]; then
    wrong "few descriptors" 'open files: at most 24, .*ulimit' sh -c 'ulimit -n 24 && exec vocl doctor'
fi
mkdir "$scratch/libexec"
ln -s "$VOCL_LIBEXECDIR"/* "$scratch/libexec"
rm "$scratch/libexec/vocl-launcher"
wrong "half an installation" 'vocl-launcher: .*install' env VOCL_LIBEXECDIR="$scratch/libexec" vocl doctor
if unshare -m true 2> /dev/null; then
    wrong "a small /dev/shm" '/dev/shm: 64 KiB .*remount' \
        unshare -m sh -c 'mount -t tmpfs -o size=64k none /dev/shm && exec vocl doctor'
    wrong "no /proc" '/proc: .*not mounted' unshare -m sh -c 'mount -t tmpfs none /proc && exec vocl doctor'
    wrong "no /sys" '/sys: .*not mounted' unshare -m sh -c 'mount -t tmpfs none /sys && exec vocl doctor'
fi

# Faults of another host, which this script stands for in place of ssh.
cat > "$scratch/elsewhere" <<'END'
#!/bin/sh
# elsewhere HOST COMMAND
at=$(dirname "$0")
echo "Welcome to $1!"
[ "$1" != skewed ] || export LD_PRELOAD="${LD_PRELOAD:+$LD_PRELOAD:}$at/skew.so"
case $1:$2 in
apart:*vocl-doctor*)
    echo "no vocl-doctor where the program has it" >&2
    exit 127 ;;
*--node*)
    [ "$1" != none ] || exec sh -c "'$at/nowhere' --node"
    [ "$1" != older ] || exec "$at/older" --node ;;
esac
exec sh -c "$2"
END
chmod +x "$scratch/elsewhere"
export VOCL_RSH="$scratch/elsewhere"
right --hosts elsewhere --network ssh
# VOCL lies elsewhere on the other host.
mkdir "$scratch/away"
ln -s "$VOCL_LIBEXECDIR/vocl-proxy" "$scratch/away/vocl-proxy"
VOCL_PROXY=$scratch/away/vocl-proxy
export VOCL_PROXY
right --hosts apart --network ssh
grep -q '^ok .*apart: devices: [1-9]' "$scratch/out" || fail "its drivers are not looked at: $(cat "$scratch/out")"
rm "$scratch/away/vocl-proxy"
wrong "no VOCL at VOCL_PROXY" 'apart: no VOCL is at .*away/vocl-proxy.*VOCL_PROXY' vocl doctor --hosts apart --network ssh
unset VOCL_PROXY
right --hosts somebody@127.0.0.1
! grep 'no address of this host' "$scratch/out" || fail "somebody@127.0.0.1 has no address"
wrong "no VOCL there" 'none: no VOCL is at .*install .*vocl run --deploy' vocl doctor --hosts none
version=$(vocl --version | cut -d ' ' -f 2)
sed "s/$version/$(echo "$version" | tr 0-9 7)/g" "$VOCL_LIBEXECDIR/vocl-doctor" > "$scratch/older"
chmod +x "$scratch/older"
wrong "another version there" 'older: VOCL 7.* there .*install the same' vocl doctor --hosts older
cat > "$scratch/skew.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec *now)
{
    int (*next)(clockid_t, struct timespec *) = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int error = next(clock, now);
    if (clock == CLOCK_REALTIME)
        now->tv_sec -= 300;
    return error;
}
END
${CC:-cc} -shared -fPIC -o "$scratch/skew.so" "$scratch/skew.c" || fail "no skew.so"
wrong "a clock that is slow" 'skewed: clocks: it is 300 s behind .*chrony' vocl doctor --hosts skewed --network ssh
if command -v ssh > /dev/null; then
    wrong "ssh refused" 'elsewhere: .*Connection refused.*ssh elsewhere true' \
        env VOCL_RSH='ssh -F none -o HostName=127.0.0.1 -p 1 -o BatchMode=yes' vocl doctor --hosts elsewhere
fi
unset VOCL_RSH

# Faults of a pool
if [ -x "$VOCL_LIBEXECDIR/vocl-poold" ]; then
    wrong "no daemon" '127.0.0.1:1: Connection refused; is vocl-proxy running' vocl doctor --pool 127.0.0.1:1
    ! grep -q '\(127.0.0.1:1: \)\{3\}' "$scratch/out" || fail "an address again and again: $(cat "$scratch/out")"
    printf 'auth munge\nmunge-socket %s\nnode a 127.0.0.1:1\n' "$scratch/munge" > "$scratch/pool"
    wrong "no munged" 'MUNGE: .*No such file.*systemctl start munge' vocl doctor --pool "$scratch/pool"
fi
[ $found -ge 8 ] || skip "only $found set-ups could be made here"

# The error of a session refers to vocl doctor.
OCL_ICD_VENDORS="$scratch/empty" vocl devices > "$scratch/out" 2>&1
grep -q 'vocl doctor. with the same options' "$scratch/out" || fail "no word of vocl doctor: $(cat "$scratch/out")"
exit 0
