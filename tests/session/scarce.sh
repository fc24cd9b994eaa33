#!/bin/sh
# A session that lacks something, from the beginning or from some moment on: an error or right results, whichever, and
# nothing is left. VOCL_SILENT=all: with more phases.
. "$(dirname "$0")/silent-lib.sh"
need_foreign_programs
need prlimit util-linux
with_own_memory

for limit in 8 12 20 28 40 64; do
    for phase in $(every start launches); do
        begin $phase 1 2 sh -c "ulimit -n $limit; exec \"\$@\"" sh vocl run --workers 2 --
        since=$(uptime_of)
        ended_with 0 1 2 3 126 127 -- "$limit descriptors"
        nothing_left "$limit descriptors"
    done
done
for kilobytes in 4 64 1024; do
    for phase in $(every launches nodes); do
        begin $phase 1 2 unshare -m sh -c "mount -t tmpfs -o size=${kilobytes}k none /dev/shm && exec \"\$@\"" sh \
            vocl run --workers 2 --
        since=$(uptime_of)
        ended_with 0 1 3 32 -- "$kilobytes KiB of /dev/shm"
        nothing_left "$kilobytes KiB of /dev/shm"
    done
done
# from now on nobody gets more than he has
for what in as nofile nproc; do
    for name in phases vocl-proxy; do
        for phase in $(every read build); do
            begin $phase 2 2 vocl run --workers 2 --
            since=$(uptime_of)
            for victim in $(processes $name); do
                now=4
                [ $what != as ] || now=$(awk '/^VmSize/ { print $2 * 1024 + 4194304 }' "/proc/$victim/status")
                prlimit --pid "$victim" "--$what=$now"
            done
            ended_with 0 3 134 139 -- "no more $what for $name"
            nothing_left "no more $what for $name"
        done
    done
done

no_files_left
exit 0
